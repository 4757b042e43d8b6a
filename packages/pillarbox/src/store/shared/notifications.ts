import type { NotificationStore } from '../../plan/notification-store.ts'
import { auditOf, listAttempts } from './notification-history.ts'
import { listNotifications } from './notification-list.ts'
import { countByStatus, findNotification } from './notification-view.ts'
import { type Dialect, instantOf, instantOrNull, row, type Script, type ScriptRunner } from './script.ts'
import { scrubber } from './scrub.ts'

/** Everything about notifications but what writes new ones, which is each engine's own. */
export function sharedNotifications(scripts: ScriptRunner): Omit<NotificationStore, 'insert' | 'insertByHand' | 'act'> {
  const { dialect, read, report } = scripts
  return {
    find: (tenantId, id) => read(() => findNotification(tenantId, id)),
    list: (filter, page) => report(() => listNotifications(dialect, filter, page)),
    attempts: (notificationId) => read(() => listAttempts(notificationId)),
    audit: (notificationId) => read(() => auditOf(notificationId)),
    oldestDueMs: () => read(() => oldestDueMs(dialect)),
    scrub: scrubber(scripts),
    countByStatus: (tenantId) => report(() => countByStatus(tenantId)),
  }
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
