import type { StoredEvent } from '../../model/event.ts'
import type { Reason } from '../../model/reason.ts'
import { EVENT_COLUMNS, eventOf, SCHEDULE_COLUMNS, scheduleOf } from '../shared/events.ts'
import type { Row } from '../shared/script.ts'
import type { EventPlan, NewNotification, Planned, PlanStore, SchedulePlan, StoredSchedule } from '../store.ts'
import { insertAudit } from './audit.ts'
import type { Connection } from './connection.ts'
import { insertNotification } from './notifications.ts'
import type { Connections } from './scripts.ts'

/** Planning inside the write: nothing else can take the same rows while it runs. */
export function sqlitePlan({ connection, writer }: Connections): Pick<PlanStore, 'events' | 'schedules'> {
  return {
    events: (limit, plan) =>
      writer.write((now) => {
        const due = connection.prepare(DUE_EVENTS).all(now, limit) as Row[]
        return planned(due, (found, tally) => {
          const event = eventOf(found)
          return decideEvent({ connection, now, tally }, event, plan(event))
        })
      }),
    schedules: (limit, plan) =>
      writer.write((now) => {
        const due = connection.prepare(DUE_SCHEDULES).all(now, limit) as Row[]
        return planned(due, (found, tally) => {
          const schedule = scheduleOf(found)
          return decideSchedule({ connection, now, tally }, schedule, plan(schedule, eventOf(found)))
        })
      }),
  }
}

const DUE_EVENTS = `select ${EVENT_COLUMNS} from pillarbox.events e
  where e.status = 'pending' and e.next_attempt_at <= $1 order by e.next_attempt_at, e.created_at, e.rowid limit $2`

const DUE_SCHEDULES = `select ${SCHEDULE_COLUMNS}, ${EVENT_COLUMNS} from pillarbox.schedules s
  join pillarbox.events e on e.tenant_id = s.tenant_id and e.id = s.event_id
  where s.status = 'pending' and s.next_attempt_at <= $1 order by s.next_attempt_at, s.id limit $2`

interface Tally {
  inserted: number
  lanes: Set<string>
}

interface Deciding {
  connection: Connection
  now: number
  tally: Tally
}

function planned(due: Row[], decide: (found: Row, tally: Tally) => boolean): Planned {
  const tally: Tally = { inserted: 0, lanes: new Set() }
  let decided = 0
  for (const found of due) if (decide(found, tally)) decided += 1
  return { taken: due.length, decided, inserted: tally.inserted, lanes: [...tally.lanes] }
}

const PUBLISH_EVENT = `update pillarbox.events set status = 'published', published_at = $3, attempt_count = attempt_count + 1
  where tenant_id = $1 and id = $2`
const FAIL_EVENT = `update pillarbox.events set status = 'failed', last_error = $3, attempt_count = attempt_count + 1
  where tenant_id = $1 and id = $2`
const INSERT_SCHEDULE = `insert into pillarbox.schedules
  (id, tenant_id, event_id, due_at, status, attempt_count, next_attempt_at, created_at, completed_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

/** False: left for later. */
function decideEvent(deciding: Deciding, event: StoredEvent, plan: EventPlan): boolean {
  const { connection, now } = deciding
  if (plan.kind === 'later') return false
  if (plan.kind === 'failed') {
    connection.prepare(FAIL_EVENT).run(event.tenantId, event.id, plan.error)
    auditStop(deciding, event.tenantId, `event:${event.id}`, 'fail', 'failed', plan.reason)
    return true
  }
  const insert = connection.prepare(INSERT_SCHEDULE)
  if (plan.kind === 'schedule')
    insert.run(plan.scheduleId, event.tenantId, event.id, plan.dueAt, 'pending', 0, plan.dueAt, now, null)
  else {
    const dueAt = event.dueAt ?? now
    insert.run(plan.scheduleId, event.tenantId, event.id, dueAt, 'completed', 1, null, now, now)
    insertPlanned(deciding, plan.notifications)
  }
  connection.prepare(PUBLISH_EVENT).run(event.tenantId, event.id, now)
  return true
}

const COMPLETE_SCHEDULE = `update pillarbox.schedules set status = 'completed', completed_at = $2, next_attempt_at = null,
  attempt_count = attempt_count + 1 where id = $1`
const STOP_SCHEDULE = `update pillarbox.schedules set status = $2, last_error = $3, next_attempt_at = null,
  attempt_count = attempt_count + 1 where id = $1`

function decideSchedule(deciding: Deciding, schedule: StoredSchedule, plan: SchedulePlan): boolean {
  const { connection, now } = deciding
  if (plan.kind === 'later') return false
  if (plan.kind === 'notifications') {
    insertPlanned(deciding, plan.notifications)
    connection.prepare(COMPLETE_SCHEDULE).run(schedule.id, now)
    return true
  }
  connection.prepare(STOP_SCHEDULE).run(schedule.id, plan.kind, plan.error)
  const action = plan.kind === 'failed' ? 'fail' : 'cancel'
  auditStop(deciding, schedule.tenantId, `schedule:${schedule.id}`, action, plan.kind, plan.reason)
  return true
}

function insertPlanned({ connection, now, tally }: Deciding, notifications: readonly NewNotification[]): void {
  for (const notification of notifications) {
    const { duplicate, lane } = insertNotification(connection, notification, now)
    if (!duplicate) tally.inserted += 1
    if (lane !== null) tally.lanes.add(lane)
  }
}

function auditStop(
  { connection }: Deciding,
  tenantId: string,
  subject: string,
  action: string,
  to: string,
  reason: Reason,
): void {
  insertAudit(connection, { tenantId, actor: 'system', action, subject, from: 'pending', to, reason })
}
