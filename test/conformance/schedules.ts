import assert from 'node:assert/strict'
import type { ScheduleStatus } from '../../packages/pillarbox/src/model/event.ts'
import { REASONS } from '../../packages/pillarbox/src/model/reason.ts'
import type { StoredSchedule } from '../../packages/pillarbox/src/model/schedule.ts'
import type { ScheduleStore } from '../../packages/pillarbox/src/operate/schedule-store.ts'
import { planEvents, planSchedules } from '../support/planning.ts'
import { allPages, assertBetween, type Bench, dueLater, dueNow, FAR_MS, type Rule } from './fixtures.ts'

type ScheduleAction = Parameters<ScheduleStore['act']>[0]['action']

const ACTIONS = ['cancel', 'approve', 'reject', 'replay', 'send-now'] as const satisfies ScheduleAction[]
const STATUSES = [
  'awaiting_approval',
  'pending',
  'completed',
  'failed',
  'cancelled',
] as const satisfies ScheduleStatus[]

/** Where each action leads from each status; where nothing stands, nothing moves. */
const MOVES: Record<ScheduleAction, Partial<Record<ScheduleStatus, ScheduleStatus>>> = {
  cancel: { pending: 'cancelled', awaiting_approval: 'cancelled' },
  approve: { awaiting_approval: 'pending' },
  reject: { awaiting_approval: 'cancelled' },
  replay: { failed: 'pending' },
  'send-now': { pending: 'pending' },
}

