import assert from 'node:assert/strict'
import type { NewEvent } from '../../packages/pillarbox/src/model/event.ts'
import type { NewNotification } from '../../packages/pillarbox/src/model/notification.ts'
import {
  type COMMON_STEPS,
  type Purged,
  type PurgedCounts,
  type PurgeStretch,
  sumOfCounts,
  TENANT_STEPS,
} from '../../packages/pillarbox/src/operate/retention-store.ts'
import { verifyChain } from '../../packages/pillarbox/src/operate/verify-audit.ts'
import { chainAudit } from '../support/audit.ts'
import { planEvents } from '../support/planning.ts'
import {
  type Bench,
  bornSkipped,
  completion,
  dueLater,
  dueNow,
  FAR_MS,
  type Lane,
  only,
  REACHABLE,
  type Rule,
  reach,
  receiptOf,
} from './fixtures.ts'

const KEPT: readonly string[] = ['queued', 'sending', 'retrying', 'parked', 'uncertain']

/** What is over and old is removed with all that belongs to it, and nothing else is. */
export function retentionRules(rule: Rule): void {
  for (const status of REACHABLE)
    rule(`a ${status} notification is ${KEPT.includes(status) ? 'never removed' : 'removed'}`, async (bench) => {
      const { id, lane } = await reach(bench, status)
      await bench.advance(5)

      const counts = await purge(bench, lane.tenantId)

      const isGone = !KEPT.includes(status)
      assert.equal((await bench.store.notifications.find(null, id)) === null, isGone)
      assert.equal(counts.notifications, isGone ? 1 : 0)
    })

  rule('a skipped notification is removed, and so is its event', async (bench) => {
    const { event, lane } = await planned(bench, (id) => [bornSkipped(id, '0')])
    await bench.advance(5)

    const counts = await purge(bench, lane.tenantId)

    assert.deepEqual(onlyCounted(counts), { notifications: 1, events: 1, schedules: 1 })
    assert.equal(await bench.store.events.find(event.tenantId, event.id), null)
  })

  rule('what happened within the retention is kept, however old the notification is', async (bench) => {
    const { id, lane } = await reach(bench, 'parked')
    await bench.advance(5)
    const before = await bench.store.now()
    await bench.advance(5)
    await bench.store.notifications.act({ tenantId: lane.tenantId, id, action: 'discard', actor: 'key:ada' })

    assert.equal((await purge(bench, lane.tenantId, { before })).notifications, 0)
    await bench.advance(5)
    assert.equal((await purge(bench, lane.tenantId)).notifications, 1)
  })

  rule('what was sent within the retention is kept, however long it has waited', async (bench) => {
    const lane = await bench.lane()
    const id = only(await bench.enqueue(lane))
    await bench.advance(20)
    const before = await bench.store.now()
    await bench.advance(20)
    const worker = await bench.worker()
    const claim = only(await bench.claim(worker, lane))
    await bench.store.dispatch.complete(worker, [completion(claim, 'sent', { ageMs: 0, durationMs: 0 })])

    assert.equal((await purge(bench, lane.tenantId, { before })).notifications, 0)
    assert.equal((await bench.view(id)).status, 'sent')
  })

  rule('what was sent and may still fall back is kept for a week', async (bench) => {
    const { lane, id } = await reach(bench, 'sent', undefined, { fallback: ['sms'] })
    await bench.advance(5)
    assert.equal((await purge(bench, lane.tenantId)).notifications, 0)

    assert.equal(await bench.store.receipts.merge(receiptOf(lane, id, 'delivered')), 'moved')
    await bench.advance(5)

    assert.equal((await purge(bench, lane.tenantId)).notifications, 1)
  })

  rule('nothing of a removed notification is left in any table, and of another one everything is', async (bench) => {
    const { store } = bench
    const tables = bench.tables()
    if (tables === null) return
    await tables
    const { id, lane } = await reach(bench, 'sent', undefined, { content: { sealed: 'v1.cipher-text' } })
    await store.receipts.merge(receiptOf(lane, id, 'delivered'))
    await store.inbox.put({ id, tenantId: lane.tenantId, userId: 'ada', sealed: 'words' })
    const other = await reach(bench, 'parked', lane.tenantId)
    await bench.advance(5)
    const before = rowsNaming((await bench.tables()) ?? {}, other.id)

    const counts = await purge(bench, lane.tenantId)

    const left = (await bench.tables()) ?? {}
    assert.deepEqual(rowsNaming(left, id), {})
    assert.deepEqual(rowsNaming(left, other.id), before)
    assert.ok(Object.keys(before).length >= 3)
    const { notifications, attempts, receipts, inboxMessages } = counts
    assert.deepEqual([notifications, attempts, receipts, inboxMessages], [1, 1, 1, 1])
  })

  rule('an event is kept as long as one of its notifications is', async (bench) => {
    const { event, lane, ids } = await planned(bench, () => [{}, {}])
    await cancel(bench, lane, ids[0])
    await bench.advance(5)
    assert.deepEqual(onlyCounted(await purge(bench, lane.tenantId)), { notifications: 1, audit: 1 })
    assert.ok(await bench.store.events.find(event.tenantId, event.id))

    await cancel(bench, lane, ids[1])
    await bench.advance(5)

    const counts = await purge(bench, lane.tenantId)
    assert.deepEqual([counts.notifications, counts.events, counts.schedules], [1, 1, 1])
  })

  rule('an event that waits, or whose schedule does, is never removed', async (bench) => {
    const { store, tenant, event, newId } = bench
    const tenantId = await tenant()
    const [waiting, scheduled] = [event(tenantId), event(tenantId)]
    await store.events.insert([scheduled])
    await planEvents(store, 1, () => dueLater(newId(), FAR_MS * 10_000_000))
    await store.events.insert([waiting])
    await bench.advance(5)

    assert.deepEqual(onlyCounted(await purge(bench, tenantId)), {})

    for (const { id } of [waiting, scheduled]) assert.ok(await store.events.find(tenantId, id))
  })

  rule('an event that failed is removed, and one that made nothing', async (bench) => {
    const { store, tenant, event, newId } = bench
    const tenantId = await tenant()
    const [failed, quiet] = [event(tenantId), event(tenantId)]
    await store.events.insert([quiet])
    await planEvents(store, 1, () => dueNow(newId()))
    await store.events.insert([failed])
    await store.plan.deferEvent({ tenantId, id: failed.id }, 'broken', null)
    await bench.advance(5)

    const counts = await purge(bench, tenantId)

    assert.deepEqual([counts.events, counts.schedules], [2, 1])
  })

  rule('many events of one entity are told apart', async (bench) => {
    const { store, event, newId } = bench
    const lane = await bench.lane()
    const events = Array.from({ length: 25 }, () => event(lane.tenantId))
    await store.events.insert(events)
    const kept = events.filter((_, i) => i % 5 === 0).map(({ id }) => id)
    await planEvents(store, 100, (given) =>
      dueNow(newId(), [
        bench.notification(lane, {
          eventId: given.id,
          entity: given.entity,
          ...(kept.includes(given.id) ? {} : bornSkipped(given.id, '0')),
        }),
      ]),
    )
    await bench.advance(5)

    const counts = await purge(bench, lane.tenantId, { limit: 3 })

    assert.deepEqual([counts.notifications, counts.events], [20, 20])
    const { items } = await store.events.list({ tenantId: lane.tenantId }, { limit: 100 })
    assert.deepEqual(items.map(({ id }) => id).sort(), kept.sort())
  })

  rule('a domain event goes with the last event that was made of it', async (bench) => {
    const { store, tenant, event } = bench
    const tenantId = await tenant()
    const parent = event(tenantId)
    const child = { ...event(tenantId), derivedFrom: parent.id }
    await store.events.insert([parent])
    await planEvents(store, 1, () => ({ kind: 'derive', events: [child] }))
    await bench.advance(5)
    assert.deepEqual(onlyCounted(await purge(bench, tenantId)), {})

    await planEvents(store, 1, () => dueNow(bench.newId()))
    await bench.advance(5)

    assert.equal((await purge(bench, tenantId)).events, 2)
  })

  rule('another tenant’s rows are not touched', async (bench) => {
    const mine = await reach(bench, 'sent')
    const theirs = await reach(bench, 'sent')
    await bench.advance(5)

    await purge(bench, mine.lane.tenantId)

    assert.equal((await bench.view(theirs.id)).status, 'sent')
  })

  rule('a dry run counts what the purge then removes, and changes nothing', async (bench) => {
    const { lane, ids } = await planned(bench, (id) => [{}, bornSkipped(id, '1')])
    await cancel(bench, lane, ids[0])
    await reach(bench, 'sent', lane.tenantId)
    await reach(bench, 'queued', lane.tenantId)
    const open = await planned(bench, () => [{}], lane)
    await bench.advance(5)

    const counted = await purge(bench, lane.tenantId, { isDryRun: true })
    assert.ok(await bench.store.events.find(lane.tenantId, open.event.id))
    const again = await purge(bench, lane.tenantId, { isDryRun: true })
    const removed = await purge(bench, lane.tenantId)

    assert.deepEqual(counted, again)
    assert.deepEqual(counted, removed)
    assert.equal(removed.notifications, 3)
    assert.deepEqual(onlyCounted(await purge(bench, lane.tenantId)), {})
  })

  rule('a conversation goes when none of its notifications is left', async (bench) => {
    const { store, newId } = bench
    const lane = await bench.lane()
    const about = { tenantId: lane.tenantId, profileId: 'p1', conversation: { type: 'booking', id: '1' } }
    const person = only(await store.people.resolve([about], newId))
    const contactId = person.contact?.id ?? ''
    const told = { contactId, conversationId: person.conversationId ?? null }
    const { id } = await reach(bench, 'queued', lane.tenantId, told)
    await bench.advance(10)
    assert.equal((await purge(bench, lane.tenantId)).conversations, 0)
    await cancel(bench, lane, id)
    await bench.advance(10)

    const counts = await purge(bench, lane.tenantId)

    assert.deepEqual([counts.notifications, counts.conversations], [1, 1])
    assert.ok(await store.people.findContact(lane.tenantId, contactId), 'the contact stays')
  })

  rule('callbacks go by their tenant’s time, and those of no tenant by that of their accounts', async (bench) => {
    const { store } = bench
    const [mine, theirs] = [await bench.lane(), await bench.lane()]
    const keep = (body: string, tenantId: string | null, accountIds: string[]) =>
      store.receipts.keep({ source: 'ses', tenantId, accountIds, headers: {}, body: Buffer.from(body) })
    await keep('mine', null, [mine.id])
    await keep('theirs', null, [theirs.id])
    await keep('both', null, [theirs.id, mine.id])
    await keep('named', mine.tenantId, [])
    const result = { status: 'applied', reports: 1, matched: 0, moved: 0, unreadable: 0, delayMs: 0 } as const
    for (const { id } of await store.receipts.take(10, FAR_MS)) await store.receipts.settle(id, result)
    await keep('pending', mine.tenantId, [])
    await bench.advance(5)

    const counts = await purgeCommon(bench, 'callbacks', mine.tenantId)

    assert.equal(counts.callbacks, 3)
    const { items } = await store.receipts.callbacks({}, { limit: 10 })
    assert.deepEqual(
      items.map(({ body }) => body.toString()),
      ['pending', 'theirs'],
    )
  })

  rule('audit rows go by their tenant’s time, but those of a notification with it', async (bench) => {
    const { store } = bench
    const { id, lane } = await reach(bench, 'parked')
    await store.notifications.act({ tenantId: lane.tenantId, id, action: 'retry', actor: 'key:ada' })
    const others = await bench.tenant()
    for (const tenantId of [lane.tenantId, others])
      await store.audit.record({ tenantId, actor: 'key:ada', action: 'update', subject: 'account:1' })
    const subjects = async (tenantId: string): Promise<unknown[]> =>
      (await store.audit.list({ tenantId }, { limit: 100 })).items.flatMap(({ subject }) => subject ?? [])
    const theirs = await subjects(others)
    await bench.advance(5)

    const counts = await purgeCommon(bench, 'audit', lane.tenantId)

    assert.ok((counts.audit ?? 0) > 0)
    assert.deepEqual(await subjects(lane.tenantId), ['audit'], 'only that it was removed')
    assert.deepEqual(await subjects(others), theirs)
    assert.ok((await store.notifications.audit(id)).some(({ action }) => action === 'retry'))
  })

  rule('the chain of the audit accounts for what was removed', async (bench) => {
    const { store } = bench
    const { lane } = await reach(bench, 'discarded')
    const { tenantId } = lane
    const kept = await reach(bench, 'parked', tenantId)
    await store.audit.record({ tenantId, actor: 'key:ada', action: 'update', subject: 'account:1' })
    await chainAudit(store)
    await bench.advance(10)

    const removed = await purge(bench, tenantId)
    await purgeCommon(bench, 'audit', tenantId)
    await chainAudit(store)

    assert.deepEqual([removed.notifications, removed.attempts], [1, 1])
    const { fault, purged } = await verifyChain(store.audit, tenantId)
    assert.equal(fault, null)
    assert.ok(purged >= 3, `${purged} rows are accounted for`)
    assert.ok(await bench.view(kept.id))
  })

  rule('one purger works at a time, and one that falls silent loses its turn', async (bench) => {
    const { retention } = bench.store
    const begin = (purger: string, everyMs: number | null = null) =>
      retention.begin(purger, { leaseMs: FAR_MS, everyMs })

    assert.equal(await begin('a'), 'begun')
    assert.equal(await begin('b'), 'busy')
    assert.equal(await retention.keep('a', 1), true)
    await bench.advance(20)
    assert.equal(await begin('b'), 'begun')
    assert.equal(await retention.keep('a', FAR_MS), false)
    assert.equal(await retention.keep('b', FAR_MS), true)
    await retention.end('a', true)
    assert.equal(await begin('c'), 'busy')
    await retention.end('b', true)

    assert.equal(await begin('c', FAR_MS), 'not_due')
    assert.equal(await begin('c'), 'begun')
    await retention.end('c', false)
    await bench.advance(5)
    assert.equal(await begin('d', 1), 'begun')
  })

  rule('of several who purge at once, each row is counted once', async (bench) => {
    const { lane } = await reach(bench, 'sent')
    for (let i = 0; i < 5; i++) await reach(bench, 'cancelled', lane.tenantId)
    await bench.advance(5)

    const counts = await Promise.all([1, 2, 3].map(() => purge(bench, lane.tenantId)))
    counts.push(await purge(bench, lane.tenantId))

    assert.equal(
      counts.reduce((sum, { notifications = 0 }) => sum + notifications, 0),
      6,
    )
  })

  rule('goes from tenant to tenant, also to one that only events name', async (bench) => {
    const { store } = bench
    const tenants = [await bench.tenant(), await bench.tenant()]
    await store.events.insert([bench.event('nobody-knows')])
    const seen: string[] = []
    for (let id = await store.retention.nextTenant(''); id !== null; id = await store.retention.nextTenant(id))
      seen.push(id)

    assert.deepEqual(seen, [...tenants, 'nobody-knows'].sort())
  })
}

