import type { StoredEvent } from '../../model/event.ts'
import { cancelledKey } from '../../model/idempotency.ts'
import type { NewNotification } from '../../model/notification.ts'
import type { DueSchedule, EventPlan, PlanStore, SchedulePlan, TakenBatch } from '../../plan/plan-store.ts'
import { duplicateOf, givesKeyTo } from '../shared/duplicates.ts'
import { EVENT_COLUMNS, eventOf, SCHEDULE_COLUMNS, scheduleOf } from '../shared/events.ts'
import { jsonText, textOrNull } from '../shared/fields.ts'
import { TAKE_BYTES } from '../shared/plan.ts'
import { eventChange, type NewSchedule, type PlanAudit, scheduleChange } from '../shared/plan-changes.ts'
import type { Row } from '../shared/script.ts'
import { holdsSealed } from '../shared/scrub.ts'
import { insertAudit } from './audit.ts'
import { cancel } from './cancel.ts'
import type { Connection } from './connection.ts'
import { insertDerived } from './events.ts'
import { insertNotification } from './notifications.ts'
import type { Connections } from './scripts.ts'
import { untilFree } from './until-free.ts'

/**
 * Events and schedules are read without a lock; one transaction then writes the plans of those rows that are still as they
 * were read.
 */
export function sqlitePlan(connections: Connections): Pick<PlanStore, 'takeEvents' | 'takeSchedules'> {
  return {
    takeEvents: (limit) =>
      takeBatch<StoredEvent, EventPlan>(connections, { due: DUE_EVENTS, limit, read: eventOf, apply: applyEvent }),
    takeSchedules: (limit) =>
      takeBatch<DueSchedule, SchedulePlan>(connections, {
        due: DUE_SCHEDULES,
        limit,
        read: (found) => ({ schedule: scheduleOf(found), event: eventOf(found) }),
        apply: applySchedule,
      }),
  }
}

interface UnlockedBatchKind<Due, Plan> {
  /** Selects the rows that are due, given the time and the limit. */
  due: string
  limit: number
  read(found: Row): Due
  /** False, with nothing written, where the plan is `later` or the row is not as it was found. */
  apply(writing: PlanWriting, found: Row, due: Due, plan: Plan): boolean
}

interface PlanWriting {
  connection: Connection
  now: number
  tally: { inserted: number; lanes: Set<string>; duplicates: NewNotification[] }
}

async function takeBatch<Due, Plan>(
  { connection, reader, writer, clock }: Connections,
  { due, limit, read, apply }: UnlockedBatchKind<Due, Plan>,
): Promise<TakenBatch<Due, Plan>> {
  const found = await untilFree(clock, () => thatFit(reader.prepare(due).iterate(clock.now(), limit)))
  const rows = found.map(read)
  return {
    rows,
    crashes: found.map((row) => Number(row['crashes'])),
    write: (plans) =>
      writer.write((now) => {
        const tally: PlanWriting['tally'] = { inserted: 0, lanes: new Set(), duplicates: [] }
        const decided = rows.filter((row, i) => {
          const [source, plan] = [found[i], plans[i]]
          return source && plan && apply({ connection, now, tally }, source, row, plan)
        }).length
        const { inserted, lanes, duplicates } = tally
        return { decided, inserted, lanes: [...lanes], ...(duplicates.length > 0 && { duplicates }) }
      }),
    release: async () => {},
  }
}

const DUE_EVENTS = `select e.crashes, ${EVENT_COLUMNS} from pillarbox.events e
  where e.status = 'pending' and e.next_attempt_at <= $1 order by e.next_attempt_at, e.created_at, e.rowid limit $2`

const DUE_SCHEDULES = `select s.crashes, ${SCHEDULE_COLUMNS}, s.next_attempt_at as schedule_next_attempt_at, ${EVENT_COLUMNS}
  from pillarbox.schedules s join pillarbox.events e on e.tenant_id = s.tenant_id and e.id = s.event_id
  where s.status = 'pending' and s.next_attempt_at <= $1 order by s.next_attempt_at, s.id limit $2`

/** The first rows, as many as have no more than `TAKE_BYTES` of payload together, but one at least. */
function thatFit(found: Iterable<Row>): Row[] {
  const rows: Row[] = []
  let length = 0
  for (const row of found) {
    length += String(row['payload']).length
    if (rows.length > 0 && length > TAKE_BYTES) break
    rows.push(row)
  }
  return rows
}

const SETTLE_EVENT = `update pillarbox.events set status = $4, last_error = $5, published_at = $6,
    attempt_count = attempt_count + 1
  where tenant_id = $1 and id = $2 and status = 'pending' and next_attempt_at = $3`
