import type { StoredEvent } from '../../model/event.ts'
import { EVENT_COLUMNS, eventOf, SCHEDULE_COLUMNS, scheduleOf } from '../shared/events.ts'
import type { EventPlan, NewNotification, Planned, PlanStore, SchedulePlan, StoredSchedule } from '../store.ts'
import { plainArray, textArray } from './arrays.ts'
import { insertNotifications } from './notifications.ts'
import type { Run, Session } from './session.ts'

/** Turning events and schedules into notifications, a batch to a transaction. */
export function openPlan(session: Session): Pick<PlanStore, 'events' | 'schedules'> {
  return {
    events: (limit, plan) => session.transaction((run) => planEvents(run, limit, plan)),
    schedules: (limit, plan) => session.transaction((run) => planSchedules(run, limit, plan)),
  }
}

/** Locked until the commit: another planner skips them, and a host's transaction that has not committed is not seen. */
const TAKE_EVENTS = `
  select ${EVENT_COLUMNS} from pillarbox.events e
  where e.status = 'pending' and e.next_attempt_at <= now()
  order by e.next_attempt_at
  limit $1
  for no key update skip locked`

async function planEvents(run: Run, limit: number, plan: (event: StoredEvent) => EventPlan): Promise<Planned> {
  const rows = await run({ name: 'take_events', text: TAKE_EVENTS, values: [limit] })
  const decided = rows
    .map(eventOf)
    .map((event) => ({ event, plan: plan(event) }))
    .filter(({ plan: { kind } }) => kind !== 'later')
    .toSorted(({ event: a }, { event: b }) => compare(a.tenantId, b.tenantId) || compare(a.id, b.id))
  const written = await writeNotifications(
    run,
    decided.flatMap(({ plan: each }) => (each.kind === 'notifications' ? each.notifications : [])),
  )
  await settleEvents(run, decided)
  return { taken: rows.length, decided: decided.length, ...written }
}

/** Schedules first: each names its event's decision. One due now is born completed. */
const SETTLE_EVENTS = `
  with given as materialized (
    select * from unnest($1::text[], $2::text[], $3::uuid[], $4::float8[], $5::boolean[], $6::text[], $7::text[])
      as g (tenant_id, id, schedule_id, due_ms, is_later, reason, error)
  ), scheduled as (
    insert into pillarbox.schedules (id, tenant_id, event_id, due_at, status, next_attempt_at, completed_at)
    select schedule_id, tenant_id, id, coalesce(to_timestamp(due_ms / 1000), now()),
      case when is_later then 'pending' else 'completed' end,
      case when is_later then to_timestamp(due_ms / 1000) end,
      case when is_later then null else now() end
    from given where schedule_id is not null
  ), audited as (
    insert into pillarbox.audit (tenant_id, actor, action, subject, from_status, to_status, reason)
    select tenant_id, 'system', 'fail', 'event:' || id, 'pending', 'failed', reason from given where reason is not null
  )
  update pillarbox.events e
  set status = case when given.reason is null then 'published' else 'failed' end,
    published_at = case when given.reason is null then now() end,
    attempt_count = e.attempt_count + case when given.reason is null then 0 else 1 end,
    last_error = given.error
  from given
  where e.tenant_id = given.tenant_id and e.id = given.id`

async function settleEvents(run: Run, decided: readonly { event: StoredEvent; plan: EventPlan }[]): Promise<void> {
  if (decided.length === 0) return
  await run({
    name: 'settle_events',
    text: SETTLE_EVENTS,
    values: [
      textArray(decided.map(({ event }) => event.tenantId)),
      textArray(decided.map(({ event }) => event.id)),
      plainArray(decided.map(({ plan }) => ('scheduleId' in plan ? plan.scheduleId : null))),
      plainArray(decided.map(({ plan, event }) => (plan.kind === 'schedule' ? plan.dueAt : event.dueAt))),
      plainArray(decided.map(({ plan }) => plan.kind === 'schedule')),
      textArray(decided.map(({ plan }) => (plan.kind === 'failed' ? plan.reason : null))),
      textArray(decided.map(({ plan }) => (plan.kind === 'failed' ? plan.error : null))),
    ],
  })
}

const TAKE_SCHEDULES = `
  select ${SCHEDULE_COLUMNS}, ${EVENT_COLUMNS}
  from pillarbox.schedules s join pillarbox.events e on e.tenant_id = s.tenant_id and e.id = s.event_id
  where s.status = 'pending' and s.next_attempt_at <= now()
  order by s.next_attempt_at
  limit $1
  for no key update of s skip locked`

async function planSchedules(
  run: Run,
  limit: number,
  plan: (schedule: StoredSchedule, event: StoredEvent) => SchedulePlan,
): Promise<Planned> {
  const rows = await run({ name: 'take_schedules', text: TAKE_SCHEDULES, values: [limit] })
  const decided = rows
    .map((row) => ({ schedule: scheduleOf(row), event: eventOf(row) }))
    .map(({ schedule, event }) => ({ schedule, plan: plan(schedule, event) }))
    .filter(({ plan: { kind } }) => kind !== 'later')
    .toSorted(({ schedule: a }, { schedule: b }) => compare(a.id, b.id))
  const written = await writeNotifications(
    run,
    decided.flatMap(({ plan: each }) => (each.kind === 'notifications' ? each.notifications : [])),
  )
  await settleSchedules(run, decided)
  return { taken: rows.length, decided: decided.length, ...written }
}

const SETTLE_SCHEDULES = `
  with given as materialized (
    select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[])
      as g (id, tenant_id, status, reason, error)
  ), audited as (
    insert into pillarbox.audit (tenant_id, actor, action, subject, from_status, to_status, reason)
    select tenant_id, 'system', case status when 'failed' then 'fail' else 'cancel' end, 'schedule:' || id, 'pending',
      status, reason
    from given where status <> 'completed'
  )
  update pillarbox.schedules s
  set status = given.status, next_attempt_at = null, last_error = given.error,
    completed_at = case when given.status = 'completed' then now() end,
    attempt_count = s.attempt_count + case when given.status = 'failed' then 1 else 0 end
  from given
  where s.id = given.id`

async function settleSchedules(
  run: Run,
  decided: readonly { schedule: StoredSchedule; plan: SchedulePlan }[],
): Promise<void> {
  if (decided.length === 0) return
  await run({
    name: 'settle_schedules',
    text: SETTLE_SCHEDULES,
    values: [
      plainArray(decided.map(({ schedule }) => schedule.id)),
      textArray(decided.map(({ schedule }) => schedule.tenantId)),
      plainArray(decided.map(({ plan }) => (plan.kind === 'notifications' ? 'completed' : plan.kind))),
      textArray(decided.map(({ plan }) => ('reason' in plan ? plan.reason : null))),
      textArray(decided.map(({ plan }) => ('error' in plan ? plan.error : null))),
    ],
  })
}

async function writeNotifications(
  run: Run,
  notifications: readonly NewNotification[],
): Promise<{ inserted: number; lanes: string[] }> {
  if (notifications.length === 0) return { inserted: 0, lanes: [] }
  const { inserted, lanes } = await insertNotifications(run, notifications)
  return { inserted, lanes }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