/** Every step of a purge of one tenant, in stretches of `limit`. */
async function purge(
  { store, purges }: Bench,
  tenantId: string,
  { before, limit = 7, isDryRun = false }: { before?: number; limit?: number; isDryRun?: boolean } = {},
): Promise<PurgedCounts> {
  purges()
  const until = before ?? (await store.now())
  let counts: PurgedCounts = {}
  for (const step of TENANT_STEPS) {
    const some = await through(limit, isDryRun, (stretch) =>
      store.retention.purge(step, { ...stretch, tenantId, before: until }),
    )
    counts = sumOfCounts(counts, some)
  }
  return { notifications: 0, ...counts }
}

async function purgeCommon(
  { store }: Bench,
  step: (typeof COMMON_STEPS)[number],
  tenantId: string,
): Promise<PurgedCounts> {
  const latest = await store.now()
  const before = (whose: string | null): number => (whose === tenantId ? latest : 0)
  return await through(2, false, (stretch) => store.retention.purgeCommon(step, { ...stretch, before, latest }))
}

async function through(
  limit: number,
  isDryRun: boolean,
  work: (stretch: PurgeStretch) => Promise<Purged>,
): Promise<PurgedCounts> {
  let counts: PurgedCounts = {}
  let rounds = 0
  for (let after: string | null = null; ; ) {
    const done: Purged = await work({ after, limit, isDryRun })
    counts = sumOfCounts(counts, done.counts)
    assert.ok(done.looked <= limit)
    assert.ok(++rounds < 100, 'the stretches do not end')
    if (done.next === null) return counts
    after = done.next
  }
}

