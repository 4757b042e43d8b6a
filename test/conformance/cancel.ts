import assert from 'node:assert/strict'
import type { Entity, NewEvent } from '../../packages/pillarbox/src/model/event.ts'
import type { NewNotification } from '../../packages/pillarbox/src/model/notification.ts'
import type { Cancels, EventPlan } from '../../packages/pillarbox/src/plan/plan-store.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'
import { planEvents } from '../support/planning.ts'
import { type Bench, completion, dueLater, dueNow, FAR_MS, type Lane, only, type Rule } from './fixtures.ts'

const CANCELS: Cancels = { eventTypes: ['booking.confirmed', 'booking.reminder'], replaces: false }
const REPLACES: Cancels = { eventTypes: [], replaces: true }
const WORDS = 'The event "booking.cancelled" cancelled it'

/** What a later event puts an end to: all that stands for its entity, and nothing else. */
export function cancelRules(rule: Rule): void {
  scheduleRules(rule)
  notificationRules(rule)
  orderRules(rule)
  memoryRules(rule)
  processRules(rule)
}

function scheduleRules(rule: Rule): void {
  for (const needsApproval of [false, true])
    rule(`cancels a schedule that ${needsApproval ? 'awaits approval' : 'is pending'}, and says why`, async (bench) => {
      const { tenant, schedule } = bench
      const tenantId = await tenant()
      const id = await later(bench, tenantId, { type: 'booking.reminder' }, { needsApproval })

      await plan(bench, tenantId, { type: 'booking.cancelled' }, () => dueNow(bench.newId(), [], CANCELS))

      const { status, lastError, completedAt } = await schedule(tenantId, id)
      assert.deepEqual([status, lastError, completedAt], ['cancelled', WORDS, null])
    })

  rule('leaves schedules of other entities, types and tenants alone', async (bench) => {
    const { tenant, schedule } = bench
    const [tenantId, other] = [await tenant(), await tenant()]
    const kept: [string, string][] = [
      [tenantId, await later(bench, tenantId, { entity: { type: 'booking', id: '43' } })],
      [tenantId, await later(bench, tenantId, { entity: { type: 'trip', id: '42' } })],
      [tenantId, await later(bench, tenantId, { type: 'booking.feedback' })],
      [other, await later(bench, other, {})],
    ]

    await plan(bench, tenantId, { type: 'booking.cancelled' }, () => dueNow(bench.newId(), [], CANCELS))

    for (const [of, id] of kept) assert.equal((await schedule(of, id)).status, 'pending')
  })

  rule('leaves alone what was completed, cancelled or has failed', async (bench) => {
    const { store, tenant, schedule, newId, advance } = bench
    const tenantId = await tenant()
    const completed = newId()
    await plan(bench, tenantId, {}, () => dueNow(completed))
    const failed = await later(bench, tenantId, {}, {}, 0)
    await advance(5)
    await store.plan.deferSchedule({ tenantId, id: failed }, 'no more', null)
    const before = [await schedule(tenantId, completed), await schedule(tenantId, failed)]

    await plan(bench, tenantId, { type: 'booking.cancelled' }, () => dueNow(newId(), [], CANCELS))

    assert.deepEqual([await schedule(tenantId, completed), await schedule(tenantId, failed)], before)
  })

  rule('replaces an earlier schedule of its own type, and leaves its notifications alone', async (bench) => {
    const { tenant, lane, schedule, view, newId } = bench
    const target = await lane({ tenantId: await tenant() })
    const { tenantId } = target
    const first = await later(bench, tenantId, {})
    const reminder = await later(bench, tenantId, { type: 'booking.reminder' })
    const queued = await enqueued(bench, target, {})
    const second = newId()

    await plan(bench, tenantId, {}, ({ createdAt }) => dueLater(second, createdAt + FAR_MS, { cancels: REPLACES }))

    const replaced = await schedule(tenantId, first)
    assert.deepEqual(
      [replaced.status, replaced.lastError],
      ['cancelled', 'A later event "booking.confirmed" took its place'],
    )
    assert.equal((await schedule(tenantId, reminder)).status, 'pending')
    assert.equal((await schedule(tenantId, second)).status, 'pending')
    assert.equal((await view(queued)).status, 'queued')
    assert.deepEqual(await bench.store.plan.cancelledAt([request(tenantId, 'booking.confirmed')]), [null])
  })

  rule('an event that was not to be sent cancels all the same', async (bench) => {
    const { tenant, schedule, newId } = bench
    const tenantId = await tenant()
    const id = await later(bench, tenantId, {})

    await plan(bench, tenantId, { type: 'booking.cancelled' }, () => ({
      kind: 'cancelled',
      scheduleId: newId(),
      reason: 'expired',
      error: 'its time was already past',
      cancels: CANCELS,
    }))

    assert.equal((await schedule(tenantId, id)).status, 'cancelled')
  })
}

