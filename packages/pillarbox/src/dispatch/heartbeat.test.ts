import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { recordingLogger } from '../../../../test/support/samples.ts'
import { PillarboxError } from '../model/errors.ts'
import type { Store } from '../store/store.ts'
import { createHeartbeat } from './heartbeat.ts'

const TTL_MS = 1_000
const CALL_MS = 300
/** How old a beat may be for a call to begin. */
const LEASE_MS = TTL_MS - CALL_MS

function setup() {
  const clock = createManualClock()
  const logger = recordingLogger()
  const registered: string[] = []
  const removed: string[] = []
  const beaten: string[] = []
  /** What the store does with the next beats and registrations. */
  const store = {
    isAlive: true,
    beatMs: 0,
    registerMs: 0,
    isAway: false,
  }
  const answer = async (ms: number): Promise<void> => {
    if (ms > 0) await clock.sleep(ms)
    if (store.isAway) throw new PillarboxError('store_unavailable', 'connection reset')
  }
  const workers = {
    register: async ({ id }: { id: string }) => {
      await answer(store.registerMs)
      registered.push(id)
      store.isAlive = true
    },
    beat: async (id: string) => {
      const { isAlive } = store
      beaten.push(id)
      await answer(store.beatMs)
      return isAlive
    },
    remove: async (id: string) => {
      await answer(0)
      removed.push(id)
    },
  } as unknown as Store['workers']
  let made = 0
  const heartbeat = createHeartbeat({
    store: { workers },
    clock,
    ids: () => `worker-${++made}`,
    logger,
    self: { host: 'host', pid: 1, version: '1', channels: null },
    ttlMs: TTL_MS,
    callMs: CALL_MS,
    inFlight: () => 0,
  })
  const stop = new AbortController()
  return { clock, logger, heartbeat, store, registered, removed, beaten, stop }
}

describe('a call may start', () => {
  it('not before the worker is registered', () => {
    assert.equal(setup().heartbeat.mayStart(), false)
  })

  it('as long as the whole call fits into what is left of the lease, and not a moment longer', async () => {
    const { heartbeat, clock } = setup()
    await heartbeat.register()

    await clock.advance(LEASE_MS - 1)
    assert.equal(heartbeat.mayStart(), true)
    await clock.advance(1)
    assert.equal(heartbeat.mayStart(), false)
  })

  it('for a lease that counts from when the registration was asked for, not from its answer', async () => {
    const { heartbeat, clock, store } = setup()
    store.registerMs = 400

    void heartbeat.register()
    await clock.advance(400)
    assert.equal(heartbeat.mayStart(), true)
    await clock.advance(LEASE_MS - 400)

    assert.equal(heartbeat.mayStart(), false)
  })

  it('for a lease that counts from the start of the last confirmed beat', async () => {
    const { heartbeat, clock, store, stop } = setup()
    await heartbeat.register()
    store.beatMs = 200
    void heartbeat.run(stop.signal)

    // The first beat begins at 250 and is confirmed at 450; the second one gets no answer.
    await clock.advance(460)
    store.beatMs = 60_000
    await clock.advance(250 + LEASE_MS - 461)
    assert.equal(heartbeat.mayStart(), true)
    await clock.advance(1)

    assert.equal(heartbeat.mayStart(), false)
  })

  it('whatever the wall clock does', async () => {
    const { heartbeat, clock } = setup()
    await heartbeat.register()

    clock.setWall(clock.now() + 86_400_000)
    assert.equal(heartbeat.mayStart(), true)
    clock.setWall(0)
    await clock.advance(LEASE_MS)

    assert.equal(heartbeat.mayStart(), false)
  })

  it('no more once the worker is leaving, even if the store does not hear of it', async () => {
    const { heartbeat, store, removed } = setup()
    await heartbeat.register()
    store.isAway = true

    await assert.rejects(heartbeat.remove())

    assert.equal(heartbeat.mayStart(), false)
    assert.deepEqual(removed, [])
  })
})

