import type { StoredEvent } from '../../model/event.ts'
import type { NewNotification } from '../../model/notification.ts'
import type { Reason } from '../../model/reason.ts'
import type { DueSchedule, EventPlan, Planned, Planning, PlanStore, SchedulePlan } from '../../plan/plan-store.ts'
import { endingsOf } from '../shared/endings.ts'
import { EVENT_COLUMNS, eventOf, SCHEDULE_COLUMNS, scheduleOf } from '../shared/events.ts'
import { textOrNull } from '../shared/fields.ts'
import { TAKE_BYTES } from '../shared/plan.ts'
import type { Row } from '../shared/script.ts'
import { holdsSealed } from '../shared/scrub.ts'
import { insertAudit } from './audit.ts'
import { cancel } from './cancel.ts'
import type { Connection } from './connection.ts'
import { insertNotification } from './notifications.ts'
import type { Connections } from './scripts.ts'
import type { Writer } from './writer.ts'

/** Planning inside the write: nothing else can take the same rows while it runs. */
export function sqlitePlan({ connection, writer }: Connections): Pick<PlanStore, 'events' | 'schedules'> {
  return {
    events: (limit, planning) =>
      planBatch(writer, planning, {
        connection,
        take: (now) =>
          thatFit(connection.prepare(DUE_EVENTS).iterate(now, limit)).map((found) => ({ found, due: eventOf(found) })),
        isStillDue: ({ found, due }) =>
          connection.prepare(PENDING_EVENT).get(due.tenantId, due.id, Number(found['next_attempt_at'])) !== undefined,
        decide: decideEvent,
      }),
    schedules: (limit, planning) =>
      planBatch(writer, planning, {
        connection,
        take: (now) =>
          thatFit(connection.prepare(DUE_SCHEDULES).iterate(now, limit)).map((found) => ({
            found,
            due: { schedule: scheduleOf(found), event: eventOf(found) },
          })),
        isStillDue: ({ found, due }) =>
          connection
            .prepare(PENDING_SCHEDULE)
            .get(due.schedule.id, Number(found['schedule_next_attempt_at']), textOrNull(found['schedule_progress'])) !==
          undefined,
        decide: decideSchedule,
      }),
  }
}

const DUE_EVENTS = `select ${EVENT_COLUMNS} from pillarbox.events e
  where e.status = 'pending' and e.next_attempt_at <= $1 order by e.next_attempt_at, e.created_at, e.rowid limit $2`
const PENDING_EVENT = `select 1 from pillarbox.events
  where tenant_id = $1 and id = $2 and status = 'pending' and next_attempt_at = $3`

const DUE_SCHEDULES = `select ${SCHEDULE_COLUMNS}, s.next_attempt_at as schedule_next_attempt_at, ${EVENT_COLUMNS}
  from pillarbox.schedules s join pillarbox.events e on e.tenant_id = s.tenant_id and e.id = s.event_id
  where s.status = 'pending' and s.next_attempt_at <= $1 order by s.next_attempt_at, s.id limit $2`
/** A part that was planned meanwhile may have left everything but the progress as it was. */
const PENDING_SCHEDULE = `select 1 from pillarbox.schedules
  where id = $1 and status = 'pending' and next_attempt_at = $2 and progress is $3`

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

interface Taken<Due> {
  found: Row
  due: Due
}

interface Source<Due, Plan> {
  connection: Connection
  take(now: number): Taken<Due>[]
  isStillDue(taken: Taken<Due>): boolean
  /** False: left for later. */
  decide(deciding: Deciding, taken: Taken<Due>, plan: Plan): boolean
}

interface Tally {
  inserted: number
  lanes: Set<string>
}

interface Deciding {
  connection: Connection
  now: number
  tally: Tally
}

/**
 * One write where nothing has to be read first. Otherwise the rows are let go while that is read, and a second write
 * plans those that are still as they were.
 */
async function planBatch<Due, Plan extends EventPlan | SchedulePlan>(
  writer: Writer,
  planning: Planning<Due, Plan>,
  source: Source<Due, Plan>,
): Promise<Planned> {
  const decideAll = (now: number, taken: readonly Taken<Due>[]): Omit<Planned, 'taken'> => {
    const tally: Tally = { inserted: 0, lanes: new Set() }
    const deciding = { connection: source.connection, now, tally }
    const decided = taken.filter((each) => source.decide(deciding, each, planning.plan(each.due))).length
    return { decided, inserted: tally.inserted, lanes: [...tally.lanes] }
  }
  const first = await writer.write((now) => {
    const taken = source.take(now)
    const reading = taken.length > 0 ? planning.prepare(taken.map(({ due }) => due)) : undefined
    if (!(reading instanceof Promise)) return { taken, planned: decideAll(now, taken) }
    // Awaited below, unless this write is not committed: then nobody asks how it ended.
    reading.catch(() => {})
    return { taken, reading }
  })
  const { taken, reading, planned } = first
  if (planned) return { taken: taken.length, ...planned }
  await reading
  const rest = await writer.write((now) => decideAll(now, taken.filter(source.isStillDue)))
  return { taken: taken.length, ...rest }
}

