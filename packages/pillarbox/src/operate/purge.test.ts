import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { recordingLogger, sampleNotification, silent } from '../../../../test/support/samples.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemRandom } from '../runtime/system.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import type { Store } from '../store/store.ts'
import {
  nextBatch,
  type PurgeDeps,
  type PurgeReport,
  type PurgeRequest,
  purgeByHand,
  retentionOf,
  runPurger,
} from './purge.ts'

const DAY_MS = 24 * 3_600_000

/** A store with one skipped notification of `short`, which keeps a day, and one of `long`, which keeps the default ten. */
async function setup(t: TestContext) {
  const clock = createManualClock()
  const logger = recordingLogger()
  const ids = createIdSource(clock, systemRandom())
  const store = await openSqlite({ path: ':memory:', clock, logger: silent })
  t.after(() => store.close())
  await store.migrate()
  const tenant = { name: 'A tenant', defaultLocale: 'en', timeZone: 'UTC' }
  await store.tenants.insert({ id: 'long', ...tenant, settings: {} })
  await store.tenants.insert({ id: 'short', ...tenant, settings: { retention: 'P1D' } })
  const skip = async (tenantId: string): Promise<void> => {
    const id = ids()
    const stopped = { status: 'skipped', reason: 'no_address', error: 'no address' } as const
    await store.notifications.insert([
      sampleNotification({ id, idempotencyKey: id, tenantId, accountId: null, provider: null, content: null, stopped }),
    ])
  }
  for (const tenantId of ['long', 'short']) await skip(tenantId)
  const deps: PurgeDeps = { store, clock, ids, retentionMs: 10 * DAY_MS }
  const stop = new AbortController()
  const count = async (): Promise<string[]> =>
    (await store.notifications.list({}, { limit: 200 })).items.map(({ tenantId }) => tenantId).sort()
  const start = (changes: Partial<Store['retention']> = {}): Promise<void> => {
    const watched = { ...store, retention: { ...store.retention, ...changes } }
    const everyMs = 3_600_000
    return runPurger({ ...deps, store: watched, random: () => 0.5, logger, everyMs, purgeEveryMs: DAY_MS }, stop.signal)
  }
  return { clock, logger, store, deps, stop, skip, count, start }
}

const ALL: Omit<PurgeRequest, 'stop'> = {
  olderThanMs: 0,
  tenantId: null,
  isDryRun: false,
  actor: 'key:ada',
  share: 1,
}

describe('the purge that comes by itself', () => {
  it('removes what is past each tenant’s own retention, once in its time, and says how much', async (t) => {
    const { clock, logger, count, start, stop } = await setup(t)
    const running = start()
    await clock.advance(DAY_MS / 2)
    assert.deepEqual(await count(), ['long', 'short'])
    await clock.advance(2 * DAY_MS)
    assert.deepEqual(await count(), ['long'])
    await clock.advance(10 * DAY_MS)
    assert.deepEqual(await count(), [])
    stop.abort()
    await running

    const said = logger.lines.filter(({ message }) => message.includes('retention'))
    const removed = said.filter(({ level }) => level === 'info').map(({ fields }) => fields['notifications'])
    assert.deepEqual(removed, [1, 1])
    assert.ok(said.filter(({ level }) => level === 'debug').length >= 9, 'also where there was nothing')
    assert.equal(clock.sleeping(), 0)
  })

  it('goes on with the other tenants where one’s rows cannot be removed', async (t) => {
    const { clock, logger, store, count, start, stop } = await setup(t)
    void start({
      purge: async (step, stretch) => {
        if (stretch.tenantId === 'long') throw new Error('broken')
        return await store.retention.purge(step, stretch)
      },
    })

    await clock.advance(20 * DAY_MS)
    stop.abort()

    assert.deepEqual(await count(), ['long'])
    const warnings = logger.lines.filter(({ level }) => level === 'warn')
    assert.equal(warnings[0]?.fields['tenantId'], 'long')
  })

  it('survives a store that is away, and does it later', async (t) => {
    const { clock, logger, store, count, start, stop } = await setup(t)
    let isAway = true
    void start({
      nextTenant: async (after) => {
        if (isAway) throw new Error('away')
        return await store.retention.nextTenant(after)
      },
    })
    await clock.advance(11 * DAY_MS)
    assert.equal((await count()).length, 2)
    isAway = false

    await clock.advance(3_600_000)
    stop.abort()

    assert.deepEqual(await count(), [])
    assert.ok(logger.lines.some(({ level }) => level === 'warn'))
  })
})