describe('the heart', () => {
  it('beats every quarter of the TTL until it is told to stop', async () => {
    const { heartbeat, clock, beaten, stop } = setup()
    await heartbeat.register()
    let ended = false
    void heartbeat.run(stop.signal).then(() => {
      ended = true
    })

    await clock.advance(TTL_MS)
    assert.equal(beaten.length, 4)
    assert.equal(heartbeat.mayStart(), true)
    stop.abort()
    await clock.advance(TTL_MS)

    assert.equal(beaten.length, 4)
    assert.equal(ended, true)
  })

  it('goes on beating through an outage; the lease runs out meanwhile and comes back', async () => {
    const { heartbeat, clock, store, stop, logger } = setup()
    await heartbeat.register()
    void heartbeat.run(stop.signal)

    store.isAway = true
    await clock.advance(TTL_MS)
    assert.equal(heartbeat.mayStart(), false)
    assert.ok(logger.lines.some(({ message }) => message === 'heartbeat failed'))
    store.isAway = false
    await clock.advance(TTL_MS / 4)

    assert.equal(heartbeat.mayStart(), true)
  })
})

describe('a worker that was declared dead', () => {
  it('registers under a new id and goes on (P5)', async () => {
    const { heartbeat, clock, store, stop, registered } = setup()
    await heartbeat.register()
    const before = heartbeat.id()
    void heartbeat.run(stop.signal)

    store.isAlive = false
    await clock.advance(TTL_MS / 4)

    assert.notEqual(heartbeat.id(), before)
    assert.deepEqual(registered, [before, heartbeat.id()])
    assert.equal(heartbeat.mayStart(), true)
  })

  it('starts no call until it is registered again', async () => {
    const { heartbeat, clock, store } = setup()
    await heartbeat.register()
    store.registerMs = 100

    void heartbeat.fenced()
    await clock.settle()
    assert.equal(heartbeat.mayStart(), false)
    await clock.advance(100)

    assert.equal(heartbeat.mayStart(), true)
  })

  it('tries again with the next beat when it cannot register at once', async () => {
    const { heartbeat, clock, store, stop, registered } = setup()
    await heartbeat.register()
    const before = heartbeat.id()
    void heartbeat.run(stop.signal)

    store.isAlive = false
    store.isAway = true
    await assert.rejects(heartbeat.fenced())
    assert.equal(heartbeat.id(), before)
    store.isAway = false
    store.isAlive = false
    await clock.advance(TTL_MS / 4)

    assert.equal(registered.length, 2)
    assert.equal(heartbeat.id(), registered[1])
    assert.equal(heartbeat.mayStart(), true)
  })

  it('registers once, however many hear of its death at the same time', async () => {
    const { heartbeat, clock, store, registered } = setup()
    await heartbeat.register()
    store.registerMs = 50

    const told = Promise.all([heartbeat.fenced(), heartbeat.fenced()])
    await clock.advance(50)
    await told

    assert.equal(registered.length, 2)
    assert.equal(heartbeat.id(), registered[1])
  })

  it('is not buried a second time by the late answer to an old beat', async () => {
    const { heartbeat, clock, store, stop, registered } = setup()
    await heartbeat.register()
    void heartbeat.run(stop.signal)
    store.isAlive = false
    store.beatMs = 100

    // The beat leaves at 250; before its answer comes, a claim is fenced and the worker registers anew.
    await clock.advance(260)
    await heartbeat.fenced()
    const current = heartbeat.id()
    await clock.advance(100)

    assert.equal(heartbeat.id(), current)
    assert.equal(registered.length, 2)
  })
})

it('leaves under the id it has now', async () => {
  const { heartbeat, removed, registered } = setup()
  await heartbeat.register()
  await heartbeat.fenced()

  await heartbeat.remove()

  assert.deepEqual(removed, [registered[1]])
  assert.equal(heartbeat.mayStart(), false)
})