/** For `scrub`, once nothing needs them any more. */
const NOTE_SEALED_PAYLOAD =
  'insert into pillarbox.sealed_payloads (tenant_id, event_id) values ($1, $2) on conflict do nothing'

function applyEvent(writing: PlanWriting, found: Row, event: StoredEvent, plan: EventPlan): boolean {
  const { connection, now } = writing
  const { tenantId, id } = event
  const change = eventChange(event, plan)
  if (!change) return false
  const isPublished = change.status === 'published'
  const settled = connection
    .prepare(SETTLE_EVENT)
    .run(tenantId, id, Number(found['next_attempt_at']), change.status, change.lastError, isPublished ? now : null)
  if (settled.changes === 0) return false
  for (const ending of change.endings) cancel(connection, ending)
  if (change.schedule) insertSchedule(writing, event, change.schedule)
  insertPlanned(writing, change.notifications)
  for (const derived of change.derived) insertDerived(connection, derived, event)
  auditPlan(writing, tenantId, change.audit)
  if (isPublished && holdsSealed(found['payload'])) connection.prepare(NOTE_SEALED_PAYLOAD).run(tenantId, id)
  return true
}

const INSERT_SCHEDULE = `insert into pillarbox.schedules
  (id, tenant_id, event_id, event_type, entity_type, entity_id, due_at, status, attempt_count, next_attempt_at, last_error,
   created_at, completed_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`

function insertSchedule({ connection, now }: PlanWriting, event: StoredEvent, schedule: NewSchedule): void {
  const { tenantId, id, type, entity } = event
  const { status, attemptCount, lastError, isWaiting, isCompleted } = schedule
  const dueAt = schedule.dueAt ?? now
  connection
    .prepare(INSERT_SCHEDULE)
    .run(
      schedule.id,
      tenantId,
      id,
      type,
      entity.type,
      entity.id,
      dueAt,
      status,
      attemptCount,
      isWaiting ? dueAt : null,
      lastError,
      now,
      isCompleted ? now : null,
    )
}

/** A part that was planned meanwhile may have left everything but the progress as it was. */
const SETTLE_SCHEDULE = `update pillarbox.schedules set status = $4, last_error = $5, next_attempt_at = $6,
    completed_at = $7, attempt_count = attempt_count + $8, progress = coalesce($9, progress),
    crashes = coalesce($10, crashes)
  where id = $1 and status = 'pending' and next_attempt_at = $2 and progress is $3`

function applySchedule(writing: PlanWriting, found: Row, due: DueSchedule, plan: SchedulePlan): boolean {
  const { connection, now } = writing
  const { id, tenantId } = due.schedule
  const change = scheduleChange(due, plan)
  if (!change) return false
  const settled = connection
    .prepare(SETTLE_SCHEDULE)
    .run(
      id,
      Number(found['schedule_next_attempt_at']),
      textOrNull(found['schedule_progress']),
      change.status,
      change.lastError,
      change.isWaiting ? now : null,
      change.isCompleted ? now : null,
      change.attempts,
      jsonText(change.progress),
      change.crashes,
    )
  if (settled.changes === 0) return false
  insertPlanned(writing, change.notifications)
  auditPlan(writing, tenantId, change.audit)
  return true
}

function insertPlanned({ connection, now, tally }: PlanWriting, notifications: readonly NewNotification[]): void {
  for (const notification of notifications) {
    const { duplicate: first, lane } = insertInTurn(connection, notification, now)
    const skipped = first && duplicateOf(notification, first)
    const isWritten = skipped ? !insertNotification(connection, skipped, now).duplicate : !first
    if (isWritten) tally.inserted += 1
    if (isWritten && skipped) tally.duplicates.push(skipped)
    if (lane !== null) tally.lanes.add(lane)
  }
}

const GIVE_KEY = 'update pillarbox.notifications set idempotency_key = $2 where id = $1'

/** As its own, or under the key that another one has given up. */
function insertInTurn(connection: Connection, notification: NewNotification, now: number) {
  const written = insertNotification(connection, notification, now)
  const { duplicate: first } = written
  if (!first || !givesKeyTo(notification, first)) return written
  connection.prepare(GIVE_KEY).run(first.id, cancelledKey(first.id))
  return insertNotification(connection, notification, now)
}

function auditPlan({ connection }: PlanWriting, tenantId: string, audit: PlanAudit | null): void {
  if (!audit) return
  const { from, ...row } = audit
  insertAudit(connection, { tenantId, actor: 'system', ...row, ...(from !== null && { from }) })
}
