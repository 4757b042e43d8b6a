import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import {
  noSuppressions,
  recordingLogger,
  sampleNotification,
  silent,
  storedAccount,
} from '../../../../test/support/samples.ts'
import type { Provider, SendRequest } from '../channels/channel.ts'
import type { StoredAccount } from '../model/account.ts'
import { CHANNELS, type Channel } from '../model/channel.ts'
import { PillarboxError } from '../model/errors.ts'
import type { NewNotification, NotificationView } from '../model/notification.ts'
import type { Outcome } from '../model/outcome.ts'
import { noTracing } from '../model/ports.ts'
import { createHub } from '../runtime/hub.ts'
import { createIdSource } from '../runtime/ids.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import type { Store } from '../store/store.ts'
import { createAccountBook, type OpenSecrets } from '../tenant/account-book.ts'
import { createTenantSnapshots } from '../tenant/snapshots.ts'
import type { AttemptDeps } from './attempt.ts'
import { createCompleter } from './completer.ts'
import { createCustody } from './custody.ts'
import type { DispatchStore } from './dispatch-store.ts'
import { createDispatcher, type DispatchSettings } from './dispatcher.ts'
import { createHeartbeat } from './heartbeat.ts'
import { createLaneGuard } from './lane-guard.ts'

const SETTINGS: DispatchSettings = {
  channels: null,
  slotsPerChannel: 8,
  claimRows: 100,
  callTimeoutMs: 1_000,
  callGraceMs: 100,
  pollMaxMs: 200,
  discoverEveryMs: 20,
}

/** The longest pause between two claim rounds, jitter included. */
const ROUND_MS = SETTINGS.pollMaxMs * 1.2

const PAUSED_HOLD_MS = 30_000

const ACCEPTED: Outcome = { kind: 'accepted', providerMessageId: 'm1' }
const REFUSED: Outcome = { kind: 'unauthorized', code: '401', error: 'who are you' }
const AWAY: Outcome = { kind: 'transient', code: '503', error: 'away' }

interface Call {
  at: number
  accountId: string
  notificationId: string
}

