import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { createInterface } from 'node:readline'
import { it } from 'node:test'
import { resolveConfig } from '../config/config.ts'
import type { Pillarbox, Started } from './engine.ts'
import { type ServeDeps, serve } from './serve.ts'

const STARTED = {
  url: 'http://127.0.0.1:4400',
  metricsUrl: null,
  newOpsKey: null,
  demoTenantId: null,
  consoleLink: null,
}

function setup(pillarbox: Partial<Pillarbox> = {}) {
  const answer = resolveConfig({ flags: {}, env: {}, file: null, cwd: '/srv' })
  if ('problems' in answer) assert.fail('the defaults are refused')
  const events = new EventEmitter()
  const said: string[] = []
  const exits: number[] = []
  const started = Promise.withResolvers<Started>()
  let late = (): void => {}
  const time = { ms: 0 }
  const logger: ServeDeps['logger'] = {
    debug: () => {},
    info: (_, message) => void said.push(`info ${message}`),
    warn: (_, message) => void said.push(`warn ${message}`),
    error: (_, message) => void said.push(`error ${message}`),
    child: () => logger,
  }
  const deps: ServeDeps = {
    config: answer.config,
    parts: { api: true, worker: true },
    logger,
    createPillarbox: async () => ({
      start: async () => STARTED,
      stop: async () => void said.push('stop called'),
      ...pillarbox,
    }),
    announce: started.resolve,
    explain: (error) => void said.push(`explained ${String(error)}`),
    events,
    clock: {
      now: () => 0,
      monotonic: () => time.ms,
      sleep: (_, signal) =>
        new Promise((resolve) => {
          late = resolve
          signal?.addEventListener('abort', () => resolve(), { once: true })
        }),
    },
    exitNow: (code) => void exits.push(code),
  }
  return { deps, events, said, exits, started: started.promise, timeIsUp: () => late(), time }
}

for (const signal of ['SIGTERM', 'SIGINT']) {
  it(`stops and answers 0 on ${signal}`, async () => {
    const { deps, events, said, started } = setup()

    const code = serve(deps)
    await started
    events.emit(signal)

    assert.equal(await code, 0)
    assert.deepEqual(said, ['info stopping', 'stop called', 'info stopped'])
  })
}

it('announces where it runs', async () => {
  const { deps, events, started } = setup()

  const code = serve(deps)

  assert.equal(await started, STARTED)
  events.emit('SIGTERM')
  await code
})

it('leaves at once on the second signal, with that signal’s code', async () => {
  const { deps, events, exits, started, timeIsUp, time } = setup({ stop: () => new Promise(() => {}) })
  const code = serve(deps)
  await started

  events.emit('SIGTERM')
  time.ms = 200
  events.emit('SIGINT')
  events.emit('SIGTERM')

  assert.deepEqual(exits, [130, 143])
  await settle()
  timeIsUp()
  await code
})

it('takes two signals in close succession for one: npm passes on what the terminal has sent already', async () => {
  const { deps, events, exits, started, time } = setup()
  const code = serve(deps)
  await started

  events.emit('SIGINT')
  time.ms = 199
  events.emit('SIGINT')

  assert.equal(await code, 0)
  assert.deepEqual(exits, [])
})

it('stops while it is still starting, and announces nothing', async () => {
  const starting = Promise.withResolvers<Started>()
  const { deps, events, said } = setup({
    start: () => starting.promise,
    stop: async () => {
      said.push('stop called')
      starting.reject(new Error('the start was ended'))
    },
  })
  deps.announce = () => said.push('announced')
  const code = serve(deps)
  await settle()

  events.emit('SIGTERM')

  assert.equal(await code, 0)
  assert.deepEqual(said, ['info stopping', 'stop called', 'info stopped'])
})

