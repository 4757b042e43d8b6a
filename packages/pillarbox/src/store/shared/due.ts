import type { DueStore } from '../../operate/due-store.ts'
import { type Dialect, rows, type Script, type ScriptRunner } from './script.ts'

export function sharedDue({ dialect, write }: ScriptRunner): DueStore {
  return { bringForward: () => write(() => bringForward(dialect)) }
}

/**
 * What was never tried, or has a fresh allowance, is due at once: a schedule only where its time is not the one it waits
 * for (a part of it was planned, or it was replayed), a notification only where it has no time or one that is past.
 */
function* bringForward(dialect: Dialect): Script<number> {
  const { now } = dialect
  const untried = `status = 'pending' and attempt_count = 0 and next_attempt_at > ${now}`
  const events = yield* rows(`update pillarbox.events set next_attempt_at = ${now} where ${untried} returning id`)
  const schedules = yield* rows(
    `update pillarbox.schedules set next_attempt_at = ${now} where ${untried} and next_attempt_at > due_at returning id`,
  )
  const callbacks = yield* rows(`update pillarbox.callbacks set next_attempt_at = ${now} where ${untried} returning id`)
  const notifications = yield* rows(
    `update pillarbox.dispatch set visible_at = ${now} where notification_id in (
        select d.notification_id from pillarbox.dispatch d join pillarbox.notifications n on n.id = d.notification_id
        where d.token is null and d.visible_at > ${now} and d.spent = 0 and d.last_error is null
          and (n.due_at is null or n.due_at <= ${now}) ${dialect.skipLocked('d')}
      ) returning notification_id`,
  )
  yield* rows(`update pillarbox.workers set beat_at = ${now} where beat_at > ${now}`)
  return events.length + schedules.length + callbacks.length + notifications.length
}