/** One worker's dispatcher over a real store, with a provider that does what the test says. */
async function setup(
  t: TestContext,
  settings: Partial<DispatchSettings> = {},
  plant: (base: Store) => Partial<DispatchStore> = () => ({}),
) {
  const clock = createManualClock()
  const logger = recordingLogger()
  const random = () => 0.5
  const ids = createIdSource(clock, random)
  const base = await openSqlite({ path: ':memory:', clock, logger: silent })
  t.after(() => base.close())
  await base.migrate()
  await base.tenants.insert({ id: 'acme', name: 'Acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
  const store: Store = { ...base, dispatch: { ...base.dispatch, ...plant(base) } }

  const calls: Call[] = []
  const underWay = { now: 0, most: 0 }
  /** What each account's provider answers; by default it accepts after 10 ms. */
  const scripts = new Map<string, (request: SendRequest) => Promise<Outcome>>()
  const usual = async (): Promise<Outcome> => {
    await clock.sleep(10)
    return ACCEPTED
  }
  const provider: Provider = {
    name: 'vendor',
    channels: CHANNELS,
    capability: () => 'none',
    async send(request) {
      calls.push({ at: clock.monotonic(), accountId: request.account.id, notificationId: request.notificationId })
      underWay.most = Math.max(underWay.most, ++underWay.now)
      const outcome = await (scripts.get(request.account.id) ?? usual)(request)
      underWay.now--
      return outcome
    },
  }

  const registry = () => provider
  const accounts = createAccountBook({
    accounts: store.accounts,
    lanes: store.lanes,
    snapshots: createTenantSnapshots(store, clock, 1_000),
    registry,
    openSecrets,
    clock,
    logger,
    maxAgeMs: 1_000,
  })
  const heartbeat = createHeartbeat({
    store,
    clock,
    ids,
    logger,
    self: { host: 'host', pid: 1, version: '1', channels: null },
    ttlMs: 3_600_000,
    callMs: 2_000,
    inFlight: () => 0,
  })
  const lease = { mayStart: heartbeat.mayStart }
  const hub = createHub(clock, store.wake)
  const guard = createLaneGuard({ store, clock, logger, pausedHoldMs: PAUSED_HOLD_MS })
  const custody = createCustody({ store, heartbeat, clock, logger })
  const completer = createCompleter({
    dispatch: store.dispatch,
    workerId: heartbeat.id,
    clock,
    logger,
    flushMs: 2,
    flushRows: 50,
    flushers: 2,
    onDue: (lanes) => hub.nudge('dispatch', lanes),
    onWritten: () => {},
    onFenced: () => {},
  })
  /** Who takes over from a notification, by its id. */
  const fallBacks = new Map<string, NewNotification>()
  const attempt: AttemptDeps = {
    registry,
    clock,
    logger,
    random,
    mayStart: () => lease.mayStart(),
    holdMs: guard.holdMs,
    saw: guard.saw,
    isBreakerOpen: guard.isOpen,
    standIn: accounts.standIn,
    earlierCalls: store.notifications.attempts,
    fallBack: async ({ notificationId }) => fallBacks.get(notificationId) ?? null,
    scrub: (text) => text,
    openContent: () => assert.fail('nothing is sealed here'),
    listTargets: () => assert.fail('no list is addressed here'),
    suppressions: noSuppressions,
  }
  const dispatcher = createDispatcher({
    store,
    accounts,
    attempt,
    completer,
    custody,
    heartbeat,
    guard,
    hub,
    clock,
    random,
    logger,
    tracing: noTracing,
    settings: { ...SETTINGS, ...settings },
  })
  const stop = new AbortController()
  const abortCalls = new AbortController()
  let hasEnded = false

  return {
    clock,
    ids,
    store: base,
    logger,
    hub,
    heartbeat,
    custody,
    lease,
    dispatcher,
    calls,
    underWay,
    accounts,
    scripts,
    fallBacks,
    stop,
    abortCalls,
    hasEnded: () => hasEnded,
    async start(): Promise<void> {
      await heartbeat.register()
      void dispatcher.run(stop.signal, abortCalls.signal).then(() => {
        hasEnded = true
      })
      await clock.settle()
    },
    async account(changes: Partial<StoredAccount> = {}): Promise<string> {
      const id = ids()
      const account = storedAccount({ id, name: id, breaker: { failures: 1_000, resetAfterMs: 1_000 }, ...changes })
      assert.ok(await base.accounts.insert(account))
      return id
    },
    async enqueue(accountId: string, count = 1, channel: Channel = 'sms'): Promise<string[]> {
      const rows = Array.from({ length: count }, () => {
        const id = ids()
        return sampleNotification({ id, idempotencyKey: id, accountId, channel })
      })
      return (await base.notifications.insert(rows)).map(({ id }) => id)
    },
    async view(id: string): Promise<NotificationView> {
      const view = await base.notifications.find(null, id)
      assert.ok(view)
      return view
    },
    callsOf: (accountId: string) => calls.filter((call) => call.accountId === accountId),
  }
}

const openSecrets: OpenSecrets = ({ settings }) => {
  if (settings['isLocked']) throw new Error('sealed with another key')
  return {}
}

const hang = ({ signal }: SendRequest): Promise<Outcome> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve({ kind: 'unknown', code: 'timeout', error: 'hangs' }), {
      once: true,
    })
  })

it('says in the log which notification was not sent', async (t) => {
  const { start, account, enqueue, clock, scripts, logger } = await setup(t)
  const id = await account()
  const gone: Outcome = { kind: 'permanent', code: '404', error: 'gone', reason: 'invalid_recipient' }
  scripts.set(id, async () => gone)
  const [notificationId] = await enqueue(id)

  await start()
  await clock.advance(1_000)

  const lines = logger.lines.filter(({ message }) => message === 'a notification was not sent')
  assert.deepEqual(
    lines.map(({ level, fields }) => [level, fields['notificationId']]),
    [['warn', notificationId]],
  )
})

