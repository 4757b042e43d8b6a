import type { StoredEvent } from '../../model/event.ts'
import type { Reason } from '../../model/reason.ts'
import type { DueSchedule, EventPlan, Planned, Planning, PlanStore, SchedulePlan } from '../../plan/plan-store.ts'
import { cancelsOf, type Ending, endingsOf } from '../shared/endings.ts'
import { EVENT_COLUMNS, eventOf, SCHEDULE_COLUMNS, scheduleOf } from '../shared/events.ts'
import { TAKE_BYTES } from '../shared/plan.ts'
import type { Row } from '../shared/script.ts'
import { holdsSealed } from '../shared/scrub.ts'
import { jsonArray, plainArray, textArray } from './arrays.ts'
import { awaitOthers, cancel } from './cancel.ts'
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
    events: (limit, planning) =>
      events({ name: 'take_events', text: TAKE_EVENTS, values: [limit] }, limit, (rows) => planEvents(rows, planning)),
    schedules: (limit, planning) =>
      schedules({ name: 'take_schedules', text: TAKE_SCHEDULES, values: [limit] }, limit, (rows) =>
        planSchedules(rows, planning),
      ),
  }
}

/** What a batch comes to: how many rows were decided, and the statements that write it. */
interface Batch {
  decided: number
  writes: Query[]
}

const NOTHING: Planned = { taken: 0, decided: 0, inserted: 0, lanes: [] }

/** What must be on the disk before anybody acts on it. */
const WAIT_FOR_DISK: Query = { name: 'wait_for_disk', text: 'set local synchronous_commit = on' }

/**
 * After a full batch there is probably more, and after a hint something. Otherwise one cheap statement asks first, so
 * that looking for work where there is none costs no transaction.
 */
function batches(session: Session, probe: Query, wasHinted: () => boolean) {
  let isMoreLikely = false
  return async (take: Query, limit: number, decide: (rows: Row[]) => Batch | Promise<Batch>): Promise<Planned> => {
    const isLikely = wasHinted() || isMoreLikely
    isMoreLikely = false
    if (!isLikely && (await session.run(probe)).length === 0) return NOTHING
    let [taken, decided] = [0, 0]
    const writesOf = (batch: Batch): Query[] => {
      decided = batch.decided
      return decided === 0 ? [] : batch.writes
    }
    const answers = await session.exchange<Row>(take, (rows) => {
      // Nothing of an earlier try counts, which was rolled back.
      ;[taken, decided] = [rows.length, 0]
      if (taken === 0) return []
      const batch = decide(rows)
      return batch instanceof Promise ? batch.then(writesOf) : writesOf(batch)
    })
    isMoreLikely = taken === limit
    return { taken, decided, ...summed(answers.flat() as Written[]) }
  }
}