function notificationRules(rule: Rule): void {
  rule('cancels what is queued or retrying, on record, and leaves the rest', async (bench) => {
    const { store, lane, worker, claim, view, newId } = bench
    const target = await lane()
    const { tenantId } = target
    const by = await worker()
    const retrying = await enqueued(bench, target, {})
    const failure = completion(only(await claim(by, target)), 'retrying', { possibleDuplicate: true })
    await store.dispatch.complete(by, [failure])
    const sent = await enqueued(bench, target, {})
    await store.dispatch.complete(by, [completion(only(await claim(by, target)), 'sent')])
    const sending = await enqueued(bench, target, {})
    const held = only(await claim(by, target))
    const queued = await enqueued(bench, target, { eventType: 'booking.reminder' })
    const others = [
      await enqueued(bench, target, { entity: { type: 'booking', id: '43' } }),
      await enqueued(bench, target, { eventType: 'booking.feedback' }),
    ]

    await plan(bench, tenantId, { type: 'booking.cancelled' }, () => dueNow(newId(), [], CANCELS))

    for (const [id, from, attempt] of [
      [queued, 'queued', 0],
      [retrying, 'retrying', 1],
    ] as const) {
      const { status, reason, lastError, possibleDuplicate } = await view(id)
      assert.deepEqual([status, reason, lastError], ['cancelled', 'cancelled_by_event', WORDS])
      assert.equal(possibleDuplicate, id === retrying)
      const last = (await store.notifications.audit(id)).at(-1)
      assert.deepEqual(
        [last?.actor, last?.action, last?.from, last?.to, last?.reason, last?.attempt],
        ['system', 'cancel', from, 'cancelled', 'cancelled_by_event', attempt],
      )
    }
    assert.equal((await view(sent)).status, 'sent')
    for (const id of others) assert.equal((await view(id)).status, 'queued')
    assert.equal((await view(sending)).status, 'sending')
    const { fenced } = await store.dispatch.complete(by, [completion(held, 'sent')])
    assert.deepEqual(fenced, [])
    assert.equal((await view(sending)).status, 'sent')
  })

  rule('what is cancelled is never claimed, and a row is either cancelled or claimed', async (bench) => {
    const { store, lane, worker, claim, newId } = bench
    const target = await lane()
    const ids: string[] = []
    for (let i = 0; i < 12; i++) ids.push(await enqueued(bench, target, {}))
    const by = await worker()

    const [, ...rounds] = await Promise.all([
      plan(bench, target.tenantId, { type: 'booking.cancelled' }, () => dueNow(newId(), [], CANCELS)),
      claim(by, target, 3),
      claim(by, target, 3),
      claim(by, target, 3),
    ])

    const counts = await store.notifications.countByStatus(target.tenantId)
    const claimed = rounds.flat().length
    assert.deepEqual([counts.sending, counts.cancelled], [claimed, ids.length - claimed])
    assert.deepEqual(await claim(by, target, 12), [])
  })

  rule('a cancelling event’s own notifications stand, also where it names its own type', async (bench) => {
    const { lane, view, notification, newId } = bench
    const target = await lane()
    const earlier = await enqueued(bench, target, { eventType: 'booking.cancelled' })
    const own = notification(target, { eventType: 'booking.cancelled', entity: { type: 'booking', id: '42' } })
    const cancels: Cancels = { eventTypes: ['booking.cancelled'], replaces: true }

    const planned = await plan(bench, target.tenantId, { type: 'booking.cancelled' }, () =>
      dueNow(newId(), [own], cancels),
    )

    assert.deepEqual(planned, { taken: 1, decided: 1, inserted: 1, lanes: [target.id] })
    assert.equal((await view(own.id)).status, 'queued')
    assert.equal((await view(earlier)).status, 'cancelled')
  })
}