describe('the slots', () => {
  it('are never exceeded, and everything is sent', async (t) => {
    const { start, account, enqueue, clock, underWay, calls, store } = await setup(t)
    for (let i = 0; i < 5; i++) await enqueue(await account(), 20)

    await start()
    await clock.advance(5_000)

    assert.equal(calls.length, 100)
    assert.equal((await store.notifications.countByStatus(null)).sent, 100)
    assert.ok(underWay.most <= SETTINGS.slotsPerChannel, `${underWay.most} calls at once`)
    assert.ok(underWay.most >= 5, 'and they are used')
  })

  it('are per channel: a channel whose slots are full is no hindrance to another', async (t) => {
    const { start, account, enqueue, clock, scripts, callsOf } = await setup(t)
    const sms = [await account(), await account(), await account(), await account()]
    for (const id of sms) {
      scripts.set(id, hang)
      await enqueue(id, 50)
    }
    const mail = await account({ channel: 'email' })

    await start()
    await clock.advance(300)
    await enqueue(mail, 4, 'email')
    await clock.advance(ROUND_MS)

    assert.equal(callsOf(mail).length, 4)
  })

  it('are filled only with calls that start at once: nothing is claimed to wait (P3)', async (t) => {
    let claimed = 0
    const { start, account, enqueue, clock, calls } = await setup(t, {}, (base) => ({
      claim: async (...args) => {
        const answer = await base.dispatch.claim(...args)
        if (!answer.fenced) claimed += answer.claims.length
        return answer
      },
    }))
    await enqueue(await account(), 30)

    await start()
    for (let i = 0; i < 100; i++) {
      assert.equal(calls.length, claimed)
      await clock.advance(1)
    }

    assert.equal(claimed, 30)
  })

  it('are only used for the channels this worker is for', async (t) => {
    const { start, account, enqueue, clock, callsOf, hub } = await setup(t, { channels: ['email'] })
    const sms = await account()
    const mail = await account({ channel: 'email' })
    await enqueue(sms)
    await enqueue(mail, 1, 'email')

    await start()
    hub.nudge('dispatch', [sms, mail])
    await clock.advance(2_000)

    assert.deepEqual([callsOf(sms).length, callsOf(mail).length], [0, 1])
  })

  it('stay empty while results cannot be written, and are used again when they can', async (t) => {
    let isAway = true
    const { start, account, enqueue, clock, calls, store } = await setup(t, {}, (base) => ({
      complete: async (...args) => {
        if (isAway) throw new PillarboxError('store_unavailable', 'connection reset')
        return base.dispatch.complete(...args)
      },
    }))
    await enqueue(await account(), 60)

    await start()
    await clock.advance(30_000)
    const most = 2 * SETTINGS.slotsPerChannel + SETTINGS.slotsPerChannel
    assert.ok(calls.length <= most, `${calls.length} calls whose results are only in memory`)
    isAway = false
    await clock.advance(5_000)

    assert.equal(calls.length, 60)
    assert.equal((await store.notifications.countByStatus(null)).sent, 60)
  })
})

describe('fairness (P8)', () => {
  it('a hanging account with a backlog delays another by one claim round at most', async (t) => {
    const { start, account, enqueue, clock, scripts, calls } = await setup(t)
    const hanging = await account()
    const quiet = await account()
    scripts.set(hanging, hang)
    await enqueue(hanging, 200)
    await start()

    for (let i = 0; i < 20; i++) {
      await clock.advance(137)
      const [id] = await enqueue(quiet)
      const insertedAt = clock.monotonic()
      await clock.advance(ROUND_MS)

      const call = calls.find(({ notificationId }) => notificationId === id)
      assert.ok(call, `row ${i} is still waiting after a claim round`)
      assert.ok(call.at - insertedAt <= ROUND_MS)
    }
  })

  it('nor does it delay one that is nudged by any time at all', async (t) => {
    const { start, account, enqueue, clock, scripts, callsOf, hub } = await setup(t)
    const hanging = await account()
    const quiet = await account()
    scripts.set(hanging, hang)
    await enqueue(hanging, 200)
    await start()
    await clock.advance(555)

    await enqueue(quiet)
    hub.nudge('dispatch', [quiet])
    await clock.settle()

    assert.deepEqual(
      callsOf(quiet).map(({ at }) => at),
      [555],
    )
  })

  it('a flooded account leaves a quick one its share', async (t) => {
    const { start, account, enqueue, clock, callsOf } = await setup(t, { slotsPerChannel: 9 })
    const flooded = await account()
    const small = await account()
    await enqueue(flooded, 300)
    await enqueue(small, 30)

    await start()
    await clock.advance(200)

    assert.equal(callsOf(small).length, 30)
    assert.ok(callsOf(flooded).length < 300)
  })

  it('an account whose secrets cannot be opened keeps nobody from sending', async (t) => {
    const { start, account, enqueue, clock, callsOf, view } = await setup(t)
    const [waiting = ''] = await enqueue(await account({ settings: { isLocked: true } }))
    const fine = await account()
    await enqueue(fine)

    await start()
    await clock.advance(ROUND_MS)

    assert.equal(callsOf(fine).length, 1)
    const after = await view(waiting)
    assert.deepEqual([after.status, after.attemptCount], ['queued', 0])
  })
})

