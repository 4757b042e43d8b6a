import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { completion } from '../../../../test/conformance/fixtures.ts'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import {
  recordingLogger,
  recordingMeters,
  sampleNotification,
  silent,
  storedAccount,
} from '../../../../test/support/samples.ts'
import { ALERT_RULES } from '../model/alert.ts'
import { PillarboxError } from '../model/errors.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemRandom } from '../runtime/system.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import type { Store } from '../store/store.ts'
import type { AlertMessage } from './alert-store.ts'
import { type AlertingDeps, alertKey, runAlerts } from './alerting.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** A tenant with an account, a worker that lives while it beats, and any number of processes that look for alerts. */
async function setup(t: TestContext) {
  const clock = createManualClock()
  const ids = createIdSource(clock, systemRandom())
  const store = await openSqlite({ path: ':memory:', clock, logger: silent })
  t.after(() => store.close())
  await store.migrate()
  const account = async (tenantId: string): Promise<string> => {
    await store.tenants.insert({ id: tenantId, name: tenantId, defaultLocale: 'en', timeZone: 'UTC', settings: {} })
    const id = ids()
    await store.accounts.insert(storedAccount({ id, tenantId, name: 'gateway' }))
    return id
  }
  const accountId = await account('acme')
  const workerId = ids()
  await store.workers.register({ id: workerId, host: 'host', pid: 1, version: '0', channels: null })
  const [logger, meters] = [recordingLogger(), recordingMeters()]
  const told: string[] = []
  const all = new AbortController()
  t.after(() => all.abort())
  const tell = (way: string) => async (message: AlertMessage) => {
    told.push(`${way} ${message.news} ${message.alert.rule} ${message.alert.subjectId}`)
  }
  const policy: AlertingDeps['settings']['policy'] = {
    raiseAfterMs: {
      stuck: 5 * MINUTE_MS,
      oldest_pending: 0,
      parked_rate: 0,
      breaker_open: MINUTE_MS,
      account_paused: 0,
      no_worker: MINUTE_MS,
      recovery_failed: 0,
      site_silent: 0,
    },
    clearAfterMs: 5 * MINUTE_MS,
    repeatEveryMs: null,
    mostOfRule: 50,
  }
  const deps: AlertingDeps = {
    store,
    clock,
    random: () => 0.5,
    ids,
    logger,
    meters,
    everyMs: 15 * SECOND_MS,
    settings: {
      limits: {
        rules: new Set(ALERT_RULES),
        stuckMost: 0,
        oldestPendingMs: 5 * MINUTE_MS,
        parkedRate: 5,
        parkedLeast: 10,
        siteSilentMs: 15 * MINUTE_MS,
      },
      policy,
      stuckAfterMs: 10 * MINUTE_MS,
      parkedWindowMs: 15 * MINUTE_MS,
      workerTtlMs: 30 * SECOND_MS,
    },
    ways: { event: tell('event'), webhook: tell('webhook') },
    scrub: (text) => text,
  }
  /** A process that looks for alerts; answers how to end it. */
  const start = (changes: Partial<AlertingDeps> = {}): (() => Promise<void>) => {
    const stop = new AbortController()
    all.signal.addEventListener('abort', () => stop.abort())
    const running = runAlerts({ ...deps, ...changes }, stop.signal)
    return async () => {
      stop.abort()
      await running
    }
  }
  return {
    clock,
    store,
    deps,
    policy,
    logger,
    meters,
    told,
    ids,
    accountId,
    account,
    start,
    /** Time passes while the worker lives. */
    async live(ms: number): Promise<void> {
      for (let left = ms; left > 0; left -= 10 * SECOND_MS) {
        await store.workers.beat(workerId)
        await clock.advance(Math.min(left, 10 * SECOND_MS))
      }
    },
    breaker: (id = accountId) => store.lanes.openBreaker(id, HOUR_MS, 'away'),
    async enqueue(): Promise<void> {
      const id = ids()
      await store.notifications.insert([sampleNotification({ id, idempotencyKey: id, accountId })])
    },
    /** What is due comes to this. */
    async settle(to: 'sent' | 'parked'): Promise<void> {
      const answer = await store.dispatch.claim(workerId, [{ accountId, limit: 1_000 }])
      assert.ok(!answer.fenced)
      await store.dispatch.complete(
        workerId,
        answer.claims.map((claim) => completion(claim, to)),
      )
    },
    shown: async () =>
      (await store.alerts.list({}, { limit: 50 })).items.map(({ rule, status }) => `${rule} ${status}`),
  }
}

