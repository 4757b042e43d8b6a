import assert from 'node:assert/strict'
import type { Completion } from '../../packages/pillarbox/src/dispatch/dispatch-store.ts'
import type { NewNotification } from '../../packages/pillarbox/src/model/notification.ts'
import type { RetryingAccount } from '../../packages/pillarbox/src/operate/scan-store.ts'
import { type Bench, completion, FAR_MS, type Lane, only, type Rule, receiptOf } from './fixtures.ts'

/** What is looked for in everything, by one worker at a time. */
export function scanRules(rule: Rule): void {
  rule('a scan is done by one at a time, and again only after its time', async ({ store, another, newId }) => {
    const [one, two] = [newId(), newId()]
    const other = await another()
    const options = { leaseMs: FAR_MS, everyMs: FAR_MS }

    assert.equal(await store.scans.begin('stuck', one, options), 'begun')
    assert.equal(await other.scans.begin('stuck', two, options), 'busy')
    assert.equal(await other.scans.begin('stale', two, options), 'begun')
    assert.deepEqual([await store.scans.keep('stuck', one, 5), await other.scans.keep('stuck', two, 5)], [true, false])
    await store.scans.end('stuck', one, true)

    assert.equal(await other.scans.begin('stuck', two, options), 'not_due')
    assert.equal(await other.scans.begin('stuck', two, { ...options, everyMs: null }), 'begun')
  })

  rule('a scan that was not done to its end, or whose worker is silent, is begun by another', async (bench) => {
    const { scans } = bench.store
    const [one, two] = [bench.newId(), bench.newId()]
    const options = { leaseMs: 1, everyMs: FAR_MS }
    await scans.begin('parked', one, options)
    await bench.advance(20)

    assert.equal(await scans.begin('parked', two, { ...options, leaseMs: FAR_MS }), 'begun')
    assert.equal(await scans.keep('parked', one, FAR_MS), false)
    await scans.end('parked', one, true)
    await scans.end('parked', two, false)

    assert.equal(await scans.begin('parked', one, options), 'begun')
  })

  rule('what was sent long ago and has no receipt is counted as stale, once', async (bench) => {
    const lane = await bench.lane()
    await sent(bench, lane, 'ses')
    await sent(bench, lane, 'ses')
    await sent(bench, lane, 'sandbox')
    const heard = await sent(bench, lane, 'ses')
    await bench.store.receipts.merge(receiptOf(lane, heard, 'delivered', { provider: 'ses' }))
    await bench.advance(30)
    const next = (limit = 100, staleForMs = 5) => bench.store.scans.nextStale(lane.tenantId, { staleForMs, limit })

    assert.deepEqual(await next(100, FAR_MS), { stale: 0, isMore: false })
    assert.deepEqual(await next(2), { stale: 2, isMore: true })
    assert.deepEqual(await next(), { stale: 0, isMore: false })
    await sent(bench, lane, 'ses')
    await bench.advance(30)
    assert.deepEqual(await next(), { stale: 1, isMore: false })
    assert.deepEqual(await next(), { stale: 0, isMore: false })
  })

  rule('accounts whose parked notifications are retried are those that say so, and can send', async (bench) => {
    const { store } = bench
    const [plain, paused, open, good] = [await bench.lane(), await bench.lane(), await bench.lane(), await bench.lane()]
    for (const { tenantId, id } of [paused, open, good])
      await store.accounts.update(tenantId, id, { parkedRetryAfterMs: 60_000 })
    await store.accounts.setStatus(paused.id, 'paused', 'refused', 'system')
    await store.lanes.openBreaker(open.id, FAR_MS, 'away')

    const { tenantId, id } = good
    assert.deepEqual(await store.scans.retryingAccounts(), [{ tenantId, id, afterMs: 60_000 }])
    assert.equal((await store.accounts.find(null, plain.id))?.parkedRetryAfterMs, null)
    await store.accounts.update(tenantId, id, { parkedRetryAfterMs: null })
    assert.deepEqual(await store.scans.retryingAccounts(), [])
  })

  rule('of what is parked, what may be retried by itself is found, until that was done', async (bench) => {
    const { store } = bench
    const lane = await bench.lane()
    const account = retrying(lane, 5)
    const down = { outcome: 'transient', reason: 'attempts_exhausted' } as const
    const [old, other] = [await parked(bench, lane, down), await parked(bench, await bench.lane(), down)]
    await parked(bench, lane, {})
    await parked(bench, lane, { ...down, possibleDuplicate: true })
    await parked(bench, lane, down, { expiresAt: (await store.now()) + 40 })
    await bench.advance(50)
    const found = (of = account) => store.scans.parkedToRetry(of, { ...ONLY_EXHAUSTED, windowMs: FAR_MS, limit: 10 })

    assert.deepEqual(await found(), [old])
    assert.deepEqual(await found(retrying(lane, FAR_MS)), [])
    assert.deepEqual(await store.scans.parkedToRetry(account, { ...ONLY_EXHAUSTED, windowMs: 1, limit: 10 }), [])
    assert.equal((await bench.view(other)).status, 'parked')

    const retry = (actor: string) =>
      store.notifications.act({ tenantId: lane.tenantId, id: old, action: 'retry', actor, keepsExpiry: true })
    await retry('system')
    await settle(bench, lane, 'parked', down)
    await bench.advance(20)
    assert.deepEqual(await found(), [])
    await retry('key:ada')
    await settle(bench, lane, 'parked', down)
    await bench.advance(20)
    assert.deepEqual(await found(), [old])
  })

  rule('a retry that nobody asked for keeps the expiry; one by hand takes it away', async (bench) => {
    const lane = await bench.lane()
    const expiresAt = (await bench.store.now()) + FAR_MS
    const id = await parked(bench, lane, { reason: 'unreachable' }, { expiresAt })
    const act = (action: 'retry' | 'park', keepsExpiry: boolean) =>
      bench.store.notifications.act({ tenantId: lane.tenantId, id, action, actor: 'system', keepsExpiry })

    await act('retry', true)
    assert.equal((await bench.view(id)).expiresAt, expiresAt)
    await act('park', false)
    await act('retry', false)
    assert.equal((await bench.view(id)).expiresAt, null)
  })
}

const ONLY_EXHAUSTED = { reasons: ['attempts_exhausted'] } as const

function retrying({ tenantId, id }: Lane, afterMs: number): RetryingAccount {
  return { tenantId, id, afterMs }
}

async function settle(
  bench: Bench,
  lane: Lane,
  to: Completion['to'],
  changes: Partial<Completion> = {},
): Promise<string> {
  const worker = await bench.worker()
  const claim = only(await bench.claim(worker, lane))
  await bench.store.dispatch.complete(worker, [completion(claim, to, changes)])
  return claim.notificationId
}

async function sent(bench: Bench, lane: Lane, provider: string): Promise<string> {
  await bench.enqueue(lane, 1, { provider })
  return settle(bench, lane, 'sent', { provider })
}

async function parked(
  bench: Bench,
  lane: Lane,
  result: Partial<Completion>,
  changes: Partial<NewNotification> = {},
): Promise<string> {
  await bench.enqueue(lane, 1, changes)
  return settle(bench, lane, 'parked', result)
}