describe('a purge by hand', () => {
  it('counts first, then removes, of one tenant alone', async (t) => {
    const { clock, deps, count, stop } = await setup(t)
    await clock.advance(1_000)
    const request = { ...ALL, tenantId: 'short', stop: stop.signal }

    const counted = await purgeByHand(deps, { ...request, isDryRun: true })
    assert.equal((await count()).length, 2)
    const removed = await purgeByHand(deps, request)

    assert.deepEqual([counted.counts.notifications, removed.counts.notifications], [1, 1])
    assert.deepEqual([counted.isDone, removed.isDone], [true, true])
    assert.deepEqual(await count(), ['long'])
  })

  it('ends between two batches when its time is over, and says that there is more', async (t) => {
    const { clock, deps, skip, count, stop } = await setup(t)
    for (let i = 0; i < 300; i++) await skip('long')
    await clock.advance(1_000)

    const report = await purgeByHand(deps, { ...ALL, stop: stop.signal, onProgress: () => stop.abort() })

    assert.equal(report.isDone, false)
    assert.equal(report.counts.notifications, 100)
    const rest = await purgeByHand(deps, { ...ALL, stop: new AbortController().signal })
    assert.equal(rest.isDone, true)
    assert.deepEqual(await count(), [])
  })

  it('goes on where it was stopped, so that it comes to its end however little time it has', async (t) => {
    const { clock, deps, store, skip } = await setup(t)
    for (let i = 0; i < 150; i++) for (const tenantId of ['long', 'short']) await skip(tenantId)
    await store.receipts.keep({ source: 'meta', tenantId: null, accountIds: [], headers: {}, body: Buffer.from('{}') })
    for (let i = 0; i < 150; i++)
      await store.audit.record({ tenantId: 'short', actor: 'key:ada', action: 'export', subject: 'person' })
    const sandboxed: string[] = []
    const sandbox = {
      purge: ({ tenantId }: { tenantId: string }): number => {
        sandboxed.push(tenantId)
        return 0
      },
    }
    await clock.advance(1_000)
    const { signal } = new AbortController()
    const whole = await purgeByHand(deps, { ...ALL, isDryRun: true, stop: signal })
    assert.deepEqual([whole.counts.notifications, whole.isDone, whole.next], [302, true, null])
    sandboxed.length = 0

    for (const isDryRun of [true, false]) {
      const sums: Record<string, number> = {}
      const places: string[] = []
      for (let from: PurgeRequest['from'] = null, isDone = false; !isDone; ) {
        const over = new AbortController()
        const request = { ...ALL, isDryRun, from, stop: over.signal, onProgress: () => over.abort() }
        const report: PurgeReport = await purgeByHand({ ...deps, sandbox }, request)
        for (const [noun, count] of Object.entries(report.counts)) sums[noun] = (sums[noun] ?? 0) + count
        assert.equal(report.isDone, report.next === null)
        isDone = report.isDone
        from = report.next
        assert.ok(!places.includes(JSON.stringify(from)), `it comes back to ${JSON.stringify(from)}`)
        places.push(JSON.stringify(from))
      }
      assert.equal(sums['notifications'], 302)
      if (isDryRun) assert.deepEqual(sums, whole.counts)
      assert.deepEqual(sandboxed.splice(0), ['long', 'short'])
    }
  })

  it('does not fall back where it had no time at all', async (t) => {
    const { deps, stop } = await setup(t)
    stop.abort()

    for (const from of [
      { tenantId: 'long', step: 'conversations', after: null },
      { tenantId: null, step: 'callbacks', after: '17' },
    ] as const)
      assert.deepEqual((await purgeByHand(deps, { ...ALL, from, stop: stop.signal })).next, from)
  })

  it('leaves out what it has seen of a tenant whose retention has meanwhile become endless', async (t) => {
    const { clock, deps, store, count } = await setup(t)
    await clock.advance(20 * DAY_MS)
    await store.tenants.update('long', { settings: { retention: 'for ever' } })
    const from = { tenantId: 'long', step: 'events', after: null } as const

    const report = await purgeByHand(deps, { ...ALL, olderThanMs: null, from, stop: new AbortController().signal })

    assert.equal(report.isDone, true)
    assert.deepEqual(await count(), ['long'])
  })

  it('waits a little for another one to end, and is refused if it does not', async (t) => {
    const { clock, deps, store, stop } = await setup(t)
    await store.retention.begin('somebody', { leaseMs: 3_600_000, everyMs: null })

    const refused = assert.rejects(purgeByHand(deps, { ...ALL, stop: stop.signal }), { code: 'purge_running' })
    await clock.advance(10_000)

    await refused
    await store.retention.end('somebody', true)
    assert.equal((await purgeByHand(deps, { ...ALL, stop: stop.signal })).isDone, true)
  })

  it('removes what the sandbox took, in batches, too', async (t) => {
    const { deps, stop } = await setup(t)
    const left: Record<string, number> = { short: 250 }
    const sandbox = {
      purge: ({ tenantId, limit, isDryRun }: { tenantId: string; limit: number; isDryRun: boolean }): number => {
        const gone = Math.min(limit, left[tenantId] ?? 0)
        if (!isDryRun) left[tenantId] = (left[tenantId] ?? 0) - gone
        return gone
      },
    }
    const request = { ...ALL, stop: stop.signal }

    const counted = await purgeByHand({ ...deps, sandbox }, { ...request, isDryRun: true })
    const { counts } = await purgeByHand({ ...deps, sandbox }, request)

    assert.deepEqual([counted.counts.sandboxMessages, counts.sandboxMessages, left['short']], [250, 250, 0])
  })

  it('refuses a tenant that is not there', async (t) => {
    const { deps, stop } = await setup(t)

    await assert.rejects(purgeByHand(deps, { ...ALL, tenantId: 'nobody', stop: stop.signal }), { code: 'not_found' })
  })
})

describe('the size of a batch', () => {
  it('grows while batches are quick, shrinks when they take long, and stays within its bounds', () => {
    assert.equal(nextBatch(100, 1), 200)
    assert.equal(nextBatch(100, 25), 100)
    assert.equal(nextBatch(100, 100), 50)
    assert.equal(nextBatch(1_000, 1), 1_000)
    assert.equal(nextBatch(10, 10_000), 10)
  })
})

describe('a tenant’s retention', () => {
  it('is its own, else the default; one that cannot be read keeps everything', () => {
    const tenant = (retention: unknown) => ({
      id: 'a',
      name: 'A',
      defaultLocale: 'en',
      timeZone: 'UTC',
      settings: { retention },
      createdAt: 0,
    })

    assert.equal(retentionOf(tenant('P2D'), 7), 2 * DAY_MS)
    assert.equal(retentionOf(tenant(undefined), 7), 7)
    assert.equal(retentionOf(null, 7), 7)
    for (const odd of ['soon', 3, null]) assert.equal(retentionOf(tenant(odd), 7), Number.POSITIVE_INFINITY)
  })
})
