import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import type { Config } from '../config/config.ts'
import type { Store } from '../store/store.ts'
import type { CliDeps } from './call.ts'
import type { EngineModule, Started } from './engine.ts'
import { run } from './run.ts'

const KEY = 'pbx_a-new-ops-key-that-nobody-has-seen-yet-1234567890'
const NEW_KEY = { id: 'key-1', key: KEY }

interface Faked {
  started?: Started
  schema?: { found: number; wanted: number }
  isTerminal?: boolean
  env?: Record<string, string>
  startError?: Error
  storeError?: Error
  nodeVersion?: string
  loadError?: Error
}

function setup(t: TestContext, faked: Faked = {}) {
  const cwd = mkdtempSync(join(tmpdir(), 'cli-'))
  t.after(() => rmSync(cwd, { recursive: true }))
  const output = { stdout: '', stderr: '' }
  const events = new EventEmitter()
  const seen: { config?: Config; parts?: unknown; closed: number } = { closed: 0 }
  const schema = faked.schema ?? { found: 1, wanted: 1 }
  const store = {
    migrate: async () => ({ from: schema.found, to: schema.wanted }),
    schema: async () => schema,
    close: async () => {
      seen.closed += 1
    },
  } as unknown as Store
  const engine: EngineModule = {
    createPillarbox: async (config) => ({
      start: async (parts) => {
        if (faked.startError) throw faked.startError
        seen.config = config
        seen.parts = parts
        // The signal comes once it runs and has said so.
        setImmediate(() => events.emit('SIGTERM'))
        return (
          faked.started ?? {
            url: 'http://127.0.0.1:4400',
            metricsUrl: null,
            newOpsKey: null,
            demoTenantId: null,
            consoleLink: null,
          }
        )
      },
      stop: async () => {},
    }),
    openStore: async () => {
      if (faked.storeError) throw faked.storeError
      return store
    },
  }
  const deps: CliDeps = {
    version: '1.2.3',
    env: faked.env ?? {},
    cwd,
    nodeVersion: faked.nodeVersion ?? process.version,
    stdout: {
      write: (text) => {
        output.stdout += text
      },
      isTerminal: faked.isTerminal ?? false,
      hasColours: false,
    },
    stderr: {
      write: (text) => {
        output.stderr += text
      },
    },
    stdin: { isTerminal: false, ask: async () => assert.fail('asked'), read: async () => assert.fail('read') },
    clock: {
      now: () => 0,
      monotonic: () => 0,
      sleep: (_, signal) =>
        new Promise((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true })),
    },
    events,
    exitNow: () => assert.fail('left at once'),
    loadEngine: async () => {
      if (faked.loadError) throw faked.loadError
      return engine
    },
  }
  return { run: (...args: string[]) => run(args, deps), output, seen, cwd }
}