describe('pace', () => {
  it('is kept: never more calls than the bucket gives, and not many fewer', async (t) => {
    const { start, account, enqueue, clock, calls } = await setup(t)
    const pace = { perSecond: 10, burst: 3 }
    await enqueue(await account({ pace }), 60)

    await start()
    await clock.advance(4_000)

    for (const [i, { at: from }] of calls.entries())
      for (const { at: to, index } of calls.slice(i).map((call, index) => ({ ...call, index })))
        assert.ok(index + 1 <= pace.burst + ((to - from) * pace.perSecond) / 1_000 + 1e-6, `too fast at ${from}…${to}`)
    assert.ok(calls.length >= 35, `only ${calls.length} calls in 4 s`)
  })

  it('gives tokens back that it took and did not use', async (t) => {
    const { start, account, enqueue, clock, calls } = await setup(t, { slotsPerChannel: 40 })
    const slow = await account({ pace: { perSecond: 0.1, burst: 10 } })
    await enqueue(slow)

    await start()
    await clock.advance(ROUND_MS)
    assert.equal(calls.length, 1)
    await enqueue(slow, 9)
    await clock.advance(ROUND_MS)

    assert.equal(calls.length, 10)
  })

  it('of one account is no business of another', async (t) => {
    const { start, account, enqueue, clock, callsOf } = await setup(t)
    const slow = await account({ pace: { perSecond: 1, burst: 1 } })
    const quick = await account()
    await enqueue(slow, 10)
    await enqueue(quick, 50)

    await start()
    await clock.advance(1_000)

    assert.equal(callsOf(quick).length, 50)
    assert.ok(callsOf(slow).length <= 2)
  })
})

describe('the breaker', () => {
  it('lets a single call through once its time is over, and none while it is open', async (t) => {
    const { start, account, enqueue, clock, scripts, calls } = await setup(t)
    const down = await account({
      breaker: { failures: 2, resetAfterMs: 1_000 },
      retry: { maxAttempts: 50, fixed: 'PT0.01S' },
    })
    scripts.set(down, async () => AWAY)
    await enqueue(down, 20)

    await start()
    await clock.advance(500)
    const before = calls.length
    assert.ok(before >= 2 && before <= 2 * SETTINGS.slotsPerChannel, `${before} calls before it opened`)
    await clock.advance(400)
    assert.equal(calls.length, before)
    await clock.advance(1_000)
    assert.equal(calls.length, before + 1)
    await clock.advance(1_000 + ROUND_MS)

    assert.equal(calls.length, before + 2)
  })

  it('closes when the probe is accepted, and the backlog flows', async (t) => {
    const { start, account, enqueue, clock, scripts, store } = await setup(t)
    const down = await account({
      breaker: { failures: 2, resetAfterMs: 1_000 },
      retry: { maxAttempts: 50, fixed: 'PT0.01S' },
    })
    scripts.set(down, async () => AWAY)
    await enqueue(down, 20)
    await start()
    await clock.advance(500)

    scripts.delete(down)
    await clock.advance(3_000)

    assert.equal((await store.notifications.countByStatus(null)).sent, 20)
    assert.equal((await store.lanes.list(null))[0]?.breaker, 'closed')
  })
})

