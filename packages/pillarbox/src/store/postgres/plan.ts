import type { StoredEvent } from '../../model/event.ts'
import type { NewNotification } from '../../model/notification.ts'
import type { DueSchedule, EventPlan, PlanStore, SchedulePlan, TakenBatch, TakeTurns } from '../../plan/plan-store.ts'
import { eventOf, scheduleOf } from '../shared/events.ts'
import { DERIVED_EVENT } from '../shared/new-rows.ts'
import {
  type Ending,
  type EventChange,
  eventChange,
  type ScheduleChange,
  scheduleChange,
} from '../shared/plan-changes.ts'
import type { Row } from '../shared/script.ts'
import { holdsSealed } from '../shared/scrub.ts'
import { columnArrays, givenColumns, jsonArray, plainArray, textArray } from './arrays.ts'
import { awaitOthers, cancel } from './cancel.ts'
import { NOTHING, NOTIFICATION_VALUES, notificationValues, WRITE_NOTIFICATIONS, writeInstead } from './notifications.ts'
import type { Query, Session } from './session.ts'
import { type PlannedTable, takeQuery } from './take.ts'
import type { PostgresWake } from './wake.ts'

/** Events and schedules are taken under a lock, which one transaction keeps until their plans are written. */
export function openPlan(
  session: Session,
  { wasHinted }: Pick<PostgresWake, 'wasHinted'>,
): Pick<PlanStore, 'takeEvents' | 'takeSchedules'> {
  const takeEvents = takingFrom(session, {
    table: 'events',
    wasHinted: () => wasHinted('events'),
    read: (found) => ({
      event: eventOf(found),
      place: String(found['place']),
      holdsSecrets: holdsSealed(found['payload']),
    }),
    writes: eventWrites,
  })
  const takeSchedules = takingFrom(session, {
    table: 'schedules',
    wasHinted: () => false,
    read: (found) => ({ schedule: scheduleOf(found), event: eventOf(found) }),
    writes: scheduleWrites,
  })
  return {
    async takeEvents(limit, turns) {
      const batch = await takeEvents(limit, turns)
      return { ...batch, rows: batch.rows.map(({ event }) => event) }
    },
    takeSchedules,
  }
}

interface LockedBatchKind<Taken, Plan> {
  table: PlannedTable
  wasHinted(): boolean
  read(found: Row): Taken
  /** The statements that write the plans; none where every plan is `later`. */
  writes(rows: readonly Taken[], plans: readonly Plan[]): PlanWrites
}

interface PlanWrites {
  decided: number
  statements: Query[]
  /** All that the statements write, unless their keys are taken. */
  notifications: readonly NewNotification[]
}

/** What must be on the disk before anybody acts on it. */
const WAIT_FOR_DISK: Query = { name: 'wait_for_disk', text: 'set local synchronous_commit = on' }

/**
 * After a full batch there is probably more, and after a hint something. Otherwise one cheap statement asks first, so
 * that looking for work where there is none costs no transaction. Tenants take turns once there is more than one batch
 * takes, until nothing is left.
 */