function orderRules(rule: Rule): void {
  rule('confirmed, cancelled and confirmed again in one batch: the last one stands', async (bench) => {
    const { store, lane, event, notification, schedule, view, newId } = bench
    const target = await lane()
    const { tenantId } = target
    const types = ['booking.confirmed', 'booking.cancelled', 'booking.confirmed', 'booking.cancelled']
    const events = [...types, 'booking.confirmed'].map((type) => event(tenantId, { type }))
    await store.events.insert(events)
    const rows = events.map(({ id, type, entity }) => notification(target, { eventId: id, eventType: type, entity }))
    const schedules = events.map(() => newId())
    const seen: string[] = []

    const planned = await planEvents(store, 10, ({ id, type }) => {
      const i = events.findIndex((each) => each.id === id)
      seen.push(id)
      return dueNow(schedules[i] ?? '', rows.slice(i, i + 1), type === 'booking.cancelled' ? CANCELS : null)
    })

    assert.deepEqual([planned.decided, planned.inserted], [5, 5])
    assert.deepEqual(
      seen,
      events.map(({ id }) => id),
    )
    const statuses = await Promise.all(rows.map(async ({ id }) => (await view(id)).status))
    assert.deepEqual(statuses, ['cancelled', 'queued', 'cancelled', 'queued', 'queued'])
    for (const id of schedules) assert.equal((await schedule(tenantId, id)).status, 'completed')
  })

  rule('the same for what is due later, for many entities at once', async (bench) => {
    const { store, tenant, event, schedule, newId } = bench
    const tenantId = await tenant()
    const entities = ['1', '2', '3'].map((id) => ({ type: 'booking', id }))
    const types = ['booking.confirmed', 'booking.cancelled', 'booking.confirmed']
    const events = types.flatMap((type) => entities.map((entity) => event(tenantId, { type, entity })))
    await store.events.insert(events)
    const dueAt = (await store.now()) + FAR_MS
    const scheduleOf = new Map(events.map(({ id }) => [id, newId()]))

    await planEvents(store, 10, ({ id, type }) =>
      dueLater(scheduleOf.get(id) ?? '', dueAt, { cancels: type === 'booking.cancelled' ? CANCELS : null }),
    )

    const statuses = await Promise.all(
      events.map(async ({ id }) => (await schedule(tenantId, scheduleOf.get(id) ?? '')).status),
    )
    const expected = ['cancelled', 'pending', 'pending'].flatMap((status) => entities.map(() => status))
    assert.deepEqual(statuses, expected)
  })

  rule('each new event of a batch replaces the one before it', async (bench) => {
    const { store, tenant, event, schedule, newId } = bench
    const tenantId = await tenant()
    const events = [1, 2, 3].map(() => event(tenantId))
    await store.events.insert(events)
    const dueAt = (await store.now()) + FAR_MS
    const ids = events.map(() => newId())
    let n = 0

    await planEvents(store, 10, () => dueLater(ids[n++] ?? '', dueAt, { cancels: REPLACES }))

    const statuses = await Promise.all(ids.map(async (id) => (await schedule(tenantId, id)).status))
    assert.deepEqual(statuses, ['cancelled', 'cancelled', 'pending'])
  })

  rule('what happened after the event that cancels stays, though it was planned first', async (bench) => {
    const { store, lane, event, schedule, view, newId, advance } = bench
    const target = await lane()
    const { tenantId } = target
    const cancelling = event(tenantId, { type: 'booking.cancelled' })
    await store.events.insert([cancelling])
    await store.plan.deferEvent(cancelling, 'the store refused it', FAR_MS)
    await advance(5)
    const pending = await later(bench, tenantId, {})
    const queued = await enqueued(bench, target, {})
    await store.plan.deferEvent(cancelling, 'and again', 0)
    await advance(5)

    const planned = await planEvents(store, 10, () => dueNow(newId(), [], CANCELS))

    assert.equal(planned.decided, 1)
    assert.equal((await schedule(tenantId, pending)).status, 'pending')
    assert.equal((await view(queued)).status, 'queued')
  })

  rule('a refused batch cancels nothing', async (bench) => {
    const { store, lane, event, notification, schedule, view, newId } = bench
    const target = await lane()
    const pending = await later(bench, target.tenantId, {})
    const queued = await enqueued(bench, target, {})
    await store.events.insert([event(target.tenantId, { type: 'booking.cancelled' })])
    const bad = notification(target, { accountId: null })

    await assert.rejects(planEvents(store, 10, () => dueNow(newId(), [bad], CANCELS)))

    assert.equal((await schedule(target.tenantId, pending)).status, 'pending')
    assert.equal((await view(queued)).status, 'queued')
    assert.deepEqual(await store.plan.cancelledAt([request(target.tenantId, 'booking.confirmed')]), [null])
  })
}