function onlyCounted(counts: PurgedCounts): PurgedCounts {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}

/** An event that has become these notifications. */
async function planned(
  bench: Bench,
  rowsOf: (eventId: string) => Partial<NewNotification>[],
  given?: Lane,
): Promise<{ event: NewEvent; lane: Lane; ids: string[] }> {
  const lane = given ?? (await bench.lane())
  const event = bench.event(lane.tenantId)
  await bench.store.events.insert([event])
  const rows = rowsOf(event.id).map((row) =>
    bench.notification(lane, { eventId: event.id, entity: event.entity, ...row }),
  )
  await planEvents(bench.store, 1, () => dueNow(bench.newId(), rows))
  return { event, lane, ids: rows.map(({ id }) => id) }
}

async function cancel({ store }: Bench, { tenantId }: Lane, id: string | undefined): Promise<void> {
  const answer = await store.notifications.act({ tenantId, id: id ?? '', action: 'cancel', actor: 'key:ada' })
  assert.equal(answer?.moved, true)
}

/** How many rows of each table have a value that is this text. */
function rowsNaming(tables: Record<string, Record<string, unknown>[]>, text: string): Record<string, number> {
  const counts = Object.entries(tables).map(([table, rows]) => {
    const naming = rows.filter((row) => Object.values(row).some((value) => value === text))
    return [table, naming.length] as const
  })
  return Object.fromEntries(counts.filter(([, count]) => count > 0))
}