function lines(text: string): Record<string, unknown>[] {
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

it('shows every command, with examples, in its help', async (t) => {
  const { run, output } = setup(t)

  const code = await run('--help')

  assert.equal(code, 0)
  for (const word of ['start', 'api', 'worker', 'migrate', 'doctor', 'explain', 'keys', 'catalogue', 'Examples:'])
    assert.match(output.stdout, new RegExp(word))
})

for (const command of [
  'start',
  'api',
  'worker',
  'migrate',
  'doctor',
  'explain',
  'keys sealing',
  'keys ops',
  'keys rotate',
  'keys retire',
]) {
  it(`helps with ${command}: settings with their variable and default, and examples`, async (t) => {
    const { run, output } = setup(t)

    const code = await run(...command.split(' '), '--help')

    assert.equal(code, 0)
    assert.match(output.stdout, /--data-dir <folder>/)
    assert.match(output.stdout, /PILLARBOX_DATA_DIR, default \.\/\.pillarbox/)
    assert.match(output.stdout, /Examples:\n {2}\$ /)
  })
}

it('shows a worker no settings of the API, and has no flags for secrets', async (t) => {
  const { run, output } = setup(t)

  await run('worker', '--help')

  assert.doesNotMatch(output.stdout, /--port/)
  assert.match(output.stdout, /--channels <list>/)
  assert.doesNotMatch(output.stdout, /--master-key|--ops-key/)
})

it('shows its version', async (t) => {
  const { run, output } = setup(t)

  assert.equal(await run('--version'), 0)
  assert.equal(output.stdout, '1.2.3\n')
})

it('guesses what a mistyped command or flag was meant to be', async (t) => {
  const { run, output } = setup(t)

  const codes = [await run('wroker'), await run('start', '--prot', '1')]

  assert.deepEqual(codes, [2, 2])
  assert.match(output.stderr, /unknown command 'wroker'\n\(Did you mean worker\?\)/)
  assert.match(output.stderr, /unknown option '--prot'\n\(Did you mean --port\?\)/)
})

for (const [command, parts] of [
  ['start', { api: true, worker: true }],
  ['api', { api: true, worker: false }],
  ['worker', { api: false, worker: true }],
] as const) {
  it(`runs the parts of ${command}, and answers 0 after a signal`, async (t) => {
    const { run, seen } = setup(t)

    assert.equal(await run(command), 0)
    assert.deepEqual(seen.parts, parts)
  })
}

it('hands over the settings of flags and environment', async (t) => {
  const { run, seen, cwd } = setup(t, { env: { PILLARBOX_PORT: '1', PILLARBOX_LOG_LEVEL: 'warn' } })

  await run('start', '--port', '2', '--no-demo', '--allow-private-endpoints', '--channels', 'sms,push')

  const { port, demo, allowPrivateEndpoints, channels, logLevel, dataDir } = seen.config ?? assert.fail('not started')
  assert.deepEqual([port, demo, allowPrivateEndpoints, channels, logLevel], [2, false, true, ['sms', 'push'], 'warn'])
  assert.equal(dataDir, join(cwd, '.pillarbox'))
})

it('says all that is wrong with the settings, and starts nothing', async (t) => {
  const { run, output, seen } = setup(t, { env: { PILLARBOX_OPS_KEY: 'hunter2 hunter2' } })

  const code = await run('start', '--port', 'http', '--worker-ttl', 'PT2S', '--provider-timeout', 'PT2S')

  assert.equal(code, 1)
  assert.equal(seen.parts, undefined)
  assert.match(
    output.stderr,
    /^pillarbox: these settings are wrong\n {2}--port: expected .*\n {2}PILLARBOX_OPS_KEY: .*\n {2}--worker-ttl: /,
  )
  assert.doesNotMatch(output.stderr, /hunter2/)
})

it('writes only JSON lines where nobody is looking, and a new ops key into a file that only its owner may read', async (t) => {
  const { run, output } = setup(t, {
    started: {
      url: 'http://127.0.0.1:4400',
      metricsUrl: null,
      newOpsKey: NEW_KEY,
      demoTenantId: 'demo',
      consoleLink: null,
    },
  })

  await run('start')

  const written = lines(output.stdout)
  assert.deepEqual(
    written.map((line) => line['msg']),
    ['ready', 'a new ops key is in this file: move it to where you keep secrets', 'stopping', 'stopped'],
  )
  const file = String(written[1]?.['file'])
  assert.equal(readFileSync(file, 'utf8'), `${KEY}\n`)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.ok(!output.stdout.includes(KEY) && !output.stderr.includes(KEY))
})

it('speaks of no key that was there before', async (t) => {
  const { run, output } = setup(t, { env: { PILLARBOX_OPS_KEY: KEY } })

  await run('start')

  assert.doesNotMatch(output.stdout, /OPS KEY|pbx_/i)
})

it('shows people a banner with address, data, new key and an event to send', async (t) => {
  const started = {
    url: 'http://127.0.0.1:4400',
    metricsUrl: null,
    newOpsKey: NEW_KEY,
    demoTenantId: 'demo',
    consoleLink: null,
  }
  const { run, output, cwd } = setup(t, { started, isTerminal: true })

  await run('start')

  assert.match(output.stdout, /Pillarbox is running/)
  assert.ok(output.stdout.includes(`ops key  ${KEY}`))
  assert.ok(output.stdout.includes(join(cwd, '.pillarbox/pillarbox.db')))
  const curl = /curl -X POST 'http:\/\/127\.0\.0\.1:4400\/api\/events\?tenantId=demo'.*?-d '([^']*)'/s.exec(
    output.stdout,
  )
  assert.equal((JSON.parse(curl?.[1] ?? 'null') as { type: string } | null)?.type, 'booking.confirmed')
})

it('shows people a link to the console, and nobody else', async (t) => {
  const consoleLink = 'http://127.0.0.1:4400/login?t=once'
  const started = { url: 'http://127.0.0.1:4400', metricsUrl: null, newOpsKey: null, demoTenantId: null, consoleLink }
  const [watched, unwatched] = [setup(t, { started, isTerminal: true }), setup(t, { started })]

  await watched.run('start')
  await unwatched.run('start')

  assert.ok(watched.output.stdout.includes(`console  ${consoleLink}   (opens once, within 15 minutes)`))
  assert.ok(!`${unwatched.output.stdout}${unwatched.output.stderr}`.includes('once'))
})

