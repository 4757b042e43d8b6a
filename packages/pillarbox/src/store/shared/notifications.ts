import type { NotificationStore, StoredSchedule } from '../store.ts'
import { act } from './act.ts'
import { SCHEDULE_COLUMNS, scheduleOf } from './events.ts'
import { uuidOrNull } from './fields.ts'
import { auditOf, listAttempts } from './notification-history.ts'
import { listNotifications } from './notification-list.ts'
import { countByStatus, findNotification } from './notification-view.ts'
import { type Dialect, instantOf, instantOrNull, row, type Script, type ScriptRunner } from './script.ts'

/** Everything about notifications but writing new ones, which is each engine's own. */
export function sharedNotifications({ dialect, read, write }: ScriptRunner): Omit<NotificationStore, 'insert'> {
  return {
    find: (tenantId, id) => read(() => findNotification(tenantId, id)),
    list: (filter, page) => read(() => listNotifications(dialect, filter, page)),
    attempts: (notificationId) => read(() => listAttempts(notificationId)),
    audit: (notificationId) => read(() => auditOf(notificationId)),
    schedule: (tenantId, id) => read(() => findSchedule(tenantId, id)),
    act: (request) => write(() => act(dialect, request)),
    oldestDueMs: () => read(() => oldestDueMs(dialect)),
    countByStatus: (tenantId) => read(() => countByStatus(tenantId)),
  }
}

function* findSchedule(tenantId: string, id: string): Script<StoredSchedule | null> {
  const scheduleId = uuidOrNull(id)
  if (scheduleId === null) return null
  const found = yield* row(
    `select ${SCHEDULE_COLUMNS} from pillarbox.schedules s
      join pillarbox.events e on e.tenant_id = s.tenant_id and e.id = s.event_id
      where s.tenant_id = $1 and s.id = $2`,
    [tenantId, scheduleId],
  )
  return found && scheduleOf(found)
}

/** One index probe per account, one for the events, one for the schedules: cheap however long the backlog is. */
function* oldestDueMs({ now }: Dialect): Script<number | null> {
  const found = yield* row(
    `select ${now} as now,
      (select min((select d.visible_at from pillarbox.dispatch d where d.lane_id = a.id and d.token is null
        order by d.visible_at limit 1)) from pillarbox.accounts a) as notification,
      (select min(e.next_attempt_at) from pillarbox.events e where e.status = 'pending') as event,
      (select min(s.next_attempt_at) from pillarbox.schedules s where s.status = 'pending') as schedule`,
  )
  if (!found) return null
  const waiting = [found['notification'], found['event'], found['schedule']]
    .map(instantOrNull)
    .filter((at) => at !== null)
  const age = instantOf(found['now']) - Math.min(...waiting)
  return waiting.length > 0 && age >= 0 ? age : null
}