describe('a call', () => {
  it('is told to end at its deadline, and given up a little later if it does not', async (t) => {
    const { start, account, enqueue, clock, scripts, view } = await setup(t)
    const deaf = await account()
    let abortedAt = 0
    scripts.set(deaf, ({ signal }) => {
      signal.addEventListener('abort', () => {
        abortedAt = clock.monotonic()
      })
      return new Promise(() => {})
    })
    const [id = ''] = await enqueue(deaf)

    await start()
    await clock.advance(SETTINGS.callTimeoutMs + SETTINGS.callGraceMs - 1)
    assert.equal(abortedAt, SETTINGS.callTimeoutMs)
    assert.equal((await view(id)).status, 'sending')
    await clock.advance(10)

    const after = await view(id)
    assert.deepEqual([after.status, after.possibleDuplicate], ['retrying', true])
  })

  it('is not made for a suspended account: its rows stop', async (t) => {
    const { start, account, enqueue, clock, calls, view } = await setup(t)
    const [id = ''] = await enqueue(await account({ status: 'suspended' }))

    await start()
    await clock.advance(ROUND_MS)

    const after = await view(id)
    assert.deepEqual([after.status, after.reason], ['parked', 'channel_suspended'])
    assert.equal(calls.length, 0)
  })

  it('is not made when the lease runs out between claim and call: the claim goes back as it was', async (t) => {
    const { start, account, enqueue, clock, calls, view, lease, store } = await setup(t)
    const [id = ''] = await enqueue(await account())
    lease.mayStart = () => false

    await start()
    await clock.advance(50)

    const after = await view(id)
    assert.deepEqual([after.status, after.attemptCount, after.possibleDuplicate], ['queued', 0, false])
    assert.equal(calls.length, 0)
    assert.equal((await store.workers.list())[0]?.inFlight, 0)
  })
})