it('stops what was still being made when the signal came, without starting it', async () => {
  const { deps, events, said } = setup()
  const making = Promise.withResolvers<Pillarbox>()
  deps.createPillarbox = () => making.promise
  const code = serve(deps)

  events.emit('SIGTERM')
  await settle()
  const start = async (): Promise<Started> => assert.fail('started')
  making.resolve({ start, stop: async () => void said.push('stop called') })

  assert.equal(await code, 0)
  assert.deepEqual(said, ['info stopping', 'stop called', 'info stopped'])
})

it('explains why it could not start, and answers 1', async () => {
  const { deps, said } = setup({ start: async () => Promise.reject(new Error('port taken')) })

  const code = await serve(deps)

  assert.equal(code, 1)
  assert.deepEqual(said, ['explained Error: port taken', 'stop called'])
})

it('answers 1 when it could not even be made', async () => {
  const { deps, said } = setup()
  deps.createPillarbox = async () => Promise.reject(new Error('no database'))

  const code = await serve(deps)

  assert.equal(code, 1)
  assert.deepEqual(said, ['explained Error: no database'])
})

for (const event of ['uncaughtException', 'unhandledRejection']) {
  it(`stops and answers 1 on ${event}`, async () => {
    const { deps, events, said, started } = setup()
    const code = serve(deps)
    await started

    events.emit(event, new Error('bug'))

    assert.equal(await code, 1)
    assert.deepEqual(said, ['error nobody handled this error; stopping', 'stop called'])
  })
}

it('answers 1 when stopping takes longer than the grace and a little more', async () => {
  const { deps, events, said, started, timeIsUp } = setup({ stop: () => new Promise(() => {}) })
  const code = serve(deps)
  await started

  events.emit('SIGTERM')
  await settle()
  timeIsUp()

  assert.equal(await code, 1)
  assert.match(said.join(), /stopping takes too long/)
})

it('answers 1 when stopping fails', async () => {
  const { deps, events, said, started } = setup({ stop: async () => Promise.reject(new Error('no')) })
  const code = serve(deps)
  await started

  events.emit('SIGTERM')

  assert.equal(await code, 1)
  assert.match(said.join(), /error stopping failed/)
})

it('listens to nothing any more once it has answered', async () => {
  const { deps, events, started } = setup()
  const code = serve(deps)
  await started

  events.emit('SIGTERM')
  await code

  assert.deepEqual(events.eventNames(), [])
})

for (const { signals, expected } of [
  { signals: ['SIGTERM'], expected: 0 },
  { signals: ['SIGINT'], expected: 0 },
  { signals: ['SIGTERM', 'SIGTERM'], expected: 143 },
  { signals: ['SIGTERM', 'SIGINT'], expected: 130 },
] as const) {
  it(`ends a real process with ${expected} on ${signals.join(' and ')}`, async (t) => {
    const url = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href)
    const script = `
      const { serve } = await import(${url('./serve.ts')})
      const { resolveConfig } = await import(${url('../config/config.ts')})
      const { systemClock } = await import(${url('../runtime/system.ts')})
      const { config } = resolveConfig({ flags: {}, env: {}, file: null, cwd: '/srv' })
      const log = (fields, message) => console.log(message)
      let ticks = 0
      const alive = setInterval(() => {}, 1000)
      process.exit(await serve({
        config, parts: { api: true, worker: true },
        logger: { debug() {}, info: log, warn: log, error: log },
        createPillarbox: async () => ({ start: async () => ({ url: null }), stop: () => ${signals.length > 1 ? 'new Promise(() => {})' : 'Promise.resolve()'} }),
        announce: () => console.log('ready'), explain: console.error,
        events: process, clock: { ...systemClock, monotonic: () => (ticks += 1000) }, exitNow: (code) => process.exit(code),
      }))`
    const child = spawn(process.execPath, ['--conditions=source', '--input-type=module', '--eval', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.after(() => child.kill('SIGKILL'))
    const ended = once(child, 'exit')
    const pending: NodeJS.Signals[] = [...signals]

    for await (const line of createInterface({ input: child.stdout })) {
      const next = line === 'ready' || line === 'stopping' ? pending.shift() : undefined
      if (next) child.kill(next)
    }

    assert.deepEqual(await ended, [expected, null])
  })
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
