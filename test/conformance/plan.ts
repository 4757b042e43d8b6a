import assert from 'node:assert/strict'
import type { NewNotification } from '../../packages/pillarbox/src/model/notification.ts'
import type { DueSchedule, EventPlan, SchedulePlan } from '../../packages/pillarbox/src/plan/plan-store.ts'
import { planEvents, planSchedules } from '../support/planning.ts'
import {
  assertBetween,
  at,
  type Bench,
  bornParked,
  content,
  dueLater,
  dueNow,
  FAR_MS,
  only,
  type Rule,
} from './fixtures.ts'

/** Events become schedules and notifications: all of it or nothing, and each of them once. */
export function planRules(rule: Rule): void {
  rule('an event that is due becomes notifications and a completed schedule', async (bench) => {
    const { store, lane, event, notification, newId, storedEvent, schedule, view } = bench
    const target = await lane()
    const given = event(target.tenantId)
    await store.events.insert([given])
    const scheduleId = newId()
    const rows = [1, 2].map(() => notification(target, { eventId: given.id, eventType: given.type, scheduleId }))
    const before = await store.now()

    const planned = await planEvents(store, 10, () => dueNow(scheduleId, rows))

    const after = await store.now()
    assert.deepEqual(planned, { taken: 1, decided: 1, inserted: 2, lanes: [target.id] })
    const published = await storedEvent(target.tenantId, given.id)
    assert.equal(published.status, 'published')
    assertBetween(published.publishedAt, before, after)
    const completed = await schedule(target.tenantId, scheduleId)
    assert.equal(completed.status, 'completed')
    assertBetween(completed.completedAt, before, after)
    assert.equal(completed.eventId, given.id)
    for (const { id } of rows) {
      const row = await view(id)
      assert.equal(row.status, 'queued')
      assert.deepEqual([row.eventId, row.eventType, row.scheduleId], [given.id, given.type, scheduleId])
    }
  })

  rule('the planner is handed events as they are stored', async ({ store, event, tenant, storedEvent }) => {
    const given = event(await tenant(), { payload: { a: [1, { b: null }] }, dueAt: null, channels: ['sms'] })
    await store.events.insert([given])
    const stored = await storedEvent(given.tenantId, given.id)

    await planEvents(store, 1, (event) => {
      assert.deepEqual(event, stored)
      return { kind: 'later' }
    })
  })

  rule('takes at most the limit, oldest first, and never the same event again', async (bench) => {
    const { store, event, tenant, advance } = bench
    const tenantId = await tenant()
    for (const id of ['c', 'a', 'd', 'b']) {
      await store.events.insert([event(tenantId, { id })])
      await advance(3)
    }

    const rounds: string[][] = []
    for (let round = 0; round < 3; round++) {
      const taken: string[] = []
      const planned = await planEvents(store, 3, ({ id }) => {
        taken.push(id)
        return failure
      })
      assert.equal(planned.taken, taken.length)
      rounds.push(taken)
    }

    assert.deepEqual(rounds, [['c', 'a', 'd'], ['b'], []])
  })

  rule('takes fewer of very large events, and each of them in the end', async ({ store, event, tenant }) => {
    const tenantId = await tenant()
    // More than half of what a batch may hold, though it compresses to nearly nothing.
    const payload = { text: 'x'.repeat(9 * 1_024 * 1_024) }
    const huge = { text: 'y'.repeat(17 * 1_024 * 1_024) }
    await store.events.insert([event(tenantId, { payload }), event(tenantId, { payload })])
    await store.events.insert([event(tenantId, { payload: huge })])

    const taken: number[] = []
    for (let round = 0; round < 4; round++) taken.push((await planEvents(store, 10, () => failure)).taken)

    assert.deepEqual(taken, [1, 1, 1, 0])
  })

  rule('the store answers whatever the plans need while a batch is held', async ({ store, event, tenant }) => {
    await store.events.insert([event(await tenant()), event(await tenant())])
    const batch = await store.plan.takeEvents(10)

    await store.tenants.find(at(batch.rows, 0).tenantId)
    await store.plan.cancelledAt([])
    await store.tenants.insert({ id: 'made', name: 'x', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
    const written = await batch.write([failure, failure])

    assert.equal(written.decided, 2)
    assert.ok(await store.tenants.find('made'))
  })

  rule('a batch has no rows where nothing is due', async ({ store }) => {
    for (const batch of [await store.plan.takeEvents(10), await store.plan.takeSchedules(10)]) {
      assert.deepEqual(batch.rows, [])
      assert.deepEqual(await batch.write([]), { decided: 0, inserted: 0, lanes: [] })
      await batch.release()
    }
  })

  rule('a batch that is released leaves every row as it was, and the store at work', async (bench) => {
    const { store, event, tenant, storedEvent, schedule, advance } = bench
    const ref = await scheduled(bench, 5)
    const given = event(await tenant())
    await store.events.insert([given])
    await advance(15)
    const before = [await storedEvent(given.tenantId, given.id), await schedule(ref.tenantId, ref.id)]

    for (const take of [store.plan.takeEvents, store.plan.takeSchedules]) {
      const batch = await take(10)
      assert.equal(batch.rows.length, 1)
      await batch.release()
      await batch.release()
    }

    assert.deepEqual([await storedEvent(given.tenantId, given.id), await schedule(ref.tenantId, ref.id)], before)
    assert.equal((await planEvents(store, 10, () => failure)).decided, 1)
    assert.equal((await planSchedules(store, 10, () => failure)).decided, 1)
  })

  rule('"later" leaves an event as it was, and counts as taken but not as decided', async (bench) => {
    const { store, event, tenant, storedEvent } = bench
    const [waiting, decided] = [event(await tenant()), event(await tenant())]
    await store.events.insert([waiting, decided])
    const before = await storedEvent(waiting.tenantId, waiting.id)

    const planned = await planEvents(store, 10, ({ id }) => (id === waiting.id ? { kind: 'later' } : failure))

    assert.deepEqual(planned, { taken: 2, decided: 1, inserted: 0, lanes: [] })
    assert.deepEqual(await storedEvent(waiting.tenantId, waiting.id), before)
  })

  rule('an event that cannot be planned fails, with what was wrong', async ({ store, event, tenant, storedEvent }) => {
    const given = event(await tenant())
    await store.events.insert([given])

    const planned = await planEvents(store, 1, () => failure)

    assert.deepEqual(planned, { taken: 1, decided: 1, inserted: 0, lanes: [] })
    const failed = await storedEvent(given.tenantId, given.id)
    assert.equal(failed.status, 'failed')
    assert.equal(failed.lastError, failure.error)
    assert.equal(failed.publishedAt, null)
  })

  rule('an event that names nobody is published without notifications', async (bench) => {
    const { store, event, tenant, newId, storedEvent, schedule } = bench
    const given = event(await tenant())
    await store.events.insert([given])
    const scheduleId = newId()

    const planned = await planEvents(store, 1, () => dueNow(scheduleId))

    assert.deepEqual(planned, { taken: 1, decided: 1, inserted: 0, lanes: [] })
    assert.equal((await storedEvent(given.tenantId, given.id)).status, 'published')
    assert.equal((await schedule(given.tenantId, scheduleId)).status, 'completed')
  })

  rule('a repeated key is not inserted again, and its event is published all the same', async (bench) => {
    const { store, lane, event, notification, newId, storedEvent, view } = bench
    const target = await lane()
    const events = [event(target.tenantId), event(target.tenantId)]
    const notify = (body: string): NewNotification =>
      notification(target, { idempotencyKey: '42:booking.confirmed:email:t', content: content(body) })
    const first = notify('first')
    await store.notifications.insert([first])
    await store.events.insert(events)

    const planned = await planEvents(store, 10, () => dueNow(newId(), [notify('again'), notify('and again')]))

    assert.equal(planned.inserted, 0)
    assert.equal(planned.decided, 2)
    for (const { tenantId, id } of events) assert.equal((await storedEvent(tenantId, id)).status, 'published')
    assert.deepEqual((await view(first.id)).content, content('first'))
    assert.equal((await store.notifications.countByStatus(target.tenantId)).queued, 1)
  })

  rule('of one key planned by two events at once, one row is inserted', async (bench) => {
    const { store, lane, event, notification, newId } = bench
    const target = await lane()
    await store.events.insert([event(target.tenantId), event(target.tenantId)])

    const planned = await planEvents(store, 10, () =>
      dueNow(newId(), [notification(target, { idempotencyKey: 'one' })]),
    )

    assert.deepEqual(planned, { taken: 2, decided: 2, inserted: 1, lanes: [target.id] })
    assert.equal((await store.notifications.countByStatus(null)).queued, 1)
  })

  rule('a refused row rejects the whole batch and leaves nothing behind', async (bench) => {
    const { store, lane, event, notification, newId, storedEvent } = bench
    const target = await lane()
    const events = [1, 2, 3].map(() => event(target.tenantId))
    await store.events.insert(events)
    const before = await Promise.all(events.map(({ tenantId, id }) => storedEvent(tenantId, id)))
    const scheduleIds = events.map(() => newId())
    const ids: string[] = []
    let n = 0
    const plan = (): EventPlan => {
      const last = n === 2
      const row = notification(target, last ? { accountId: null } : {})
      ids.push(row.id)
      return dueNow(at(scheduleIds, n++), [row])
    }

    await assert.rejects(planEvents(store, 10, plan))

    assert.deepEqual(await Promise.all(events.map(({ tenantId, id }) => storedEvent(tenantId, id))), before)
    for (const id of ids) assert.equal(await store.notifications.find(null, id), null)
    for (const id of scheduleIds) assert.equal(await store.schedules.find(target.tenantId, id), null)
    // The planner then goes one by one; the store is in a state to do so.
    assert.equal((await planEvents(store, 1, () => failure)).decided, 1)
  })

  rule('a notification for a channel that does not exist is refused', async (bench) => {
    const { store, lane, event, notification, newId, storedEvent } = bench
    const target = await lane()
    const given = event(target.tenantId)
    await store.events.insert([given])
    const row = { ...notification(target), channel: 'pigeon' } as unknown as NewNotification

    await assert.rejects(planEvents(store, 1, () => dueNow(newId(), [row])))

    assert.equal((await storedEvent(target.tenantId, given.id)).status, 'pending')
    assert.equal(await store.notifications.find(null, row.id), null)
  })

  rule('planners at work at the same time plan each event once', async (bench) => {
    const { store, lane, event, notification, newId } = bench
    const target = await lane()
    const events = Array.from({ length: 40 }, () => event(target.tenantId))
    await store.events.insert(events)
    const planner = async (): Promise<number> => {
      let decided = 0
      for (let taken = 1; taken > 0; ) {
        const planned = await planEvents(store, 3, ({ id }) => dueNow(newId(), [notification(target, { eventId: id })]))
        taken = planned.taken
        decided += planned.decided
      }
      return decided
    }

    const decided = await Promise.all([planner(), planner(), planner(), planner()])

    assert.equal(
      decided.reduce((total, n) => total + n, 0),
      40,
    )
    const { items } = await store.notifications.list({ tenantId: target.tenantId }, { limit: 200 })
    assert.equal(items.length, events.length)
    assert.deepEqual(new Set(items.map(({ eventId }) => eventId)), new Set(events.map(({ id }) => id)))
  })

  rule('planners that read first, at the same time, plan each event once', async (bench) => {
    const { store, lane, event, notification, newId } = bench
    const target = await lane()
    const events = Array.from({ length: 12 }, () => event(target.tenantId))
    await store.events.insert(events)
    const planner = async (): Promise<void> => {
      for (let taken = 1; taken > 0; ) {
        const batch = await store.plan.takeEvents(3)
        taken = batch.rows.length
        await store.now()
        await batch.write(batch.rows.map(({ id }) => dueNow(newId(), [notification(target, { eventId: id })])))
      }
    }

    await Promise.all([planner(), planner(), planner()])

    const { items } = await store.notifications.list({}, { limit: 200 })
    const planned = items.map(({ eventId }) => String(eventId))
    assert.deepEqual(planned.sort(), events.map(({ id }) => id).sort())
  })

  rule('planners that hold batches at the same time wait for nobody, and write each row once', async (bench) => {
    const { store, another, event, tenant, newId, advance } = bench
    const tenantId = await tenant()
    const events = Array.from({ length: 4 }, () => event(tenantId))
    await store.events.insert(events)
    const dueAt = await store.now()
    const other = await another()

    const [first, second] = [await store.plan.takeEvents(2), await other.plan.takeEvents(4)]
    const written = [first, second].map((batch) => batch.write(batch.rows.map(() => dueLater(newId(), dueAt))))

    assert.deepEqual(
      (await Promise.all(written)).map(({ decided }) => decided),
      [2, 2],
    )
    await advance(5)
    const [left, right] = [await store.plan.takeSchedules(2), await other.plan.takeSchedules(4)]
    const completed = [left, right].map((batch) =>
      batch.write(batch.rows.map(() => ({ kind: 'notifications', notifications: [] }))),
    )
    assert.deepEqual(
      (await Promise.all(completed)).map(({ decided }) => decided),
      [2, 2],
    )
  })

  rule('names each lane that has due work, once', async ({ store, lane, event, notification, newId }) => {
    const tenantLane = await lane()
    const second = await lane({ tenantId: tenantLane.tenantId, channel: 'sms' })
    await store.events.insert([event(tenantLane.tenantId), event(tenantLane.tenantId)])

    const { lanes } = await planEvents(store, 10, () =>
      dueNow(newId(), [notification(tenantLane), notification(second), notification(tenantLane, bornParked())]),
    )

    assert.deepEqual(lanes.toSorted(), [tenantLane.id, second.id].toSorted())
  })

  rule('an event that is due later becomes a pending schedule', async (bench) => {
    const { store, event, tenant, newId, storedEvent, schedule } = bench
    const given = event(await tenant(), { type: 'trip.reminder', entity: { type: 'trip', id: '7' } })
    await store.events.insert([given])
    const scheduleId = newId()
    const before = await store.now()
    const dueAt = before + FAR_MS

    const planned = await planEvents(store, 1, () => dueLater(scheduleId, dueAt))

    assert.deepEqual(planned, { taken: 1, decided: 1, inserted: 0, lanes: [] })
    assert.equal((await storedEvent(given.tenantId, given.id)).status, 'published')
    const { createdAt, ...pending } = await schedule(given.tenantId, scheduleId)
    assertBetween(createdAt, before, await store.now())
    assert.deepEqual(pending, {
      id: scheduleId,
      tenantId: given.tenantId,
      eventId: given.id,
      eventType: 'trip.reminder',
      entity: { type: 'trip', id: '7' },
      dueAt,
      status: 'pending',
      attemptCount: 0,
      lastError: null,
      completedAt: null,
      progress: null,
      approvedBy: null,
      approvedAt: null,
      isReplayed: false,
    })
  })

  rule('an event that needs approval waits for it, however late it gets', async (bench) => {
    const { store, event, tenant, newId, storedEvent, schedule, advance } = bench
    const given = event(await tenant())
    await store.events.insert([given])
    const [scheduleId, dueAt] = [newId(), await store.now()]

    await planEvents(store, 1, () => dueLater(scheduleId, dueAt, { needsApproval: true }))

    assert.equal((await storedEvent(given.tenantId, given.id)).status, 'published')
    const waiting = await schedule(given.tenantId, scheduleId)
    assert.deepEqual([waiting.status, waiting.dueAt, waiting.approvedBy], ['awaiting_approval', dueAt, null])
    await advance(15)
    assert.equal((await planSchedules(store, 10, later)).taken, 0)
  })

  rule('an event that is not to be sent becomes a cancelled schedule that says why', async (bench) => {
    const { store, event, tenant, newId, storedEvent, schedule } = bench
    const given = event(await tenant())
    await store.events.insert([given])
    const scheduleId = newId()
    const error = 'its time was already past'

    const planned = await planEvents(store, 1, () => ({
      kind: 'cancelled',
      scheduleId,
      reason: 'expired',
      error,
      cancels: null,
    }))

    assert.deepEqual(planned, { taken: 1, decided: 1, inserted: 0, lanes: [] })
    const published = await storedEvent(given.tenantId, given.id)
    assert.deepEqual([published.status, published.lastError], ['published', null])
    const cancelled = await schedule(given.tenantId, scheduleId)
    assert.deepEqual([cancelled.status, cancelled.lastError, cancelled.completedAt], ['cancelled', error, null])
    assert.deepEqual([cancelled.eventId, cancelled.eventType], [given.id, given.type])
    assert.deepEqual(cancelled.entity, given.entity)
    assert.equal((await planSchedules(store, 10, later)).taken, 0)
  })

  rule('gives the planner an event that is due later at once, so that its schedule can be seen', async (bench) => {
    const { store, event, tenant } = bench
    const given = event(await tenant(), { dueAt: (await store.now()) + FAR_MS })
    await store.events.insert([given])

    const { taken } = await planEvents(store, 1, () => ({ kind: 'later' }))

    assert.equal(taken, 1)
  })

  rule('a schedule is not taken before its time', async (bench) => {
    const { store } = bench
    await scheduled(bench, FAR_MS)

    const planned = await planSchedules(store, 10, () => ({ kind: 'notifications', notifications: [] }))

    assert.deepEqual(planned, { taken: 0, decided: 0, inserted: 0, lanes: [] })
  })

  rule('a schedule whose time has come becomes notifications, with its event at hand', async (bench) => {
    const { store, lane, notification, schedule, view, storedEvent, advance } = bench
    const target = await lane()
    const ref = await scheduled(bench, 20, target.tenantId)
    const [pending, event] = [await schedule(ref.tenantId, ref.id), await storedEvent(ref.tenantId, ref.eventId)]
    const row = notification(target, { scheduleId: ref.id, eventId: ref.eventId })
    await advance(30)

    const planned = await planSchedules(store, 10, (due) => {
      assert.deepEqual(due, { schedule: pending, event })
      return { kind: 'notifications', notifications: [row] }
    })

    assert.deepEqual(planned, { taken: 1, decided: 1, inserted: 1, lanes: [target.id] })
    const completed = await schedule(ref.tenantId, ref.id)
    assert.equal(completed.status, 'completed')
    assert.ok(completed.completedAt !== null)
    assert.equal((await view(row.id)).status, 'queued')
    assert.equal((await planSchedules(store, 10, later)).taken, 0)
  })

  const decisions: { plan: SchedulePlan & { error: string }; status: string }[] = [
    { plan: { kind: 'failed', reason: 'planning_failed', error: 'the template is broken' }, status: 'failed' },
    {
      plan: { kind: 'cancelled', reason: 'cancelled_by_event', error: 'the booking was cancelled' },
      status: 'cancelled',
    },
  ]
  for (const { plan, status } of decisions)
    rule(`a schedule that comes out as ${status} says why, and is not taken again`, async (bench) => {
      const { store, schedule, advance } = bench
      const ref = await scheduled(bench, 5)
      await advance(15)

      const planned = await planSchedules(store, 10, () => plan)

      assert.deepEqual(planned, { taken: 1, decided: 1, inserted: 0, lanes: [] })
      const decided = await schedule(ref.tenantId, ref.id)
      assert.equal(decided.status, status)
      assert.equal(decided.lastError, plan.error)
      assert.equal(decided.completedAt, null)
      assert.equal((await planSchedules(store, 10, later)).taken, 0)
    })

  rule('"later" leaves a schedule as it was', async (bench) => {
    const { store, schedule, advance } = bench
    const ref = await scheduled(bench, 5)
    const before = await schedule(ref.tenantId, ref.id)
    await advance(15)

    const planned = await planSchedules(store, 10, later)

    assert.deepEqual(planned, { taken: 1, decided: 0, inserted: 0, lanes: [] })
    assert.deepEqual(await schedule(ref.tenantId, ref.id), before)
  })

  rule('a refused row of a schedule leaves the schedule pending and nothing written', async (bench) => {
    const { store, lane, notification, schedule, advance } = bench
    const target = await lane()
    const ref = await scheduled(bench, 5, target.tenantId)
    const [good, bad] = [notification(target), notification(target, { accountId: null })]
    const before = await schedule(ref.tenantId, ref.id)
    await advance(15)

    await assert.rejects(planSchedules(store, 10, () => ({ kind: 'notifications', notifications: [good, bad] })))

    assert.deepEqual(await schedule(ref.tenantId, ref.id), before)
    assert.equal(await store.notifications.find(null, good.id), null)
  })

  rule('a part is written with how far it got, and the rest is due at once', async (bench) => {
    const { store, lane, notification, schedule, advance } = bench
    const target = await lane()
    const ref = await scheduled(bench, 5, target.tenantId)
    await advance(15)
    const progress = { cursor: '2', planned: 2, total: 3 }
    const rows = [1, 2, 3].map(() => notification(target, { scheduleId: ref.id }))

    const first = await planSchedules(store, 10, () => ({ kind: 'part', notifications: rows.slice(0, 2), progress }))

    assert.deepEqual(first, { taken: 1, decided: 1, inserted: 2, lanes: [target.id] })
    const pending = await schedule(ref.tenantId, ref.id)
    assert.deepEqual([pending.status, pending.progress, pending.attemptCount], ['pending', progress, 0])
    const second = await planSchedules(store, 10, (due) => {
      assert.deepEqual(due.schedule, pending)
      return { kind: 'notifications', notifications: rows.slice(2) }
    })
    assert.deepEqual([second.decided, second.inserted], [1, 1])
    const completed = await schedule(ref.tenantId, ref.id)
    assert.deepEqual([completed.status, completed.progress], ['completed', progress])
    assert.equal((await store.notifications.countByStatus(target.tenantId)).queued, 3)
  })

  rule('a part that is refused is as if it had never been tried', async (bench) => {
    const { store, lane, notification, schedule, advance } = bench
    const target = await lane()
    const ref = await scheduled(bench, 5, target.tenantId)
    await advance(15)
    const before = await schedule(ref.tenantId, ref.id)
    const progress = { cursor: '2', planned: 2, total: 3 }
    const notifications = [notification(target), notification(target, { accountId: null })]

    await assert.rejects(planSchedules(store, 10, () => ({ kind: 'part', notifications, progress })))

    assert.deepEqual(await schedule(ref.tenantId, ref.id), before)
    assert.equal((await store.notifications.countByStatus(target.tenantId)).queued, 0)
  })

  rule('parts of one schedule let others in between', async (bench) => {
    const { store, schedule, advance } = bench
    const large = await scheduled(bench, 5)
    await advance(10)
    const small = await scheduled(bench, 0)
    await advance(5)
    const taken: string[] = []
    let after = ''
    for (let i = 0; i < 3; i++) {
      const plan = ({ schedule: { id, tenantId } }: DueSchedule): SchedulePlan => {
        taken.push(id)
        after = tenantId
        const progress = { cursor: String(i), planned: i, total: 9 }
        return id === large.id
          ? { kind: 'part', notifications: [], progress }
          : { kind: 'notifications', notifications: [] }
      }
      await planSchedules(store, 1, plan, { after })
    }

    assert.deepEqual(taken, [large.id, small.id, large.id])
    assert.equal((await schedule(large.tenantId, large.id)).progress?.cursor, '2')
  })

  rule('planners at work at the same time plan each schedule once', async (bench) => {
    const { store, lane, event, notification, newId, advance } = bench
    const target = await lane()
    await store.events.insert(Array.from({ length: 20 }, () => event(target.tenantId)))
    const dueAt = (await store.now()) + 5
    await planEvents(store, 50, () => dueLater(newId(), dueAt))
    await advance(15)
    const planner = async (): Promise<void> => {
      const plan = ({ schedule }: DueSchedule): SchedulePlan => ({
        kind: 'notifications',
        notifications: [notification(target, { scheduleId: schedule.id })],
      })
      while ((await planSchedules(store, 3, plan)).taken > 0);
    }

    await Promise.all([planner(), planner(), planner()])

    const { items } = await store.notifications.list({}, { limit: 200 })
    assert.equal(items.length, 20)
    assert.equal(new Set(items.map(({ scheduleId }) => scheduleId)).size, 20)
  })

  rule('a deferred event waits, with the error and one more attempt on record', async (bench) => {
    const { store, event, tenant, storedEvent } = bench
    const given = event(await tenant())
    await store.events.insert([given])
    const before = await store.now()

    await store.plan.deferEvent(given, 'refused by the store', FAR_MS)

    const deferred = await storedEvent(given.tenantId, given.id)
    assert.equal(deferred.status, 'pending')
    assert.equal(deferred.attemptCount, 1)
    assert.equal(deferred.lastError, 'refused by the store')
    assertBetween(deferred.nextAttemptAt, before + FAR_MS, (await store.now()) + FAR_MS)
    assert.equal((await planEvents(store, 10, later)).taken, 0)
  })

  rule('a deferred event is taken again after its delay', async ({ store, event, tenant, advance }) => {
    const given = event(await tenant())
    await store.events.insert([given])
    await store.plan.deferEvent(given, 'once', 5)
    await store.plan.deferEvent(given, 'twice', 10)
    await advance(20)

    const counts: number[] = []
    await planEvents(store, 10, ({ attemptCount }) => {
      counts.push(attemptCount)
      return failure
    })

    assert.deepEqual(counts, [2])
  })

  rule('an event that is published after it was deferred counts both tries and has no error', async (bench) => {
    const { store, event, tenant, newId, storedEvent, schedule, advance } = bench
    const given = event(await tenant())
    await store.events.insert([given])
    await store.plan.deferEvent(given, 'boom', 5)
    await advance(20)
    const scheduleId = newId()

    await planEvents(store, 10, () => dueNow(scheduleId))

    const published = await storedEvent(given.tenantId, given.id)
    assert.deepEqual([published.status, published.attemptCount, published.lastError], ['published', 2, null])
    const { attemptCount, lastError } = await schedule(given.tenantId, scheduleId)
    assert.deepEqual([attemptCount, lastError], [1, null])
  })

  rule('a schedule counts its tries, but not the parts it is planned in', async (bench) => {
    const { store, schedule, advance } = bench
    const ref = await scheduled(bench, 5)
    await advance(15)
    assert.equal((await schedule(ref.tenantId, ref.id)).attemptCount, 0)
    await store.plan.deferSchedule(ref, 'boom', 5)
    await advance(15)

    const progress = { cursor: '1', planned: 1, total: 2 }
    await planSchedules(store, 10, () => ({ kind: 'part', notifications: [], progress }))
    const half = await schedule(ref.tenantId, ref.id)
    await planSchedules(store, 10, () => ({ kind: 'notifications', notifications: [] }))

    assert.deepEqual([half.status, half.attemptCount, half.lastError], ['pending', 1, null])
    const whole = await schedule(ref.tenantId, ref.id)
    assert.deepEqual([whole.status, whole.attemptCount, whole.lastError], ['completed', 2, null])
    assert.deepEqual(whole.progress, progress)
  })

  rule('an event deferred without a delay has failed', async ({ store, event, tenant, storedEvent }) => {
    const given = event(await tenant())
    await store.events.insert([given])

    await store.plan.deferEvent(given, 'refused for the last time', null)

    const failed = await storedEvent(given.tenantId, given.id)
    assert.deepEqual(
      [failed.status, failed.lastError, failed.publishedAt],
      ['failed', 'refused for the last time', null],
    )
    assert.equal((await planEvents(store, 10, later)).taken, 0)
  })

  rule('a published event cannot be deferred any more', async ({ store, event, tenant, newId, storedEvent }) => {
    const given = event(await tenant())
    await store.events.insert([given])
    await planEvents(store, 1, () => dueNow(newId()))
    const published = await storedEvent(given.tenantId, given.id)

    await store.plan.deferEvent(given, 'too late', null)
    await store.plan.deferEvent(given, 'too late', 0)

    assert.deepEqual(await storedEvent(given.tenantId, given.id), published)
  })

  rule('an event is deferred in its own tenant only', async ({ store, event, tenant, storedEvent }) => {
    const [mine, other] = [await tenant(), await tenant()]
    await store.events.insert([event(mine, { id: 'same' }), event(other, { id: 'same' })])
    const before = await storedEvent(other, 'same')

    await store.plan.deferEvent({ tenantId: mine, id: 'same' }, 'refused', null)

    assert.deepEqual(await storedEvent(other, 'same'), before)
  })

  rule('a deferred schedule waits, and is taken again after its delay', async (bench) => {
    const { store, schedule, advance } = bench
    const ref = await scheduled(bench, 5)
    await advance(15)

    await store.plan.deferSchedule(ref, 'refused', FAR_MS)

    const deferred = await schedule(ref.tenantId, ref.id)
    assert.deepEqual([deferred.status, deferred.attemptCount, deferred.lastError], ['pending', 1, 'refused'])
    assert.equal((await planSchedules(store, 10, later)).taken, 0)
    await store.plan.deferSchedule(ref, 'refused again', 5)
    await advance(15)
    assert.equal((await planSchedules(store, 10, later)).taken, 1)
    assert.equal((await schedule(ref.tenantId, ref.id)).attemptCount, 2)
  })

  rule('a schedule deferred without a delay has failed', async (bench) => {
    const { store, schedule, advance } = bench
    const ref = await scheduled(bench, 5)
    await advance(15)

    await store.plan.deferSchedule(ref, 'refused for the last time', null)

    const failed = await schedule(ref.tenantId, ref.id)
    assert.deepEqual([failed.status, failed.lastError], ['failed', 'refused for the last time'])
    assert.equal((await planSchedules(store, 10, later)).taken, 0)
  })

  rule('a completed schedule cannot be deferred any more', async (bench) => {
    const { store, schedule, advance } = bench
    const ref = await scheduled(bench, 5)
    await advance(15)
    await planSchedules(store, 1, () => ({ kind: 'notifications', notifications: [] }))
    const completed = await schedule(ref.tenantId, ref.id)

    await store.plan.deferSchedule(ref, 'too late', null)

    assert.deepEqual(await schedule(ref.tenantId, ref.id), completed)
  })

  rule('a schedule of another tenant, or of nobody, is not found', async (bench) => {
    const { store, tenant, newId } = bench
    const ref = await scheduled(bench, FAR_MS)

    assert.equal(await store.schedules.find(await tenant(), ref.id), null)
    assert.equal(await store.schedules.find(ref.tenantId, newId()), null)
    assert.equal(await store.schedules.find(ref.tenantId, 'no id at all'), null)
  })
}

const failure = { kind: 'failed', reason: 'invalid_event', error: 'the payload names no booking' } as const
const later = (): { kind: 'later' } => ({ kind: 'later' })

/** A new event whose schedule is due in `ms`. */
async function scheduled(
  { store, event, tenant, newId }: Bench,
  ms: number,
  tenantId?: string,
): Promise<{ tenantId: string; id: string; eventId: string }> {
  const given = event(tenantId ?? (await tenant()))
  only(await store.events.insert([given]))
  const id = newId()
  const dueAt = (await store.now()) + ms
  assert.equal((await planEvents(store, 1, () => dueLater(id, dueAt))).decided, 1)
  return { tenantId: given.tenantId, id, eventId: given.id }
}