/** What comes of rows once all is read that their plans need. */
function prepared<T, P extends EventPlan | SchedulePlan>(
  planning: Planning<T, P>,
  rows: readonly T[],
  decide: () => { plans: readonly P[]; writes: Query[] },
): Batch | Promise<Batch> {
  const reading = planning.prepare(rows)
  const decided = (): Batch => {
    const { plans, writes } = decide()
    return { decided: plans.length, writes }
  }
  return reading instanceof Promise ? reading.then(decided) : decided()
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

/** How many of the first rows may be read at once: as many as have no more than `TAKE_BYTES` together, but one at least. */
function thatFit(head: string): string {
  return `(
    select greatest(1, count(*)) from (
      select sum(case when pg_column_compression(payload) is null then pg_column_size(payload)
        else octet_length(payload::text) end) over (order by next_attempt_at rows unbounded preceding) as bytes
      from (${head}) as head
    ) as running where bytes <= ${TAKE_BYTES})`
}

/** Locked until the commit: another planner skips them, and a host's transaction that has not committed is not seen. */
const TAKE_EVENTS = `
  select e.ctid as place, ${EVENT_COLUMNS} from pillarbox.events e
  where e.status = 'pending' and e.next_attempt_at <= now()
  order by e.next_attempt_at
  limit ${thatFit(`
    select e.payload, e.next_attempt_at from pillarbox.events e
    where e.status = 'pending' and e.next_attempt_at <= now()
    order by e.next_attempt_at
    limit $1`)}
  for no key update skip locked`

interface TakenEvent {
  event: StoredEvent
  place: string
  hasSecrets: boolean
}
type PlannedEvent = TakenEvent & { plan: Exclude<EventPlan, { kind: 'later' }> }

function planEvents(rows: readonly Row[], planning: Planning<StoredEvent, EventPlan>): Batch | Promise<Batch> {
  const taken = rows.map((row): TakenEvent => {
    return { event: eventOf(row), place: String(row['place']), hasSecrets: holdsSealed(row['payload']) }
  })
  const events = taken.map(({ event }) => event)
  return prepared(planning, events, () => {
    const decided = taken.flatMap((each): PlannedEvent[] => {
      const plan = planning.plan(each.event)
      return plan.kind === 'later' ? [] : [{ ...each, plan }]
    })
    return { plans: decided.map(({ plan }) => plan), writes: eventWrites(decided, events) }
  })
}

/** One statement, unless events put an end to something or bring secrets. */
function eventWrites(decided: readonly PlannedEvent[], taken: readonly StoredEvent[]): Query[] {
  const pieces = piecesOf(decided)
  const endings = pieces.flatMap((piece) => piece.endings)
  // What was cancelled must stay so: nobody may see it cancelled and then, after a crash, sent. Hence this one waits.
  const writes: Query[] = endings.length > 0 ? [WAIT_FOR_DISK, awaitOthers(endings, taken)] : []
  for (const piece of pieces)
    writes.push(...cancel(piece.endings), {
      name: 'write_events',
      text: WRITE_EVENTS,
      values: eventValues(piece.decided),
    })
  const secret = decided.filter(({ hasSecrets, plan }) => hasSecrets && plan.kind !== 'failed')
  if (secret.length > 0)
    writes.push({
      name: 'note_sealed_payloads',
      text: NOTE_SEALED_PAYLOADS,
      values: [textArray(secret.map(({ event }) => event.tenantId)), textArray(secret.map(({ event }) => event.id))],
    })
  return writes
}

interface Piece {
  /** Ended before any of the piece is written. */
  endings: Ending[]
  decided: PlannedEvent[]
}

/**
 * The batch, cut before every event that puts an end to something of an entity which an earlier one of the same piece
 * concerns: so the order of events decides what stands. Nearly always one piece.
 */
function piecesOf(decided: readonly PlannedEvent[]): Piece[] {
  if (decided.every(({ plan }) => cancelsOf(plan) === null)) return [{ endings: [], decided: [...decided] }]
  const pieces: Piece[] = []
  let piece: Piece = { endings: [], decided: [] }
  let concerned = new Set<string>()
  for (const each of decided) {
    const { tenantId, entity } = each.event
    const endings = endingsOf(each.event, each.plan)
    const concerns = JSON.stringify([tenantId, entity.type, entity.id])
    if (pieces.length === 0 || (endings.length > 0 && concerned.has(concerns))) {
      piece = { endings: [], decided: [] }
      concerned = new Set()
      pieces.push(piece)
    }
    piece.endings.push(...endings)
    piece.decided.push(each)
    concerned.add(concerns)
  }
  return pieces
}

/**
 * Each schedule names its event's decision; one due now is born completed. Events are found by their place in the
 * table: being locked, they do not move.
 */
const WRITE_EVENTS = `
  with ${WRITE_NOTIFICATIONS}, ${behindNotifications(`
  given as materialized (
    select * from unnest($1::tid[], $2::uuid[], $3::text[], $4::float8[], $5::text[], $6::text[])
      as g (place, schedule_id, schedule_status, due_ms, reason, error)
  )`)}, published as (
    update pillarbox.events e
    set status = case when given.schedule_id is null then 'failed' else 'published' end,
      published_at = case when given.schedule_id is not null then now() end,
      attempt_count = e.attempt_count + 1,
      last_error = case when given.schedule_id is null then given.error end
    from given
    where e.ctid = given.place
    returning given.*, e.tenant_id, e.id, e.type, e.entity_type, e.entity_id
  ), scheduled as (
    insert into pillarbox.schedules (id, tenant_id, event_id, event_type, entity_type, entity_id, due_at, status,
      attempt_count, next_attempt_at, last_error, completed_at)
    select schedule_id, tenant_id, id, type, entity_type, entity_id, coalesce(to_timestamp(due_ms / 1000), now()),
      schedule_status, case when schedule_status = 'completed' then 1 else 0 end,
      case when schedule_status in ('pending', 'awaiting_approval') then to_timestamp(due_ms / 1000) end,
      error,
      case when schedule_status = 'completed' then now() end
    from published where schedule_id is not null
  ), audited as (
    insert into pillarbox.audit (tenant_id, actor, action, subject, from_status, to_status, reason)
    select tenant_id, 'system', case when schedule_id is null then 'fail' else 'cancel' end,
      case when schedule_id is null then 'event:' || id else 'schedule:' || schedule_id end,
      case when schedule_id is null then 'pending' end, coalesce(schedule_status, 'failed'), reason
    from published where reason is not null
  )
  ${SELECT_WRITTEN}`

const SCHEDULE_STATUS = { notifications: 'completed', cancelled: 'cancelled', failed: null } as const

function eventValues(decided: readonly PlannedEvent[]): string[] {
  return [
    ...notificationValues(decided.flatMap(({ plan }) => (plan.kind === 'notifications' ? plan.notifications : []))),
    textArray(decided.map(({ place }) => place)),
    plainArray(decided.map(({ plan }) => (plan.kind === 'failed' ? null : plan.scheduleId))),
    plainArray(
      decided.map(({ plan }) => {
        if (plan.kind !== 'schedule') return SCHEDULE_STATUS[plan.kind]
        return plan.needsApproval ? 'awaiting_approval' : 'pending'
      }),
    ),
    plainArray(decided.map(({ plan, event }) => (plan.kind === 'schedule' ? plan.dueAt : event.dueAt))),
    textArray(decided.map(({ plan }) => reasonOf(plan))),
    textArray(decided.map(({ plan }) => errorOf(plan))),
  ]
}

/** For `scrub`, once nothing needs them any more. */
const NOTE_SEALED_PAYLOADS = `
  insert into pillarbox.sealed_payloads (tenant_id, event_id)
  select * from unnest($1::text[], $2::text[]) order by 1, 2
  on conflict do nothing`

const TAKE_SCHEDULES = `
  select ${SCHEDULE_COLUMNS}, ${EVENT_COLUMNS}
  from pillarbox.schedules s join pillarbox.events e on e.tenant_id = s.tenant_id and e.id = s.event_id
  where s.status = 'pending' and s.next_attempt_at <= now()
  order by s.next_attempt_at
  limit ${thatFit(`
    select e.payload, s.next_attempt_at
    from pillarbox.schedules s join pillarbox.events e on e.tenant_id = s.tenant_id and e.id = s.event_id
    where s.status = 'pending' and s.next_attempt_at <= now()
    order by s.next_attempt_at
    limit $1`)}
  for no key update of s skip locked`

type PlannedSchedule = DueSchedule & { plan: Exclude<SchedulePlan, { kind: 'later' }> }

function planSchedules(rows: readonly Row[], planning: Planning<DueSchedule, SchedulePlan>): Batch | Promise<Batch> {
  const due = rows.map((row): DueSchedule => ({ schedule: scheduleOf(row), event: eventOf(row) }))
  return prepared(planning, due, () => {
    const decided = due.flatMap((each): PlannedSchedule[] => {
      const plan = planning.plan(each)
      return plan.kind === 'later' ? [] : [{ ...each, plan }]
    })
    const write = { name: 'write_schedules', text: WRITE_SCHEDULES, values: scheduleValues(decided) }
    return { plans: decided.map(({ plan }) => plan), writes: [write] }
  })
}

/** A part leaves its schedule pending, behind all others that are due. */
const WRITE_SCHEDULES = `
  with ${WRITE_NOTIFICATIONS}, ${behindNotifications(`
  given as materialized (
    select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::json[])
      as g (id, tenant_id, status, reason, error, progress)
  )`)}, audited as (
    insert into pillarbox.audit (tenant_id, actor, action, subject, from_status, to_status, reason)
    select tenant_id, 'system', case status when 'failed' then 'fail' else 'cancel' end, 'schedule:' || id, 'pending',
      status, reason
    from given where reason is not null
  ), settled as (
    update pillarbox.schedules s
    set status = given.status, next_attempt_at = case when given.status = 'pending' then now() end,
      last_error = given.error, completed_at = case when given.status = 'completed' then now() end,
      attempt_count = s.attempt_count + case when given.status = 'pending' then 0 else 1 end,
      progress = coalesce(given.progress, s.progress)
    from given
    where s.id = given.id
  )
  ${SELECT_WRITTEN}`

const PLANNED_STATUS = {
  notifications: 'completed',
  part: 'pending',
  cancelled: 'cancelled',
  failed: 'failed',
} as const satisfies Record<PlannedSchedule['plan']['kind'], string>

function scheduleValues(decided: readonly PlannedSchedule[]): string[] {
  return [
    ...notificationValues(decided.flatMap(({ plan }) => ('notifications' in plan ? plan.notifications : []))),
    plainArray(decided.map(({ schedule }) => schedule.id)),
    textArray(decided.map(({ schedule }) => schedule.tenantId)),
    plainArray(decided.map(({ plan }) => PLANNED_STATUS[plan.kind])),
    textArray(decided.map(({ plan }) => reasonOf(plan))),
    textArray(decided.map(({ plan }) => errorOf(plan))),
    jsonArray(decided.map(({ plan }) => (plan.kind === 'part' ? plan.progress : null))),
  ]
}

function reasonOf(plan: EventPlan | SchedulePlan): Reason | null {
  return 'reason' in plan ? plan.reason : null
}

function errorOf(plan: EventPlan | SchedulePlan): string | null {
  return 'error' in plan ? plan.error : null
}