describe('a second account of the channel', () => {
  /** Two accounts of one channel, the second of lower rank. */
  async function twoAccounts(
    t: TestContext,
    settings: Partial<DispatchSettings> = {},
    changes: Partial<StoredAccount> = {},
  ) {
    const claimed: string[] = []
    const bench = await setup(t, settings, (base) => ({
      claim: async (...args) => {
        const answer = await base.dispatch.claim(...args)
        if (!answer.fenced) claimed.push(...answer.claims.map(({ notificationId }) => notificationId))
        return answer
      },
    }))
    const first = await bench.account(changes)
    const second = await bench.account({ priority: 1 })
    return { ...bench, claimed, first, second }
  }

  it('sends what the first one’s refused credentials would keep waiting, and no attempt is burned', async (t) => {
    const { start, enqueue, clock, scripts, callsOf, first, second, store, view } = await twoAccounts(t)
    scripts.set(first, async () => REFUSED)
    const ids = await enqueue(first, 40)

    await start()
    await clock.advance(1_000)

    assert.equal((await store.accounts.find(null, first))?.status, 'paused')
    assert.equal(callsOf(second).length, 40)
    assert.ok(callsOf(first).length <= SETTINGS.slotsPerChannel, 'only what was under way when the first was refused')
    for (const id of ids) {
      const { status, accountId, possibleDuplicate } = await view(id)
      assert.deepEqual([status, accountId, possibleDuplicate], ['sent', second, false])
    }
  })

  it('that comes later takes over what waits on a paused one', async (t) => {
    const { start, account, enqueue, clock, calls, store, view } = await setup(t)
    const paused = await account()
    await store.accounts.setStatus(paused, 'paused', 'refused', 'system')
    const [id = ''] = await enqueue(paused)
    await start()
    await clock.advance(PAUSED_HOLD_MS)
    assert.equal(calls.length, 0)

    const second = await account({ priority: 1 })
    await clock.advance(PAUSED_HOLD_MS + ROUND_MS)

    const { status, accountId } = await view(id)
    assert.deepEqual([status, accountId], ['sent', second])
  })

  it('that does not exist leaves the rows of a paused one where they are, and nobody keeps asking for them', async (t) => {
    let claims = 0
    let looks = 0
    const { start, account, enqueue, clock, calls, store, view } = await setup(t, {}, (base) => ({
      claim: (...args) => {
        claims++
        return base.dispatch.claim(...args)
      },
      dueLanes: async (...args) => {
        const found = await base.dispatch.dueLanes(...args)
        looks += found.length
        return found
      },
    }))
    const paused = await account()
    await store.accounts.setStatus(paused, 'paused', 'refused', 'system')
    const [id = ''] = await enqueue(paused)

    await start()
    await clock.advance(10 * PAUSED_HOLD_MS)

    const { status, attemptCount } = await view(id)
    assert.deepEqual([status, attemptCount, calls.length], ['queued', 0, 0])
    assert.ok(claims <= 11, `its rows were asked for ${claims} times in ten holds`)
    assert.ok(looks >= 9 && looks <= 11, `the lane was found ${looks} times in ten holds`)
  })

  it('that does not exist leaves a chain to its next channel at once, however many rows without one wait before it', async (t) => {
    const { start, account, enqueue, clock, calls, store, ids, view, scripts, fallBacks } = await setup(t)
    const refused = await account()
    scripts.set(refused, async () => ({ kind: 'unauthorized', code: '190', error: 'revoked' }))
    const [waiting = ''] = await enqueue(refused, 3 * SETTINGS.claimRows)
    const [id, next] = [ids(), ids()]
    await store.notifications.insert([
      sampleNotification({ id, idempotencyKey: id, accountId: refused, channel: 'sms', fallback: ['email'] }),
    ])
    const mail = await account({ channel: 'email' })
    fallBacks.set(id, sampleNotification({ id: next, idempotencyKey: next, accountId: mail, channel: 'email' }))

    await start()
    await clock.advance(PAUSED_HOLD_MS / 2)

    const { status, fallbackTo } = await view(id)
    assert.deepEqual([status, fallbackTo, (await view(next)).status], ['failed', next, 'sent'])
    assert.ok(calls.filter(({ accountId }) => accountId === refused).length <= SETTINGS.slotsPerChannel)
    assert.ok(['queued', 'retrying'].includes((await view(waiting)).status))
  })

  it('is not needed once a paused one is activated: its rows are sent at once', async (t) => {
    const { start, account, enqueue, clock, store, hub, view } = await setup(t)
    const paused = await account()
    await store.accounts.setStatus(paused, 'paused', 'refused', 'system')
    const [id = ''] = await enqueue(paused)
    await start()
    await clock.advance(PAUSED_HOLD_MS / 2)

    await store.accounts.setStatus(paused, 'active', null, 'key:ada')
    hub.nudge('dispatch')
    await clock.advance(1_000 + ROUND_MS)

    assert.equal((await view(id)).status, 'sent')
  })

  it('gets nothing that came after the first one was activated, though a worker may remember it otherwise', async (t) => {
    for (const status of ['paused', 'suspended'] as const) {
      const { start, enqueue, clock, callsOf, first, second, store, hub } = await twoAccounts(t)
      await store.accounts.setStatus(first, status, 'for a while', 'key:ada')
      await enqueue(first)
      await start()
      await clock.advance(ROUND_MS)
      assert.deepEqual([callsOf(first).length, callsOf(second).length], [0, 1])

      await store.accounts.setStatus(first, 'active', null, 'key:ada')
      await enqueue(first, 5)
      hub.nudge('dispatch', [first])
      await clock.advance(ROUND_MS)

      assert.deepEqual([callsOf(first).length, callsOf(second).length], [5, 1], status)
    }
  })

  it('gets everything but what may have arrived, however much of that is in the way', async (t) => {
    const { start, enqueue, clock, scripts, callsOf, first, second, store, view } = await twoAccounts(t, {
      slotsPerChannel: 6,
    })
    scripts.set(first, async () => ({ kind: 'unknown', code: 'timeout', error: 'no answer' }))
    const doubtful = await enqueue(first, 25)
    await start()
    await clock.advance(900)
    await store.accounts.setStatus(first, 'paused', 'refused', 'system')
    await clock.advance(2_000)
    const before = callsOf(first).length
    const fresh = await enqueue(first, 30)

    await clock.advance(10 * PAUSED_HOLD_MS)

    assert.equal(callsOf(first).length, before)
    for (const id of doubtful) {
      const { status, accountId, possibleDuplicate } = await view(id)
      assert.deepEqual([status, accountId, possibleDuplicate], ['retrying', first, true])
    }
    for (const id of fresh) assert.deepEqual([(await view(id)).status, (await view(id)).accountId], ['sent', second])
  })

  it('takes over from a suspended one without waiting for its pace or its hold', async (t) => {
    const { start, enqueue, clock, callsOf, first, second, store } = await twoAccounts(
      t,
      {},
      { pace: { perSecond: 1, burst: 1 } },
    )
    await enqueue(first, 30)
    await store.lanes.hold(first, 3_600_000, 'throttled: 429')
    await store.accounts.setStatus(first, 'suspended', 'by hand', 'key:ada')

    await start()
    await clock.advance(1_000)

    assert.deepEqual([callsOf(first).length, callsOf(second).length], [0, 30])
  })

  it('takes over what fails while the breaker of the first is open', async (t) => {
    const { start, enqueue, clock, scripts, callsOf, first, second, view } = await twoAccounts(
      t,
      {},
      { breaker: { failures: 2, resetAfterMs: 60_000 }, retry: { maxAttempts: 50, fixed: 'PT1H' } },
    )
    let waitMs = 0
    scripts.set(first, async () => {
      waitMs += 10
      await clock.sleep(waitMs)
      return AWAY
    })
    const ids = await enqueue(first, 2)

    await start()
    await clock.advance(1_000)

    const accounts = await Promise.all(ids.map(async (id) => (await view(id)).accountId))
    assert.deepEqual(new Set(accounts), new Set([first, second]))
    assert.deepEqual([callsOf(first).length, callsOf(second).length], [2, 1])
  })

  it('makes no call to the first without a token, even if it is activated while its rows are being moved', async (t) => {
    let activate: (() => Promise<unknown>) | null = null
    const bench = await setup(t, {}, (base) => ({
      claim: async (...args) => {
        const answer = await base.dispatch.claim(...args)
        if (!answer.fenced && answer.claims.length > 0) await activate?.()
        return answer
      },
    }))
    const { start, account, enqueue, clock, callsOf, store, accounts } = bench
    const first = await account({ pace: { perSecond: 0.01, burst: 1 } })
    await account({ priority: 1 })
    await store.accounts.setStatus(first, 'suspended', 'by hand', 'key:ada')
    await enqueue(first, 3)
    activate = async () => {
      activate = null
      await store.accounts.setStatus(first, 'active', null, 'key:ada')
      await clock.advance(1_000)
      await accounts.get([first])
    }

    await start()
    await clock.advance(2_000)

    assert.equal(callsOf(first).length, 0)
  })
})