function memoryRules(rule: Rule): void {
  rule('remembers when an entity was cancelled for an event type, and answers in order', async (bench) => {
    const { store, tenant, newId, storedEvent } = bench
    const [tenantId, other] = [await tenant(), await tenant()]
    const cancelling = await plan(bench, tenantId, { id: 'x', type: 'booking.cancelled' }, () =>
      dueNow(newId(), [], CANCELS),
    )
    assert.equal(cancelling.decided, 1)
    const { createdAt } = await storedEvent(tenantId, 'x')

    const answers = await store.plan.cancelledAt([
      request(tenantId, 'booking.feedback'),
      request(tenantId, 'booking.reminder'),
      request(other, 'booking.reminder'),
      request(tenantId, 'booking.confirmed', { type: 'booking', id: '43' }),
      request(tenantId, 'booking.confirmed'),
      request(tenantId, 'booking.reminder'),
    ])

    assert.deepEqual(answers, [null, createdAt, null, null, createdAt, createdAt])
    assert.deepEqual(await store.plan.cancelledAt([]), [])
  })

  rule('keeps the latest of several cancellations, in whichever order they are planned', async (bench) => {
    const { store, tenant, event, storedEvent, newId, advance } = bench
    const tenantId = await tenant()
    const [early, late] = [1, 2].map(() => event(tenantId, { type: 'booking.cancelled' })) as [NewEvent, NewEvent]
    await store.events.insert([early])
    await store.plan.deferEvent(early, 'the store refused it', FAR_MS)
    await advance(5)
    await store.events.insert([late])
    const decide = () => dueNow(newId(), [], CANCELS)
    assert.equal((await planEvents(store, 10, decide)).decided, 1)
    const { createdAt } = await storedEvent(tenantId, late.id)
    assert.deepEqual(await store.plan.cancelledAt([request(tenantId, 'booking.confirmed')]), [createdAt])
    await store.plan.deferEvent(early, 'and again', 0)
    await advance(5)

    assert.equal((await planEvents(store, 10, decide)).decided, 1)

    assert.deepEqual(await store.plan.cancelledAt([request(tenantId, 'booking.confirmed')]), [createdAt])
  })
}

/** Another process may be half-way through planning what is to be cancelled. */
function processRules(rule: Rule): void {
  rule('waits for an earlier event that another process is planning', async (bench) => {
    const { store, another, tenant, event, newId, advance } = bench
    const [tenantId, other] = [await tenant(), await warm(another)]
    const dueAt = (await store.now()) + FAR_MS
    await store.events.insert([event(tenantId)])
    const batch = await store.plan.takeEvents(1)
    await store.events.insert([event(tenantId, { type: 'booking.cancelled' })])

    const cancelling = planEvents(other, 10, ({ type }) =>
      dueLater(newId(), dueAt, { cancels: type === 'booking.cancelled' ? CANCELS : null }),
    )
    await advance(30)
    await batch.write([dueLater(newId(), dueAt)])
    await cancelling

    const { items } = await store.schedules.list({ tenantId, eventType: 'booking.confirmed' }, { limit: 10 })
    assert.equal(only(items).status, 'cancelled')
  })

  rule('waits for a schedule that another process is planning, and cancels what came of it', async (bench) => {
    const { store, another, lane, event, notification, newId, advance } = bench
    const [target, other] = [await lane(), await warm(another)]
    const { tenantId } = target
    await later(bench, tenantId, {}, {}, 0)
    await advance(5)
    const batch = await store.plan.takeSchedules(1)
    const row = notification(target, { eventType: 'booking.confirmed', entity: BOOKING })
    await store.events.insert([event(tenantId, { type: 'booking.cancelled' })])

    const cancelling = planEvents(other, 10, () => dueNow(newId(), [], CANCELS))
    await advance(30)
    await batch.write([{ kind: 'notifications', notifications: [row] }])
    await cancelling

    const { queued, cancelled } = await store.notifications.countByStatus(tenantId)
    const { items } = await store.schedules.list({ tenantId, status: ['cancelled'] }, { limit: 10 })
    assert.deepEqual([queued, cancelled + items.length], [0, 1])
  })

  rule('planners at work at the same time agree on what stands', async (bench) => {
    const { store, another, tenant, event, newId, advance } = bench
    const [tenantId, other] = [await tenant(), await warm(another)]
    const entities = Array.from({ length: 8 }, (_, i) => ({ type: 'booking', id: String(i) }))
    for (const type of ['booking.confirmed', 'booking.cancelled', 'booking.confirmed']) {
      await store.events.insert(entities.map((entity) => event(tenantId, { type, entity })))
      await advance(3)
    }
    const dueAt = (await store.now()) + FAR_MS
    const planner = async ({ plan: planStore }: typeof store): Promise<void> => {
      for (let taken = 1; taken > 0; ) {
        const batch = await planStore.takeEvents(3)
        const cancelledAt = await planStore.cancelledAt(
          batch.rows.map(({ entity, type }) => ({ tenantId, entity, eventType: type })),
        )
        const plans = batch.rows.map(({ type, createdAt }, i): EventPlan => {
          if (type === 'booking.cancelled') return dueNow(newId(), [], CANCELS)
          if (createdAt >= (cancelledAt[i] ?? 0)) return dueLater(newId(), dueAt)
          const error = 'cancelled before it was planned'
          return { kind: 'cancelled', scheduleId: newId(), reason: 'cancelled_by_event', error, cancels: null }
        })
        await batch.write(plans)
        taken = batch.rows.length
      }
    }

    await Promise.all([planner(store), planner(other), planner(store), planner(other)])

    for (const { id } of entities) {
      const filter = { tenantId, entityType: 'booking', entityId: id, eventType: 'booking.confirmed' }
      const { items } = await store.schedules.list(filter, { limit: 10 })
      const created = await Promise.all(
        items.map(async ({ eventId, status }) => ({
          at: (await bench.storedEvent(tenantId, eventId)).createdAt,
          status,
        })),
      )
      assert.deepEqual(
        created.sort((a, b) => a.at - b.at).map(({ status }) => status),
        ['cancelled', 'pending'],
        id,
      )
    }
  })
}

