import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts'
import {
  recordingLogger,
  recordingMeters,
  sampleEvent,
  sampleNotification,
  silent,
  storedAccount,
} from '../../../test/support/samples.ts'
import { parseCatalogue } from './catalogue/parse.ts'
import type { Provider, SendRequest } from './channels/channel.ts'
import { callBudgetMs, createEngine, type Engine, type EngineSettings } from './engine.ts'
import { CHANNELS } from './model/channel.ts'
import { PillarboxError } from './model/errors.ts'
import type { Outcome } from './model/outcome.ts'
import { createIdSource } from './runtime/ids.ts'
import { createPayloadSeal } from './security/payload-seal.ts'
import { openSqlite } from './store/sqlite/open.ts'
import type { Store } from './store/store.ts'
import { createUntrustedInProcess } from './untrusted/untrusted.ts'

const SETTINGS: EngineSettings = {
  host: 'host',
  pid: 1,
  version: '1',
  channels: null,
  slotsPerChannel: 8,
  claimRows: 10,
  callTimeoutMs: 5_000,
  callGraceMs: 200,
  pollMaxMs: 200,
  discoverEveryMs: 20,
  workerTtlMs: 30_000,
  rescueEveryMs: 1_000,
  chainEveryMs: 60_000,
  scrubEveryMs: 2_000,
  operateEveryMs: 250,
  retention: null,
  scans: null,
  shutdownGraceMs: 2_000,
  planRows: 10,
  flushMs: 2,
  flushRows: 50,
  flushers: 2,
  configMaxAgeMs: 1_000,
  pausedHoldMs: 30_000,
}

const ACCEPTED: Outcome = { kind: 'accepted', providerMessageId: 'm1' }

interface Bench {
  clock: ManualClock
  store: Store
  /** A worker over the store, or over what the test makes of it. */
  worker(options?: {
    send?: (request: SendRequest) => Promise<Outcome>
    plant?: (base: Store) => Partial<Store>
  }): Worker
  publish(id: string, type?: string): Promise<void>
  statuses(): Promise<string[]>
  workers(): Promise<number>
}

interface Worker {
  engine: Engine
  calls: SendRequest[]
  logger: ReturnType<typeof recordingLogger>
  meters: ReturnType<typeof recordingMeters>
}