/** Schedules as operators see and move them. */
export function scheduleRules(rule: Rule): void {
  rule('finds a schedule with its event type and entity', async (bench) => {
    const { store, tenant, event, newId } = bench
    const given = event(await tenant(), { type: 'trip.late', entity: { type: 'trip', id: '7' } })
    const before = await store.now()
    const dueAt = before + FAR_MS
    const id = await scheduled(bench, given, dueAt)

    const { createdAt, ...rest } = (await store.schedules.find(given.tenantId, id)) ?? assert.fail()

    assertBetween(createdAt, before, await store.now())
    assert.deepEqual(rest, {
      id,
      tenantId: given.tenantId,
      eventId: given.id,
      eventType: 'trip.late',
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
    for (const [tenantId, other] of [
      [await tenant(), id],
      [given.tenantId, newId()],
      [given.tenantId, 'no id at all'],
    ] as const)
      assert.equal(await store.schedules.find(tenantId, other), null)
  })

  for (const action of ACTIONS)
    for (const from of STATUSES) {
      const to = MOVES[action][from]
      rule(
        to === undefined
          ? `leaves a schedule that is ${from} alone when asked to ${action} it`
          : `moves a schedule that is ${from} to ${to} when asked to ${action} it`,
        async (bench) => {
          const before = await reached(bench, from)
          const { tenantId, id } = before

          const answer = await bench.store.schedules.act({ tenantId, id, action, actor: 'key:ada' })

          assert.deepEqual(answer, { moved: to !== undefined, from })
          const after = await bench.schedule(tenantId, id)
          if (to === undefined) assert.deepEqual(after, before)
          else assert.equal(after.status, to)
        },
      )
    }

  rule('an approved schedule says who approved it and when, and is due when it was to be', async (bench) => {
    const { store, schedule } = bench
    const before = await reached(bench, 'awaiting_approval')
    const { tenantId, id } = before
    const from = await store.now()

    await store.schedules.act({ tenantId, id, action: 'approve', actor: 'key:ada' })

    const { approvedAt, ...after } = await schedule(tenantId, id)
    assertBetween(approvedAt, from, await store.now())
    const { approvedAt: _, ...old } = before
    assert.deepEqual(after, { ...old, status: 'pending', approvedBy: 'key:ada' })
    assert.deepEqual(await dueSchedules(bench), [], 'it is not due yet')
  })

  rule('a schedule that is sent now is due at once, keeps its time, and says who wanted it', async (bench) => {
    const { store, schedule } = bench
    const before = await reached(bench, 'pending')
    const { tenantId, id } = before
    assert.deepEqual(await dueSchedules(bench), [])

    await store.schedules.act({ tenantId, id, action: 'send-now', actor: 'key:ada' })

    assert.deepEqual(await schedule(tenantId, id), before)
    assert.deepEqual(await dueSchedules(bench), [id])
  })

  rule('a schedule approved after its time is due at once', async (bench) => {
    const { store, tenant, event } = bench
    const given = event(await tenant())
    const id = await scheduled(bench, given, (await store.now()) - 1_000, true)
    assert.deepEqual(await dueSchedules(bench), [], 'nothing is due before it is approved')

    await store.schedules.act({ tenantId: given.tenantId, id, action: 'approve', actor: 'key:ada' })

    assert.deepEqual(await dueSchedules(bench), [id])
  })

  rule('a schedule that was cancelled or rejected says why, and is never due', async (bench) => {
    const { store, tenant, event, schedule } = bench
    const tenantId = await tenant()
    const act = async (action: 'cancel' | 'reject', reason?: string): Promise<StoredSchedule> => {
      const id = await scheduled(bench, event(tenantId), await store.now(), true)
      await store.schedules.act({ tenantId, id, action, actor: 'key:ada', ...(reason === undefined ? {} : { reason }) })
      return schedule(tenantId, id)
    }

    assert.equal((await act('cancel')).lastError, REASONS.cancelled_by_operator)
    assert.equal((await act('reject')).lastError, REASONS.rejected_by_operator)
    assert.equal((await act('cancel', '')).lastError, REASONS.cancelled_by_operator)
    assert.equal((await act('reject', 'the trip was moved')).lastError, 'the trip was moved')
    assert.equal((await act('cancel', 'no longer wanted')).approvedBy, null)
    assert.deepEqual(await dueSchedules(bench), [])
  })

  rule('a schedule that failed is tried again with a fresh count', async (bench) => {
    const { store, schedule } = bench
    const { tenantId, id, lastError, attemptCount } = await reached(bench, 'failed')
    assert.ok(lastError !== null && attemptCount > 0)

    await store.schedules.act({ tenantId, id, action: 'replay', actor: 'key:ada' })

    const after = await schedule(tenantId, id)
    assert.deepEqual([after.attemptCount, after.lastError], [0, null])
    assert.deepEqual(await dueSchedules(bench), [id])
  })

  rule('a schedule of another tenant, or of nobody, is not moved', async (bench) => {
    const { store, tenant, newId, schedule } = bench
    const before = await reached(bench, 'awaiting_approval')
    const other = await tenant()

    for (const action of ACTIONS) {
      assert.equal(await store.schedules.act({ tenantId: other, id: before.id, action, actor: 'key:eve' }), null)
      for (const id of [newId(), 'no id at all'])
        assert.equal(await store.schedules.act({ tenantId: before.tenantId, id, action, actor: 'key:eve' }), null)
    }
    assert.deepEqual(await schedule(before.tenantId, before.id), before)
  })

  rule('of many who decide on a schedule at once, one does', async (bench) => {
    const { store, another } = bench
    const other = await another()
    const { tenantId, id } = await reached(bench, 'awaiting_approval')

    const answers = await Promise.all(
      (['approve', 'reject', 'approve', 'reject'] as const).map((action, i) =>
        (i % 2 ? store : other).schedules.act({ tenantId, id, action, actor: 'key:ada' }),
      ),
    )

    assert.equal(answers.filter((answer) => answer?.moved).length, 1)
  })

  rule('a test clock moves what waits of its tenant, there and back', async (bench) => {
    const { store } = bench
    const mine = await reached(bench, 'pending')
    const theirs = await reached(bench, 'pending')
    const { tenantId } = mine
    const lane = await bench.lane({ tenantId })
    const dueAt = (await store.now()) + FAR_MS
    const [notificationId = ''] = await bench.enqueue(lane, 1, { dueAt, expiresAt: dueAt + FAR_MS })
    const move = { tenantId, actor: 'key:ada', most: 10, longestMs: 3 * FAR_MS }

    assert.deepEqual(await store.due.moveTestClock({ ...move, advanceMs: FAR_MS / 2 }), {
      aheadMs: FAR_MS / 2,
      schedules: 1,
      notifications: 1,
    })
    assert.equal((await bench.schedule(tenantId, mine.id)).dueAt, mine.dueAt - FAR_MS / 2)
    assert.deepEqual(await dueSchedules(bench), [])
    assert.deepEqual(await store.due.moveTestClock({ ...move, advanceMs: null }), {
      aheadMs: 0,
      schedules: 1,
      notifications: 1,
    })
    assert.deepEqual(await bench.schedule(tenantId, mine.id), mine)
    const view = await bench.view(notificationId)
    assert.deepEqual([view.dueAt, view.expiresAt, view.nextAttemptAt], [dueAt, dueAt + FAR_MS, dueAt])

    await store.due.moveTestClock({ ...move, advanceMs: FAR_MS + 1_000 })
    assert.deepEqual(await dueSchedules(bench), [mine.id])
    assert.equal((await bench.claim(await bench.worker(), lane)).length, 1)
    assert.deepEqual(await bench.schedule(theirs.tenantId, theirs.id), theirs)
    assert.deepEqual(await store.due.moveTestClock({ ...move, advanceMs: 1, most: 0 }), { waiting: 1 })
    assert.deepEqual(await store.due.moveTestClock({ ...move, advanceMs: 3 * FAR_MS }), { tooFar: true })
    assert.equal(await store.due.moveTestClock({ ...move, tenantId: 'nobody', advanceMs: 1 }), null)
  })

  rule('pages through schedules, newest first', async (bench) => {
    const { store, tenant, event } = bench
    const tenantId = await tenant()
    const ids: string[] = []
    for (let i = 0; i < 5; i++) ids.push(await scheduled(bench, event(tenantId), (await store.now()) + FAR_MS))
    await scheduled(bench, event(await tenant()), (await store.now()) + FAR_MS)

    const listed = await allPages((page) => store.schedules.list({ tenantId }, page), 2)

    assert.deepEqual(
      listed.map(({ id }) => id),
      ids.toReversed(),
    )
    assert.equal((await store.schedules.list({}, { limit: 10 })).items.length, 6)
  })

  rule('lists schedules by every filter', async (bench) => {
    const { store, tenant, event } = bench
    const tenantId = await tenant()
    const now = await store.now()
    const trip = await scheduled(
      bench,
      event(tenantId, { type: 'trip.late', entity: { type: 'trip', id: '7' } }),
      now + FAR_MS,
    )
    const booking = await scheduled(
      bench,
      event(tenantId, { entity: { type: 'booking', id: '7' } }),
      now + 2 * FAR_MS,
      true,
    )
    const done = event(tenantId, { entity: { type: 'booking', id: '8' } })
    await store.events.insert([done])
    const completed = bench.newId()
    await planEvents(store, 1, () => dueNow(completed))
    const listed = async (filter: Parameters<typeof store.schedules.list>[0]): Promise<string[]> =>
      (await store.schedules.list({ tenantId, ...filter }, { limit: 10 })).items.map(({ id }) => id).sort()

    assert.deepEqual(await listed({}), [trip, booking, completed].sort())
    assert.deepEqual(await listed({ status: [] }), [trip, booking, completed].sort())
    assert.deepEqual(await listed({ status: ['pending'] }), [trip])
    assert.deepEqual(await listed({ status: ['awaiting_approval', 'completed'] }), [booking, completed].sort())
    assert.deepEqual(await listed({ status: ['cancelled'] }), [])
    assert.deepEqual(await listed({ eventType: 'trip.late' }), [trip])
    assert.deepEqual(await listed({ entityType: 'booking' }), [booking, completed].sort())
    assert.deepEqual(await listed({ entityType: 'booking', entityId: '7' }), [booking])
    assert.deepEqual(await listed({ entityId: '7' }), [trip, booking].sort())
    assert.deepEqual(await listed({ dueFrom: now + FAR_MS }), [trip, booking].sort())
    assert.deepEqual(await listed({ dueFrom: now + FAR_MS, dueTo: now + 2 * FAR_MS }), [trip])
    assert.deepEqual(await listed({ dueTo: now + FAR_MS }), [completed])
  })
}

/** A schedule for the event, as planning makes it. */
async function scheduled(
  { store, newId }: Bench,
  event: Parameters<typeof store.events.insert>[0][number],
  dueAt: number,
  needsApproval = false,
): Promise<string> {
  const id = newId()
  await store.events.insert([event])
  const planned = await planEvents(store, 10, (row) =>
    row.id === event.id ? dueLater(id, dueAt, { needsApproval }) : { kind: 'later' },
  )
  assert.equal(planned.decided, 1)
  return id
}

/** A schedule of a new tenant brought to `status` the way production does it. */
async function reached(bench: Bench, status: ScheduleStatus): Promise<StoredSchedule> {
  const { store, tenant, event } = bench
  const given = event(await tenant())
  const { tenantId } = given
  const isDue = status === 'completed' || status === 'failed'
  const dueAt = (await store.now()) + (isDue ? 0 : FAR_MS)
  const id = await scheduled(bench, given, dueAt, status === 'awaiting_approval')
  if (isDue)
    await planSchedules(store, 10, () =>
      status === 'completed'
        ? { kind: 'notifications', notifications: [] }
        : { kind: 'failed', reason: 'invalid_event', error: 'it has no date' },
    )
  if (status === 'cancelled') await store.schedules.act({ tenantId, id, action: 'cancel', actor: 'key:ada' })
  const schedule = await bench.schedule(tenantId, id)
  assert.equal(schedule.status, status)
  return schedule
}

/** The schedules that are due now, left as they are. */
async function dueSchedules({ store }: Bench): Promise<string[]> {
  const due: string[] = []
  await planSchedules(store, 10, ({ schedule }) => {
    due.push(schedule.id)
    return { kind: 'later' }
  })
  return due
}