function takingFrom<Taken, Plan>(
  session: Session,
  { table, wasHinted, read, writes }: LockedBatchKind<Taken, Plan>,
): (limit: number, turns?: TakeTurns) => Promise<TakenBatch<Taken, Plan>> {
  const probe = { name: `probe_${table}`, text: PROBES[table] }
  let isMoreLikely = false
  return async (limit, turns = {}) => {
    const isOfAll = turns.only === undefined
    const isLikely = !isOfAll || wasHinted() || isMoreLikely
    const isInTurns = isMoreLikely || (turns.without ?? []).length > 0
    if (isOfAll) isMoreLikely = false
    if (!isLikely && (await session.run(probe)).length === 0) return emptyBatch()
    const { rows: found, commit, rollback } = await session.begin<Row>(takeQuery(table, limit, turns, isInTurns))
    if (isOfAll) isMoreLikely = isInTurns ? found.length > 0 : found.length === limit
    if (found.length === 0) {
      await rollback()
      return emptyBatch()
    }
    let rows: Taken[]
    try {
      rows = found.map(read)
    } catch (error) {
      await rollback()
      throw error
    }
    return {
      rows,
      crashes: found.map((row) => Number(row['crashes'])),
      async write(plans) {
        const { decided, statements, notifications } = writes(rows, plans)
        if (decided === 0) {
          await rollback()
          return { decided, inserted: 0, lanes: [] }
        }
        let instead = NOTHING
        const answers = await commit(statements, async (written, run) => {
          if (summed(written).inserted < notifications.length) instead = await writeInstead(run, notifications)
        })
        const { inserted, lanes } = summed(answers)
        const { duplicates } = instead
        const all = { decided, inserted: inserted + instead.inserted, lanes: [...lanes, ...instead.lanes] }
        return duplicates.length === 0 ? all : { ...all, duplicates }
      },
      release: rollback,
    }
  }
}

function emptyBatch<Taken, Plan>(): TakenBatch<Taken, Plan> {
  return {
    rows: [],
    crashes: [],
    write: async () => ({ decided: 0, inserted: 0, lanes: [] }),
    release: async () => {},
  }
}

/** One row per lane, and one for notifications without. */
type Written = { lane_id: string | null; inserted: number; is_due: boolean }

/** Ends a statement with `WRITE_NOTIFICATIONS`. What is born stopped has no work row. */
const SELECT_WRITTEN = `
  select null as lane_id, count(*)::int as inserted, false as is_due from ledger
  union all
  select lane_id, 0, bool_or(visible_at <= now()) from queued group by lane_id`

function summed(answers: readonly unknown[][]): { inserted: number; lanes: string[] } {
  const written = answers.flat() as Written[]
  return {
    inserted: written.reduce((sum, { inserted }) => sum + inserted, 0),
    lanes: written.flatMap(({ lane_id: lane, is_due: isDue }) => (lane !== null && isDue ? [lane] : [])),
  }
}

/** The parameters behind those of `WRITE_NOTIFICATIONS`: `$1` is the first of them. */
function behindNotifications(text: string): string {
  return text.replaceAll(/\$(\d+)/g, (_, number: string) => `$${Number(number) + NOTIFICATION_VALUES}`)
}

const PROBES: Record<PlannedTable, string> = { events: probeText('events'), schedules: probeText('schedules') }

function probeText(table: PlannedTable): string {
  return `
  select from pillarbox.${table} where status = 'pending' and next_attempt_at <= now()
  order by next_attempt_at limit 1`
}

interface TakenEvent {
  event: StoredEvent
  /** In the table. */
  place: string
  holdsSecrets: boolean
}
type ChangedEvent = TakenEvent & { change: EventChange }

/** One statement, unless events put an end to something or bring secrets. */
function eventWrites(taken: readonly TakenEvent[], plans: readonly EventPlan[]): PlanWrites {
  const changed = taken.flatMap((row, i): ChangedEvent[] => {
    const plan = plans[i]
    const change = plan ? eventChange(row.event, plan) : null
    return change ? [{ ...row, change }] : []
  })
  const pieces = piecesOf(changed)
  const endings = pieces.flatMap((piece) => piece.endings)
  // What was cancelled must stay so: nobody may see it cancelled and then, after a crash, sent. Hence this one waits.
  const statements: Query[] =
    endings.length > 0
      ? [
          WAIT_FOR_DISK,
          awaitOthers(
            endings,
            taken.map(({ event }) => event),
          ),
        ]
      : []
  for (const piece of pieces)
    statements.push(...cancel(piece.endings), {
      name: 'write_events',
      text: WRITE_EVENTS,
      values: eventValues(piece.changed),
    })
  const derived = changed.flatMap(({ change }) => change.derived)
  if (derived.length > 0)
    statements.push({ name: 'derive_events', text: DERIVE_EVENTS, values: columnArrays(DERIVED_EVENT, derived) })
  const secret = changed.filter(({ holdsSecrets, change }) => holdsSecrets && change.status === 'published')
  if (secret.length > 0)
    statements.push({
      name: 'note_sealed_payloads',
      text: NOTE_SEALED_PAYLOADS,
      values: [textArray(secret.map(({ event }) => event.tenantId)), textArray(secret.map(({ event }) => event.id))],
    })
  return { decided: changed.length, statements, notifications: changed.flatMap(({ change }) => change.notifications) }
}