describe('alerts', () => {
  it('are raised once and cleared once, told in every way, whatever number of processes look', async (t) => {
    const { start, live, breaker, store, accountId, told, meters, logger } = await setup(t)
    for (let i = 0; i < 3; i++) start()
    await breaker()
    await live(45 * SECOND_MS)
    assert.deepEqual(told, [])
    await live(10 * MINUTE_MS)
    const raised = [`event raised breaker_open ${accountId}`, `webhook raised breaker_open ${accountId}`]
    assert.deepEqual(told, raised)

    await store.lanes.closeBreaker(accountId)
    await live(4 * MINUTE_MS)
    assert.deepEqual(told, raised)
    await live(10 * MINUTE_MS)
    assert.deepEqual(
      told.slice(2),
      raised.map((each) => each.replace('raised', 'cleared')),
    )
    assert.deepEqual(meters.counts, { 'alerts breaker_open raised': 1, 'alerts breaker_open cleared': 1 })
    const lines = logger.lines.filter(({ message }) => message.includes('alert'))
    assert.deepEqual(
      lines.map(({ level, message }) => `${level}: ${message}`),
      ['warn: an alert was raised', 'info: an alert was cleared'],
    )
    assert.match(String(lines[0]?.fields['summary']), /Account “gateway” \(sms, vendor\) of tenant acme/)
  })

  it('are neither repeated nor forgotten by a restart', async (t) => {
    const { start, live, breaker, store, accountId, told, clock } = await setup(t)
    const stop = start()
    await breaker()
    await live(30 * SECOND_MS)
    await stop()
    await clock.advance(40 * SECOND_MS)
    const again = start()
    await live(20 * SECOND_MS)
    assert.equal(told.length, 2, 'the time before the restart counts')
    await again()
    start()
    await live(10 * MINUTE_MS)
    assert.equal(told.length, 2)

    await store.lanes.closeBreaker(accountId)
    await live(10 * MINUTE_MS)
    assert.equal(told.length, 4)
  })

  it('that could not be told before the process ended are told by the next one, under the same id', async (t) => {
    const { start, live, breaker, deps, told } = await setup(t)
    const keys: string[] = []
    const crash = async (message: AlertMessage): Promise<void> => {
      keys.push(alertKey(message))
      throw new Error('gone')
    }
    const stop = start({ ways: { webhook: crash, event: deps.ways.event ?? crash } })
    await breaker()
    await live(3 * MINUTE_MS)
    await stop()
    assert.ok(keys.length > 1 && new Set(keys).size === 1)
    assert.equal(told.length, 1)

    start()
    await live(10 * MINUTE_MS)
    assert.deepEqual(
      told.map((each) => each.split(' ').slice(0, 2).join(' ')),
      ['event raised', 'webhook raised'],
    )
  })

  it('whose webhook is down are tried less and less often, in order, and given up after a day; others are told', async (t) => {
    const { start, live, breaker, store, accountId, told, deps, logger, clock } = await setup(t)
    let calls = 0
    const down = async (): Promise<void> => {
      calls += 1
      throw new Error('refused')
    }
    start({ ways: { webhook: down, ...(deps.ways.event && { event: deps.ways.event }) } })
    await breaker()
    await live(2 * MINUTE_MS)
    await store.lanes.closeBreaker(accountId)
    await live(HOUR_MS)
    assert.deepEqual(
      told.map((each) => each.split(' ')[1]),
      ['raised', 'cleared'],
    )
    assert.ok(calls > 3 && calls < 20, `${calls} calls`)
    assert.ok(
      logger.lines.some(({ message, fields }) => message.includes('trying again') && fields['error'] === 'refused'),
    )

    await clock.advance(25 * HOUR_MS)
    const given = logger.lines.filter(({ message }) => message.includes('given up'))
    assert.deepEqual(given.map(({ level, fields }) => [level, fields['news']]).slice(0, 2), [
      ['error', 'raised'],
      ['error', 'cleared'],
    ])
  })

  it('that are refused for good are given up at once, and hold no other up', async (t) => {
    const { start, live, store, accountId, told, logger, deps } = await setup(t)
    const refuse = async ({ alert, news }: AlertMessage): Promise<void> => {
      if (news === 'raised') throw new PillarboxError('unknown_event_type', 'There is no such event type.')
      told.push(`event ${news} ${alert.rule}`)
    }
    start({ ways: { ...deps.ways, event: refuse } })

    await store.accounts.setStatus(accountId, 'paused', 'refused', 'system', ['active'])
    await live(MINUTE_MS)
    await store.accounts.setStatus(accountId, 'active', null, 'system', ['paused'])
    await live(10 * MINUTE_MS)

    assert.deepEqual(
      told.filter((each) => each.startsWith('event')),
      ['event cleared account_paused'],
    )
    assert.ok(logger.lines.some(({ message }) => message === 'an alert is refused, and is given up'))
  })

  it('about the ops tenant’s own account are not sent through it', async (t) => {
    const { start, live, breaker, account, told } = await setup(t)
    const own = await account('ops')
    start()
    await breaker(own)
    await live(3 * MINUTE_MS)

    assert.deepEqual(told, [`webhook raised breaker_open ${own}`])
  })

  it('are raised of a paused account at once, and of what is stuck or old after their time', async (t) => {
    const { start, live, store, accountId, enqueue, shown } = await setup(t)
    start()
    await store.accounts.setStatus(accountId, 'paused', 'refused', 'system')
    await enqueue()
    await live(20 * SECOND_MS)
    assert.deepEqual(await shown(), ['account_paused open'])
    await live(6 * MINUTE_MS)
    assert.deepEqual(await shown(), ['oldest_pending open', 'account_paused open'])
    await live(8 * MINUTE_MS)
    assert.equal((await shown()).length, 2)
    await live(2 * MINUTE_MS)
    assert.deepEqual(await shown(), ['stuck open', 'oldest_pending open', 'account_paused open'])
  })

  it('are raised of a tenant whose notifications are parked too often, and cleared when that is some time ago', async (t) => {
    const { start, live, enqueue, settle, shown, store } = await setup(t)
    start()
    for (let i = 0; i < 190; i++) await enqueue()
    await settle('sent')
    for (let i = 0; i < 9; i++) await enqueue()
    await settle('parked')
    await live(MINUTE_MS)
    assert.deepEqual(await shown(), [], 'nine are too few')
    for (let i = 0; i < 3; i++) await enqueue()
    await settle('parked')
    await live(MINUTE_MS)
    assert.deepEqual(await shown(), ['parked_rate open'])
    const [alert] = await store.alerts.standing()
    assert.equal(alert?.summary, 'Tenant acme had 6 % of its notifications parked lately')
    await live(25 * MINUTE_MS)
    assert.deepEqual(await shown(), ['parked_rate cleared'])
  })

  it('are raised of an operation that failed, for an hour', async (t) => {
    const { start, live, store, ids, shown } = await setup(t)
    start()
    const { operations } = store
    const id = ids()
    const preview = { id, tenantId: 'acme', action: 'retry', options: {}, actor: 'key:ada', canary: 0 } as const
    await operations.beginPreview(preview, { most: 5, lifeMs: HOUR_MS })
    await operations.endPreview(id, 1)
    const how = { note: null, perSecond: null, canary: 1, graceMs: 0 }
    await operations.start({ tenantId: 'acme', id, actor: 'key:ada', ...how })
    await operations.take(HOUR_MS)
    await operations.checkpoint({ operationId: id, from: 0, position: 0, to: 'failed', problem: 'x', leaseMs: 0 })

    await live(MINUTE_MS)
    assert.deepEqual(await shown(), ['recovery_failed open'])
    await live(HOUR_MS + 10 * MINUTE_MS)
    assert.deepEqual(await shown(), ['recovery_failed cleared'])
  })

  it('are raised of a site with a buffer that is not heard of, and cleared when it is', async (t) => {
    const { start, live, store, shown } = await setup(t)
    const heardOf = (site: string, incarnation: string | null) =>
      store.sites.handOff({ tenantId: 'acme', site, incarnation, backlog: 0, clockAheadMs: null, refused: [] }, [])
    await heardOf('plant-1', 'buffer-1')
    await heardOf('script', null)
    start()

    await live(14 * MINUTE_MS)
    assert.deepEqual(await shown(), [])
    await live(2 * MINUTE_MS)
    assert.deepEqual(await shown(), ['site_silent open'])
    const [alert] = await store.alerts.standing()
    assert.match(alert?.summary ?? '', /^Site plant-1 of tenant acme has not been heard of for 15 min$/)
    await heardOf('plant-1', 'buffer-1')
    await live(6 * MINUTE_MS)
    assert.deepEqual(await shown(), ['site_silent cleared'])
  })

  it('are raised by whoever is left where no worker lives', async (t) => {
    const { start, live, clock, told } = await setup(t)
    start()
    await live(MINUTE_MS)
    await clock.advance(MINUTE_MS)
    assert.deepEqual(told, [])
    await clock.advance(MINUTE_MS)
    assert.deepEqual(told, ['event raised no_worker ', 'webhook raised no_worker '])
    await live(6 * MINUTE_MS)
    assert.deepEqual(told.slice(2), ['event cleared no_worker ', 'webhook cleared no_worker '])
  })

  it('are told again where that is asked for, until somebody acknowledges them', async (t) => {
    const { start, live, breaker, store, told, deps, policy } = await setup(t)
    const settings = { ...deps.settings, policy: { ...policy, repeatEveryMs: 10 * MINUTE_MS } }
    start({ settings, ways: { webhook: deps.ways.webhook ?? assert.fail() } })
    await breaker()
    await live(25 * MINUTE_MS)
    assert.deepEqual(
      told.map((each) => each.split(' ')[1]),
      ['raised', 'repeated', 'repeated'],
    )
    const [alert] = await store.alerts.standing()
    await store.alerts.acknowledge({ id: alert?.id ?? '', actor: 'key:ada', note: null })
    await live(HOUR_MS)
    assert.equal(told.length, 3)
  })

  it('change nothing where the numbers cannot be read, and go on when they can', async (t) => {
    const { start, live, breaker, store, logger, shown } = await setup(t)
    let isAway = true
    const read: Store['rollups']['read'] = async (query) => {
      if (isAway) throw new Error('away')
      return await store.rollups.read(query)
    }
    start({ store: { ...store, rollups: { ...store.rollups, read } } })
    await breaker()
    await live(5 * MINUTE_MS)
    assert.deepEqual(await shown(), [])
    assert.ok(logger.lines.some(({ message }) => message.includes('alerts could not be looked for')))
    isAway = false
    await live(5 * MINUTE_MS)
    assert.deepEqual(await shown(), ['breaker_open open'])
  })

  it('beyond the number of their rule are left out, and the log says how many', async (t) => {
    const { start, live, breaker, account, logger, told, deps, policy } = await setup(t)
    start({ settings: { ...deps.settings, policy: { ...policy, mostOfRule: 1 } } })
    await breaker()
    await breaker(await account('second'))
    await live(2 * MINUTE_MS)

    assert.equal(told.length, 2)
    const said = logger.lines.find(({ message }) => message.includes('more is wrong'))
    assert.deepEqual(said?.fields, { rule: 'breaker_open', count: 1 })
  })
})
