import type { StoredEvent } from '../../model/event.ts'
import { EVENT_COLUMNS, eventOf, SCHEDULE_COLUMNS, scheduleOf } from '../shared/events.ts'
import type { Row } from '../shared/script.ts'
import type { EventPlan, Planned, PlanStore, SchedulePlan, StoredSchedule } from '../store.ts'
import { plainArray, textArray } from './arrays.ts'
import { NOTIFICATION_VALUES, notificationValues, WRITE_NOTIFICATIONS } from './notifications.ts'
import type { Query, Session } from './session.ts'
import type { PostgresWake } from './wake.ts'

/** Turning events and schedules into notifications, a batch to a transaction. */
export function openPlan(
  session: Session,
  { wasHinted }: Pick<PostgresWake, 'wasHinted'>,
): Pick<PlanStore, 'events' | 'schedules'> {
  const events = batches(session, { name: 'probe_events', text: PROBE_EVENTS }, () => wasHinted('events'))
  const schedules = batches(session, { name: 'probe_schedules', text: PROBE_SCHEDULES }, () => false)
  return {
    events: (limit, plan) =>
      events({ name: 'take_events', text: TAKE_EVENTS, values: [limit] }, limit, (rows) => planEvents(rows, plan)),
    schedules: (limit, plan) =>
      schedules({ name: 'take_schedules', text: TAKE_SCHEDULES, values: [limit] }, limit, (rows) =>
        planSchedules(rows, plan),
      ),
  }
}

/** What a batch comes to: how many rows were decided, and the statement that writes it. */
interface Batch {
  decided: number
  write: Query
}

const NOTHING: Planned = { taken: 0, decided: 0, inserted: 0, lanes: [] }

/**
 * After a full batch there is probably more, and after a hint something. Otherwise one cheap statement asks first, so
 * that looking for work where there is none costs no transaction.
 */
function batches(session: Session, probe: Query, wasHinted: () => boolean) {
  let isMoreLikely = false
  return async (take: Query, limit: number, decide: (rows: Row[]) => Batch): Promise<Planned> => {
    const isLikely = wasHinted() || isMoreLikely
    isMoreLikely = false
    if (!isLikely && (await session.run(probe)).length === 0) return NOTHING
    let [taken, decided] = [0, 0]
    const written = await session.exchange<Row, Written>(take, (rows) => {
      const batch = decide(rows)
      taken = rows.length
      decided = batch.decided
      return decided > 0 ? batch.write : null
    })
    isMoreLikely = taken === limit
    return { taken, decided, ...summed(written ?? []) }
  }
}

/** One row per lane, and one for notifications without. */
type Written = { lane_id: string | null; inserted: number; is_due: boolean }

/** Ends a statement with `WRITE_NOTIFICATIONS`. What is born parked has no work row. */
const SELECT_WRITTEN = `
  select null as lane_id, count(*)::int as inserted, false as is_due from ledger
  union all
  select lane_id, 0, bool_or(visible_at <= now()) from queued group by lane_id`

function summed(written: readonly Written[]): { inserted: number; lanes: string[] } {
  return {
    inserted: written.reduce((sum, { inserted }) => sum + inserted, 0),
    lanes: written.flatMap(({ lane_id: lane, is_due: isDue }) => (lane !== null && isDue ? [lane] : [])),
  }
}

/** The parameters behind those of `WRITE_NOTIFICATIONS`: `$1` is the first of them. */
function behindNotifications(text: string): string {
  return text.replaceAll(/\$(\d+)/g, (_, number: string) => `$${Number(number) + NOTIFICATION_VALUES}`)
}

const PROBE_EVENTS = `
  select from pillarbox.events where status = 'pending' and next_attempt_at <= now()
  order by next_attempt_at limit 1`
const PROBE_SCHEDULES = `
  select from pillarbox.schedules where status = 'pending' and next_attempt_at <= now()
  order by next_attempt_at limit 1`

/** Locked until the commit: another planner skips them, and a host's transaction that has not committed is not seen. */
const TAKE_EVENTS = `
  select e.ctid as place, ${EVENT_COLUMNS} from pillarbox.events e
  where e.status = 'pending' and e.next_attempt_at <= now()
  order by e.next_attempt_at
  limit $1
  for no key update skip locked`

function planEvents(rows: readonly Row[], plan: (event: StoredEvent) => EventPlan): Batch {
  const decided = rows
    .map((row) => {
      const event = eventOf(row)
      return { event, place: String(row['place']), plan: plan(event) }
    })
    .filter(({ plan: { kind } }) => kind !== 'later')
  return { decided: decided.length, write: { name: 'write_events', text: WRITE_EVENTS, values: eventValues(decided) } }
}

/**
 * Each schedule names its event's decision; one due now is born completed. Events are found by their place in the
 * table: being locked, they do not move.
 */