it('says at a later start which key the event to send needs', async (t) => {
  const started = {
    url: 'http://127.0.0.1:4400',
    metricsUrl: null,
    newOpsKey: null,
    demoTenantId: 'demo',
    consoleLink: null,
  }
  const { run, output } = setup(t, { started, isTerminal: true })

  await run('start')

  assert.match(output.stdout, /with the ops key of the first start or a new one \(pillarbox keys ops\):\n/)
  assert.match(output.stdout, /authorization: Bearer \$PILLARBOX_OPS_KEY"/)
})

it('shows a banner without the database’s password', async (t) => {
  const { run, output } = setup(t, { isTerminal: true, env: { DATABASE_URL: 'postgres://app:hunter2@db:5432/app' } })

  await run('worker', '--channels', 'sms')

  assert.match(output.stdout, /A Pillarbox worker is running/)
  assert.match(output.stdout, /db:5432\/app \(PostgreSQL\)/)
  assert.match(output.stdout, /on sms/)
  assert.doesNotMatch(output.stdout, /hunter2|curl/)
})

it('says what to do when the port is taken, in one line', async (t) => {
  const startError = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE' })
  const { run, output } = setup(t, { startError })

  const code = await run('start')

  assert.equal(code, 1)
  const [line] = lines(output.stdout)
  assert.deepEqual([line?.['msg'], line?.['reason']], ['could not start', 'listen EADDRINUSE'])
  assert.match(String(line?.['hint']), /choose another with --port/)
})

it('shows an error that nobody expected whole', async (t) => {
  const { run, output } = setup(t, { startError: new TypeError('x is undefined') })

  await run('start')

  const error = lines(output.stdout)[0]?.['error'] as { type: string } | undefined
  assert.equal(error?.type, 'TypeError')
})

it('warns of settings that are probably not meant', async (t) => {
  const { run, output } = setup(t, { env: { PILLARBOX_PROT: '1' } })

  await run('start')

  assert.match(output.stdout, /"level":"warn".*did you mean PILLARBOX_PORT/)
})

it('migrates and says from where to where', async (t) => {
  const { run, output, seen } = setup(t, { schema: { found: 1, wanted: 3 } })

  assert.equal(await run('migrate'), 0)
  assert.equal(output.stdout, 'migrated: schema version 1 → 3\n')
  assert.equal(seen.closed, 1)
})

it('says that there was nothing to migrate', async (t) => {
  const { run, output } = setup(t)

  assert.equal(await run('migrate'), 0)
  assert.equal(output.stdout, 'up to date: schema version 1\n')
})

for (const [found, code, said] of [
  [3, 0, /^up to date: schema version 3\n$/],
  [2, 1, /^behind: schema version 2, wanted 3; run "pillarbox migrate"\n$/],
  [4, 1, /^ahead: schema version 4/],
] as const) {
  it(`answers ${code} to migrate --check at version ${found} of 3`, async (t) => {
    const { run, output, cwd } = setup(t, { schema: { found, wanted: 3 } })
    mkdirSync(join(cwd, '.pillarbox'))
    writeFileSync(join(cwd, '.pillarbox/pillarbox.db'), '')

    assert.equal(await run('migrate', '--check'), code)
    assert.match(output.stdout, said)
  })
}

it('answers 1 to migrate --check where there is no SQLite file yet, and makes none', async (t) => {
  const { run, output, cwd } = setup(t)

  assert.equal(await run('migrate', '--check'), 1)
  assert.match(output.stdout, /^behind: there is no .*pillarbox\.db yet/)
  assert.deepEqual(readdirSync(cwd), [])
})

it('makes the folder of an SQLite file that it migrates', async (t) => {
  const { run, cwd } = setup(t)

  await run('migrate', '--database-url', 'sqlite:deep/er/x.db')

  assert.deepEqual(readdirSync(join(cwd, 'deep')), ['er'])
})

// Node's own recursive mkdir never ends there: the kernel says that what is to be made does not exist.
for (const [command, env, said] of [
  [
    'start',
    { PILLARBOX_DATA_DIR: '/proc/pillarbox/data' },
    /The data folder \/proc\/pillarbox\/data cannot be made: .*PILLARBOX_DATA_DIR/,
  ],
  [
    'migrate',
    { PILLARBOX_DATA_DIR: '/proc/pillarbox' },
    /The database \/proc\/pillarbox\/pillarbox\.db cannot be opened: .*\n.*PILLARBOX_DATA_DIR/,
  ],
  [
    'migrate',
    { DATABASE_URL: 'sqlite:/proc/pillarbox/x.db' },
    /The database \/proc\/pillarbox\/x\.db cannot be opened: .*\n.*DATABASE_URL/,
  ],
] as const) {
  it(`ends ${command} where ${Object.keys(env).join()} is below a file system that takes no folders`, {
    skip: process.platform !== 'linux' && 'there is no /proc',
  }, (t) => {
    const { cwd } = setup(t)
    const main = new URL('./main.ts', import.meta.url)

    const result = spawnSync(process.execPath, ['--conditions=source', main.pathname, command], {
      cwd,
      env: { ...process.env, PILLARBOX_PORT: '0', ...env },
      encoding: 'utf8',
      timeout: 20_000,
      killSignal: 'SIGKILL',
    })

    assert.equal(result.status, 1, result.error?.message)
    assert.match(`${result.stdout}${result.stderr}`, said)
  })
}

it('says in one line, without credentials, why a command failed', async (t) => {
  const { run, output } = setup(t, { storeError: new Error('no way to postgres://u:hunter2@db') })

  const code = await run('migrate')

  assert.equal(code, 1)
  assert.equal(output.stderr, 'pillarbox: no way to postgres://[redacted]@db\n')
})

it('is quick to help: loads neither the engine nor the drivers', () => {
  const main = new URL('./main.ts', import.meta.url)
  const hook = `
    import { registerHooks } from 'node:module'
    registerHooks({ load(url, context, next) { console.error(url); return next(url, context) } })`

  const result = spawnSync(
    process.execPath,
    ['--conditions=source', '--import', `data:text/javascript,${encodeURIComponent(hook)}`, main.pathname, '--help'],
    { encoding: 'utf8' },
  )

  assert.equal(result.status, 0, result.stderr)
  assert.match(result.stdout, /^Usage: pillarbox/)
  assert.doesNotMatch(result.stderr, /\/(pg|pino|fastify|yaml|liquidjs)\/|pillarbox\.ts|\/src\/(http|store|dispatch)\//)
})

it('prints the sealing key of the configured master key, and nothing else', async (t) => {
  const { run, output } = setup(t, { env: { PILLARBOX_MASTER_KEY: Buffer.alloc(32, 7).toString('base64') } })

  assert.equal(await run('keys', 'sealing'), 0)
  assert.equal(output.stdout, 'sealing-v1.9cb4c44e.qcLWBIbKLT8QoMujJPtnu8nb2Agt1_elisERs-113mI\n')
})

it('prints the sealing key of the master key in the data folder', async (t) => {
  const { run, output, cwd } = setup(t)
  mkdirSync(join(cwd, '.pillarbox'))
  writeFileSync(join(cwd, '.pillarbox', 'master.key'), `${Buffer.alloc(32, 7).toString('base64')}\n`, { mode: 0o600 })

  assert.equal(await run('keys', 'sealing'), 0)
  assert.match(output.stdout, /^sealing-v1\.9cb4c44e\./)
})

it('makes no master key only to print its sealing key', async (t) => {
  const { run, output, cwd } = setup(t)

  assert.equal(await run('keys', 'sealing'), 1)
  assert.match(output.stderr, /there is no master key.*\n.*--data-dir/)
  assert.equal(output.stdout, '')
  assert.deepEqual(readdirSync(cwd), [])
})

for (const command of ['rotate', 'retire', 'ops']) {
  it(`makes neither a database nor a key for keys ${command}, and says what is missing`, async (t) => {
    const { run, output, cwd } = setup(t)

    assert.equal(await run('keys', command), 1)
    assert.match(output.stderr, /^pillarbox: there is no database yet\n +→ .*--data-dir/)
    assert.deepEqual(readdirSync(cwd), [])
  })
}

it('says that a rotation needs the schema of this version', async (t) => {
  const { run, output, cwd } = setup(t, { schema: { found: 1, wanted: 2 } })
  mkdirSync(join(cwd, '.pillarbox'))
  writeFileSync(join(cwd, '.pillarbox', 'pillarbox.db'), '')

  assert.equal(await run('keys', 'rotate'), 1)
  assert.match(
    output.stderr,
    /the database does not fit\n +→ behind: schema version 1, wanted 2; run "pillarbox migrate"/,
  )
})

it('says that Node is too old where that may be why it failed', async (t) => {
  const loadError = new Error('No such built-in module: node:sqlite')
  const { run, output } = setup(t, { nodeVersion: 'v20.20.2', loadError })

  for (const command of ['start', 'doctor', 'migrate']) assert.equal(await run(command), 1)

  const said = [
    `pillarbox: ${loadError.message}`,
    '           → this is Node v20.20.2: install Node 24.15 or newer',
    '',
  ]
  assert.equal(output.stderr, said.join('\n').repeat(3))
})
