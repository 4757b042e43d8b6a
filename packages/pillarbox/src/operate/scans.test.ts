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
import { createIdSource } from '../runtime/ids.ts'
import { systemRandom } from '../runtime/system.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import type { Store } from '../store/store.ts'
import { runStaleScan, runStuckScan, type ScansDeps } from './scans.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Tenants `north` and `south` with an account each, and any number of workers that scan. */
async function setup(t: TestContext) {
  const clock = createManualClock()
  const ids = createIdSource(clock, systemRandom())
  const store = await openSqlite({ path: ':memory:', clock, logger: silent })
  t.after(() => store.close())
  await store.migrate()
  const accounts = new Map<string, string>()
  for (const id of ['north', 'south']) {
    await store.tenants.insert({ id, name: id, defaultLocale: 'en', timeZone: 'UTC', settings: {} })
    const account = storedAccount({ id: ids(), tenantId: id, provider: 'ses' })
    await store.accounts.insert(account)
    accounts.set(id, account.id)
  }
  const accountOf = (tenantId: string): string => accounts.get(tenantId) ?? assert.fail()
  const workerId = ids()
  await store.workers.register({ id: workerId, host: 'host', pid: 1, version: '0', channels: null })
  const stop = new AbortController()
  t.after(() => stop.abort())
  const logger = recordingLogger()
  const meters = recordingMeters()
  const deps = (changes: Partial<Store> = {}): ScansDeps => ({
    store: { ...store, ...changes },
    clock,
    random: () => 0.5,
    ids,
    logger,
    meters,
    everyMs: 30_000,
    settings: { stuckEveryMs: 5 * MINUTE_MS, stuckAfterMs: 10 * MINUTE_MS, staleAfterMs: 24 * HOUR_MS },
  })
  return {
    clock,
    store,
    stop,
    logger,
    meters,
    deps,
    async enqueue(tenantId: string, count = 1): Promise<void> {
      for (let i = 0; i < count; i++) {
        const id = ids()
        const accountId = accountOf(tenantId)
        const row = sampleNotification({ id, tenantId, accountId, idempotencyKey: id, provider: 'ses' })
        await store.notifications.insert([row])
      }
    },
    async send(tenantId: string): Promise<void> {
      const answer = await store.dispatch.claim(workerId, [{ accountId: accountOf(tenantId), limit: 100 }])
      assert.ok(!answer.fenced)
      const done = answer.claims.map((claim) => completion(claim, 'sent', { provider: 'ses' }))
      await store.dispatch.complete(workerId, done)
    },
    warnings: () => logger.lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields),
  }
}

describe('the stuck scan', () => {
  it('warns of each tenant with its count, once in its time for all workers, and goes silent with the trouble', async (t) => {
    const { clock, stop, deps, enqueue, send, warnings, meters } = await setup(t)
    await enqueue('north', 3)
    await enqueue('south')
    const workers = [runStuckScan(deps(), stop.signal), runStuckScan(deps(), stop.signal)]

    await clock.advance(9 * MINUTE_MS)
    assert.deepEqual(warnings(), [])
    await clock.advance(6 * MINUTE_MS)
    const once = [
      { tenantId: 'north', count: 3 },
      { tenantId: 'south', count: 1 },
    ]
    assert.deepEqual(warnings(), once)
    assert.deepEqual(meters.counts, { 'scan_found stuck': 4 })
    await clock.advance(5.5 * MINUTE_MS)
    assert.deepEqual(warnings(), [...once, ...once])
    await send('north')
    await send('south')
    await clock.advance(HOUR_MS)
    assert.deepEqual(warnings(), [...once, ...once])

    stop.abort()
    await Promise.all(workers)
    assert.equal(clock.sleeping(), 0)
  })

  it('survives a store that is away, and warns later', async (t) => {
    const { clock, store, stop, deps, enqueue, warnings } = await setup(t)
    await enqueue('north')
    let isAway = true
    const read: Store['rollups']['read'] = async (query) => {
      if (isAway) throw new Error('away')
      return await store.rollups.read(query)
    }
    void runStuckScan(deps({ rollups: { ...store.rollups, read } }), stop.signal)

    await clock.advance(20 * MINUTE_MS)
    assert.ok(warnings().every((fields) => 'error' in fields))
    isAway = false
    await clock.advance(10 * MINUTE_MS)
    assert.deepEqual(warnings().at(-1), { tenantId: 'north', count: 1 })
  })
})

describe('the stale scan', () => {
  it('warns once of what was sent a day ago and of which nothing was heard, by tenant', async (t) => {
    const { clock, stop, deps, enqueue, send, warnings, meters } = await setup(t)
    const workers = [runStaleScan(deps(), stop.signal), runStaleScan(deps(), stop.signal)]
    await enqueue('north', 2)
    await send('north')
    await clock.advance(12 * HOUR_MS)
    await enqueue('north')
    await enqueue('south')
    await send('north')
    await send('south')
    await clock.advance(11 * HOUR_MS)
    assert.deepEqual(warnings(), [])

    await clock.advance(3 * HOUR_MS)
    assert.deepEqual(warnings(), [{ tenantId: 'north', count: 2 }])
    await clock.advance(48 * HOUR_MS)
    assert.deepEqual(warnings().slice(1), [
      { tenantId: 'north', count: 1 },
      { tenantId: 'south', count: 1 },
    ])
    assert.deepEqual(meters.counts, { 'scan_found stale': 4 })

    stop.abort()
    await Promise.all(workers)
  })

  it('goes through more than one stretch at a time, and counts them in one warning', async (t) => {
    const { clock, stop, deps, enqueue, send, warnings } = await setup(t)
    for (let i = 0; i < 11; i++) {
      await enqueue('north', 100)
      await send('north')
    }
    await clock.advance(25 * HOUR_MS)
    void runStaleScan(deps(), stop.signal)
    await clock.advance(MINUTE_MS)

    assert.deepEqual(warnings(), [{ tenantId: 'north', count: 1_100 }])
  })
})