const WRITE_EVENTS = `
  with ${WRITE_NOTIFICATIONS}, ${behindNotifications(`
  given as materialized (
    select * from unnest($1::tid[], $2::text[], $3::text[], $4::uuid[], $5::float8[], $6::boolean[], $7::text[],
      $8::text[]) as g (place, tenant_id, id, schedule_id, due_ms, is_later, reason, error)
  )`)}, scheduled as (
    insert into pillarbox.schedules (id, tenant_id, event_id, due_at, status, next_attempt_at, completed_at)
    select schedule_id, tenant_id, id, coalesce(to_timestamp(due_ms / 1000), now()),
      case when is_later then 'pending' else 'completed' end,
      case when is_later then to_timestamp(due_ms / 1000) end,
      case when is_later then null else now() end
    from given where schedule_id is not null
  ), audited as (
    insert into pillarbox.audit (tenant_id, actor, action, subject, from_status, to_status, reason)
    select tenant_id, 'system', 'fail', 'event:' || id, 'pending', 'failed', reason from given where reason is not null
  ), settled as (
    update pillarbox.events e
    set status = case when given.reason is null then 'published' else 'failed' end,
      published_at = case when given.reason is null then now() end,
      attempt_count = e.attempt_count + case when given.reason is null then 0 else 1 end,
      last_error = given.error
    from given
    where e.ctid = given.place
  )
  ${SELECT_WRITTEN}`

function eventValues(decided: readonly { event: StoredEvent; place: string; plan: EventPlan }[]): string[] {
  return [
    ...notificationValues(decided.flatMap(({ plan }) => (plan.kind === 'notifications' ? plan.notifications : []))),
    textArray(decided.map(({ place }) => place)),
    textArray(decided.map(({ event }) => event.tenantId)),
    textArray(decided.map(({ event }) => event.id)),
    plainArray(decided.map(({ plan }) => ('scheduleId' in plan ? plan.scheduleId : null))),
    plainArray(decided.map(({ plan, event }) => (plan.kind === 'schedule' ? plan.dueAt : event.dueAt))),
    plainArray(decided.map(({ plan }) => plan.kind === 'schedule')),
    textArray(decided.map(({ plan }) => (plan.kind === 'failed' ? plan.reason : null))),
    textArray(decided.map(({ plan }) => (plan.kind === 'failed' ? plan.error : null))),
  ]
}

const TAKE_SCHEDULES = `
  select ${SCHEDULE_COLUMNS}, ${EVENT_COLUMNS}
  from pillarbox.schedules s join pillarbox.events e on e.tenant_id = s.tenant_id and e.id = s.event_id
  where s.status = 'pending' and s.next_attempt_at <= now()
  order by s.next_attempt_at
  limit $1
  for no key update of s skip locked`

function planSchedules(
  rows: readonly Row[],
  plan: (schedule: StoredSchedule, event: StoredEvent) => SchedulePlan,
): Batch {
  const decided = rows
    .map((row) => {
      const schedule = scheduleOf(row)
      return { schedule, plan: plan(schedule, eventOf(row)) }
    })
    .filter(({ plan: { kind } }) => kind !== 'later')
  return {
    decided: decided.length,
    write: { name: 'write_schedules', text: WRITE_SCHEDULES, values: scheduleValues(decided) },
  }
}

const WRITE_SCHEDULES = `
  with ${WRITE_NOTIFICATIONS}, ${behindNotifications(`
  given as materialized (
    select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[])
      as g (id, tenant_id, status, reason, error)
  )`)}, audited as (
    insert into pillarbox.audit (tenant_id, actor, action, subject, from_status, to_status, reason)
    select tenant_id, 'system', case status when 'failed' then 'fail' else 'cancel' end, 'schedule:' || id, 'pending',
      status, reason
    from given where status <> 'completed'
  ), settled as (
    update pillarbox.schedules s
    set status = given.status, next_attempt_at = null, last_error = given.error,
      completed_at = case when given.status = 'completed' then now() end,
      attempt_count = s.attempt_count + case when given.status = 'failed' then 1 else 0 end
    from given
    where s.id = given.id
  )
  ${SELECT_WRITTEN}`

function scheduleValues(decided: readonly { schedule: StoredSchedule; plan: SchedulePlan }[]): string[] {
  return [
    ...notificationValues(decided.flatMap(({ plan }) => (plan.kind === 'notifications' ? plan.notifications : []))),
    plainArray(decided.map(({ schedule }) => schedule.id)),
    textArray(decided.map(({ schedule }) => schedule.tenantId)),
    plainArray(decided.map(({ plan }) => (plan.kind === 'notifications' ? 'completed' : plan.kind))),
    textArray(decided.map(({ plan }) => ('reason' in plan ? plan.reason : null))),
    textArray(decided.map(({ plan }) => ('error' in plan ? plan.error : null))),
  ]
}