describe('trouble', () => {
  it('with one claim does not end the loop', async (t) => {
    let failures = 3
    const { start, account, enqueue, clock, calls, logger } = await setup(t, {}, (base) => ({
      claim: async (...args) => {
        if (failures-- > 0) throw new PillarboxError('store_unavailable', 'connection reset')
        return base.dispatch.claim(...args)
      },
    }))
    await enqueue(await account())

    await start()
    await clock.advance(4 * ROUND_MS)

    assert.equal(calls.length, 1)
    assert.equal(logger.lines.filter(({ message }) => message === 'claiming failed; trying again').length, 3)
  })

  it('with the preparation of one call gives its claim back, harms no other, and does not claim it over and over', async (t) => {
    let claims = 0
    const { start, account, enqueue, clock, calls, logger, store, ids, view } = await setup(t, {}, (base) => ({
      claim: (...args) => {
        claims++
        return base.dispatch.claim(...args)
      },
    }))
    const lane = await account()
    // To open what is sealed throws here.
    const bad = sampleNotification({ id: ids(), idempotencyKey: 'bad', accountId: lane, content: { sealed: 'v1.k.x' } })
    await store.notifications.insert([bad])
    const [good = ''] = await enqueue(lane)

    await start()
    await clock.advance(10_000)

    assert.deepEqual(
      calls.map(({ notificationId }) => notificationId),
      [good],
    )
    assert.deepEqual([(await view(good)).status, (await view(bad.id)).attemptCount], ['sent', 0])
    assert.ok(logger.lines.some(({ message }) => message === 'a call could not be begun'))
    assert.ok(claims < 10_000 / (SETTINGS.pollMaxMs * 0.8) + 20, `claimed ${claims} times`)
  })

  it('with a release leaves the claim for the look for orphans', async (t) => {
    const { start, account, enqueue, clock, lease, logger } = await setup(t, {}, () => ({
      release: async () => {
        throw new PillarboxError('store_unavailable', 'connection reset')
      },
    }))
    await enqueue(await account())
    lease.mayStart = () => false

    await start()
    await clock.advance(50)

    assert.ok(logger.lines.some(({ message }) => message === 'unsent claims could not be given back yet'))
  })

  it('a worker that was declared dead registers anew and goes on (P5)', async (t) => {
    const { start, account, enqueue, clock, store, heartbeat, view } = await setup(t)
    const lane = await account()
    await start()
    const before = heartbeat.id()
    await store.workers.remove(before)

    const [id = ''] = await enqueue(lane)
    await clock.advance(2 * ROUND_MS)

    assert.notEqual(heartbeat.id(), before)
    assert.equal((await view(id)).status, 'sent')
    assert.deepEqual(
      (await store.workers.list()).map(({ id }) => id),
      [heartbeat.id()],
    )
  })
})