/** Another process that has nothing to do but what it is asked: it is connected already. */
async function warm(another: Bench['another']): Promise<Store> {
  const store = await another()
  await planEvents(store, 1, () => assert.fail('nothing is there to be planned'))
  return store
}

const BOOKING: Entity = { type: 'booking', id: '42' }

function request(tenantId: string, eventType: string, entity = BOOKING) {
  return { tenantId, entity, eventType }
}

/** What the contract has no reader for: the audit rows of schedules. */
export const SCHEDULE_RECORD = `select actor, action, subject, from_status, to_status, reason from pillarbox.audit
  where subject like 'schedule:%' order by id`

/** A short history in which schedules are cancelled; answers what `SCHEDULE_RECORD` must then find. */
export async function cancelSchedules(bench: Bench): Promise<Record<string, unknown>[]> {
  const { tenant, newId } = bench
  const tenantId = await tenant()
  const pending = await later(bench, tenantId, {})
  const awaiting = await later(bench, tenantId, { type: 'booking.reminder' }, { needsApproval: true })
  await plan(bench, tenantId, { type: 'booking.cancelled' }, () => dueNow(newId(), [], CANCELS))
  const replaced = await later(bench, tenantId, {})
  await later(bench, tenantId, {}, { cancels: REPLACES })
  const born = newId()
  await plan(bench, tenantId, { type: 'booking.feedback' }, () => {
    return { kind: 'cancelled', scheduleId: born, reason: 'expired', error: 'its time is past', cancels: null }
  })
  const record = (id: string, from: string | null, reason: string) => ({
    actor: 'system',
    action: 'cancel',
    subject: `schedule:${id}`,
    from_status: from,
    to_status: 'cancelled',
    reason,
  })
  return [
    record(pending, 'pending', 'cancelled_by_event'),
    record(awaiting, 'awaiting_approval', 'cancelled_by_event'),
    record(replaced, 'pending', 'replaced'),
    record(born, null, 'expired'),
  ]
}

/** Writes one event and plans it. */
async function plan(
  { store, event }: Bench,
  tenantId: string,
  changes: Partial<NewEvent>,
  decide: (event: { createdAt: number }) => EventPlan,
) {
  only(await store.events.insert([event(tenantId, changes)]))
  return planEvents(store, 1, decide)
}

/** The id of a new schedule that is due in `ms`. */
async function later(
  bench: Bench,
  tenantId: string,
  changes: Partial<NewEvent>,
  how: Parameters<typeof dueLater>[2] = {},
  ms = FAR_MS,
): Promise<string> {
  const id = bench.newId()
  const dueAt = (await bench.store.now()) + ms
  const { decided } = await plan(bench, tenantId, changes, () => dueLater(id, dueAt, how))
  assert.equal(decided, 1)
  return id
}

/** The id of a new queued notification for the entity. */
async function enqueued({ enqueue }: Bench, lane: Lane, changes: Partial<NewNotification>): Promise<string> {
  return only(await enqueue(lane, 1, { eventType: 'booking.confirmed', entity: BOOKING, ...changes }))
}