async function setup(t: TestContext): Promise<Bench> {
  const clock = createManualClock()
  const random = () => 0.5
  const ids = createIdSource(clock, random)
  const store = await openSqlite({ path: ':memory:', clock, logger: silent })
  t.after(() => store.close())
  await store.migrate()
  await store.tenants.insert({ id: 'acme', name: 'Acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
  const parsed = parseCatalogue({
    eventTypes: {
      'booking.confirmed': {
        entity: 'booking',
        recipients: [{ phone: 'phone', name: 'name' }],
        templates: [{ channel: 'sms', body: 'Hello {{name}}' }],
      },
      'booking.chain': {
        entity: 'booking',
        recipients: [{ phone: 'phone', name: 'name' }],
        delivery: { fallback: ['sms', 'email'] },
        templates: [
          { channel: 'sms', body: 'Hello {{name}}' },
          { channel: 'email', subject: 'Hello', body: 'Hello {{name}}' },
        ],
      },
    },
  })
  assert.ok('catalogue' in parsed)
  await store.catalogue.replace('acme', parsed.catalogue, { document: '{}', actor: 'system', newId: ids })
  await store.accounts.insert(storedAccount({ id: ids() }))

  return {
    clock,
    store,
    worker({ send = async () => ACCEPTED, plant = () => ({}) } = {}) {
      const calls: SendRequest[] = []
      const [logger, meters] = [recordingLogger(), recordingMeters()]
      const provider: Provider = {
        name: 'vendor',
        channels: CHANNELS,
        capability: () => 'none',
        send(request) {
          calls.push(request)
          return send(request)
        },
      }
      const engine = createEngine({
        store: { ...store, ...plant(store) },
        registry: () => provider,
        receiptSources: new Map(),
        untrusted: createUntrustedInProcess(),
        processes: null,
        openSecrets: () => ({}),
        payloadSeal: createPayloadSeal(Buffer.alloc(32, 7)),
        scrub: (text) => text,
        clock,
        random,
        ids,
        logger,
        meters,
        settings: SETTINGS,
      })
      return { engine, calls, logger, meters }
    },
    async publish(id, type = 'booking.confirmed') {
      const {
        status: _s,
        attemptCount: _a,
        nextAttemptAt: _n,
        lastError: _l,
        createdAt: _c,
        publishedAt: _p,
        ...event
      } = sampleEvent()
      await store.events.insert([{ ...event, type, correlationId: null, id, entity: { type: 'booking', id } }])
    },
    async statuses() {
      const { items } = await store.notifications.list({}, { limit: 100 })
      return items.map(({ status }) => status)
    },
    workers: async () => (await store.workers.list()).length,
  }
}

const unavailable = () => new PillarboxError('store_unavailable', 'connection reset')
const never = (): Promise<never> => new Promise(() => {})

/** Whether a promise has resolved by now, and when it did. */
function watch(clock: ManualClock, promise: Promise<unknown>): { at: number | null } {
  const watched = { at: null as number | null }
  void promise.then(() => {
    watched.at = clock.monotonic()
  })
  return watched
}

/** Ends the loops, so that a test leaves nothing behind. */
async function end(clock: ManualClock, engine: Engine): Promise<void> {
  const stopped = engine.stop()
  await clock.advance(10_000)
  await stopped
}

describe('a worker', () => {
  it('turns an event into a provider call, at once when it is nudged', async (t) => {
    const { worker, clock, publish, statuses } = await setup(t)
    const { engine, calls } = worker()
    await engine.start()
    await clock.advance(3_000)

    await publish('event-1')
    engine.hub.nudge('events')
    await clock.advance(SETTINGS.flushMs)

    assert.equal(calls.length, 1)
    assert.equal(calls[0]?.content.body, 'Hello Ada')
    assert.deepEqual(await statuses(), ['sent'])
    await end(clock, engine)
  })

  it('tells of the channel that a chain ended on, and counts it', async (t) => {
    const { worker, clock, publish, statuses } = await setup(t)
    const refused: Outcome = { kind: 'permanent', code: '1', error: 'no', reason: 'invalid_recipient' }
    const { engine, logger, meters } = worker({ send: async () => refused })
    await engine.start()
    await publish('event-1', 'booking.chain')

    await clock.advance(3_000)

    assert.deepEqual((await statuses()).toSorted(), ['parked', 'skipped'])
    assert.deepEqual(meters.counts, {
      'rows_planned event notifications': 1,
      'notifications_planned sms': 1,
      'attempts sms vendor permanent': 1,
      'notifications_settled sms parked': 1,
      'notifications_stopped invalid_recipient': 1,
      'notifications_skipped no_active_account': 1,
    })
    assert.equal(logger.lines.filter(({ message }) => message === 'a notification was skipped').length, 1)
    await end(clock, engine)
  })

  it('finds work by itself when nobody nudges it', async (t) => {
    const { worker, clock, publish, statuses } = await setup(t)
    const { engine } = worker()
    await engine.start()
    await clock.advance(3_000)

    await publish('event-1')
    await clock.advance(500)

    assert.deepEqual(await statuses(), ['sent'])
    await end(clock, engine)
  })

  it('sends what was published before the clock was set back by an hour', async (t) => {
    const { worker, clock, publish, statuses } = await setup(t)
    const { engine } = worker()
    await engine.start()
    await clock.advance(3_000)

    for (let i = 0; i < 15; i += 1) await publish(`event-${i}`)
    clock.setWall(clock.now() - 3_600_000)
    await clock.advance(2 * SETTINGS.scrubEveryMs)

    assert.deepEqual(await statuses(), Array(15).fill('sent'))
    await end(clock, engine)
  })

  it('cancels what expires while its account is paused, within two looks of the house', async (t) => {
    const { worker, clock, store } = await setup(t)
    const { engine, calls } = worker()
    const [account = assert.fail()] = await store.accounts.list('acme')
    await store.accounts.setStatus(account.id, 'paused', 'the token was revoked', 'system')
    await engine.start()
    await clock.advance(3_000)
    const expiresAt = clock.now() + 1_000
    const id = '01a1e348-0b10-7343-9563-2a0725c37f8e'
    const given = { id, accountId: account.id, channel: account.channel, provider: account.provider, expiresAt }
    await store.notifications.insert([sampleNotification(given)])

    await clock.advance(1_000 + 2 * SETTINGS.scrubEveryMs)

    const [one] = (await store.notifications.list({}, { limit: 10 })).items
    assert.deepEqual([one?.status, one?.reason, calls.length], ['cancelled', 'expired', 0])
    await end(clock, engine)
  })

  it('stays registered for as long as it runs', async (t) => {
    const { worker, clock, store } = await setup(t)
    const { engine } = worker()
    await engine.start()

    await clock.advance(3 * SETTINGS.workerTtlMs)

    const [one] = await store.workers.list()
    assert.ok(one && one.silentForMs <= SETTINGS.workerTtlMs / 4)
    await end(clock, engine)
  })
})

describe('starting', () => {
  it('waits for a store that is not there yet, asking ever less often', async (t) => {
    const { worker, clock, workers } = await setup(t)
    const asked: number[] = []
    const { engine } = worker({
      plant: (base) => ({
        workers: {
          ...base.workers,
          register: async (self) => {
            asked.push(clock.monotonic())
            if (clock.monotonic() < 20_000) throw unavailable()
            return base.workers.register(self)
          },
        },
      }),
    })

    const started = watch(clock, engine.start())
    await clock.advance(19_000)
    assert.equal(started.at, null)
    await clock.advance(6_000)

    assert.deepEqual(asked, [0, 100, 300, 700, 1_500, 3_100, 6_300, 11_300, 16_300, 21_300])
    assert.equal(started.at, 21_300)
    assert.equal(await workers(), 1)
    await end(clock, engine)
  })

  it('ends when it is stopped meanwhile, and nothing is left running', async (t) => {
    const { worker, clock, publish, statuses } = await setup(t)
    const { engine, calls } = worker({
      plant: (base) => ({ workers: { ...base.workers, register: () => Promise.reject(unavailable()) } }),
    })
    await publish('event-1')
    const started = watch(clock, engine.start())
    await clock.advance(1_000)

    const stopped = watch(clock, engine.stop())
    await clock.settle()

    assert.deepEqual([started.at, stopped.at], [1_000, 1_000])
    await clock.advance(60_000)
    assert.equal(calls.length, 0)
    assert.deepEqual(await statuses(), [])
    assert.equal(clock.sleeping(), 0)
  })

  it('leaves no registration behind that was answered after the stop', async (t) => {
    const { worker, clock, workers } = await setup(t)
    const { engine } = worker({
      plant: (base) => ({
        workers: {
          ...base.workers,
          register: async (self) => {
            await base.workers.register(self)
            await clock.sleep(500)
          },
        },
      }),
    })
    void engine.start()
    await clock.advance(100)
    assert.equal(await workers(), 1)

    const stopped = watch(clock, engine.stop())
    await clock.advance(1_000)

    assert.equal(stopped.at, 500)
    assert.equal(await workers(), 0)
    assert.equal(clock.sleeping(), 0)
  })
})

describe('stopping (P12)', () => {
  /** A provider that answers after `ms`, or, unless it is deaf, when it is told to end. */
  const slow =
    (clock: ManualClock, ms: number, isDeaf = false) =>
    async ({ signal }: SendRequest): Promise<Outcome> => {
      await clock.sleep(ms, isDeaf ? undefined : signal)
      return signal.aborted && !isDeaf ? { kind: 'unknown', code: 'aborted', error: 'told to end' } : ACCEPTED
    }

  it('lets calls under way end, writes their results, and leaves', async (t) => {
    const { worker, clock, publish, statuses, workers } = await setup(t)
    const { engine, calls } = worker({ send: slow(clock, 1_500) })
    await engine.start()
    await publish('event-1')
    await clock.advance(500)
    assert.equal(calls.length, 1)

    const stopped = watch(clock, engine.stop())
    await publish('event-2')
    await clock.advance(900)
    assert.equal(stopped.at, null)
    await clock.advance(1_000)

    assert.ok(stopped.at !== null && stopped.at <= 2_000)
    assert.deepEqual(await statuses(), ['sent'])
    assert.equal(await workers(), 0)
    assert.equal(calls.length, 1)
    assert.equal(clock.sleeping(), 0)
  })

  it('takes no time when nothing is under way', async (t) => {
    const { worker, clock, workers } = await setup(t)
    const { engine } = worker()
    await engine.start()
    await clock.advance(1_000)

    const stopped = watch(clock, engine.stop())
    await clock.settle()

    assert.equal(stopped.at, 1_000)
    assert.equal(await workers(), 0)
    assert.equal(clock.sleeping(), 0)
  })

  it('tells calls to end when the grace is over, and still writes what they answer', async (t) => {
    const { worker, clock, publish, store, workers } = await setup(t)
    const { engine } = worker({ send: slow(clock, 60_000) })
    await engine.start()
    await publish('event-1')
    await clock.advance(500)

    const stopped = watch(clock, engine.stop())
    await clock.advance(SETTINGS.shutdownGraceMs + SETTINGS.callGraceMs)

    assert.ok(stopped.at !== null && stopped.at < 500 + SETTINGS.shutdownGraceMs + SETTINGS.callGraceMs)
    const [row] = (await store.notifications.list({}, { limit: 1 })).items
    assert.deepEqual([row?.status, row?.possibleDuplicate, row?.attemptCount], ['retrying', true, 1])
    assert.equal(await workers(), 0)
  })

  it('gives up calls that do not end, and leaves them to be rescued at once', async (t) => {
    const { worker, clock, publish, statuses, store } = await setup(t)
    const dying = worker({ send: slow(clock, 4_000, true) })
    await dying.engine.start()
    await publish('event-1')
    await clock.advance(500)

    const stopped = watch(clock, dying.engine.stop())
    await clock.advance(SETTINGS.shutdownGraceMs + SETTINGS.callGraceMs)
    assert.equal(stopped.at, 500 + SETTINGS.shutdownGraceMs + SETTINGS.callGraceMs)
    assert.deepEqual(await statuses(), ['sending'])

    const next = worker()
    await next.engine.start()
    await clock.advance(SETTINGS.rescueEveryMs)
    const [rescued] = (await store.notifications.list({}, { limit: 1 })).items
    assert.deepEqual([rescued?.status, rescued?.possibleDuplicate], ['retrying', true])
    await clock.advance(2_000)

    assert.deepEqual(await statuses(), ['sent'])
    assert.equal(next.calls.length, 1)
    const { counts } = next.meters
    assert.deepEqual([counts['claims_rescued'], counts['possible_duplicates sms']], [1, 1])
    // What the call that did not end comes to at last changes nothing any more, and is counted (P5).
    await clock.advance(4_000)
    assert.equal(dying.meters.counts['late_results'], 1)
    assert.deepEqual(await statuses(), ['sent'])
    await end(clock, next.engine)
  })

  it('gives up results that cannot be written in time', async (t) => {
    const { worker, clock, publish, statuses, workers } = await setup(t)
    const { engine, calls, logger } = worker({
      plant: (base) => ({
        dispatch: { ...base.dispatch, complete: () => Promise.reject(unavailable()) },
        workers: { ...base.workers, remove: () => Promise.reject(unavailable()) },
      }),
    })
    await engine.start()
    await publish('event-1')
    await clock.advance(500)
    assert.equal(calls.length, 1)

    const stopped = watch(clock, engine.stop())
    await clock.advance(SETTINGS.shutdownGraceMs + SETTINGS.callGraceMs)

    assert.equal(stopped.at, 500 + SETTINGS.shutdownGraceMs + SETTINGS.callGraceMs)
    assert.deepEqual(await statuses(), ['sending'])
    assert.equal(await workers(), 1)
    assert.ok(logger.lines.some(({ message }) => message === 'could not sign off; another worker will notice'))
  })

  it('does not wait for ever for a store that no longer answers', async (t) => {
    const { worker, clock } = await setup(t)
    let isHanging = false
    const { engine } = worker({
      plant: (base) => ({
        workers: {
          ...base.workers,
          beat: (id) => (isHanging ? never() : base.workers.beat(id)),
          remove: (id) => (isHanging ? never() : base.workers.remove(id)),
          takeOver: (...args) => (isHanging ? never() : base.workers.takeOver(...args)),
        },
        plan: { ...base.plan, takeEvents: (limit) => (isHanging ? never() : base.plan.takeEvents(limit)) },
      }),
    })
    await engine.start()
    isHanging = true
    await clock.advance(SETTINGS.workerTtlMs / 2)

    const stopped = watch(clock, engine.stop())
    await clock.advance(SETTINGS.shutdownGraceMs + 2 * SETTINGS.callGraceMs)

    assert.notEqual(stopped.at, null)
  })

  it('can be asked for twice, and without a start', async (t) => {
    const { worker, clock, workers } = await setup(t)
    const { engine } = worker()
    const idle = worker()
    await engine.start()

    await Promise.all([engine.stop(), engine.stop(), idle.engine.stop()])

    assert.equal(await workers(), 0)
    assert.equal(clock.sleeping(), 0)
  })
})

it('what a worker held that died is rescued by another within the TTL and one look (P12)', async (t) => {
  const { worker, clock, publish, statuses, store } = await setup(t)
  let isDead = false
  /** Nothing that a dead worker asks of the store is ever answered, or done. */
  const mortal = <T extends object>(part: T): T =>
    new Proxy(part, {
      get: (target, name, self) => (isDead ? () => new Promise(() => {}) : Reflect.get(target, name, self)),
    })
  const dying = worker({
    send: () => new Promise(() => {}),
    plant: (base) => ({ workers: mortal(base.workers), dispatch: mortal(base.dispatch), plan: mortal(base.plan) }),
  })
  await dying.engine.start()
  await publish('event-1')
  await clock.advance(500)
  isDead = true
  const next = worker()
  await next.engine.start()

  // The last sign of life was the registration, at 0.
  await clock.advance(SETTINGS.workerTtlMs - 500)
  assert.deepEqual(await statuses(), ['sending'])
  await clock.advance(SETTINGS.rescueEveryMs)

  const [rescued] = (await store.notifications.list({}, { limit: 1 })).items
  assert.deepEqual([rescued?.status, rescued?.possibleDuplicate], ['retrying', true])
  const stopped = next.engine.stop()
  await clock.advance(SETTINGS.shutdownGraceMs)
  await stopped
})

it('a call’s budget is its deadline, the grace after it, and the flush of its result', () => {
  assert.equal(callBudgetMs({ callTimeoutMs: 5_000, callGraceMs: 200, flushMs: 2 }), 5_202)
})