describe('stopping (P12)', () => {
  it('claims nothing more, lets the calls under way end, and resolves when their results are written', async (t) => {
    const { start, account, enqueue, clock, scripts, stop, hasEnded, calls, view, dispatcher } = await setup(t)
    const slow = await account()
    scripts.set(slow, async () => {
      await clock.sleep(500)
      return ACCEPTED
    })
    const ids = await enqueue(slow, 20)
    await start()
    const begun = calls.length
    assert.ok(begun > 0 && begun < 20)

    await clock.advance(100)
    stop.abort()
    await clock.advance(399)
    assert.equal(hasEnded(), false)
    assert.equal(dispatcher.inFlight(), begun)
    await clock.advance(10)

    assert.equal(hasEnded(), true)
    assert.equal(calls.length, begun)
    const statuses = await Promise.all(ids.map(async (id) => (await view(id)).status))
    assert.equal(statuses.filter((status) => status === 'sent').length, begun)
    assert.equal(statuses.filter((status) => status === 'queued').length, 20 - begun)
    assert.equal(clock.sleeping(), 0, 'no timer is left behind')
  })

  it('at once, when nothing is under way', async (t) => {
    const { start, stop, clock, hasEnded } = await setup(t)
    await start()

    stop.abort()
    await clock.settle()

    assert.equal(hasEnded(), true)
  })

  it('can tell the calls under way to end', async (t) => {
    const { start, account, enqueue, clock, scripts, stop, abortCalls, hasEnded, view } = await setup(t)
    const hanging = await account()
    scripts.set(hanging, hang)
    const [id = ''] = await enqueue(hanging)
    await start()

    stop.abort()
    abortCalls.abort()
    await clock.advance(5)

    assert.equal(hasEnded(), true)
    assert.equal((await view(id)).status, 'retrying')
  })

  it('also tells those to end whose claim was answered too late to hear it', async (t) => {
    let answer: () => void = () => {}
    const late = new Promise<void>((resolve) => {
      answer = resolve
    })
    const { start, account, enqueue, clock, scripts, stop, abortCalls, hasEnded } = await setup(t, {}, (base) => ({
      claim: async (...args) => {
        const claims = await base.dispatch.claim(...args)
        await late
        return claims
      },
    }))
    const hanging = await account()
    scripts.set(hanging, async (request) =>
      request.signal.aborted ? { kind: 'transient', code: 'aborted', error: 'not begun' } : hang(request),
    )
    await enqueue(hanging)
    await start()

    stop.abort()
    abortCalls.abort()
    answer()
    await clock.advance(5)

    assert.equal(hasEnded(), true)
  })
})