const PUBLISH_EVENT = `update pillarbox.events set status = 'published', published_at = $3, attempt_count = attempt_count + 1,
    last_error = null
  where tenant_id = $1 and id = $2`
const FAIL_EVENT = `update pillarbox.events set status = 'failed', last_error = $3, attempt_count = attempt_count + 1
  where tenant_id = $1 and id = $2`
const INSERT_SCHEDULE = `insert into pillarbox.schedules
  (id, tenant_id, event_id, event_type, entity_type, entity_id, due_at, status, attempt_count, next_attempt_at, last_error,
   created_at, completed_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`
/** For `scrub`, once nothing needs them any more. */
const NOTE_SEALED_PAYLOAD =
  'insert into pillarbox.sealed_payloads (tenant_id, event_id) values ($1, $2) on conflict do nothing'

function decideEvent(deciding: Deciding, { found, due: event }: Taken<StoredEvent>, plan: EventPlan): boolean {
  const { connection, now } = deciding
  const { tenantId, id } = event
  if (plan.kind === 'later') return false
  if (plan.kind === 'failed') {
    connection.prepare(FAIL_EVENT).run(tenantId, id, plan.error)
    auditStop(deciding, tenantId, `event:${id}`, 'pending', plan)
    return true
  }
  for (const ending of endingsOf(event, plan)) cancel(connection, ending)
  insertSchedule(deciding, event, plan)
  if (plan.kind === 'cancelled') auditStop(deciding, tenantId, `schedule:${plan.scheduleId}`, null, plan)
  if (plan.kind === 'notifications') insertPlanned(deciding, plan.notifications)
  connection.prepare(PUBLISH_EVENT).run(tenantId, id, now)
  if (holdsSealed(found['payload'])) connection.prepare(NOTE_SEALED_PAYLOAD).run(tenantId, id)
  return true
}

/** Due later, or born completed or cancelled. */
function insertSchedule(
  { connection, now }: Deciding,
  event: StoredEvent,
  plan: Extract<EventPlan, { scheduleId: string }>,
): void {
  const insert = connection.prepare(INSERT_SCHEDULE)
  const { tenantId, id, type, entity } = event
  const key = [plan.scheduleId, tenantId, id, type, entity.type, entity.id] as const
  if (plan.kind === 'schedule') {
    const status = plan.needsApproval ? 'awaiting_approval' : 'pending'
    insert.run(...key, plan.dueAt, status, 0, plan.dueAt, null, now, null)
  } else if (plan.kind === 'cancelled')
    insert.run(...key, event.dueAt ?? now, plan.kind, 0, null, plan.error, now, null)
  else insert.run(...key, event.dueAt ?? now, 'completed', 1, null, null, now, now)
}

const COMPLETE_SCHEDULE = `update pillarbox.schedules set status = 'completed', completed_at = $2, next_attempt_at = null,
  last_error = null, attempt_count = attempt_count + 1 where id = $1`
/** It goes to the end of the queue. */
const ADVANCE_SCHEDULE =
  'update pillarbox.schedules set progress = $2, next_attempt_at = $3, last_error = null where id = $1'
const STOP_SCHEDULE = `update pillarbox.schedules set status = $2, last_error = $3, next_attempt_at = null,
  attempt_count = attempt_count + 1 where id = $1`

function decideSchedule(deciding: Deciding, { due }: Taken<DueSchedule>, plan: SchedulePlan): boolean {
  const { connection, now } = deciding
  const { id, tenantId } = due.schedule
  if (plan.kind === 'later') return false
  if (plan.kind === 'notifications' || plan.kind === 'part') {
    insertPlanned(deciding, plan.notifications)
    if (plan.kind === 'part') connection.prepare(ADVANCE_SCHEDULE).run(id, JSON.stringify(plan.progress), now)
    else connection.prepare(COMPLETE_SCHEDULE).run(id, now)
    return true
  }
  connection.prepare(STOP_SCHEDULE).run(id, plan.kind, plan.error)
  auditStop(deciding, tenantId, `schedule:${id}`, 'pending', plan)
  return true
}

function insertPlanned({ connection, now, tally }: Deciding, notifications: readonly NewNotification[]): void {
  for (const notification of notifications) {
    const { duplicate, lane } = insertNotification(connection, notification, now)
    if (!duplicate) tally.inserted += 1
    if (lane !== null) tally.lanes.add(lane)
  }
}

/** One that is born stopped comes from nowhere. */
function auditStop(
  { connection }: Deciding,
  tenantId: string,
  subject: string,
  from: 'pending' | null,
  { kind, reason }: { kind: 'failed' | 'cancelled'; reason: Reason },
): void {
  const action = kind === 'failed' ? 'fail' : 'cancel'
  insertAudit(connection, {
    tenantId,
    actor: 'system',
    action,
    subject,
    ...(from === null ? {} : { from }),
    to: kind,
    reason,
  })
}