interface Piece {
  /** Ended before any of the piece is written. */
  endings: Ending[]
  changed: ChangedEvent[]
}

/**
 * The batch, cut before every event that puts an end to something of an entity which an earlier one of the same piece
 * concerns: so the order of events decides what stands. Nearly always one piece.
 */
function piecesOf(changed: readonly ChangedEvent[]): Piece[] {
  const pieces: Piece[] = []
  let piece: Piece = { endings: [], changed: [] }
  let concerned = new Set<string>()
  for (const row of changed) {
    const { tenantId, entity } = row.event
    const { endings } = row.change
    const concerns = JSON.stringify([tenantId, entity.type, entity.id])
    if (pieces.length === 0 || (endings.length > 0 && concerned.has(concerns))) {
      piece = { endings: [], changed: [] }
      concerned = new Set()
      pieces.push(piece)
    }
    piece.endings.push(...endings)
    piece.changed.push(row)
    concerned.add(concerns)
  }
  return pieces
}

/** Events are found by their place in the table: being locked, they do not move. An event that fails has no schedule. */
const WRITE_EVENTS = `
  with ${WRITE_NOTIFICATIONS}, ${behindNotifications(`
  given as materialized (
    select * from unnest($1::tid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::float8[], $7::int[], $8::text[],
        $9::boolean[], $10::boolean[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[])
      as g (place, new_status, error, schedule_id, schedule_status, due_ms, attempts, schedule_error, is_waiting,
        is_completed, action, subject, from_status, to_status, reason)
  )`)}, settled as (
    update pillarbox.events e
    set status = new_status, published_at = case when new_status = 'published' then now() end,
      attempt_count = e.attempt_count + 1, last_error = error
    from given
    where e.ctid = given.place
    returning given.*, e.tenant_id, e.id, e.type, e.entity_type, e.entity_id
  ), scheduled as (
    insert into pillarbox.schedules (id, tenant_id, event_id, event_type, entity_type, entity_id, due_at, status,
      attempt_count, next_attempt_at, last_error, completed_at)
    select schedule_id, tenant_id, id, type, entity_type, entity_id, coalesce(to_timestamp(due_ms / 1000), now()),
      schedule_status, attempts,
      case when is_waiting then to_timestamp(due_ms / 1000) end, schedule_error, case when is_completed then now() end
    from settled where schedule_id is not null
  ), audited as (
    insert into pillarbox.audit (tenant_id, actor, action, subject, from_status, to_status, reason)
    select tenant_id, 'system', action, subject, from_status, to_status, reason from settled where action is not null
  )
  ${SELECT_WRITTEN}`

function eventValues(changed: readonly ChangedEvent[]): string[] {
  const changes = changed.map(({ change }) => change)
  const schedules = changes.map(({ schedule }) => schedule)
  return [
    ...notificationValues(changes.flatMap(({ notifications }) => notifications)),
    textArray(changed.map(({ place }) => place)),
    plainArray(changes.map(({ status }) => status)),
    textArray(changes.map(({ lastError }) => lastError)),
    plainArray(schedules.map((schedule) => schedule?.id ?? null)),
    plainArray(schedules.map((schedule) => schedule?.status ?? null)),
    plainArray(schedules.map((schedule) => schedule?.dueAt ?? null)),
    plainArray(schedules.map((schedule) => schedule?.attemptCount ?? null)),
    textArray(schedules.map((schedule) => schedule?.lastError ?? null)),
    plainArray(schedules.map((schedule) => schedule?.isWaiting ?? null)),
    plainArray(schedules.map((schedule) => schedule?.isCompleted ?? null)),
    ...auditValues(changes),
  ]
}

/** The last five columns of what is given: the audit row, where there is one. */
function auditValues(changes: readonly (EventChange | ScheduleChange)[]): string[] {
  return (['action', 'subject', 'from', 'to', 'reason'] as const).map((field) =>
    textArray(changes.map(({ audit }) => audit?.[field] ?? null)),
  )
}

/** In the domain event's own place in the queue, and as old: what cancels or replaces goes by when it happened. */
const DERIVED = givenColumns(DERIVED_EVENT)
const DERIVE_EVENTS = `
  insert into pillarbox.events (${DERIVED.names}, next_attempt_at, created_at)
  select given.*, e.next_attempt_at, e.created_at
  from (select ${DERIVED.selected} from unnest(${DERIVED.arrays}) as given (${DERIVED.names})) as given
    join pillarbox.events e on e.tenant_id = given.tenant_id and e.id = given.derived_from
  order by given.tenant_id, given.id
  on conflict (tenant_id, id) do nothing`

/** For `scrub`, once nothing needs them any more. */
const NOTE_SEALED_PAYLOADS = `
  insert into pillarbox.sealed_payloads (tenant_id, event_id)
  select * from unnest($1::text[], $2::text[]) order by 1, 2
  on conflict do nothing`

function scheduleWrites(taken: readonly DueSchedule[], plans: readonly SchedulePlan[]): PlanWrites {
  const changed = taken.flatMap((due, i): ChangedSchedule[] => {
    const plan = plans[i]
    const change = plan ? scheduleChange(due, plan) : null
    return change ? [{ due, change }] : []
  })
  const statement = { name: 'write_schedules', text: WRITE_SCHEDULES, values: scheduleValues(changed) }
  const notifications = changed.flatMap(({ change }) => change.notifications)
  return { decided: changed.length, statements: [statement], notifications }
}

type ChangedSchedule = { due: DueSchedule; change: ScheduleChange }

const WRITE_SCHEDULES = `
  with ${WRITE_NOTIFICATIONS}, ${behindNotifications(`
  given as materialized (
    select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::int[], $6::json[], $7::boolean[],
        $8::boolean[], $9::int[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[])
      as g (id, tenant_id, status, error, attempts, progress, is_waiting, is_completed, crashes, action, subject,
        from_status, to_status, reason)
  )`)}, audited as (
    insert into pillarbox.audit (tenant_id, actor, action, subject, from_status, to_status, reason)
    select tenant_id, 'system', action, subject, from_status, to_status, reason from given where action is not null
  ), settled as (
    update pillarbox.schedules s
    set status = given.status, next_attempt_at = case when given.is_waiting then now() end,
      last_error = given.error, completed_at = case when given.is_completed then now() end,
      attempt_count = s.attempt_count + given.attempts, progress = coalesce(given.progress, s.progress),
      crashes = coalesce(given.crashes, s.crashes)
    from given
    where s.id = given.id
  )
  ${SELECT_WRITTEN}`

function scheduleValues(changed: readonly ChangedSchedule[]): string[] {
  const changes = changed.map(({ change }) => change)
  return [
    ...notificationValues(changes.flatMap(({ notifications }) => notifications)),
    plainArray(changed.map(({ due }) => due.schedule.id)),
    textArray(changed.map(({ due }) => due.schedule.tenantId)),
    plainArray(changes.map(({ status }) => status)),
    textArray(changes.map(({ lastError }) => lastError)),
    plainArray(changes.map(({ attempts }) => attempts)),
    jsonArray(changes.map(({ progress }) => progress)),
    plainArray(changes.map(({ isWaiting }) => isWaiting)),
    plainArray(changes.map(({ isCompleted }) => isCompleted)),
    plainArray(changes.map(({ crashes }) => crashes)),
    ...auditValues(changes),
  ]
}
