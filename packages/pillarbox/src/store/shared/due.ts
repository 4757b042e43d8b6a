import type { DueStore } from '../../operate/due-store.ts'
import { type Dialect, type Row, rows, type Script, type ScriptRunner } from './script.ts'

export function sharedDue({ dialect, write }: ScriptRunner): DueStore {
  return { bringForward: (limit) => write(() => bringForward(dialect, limit)) }
}

/**
 * What was never tried, or has a fresh allowance, is due at once: a schedule only where its time is not the one it waits
 * for (a part of it was planned, or it was replayed), a notification only where it has no time or one that is past.
 */
function* bringForward(dialect: Dialect, limit: number): Script<number> {
  const { now } = dialect
  const makeDue = (table: string, key: string, condition = ''): Script<Row[]> =>
    rows(
      `update pillarbox.${table} set next_attempt_at = ${now} where (${key}) in (
          select ${key} from pillarbox.${table} t
          where t.status = 'pending' and t.attempt_count = 0 and t.next_attempt_at > ${now} ${condition}
          order by t.next_attempt_at limit :limit ${dialect.skipLocked('t')}
        ) returning id`,
      { limit },
    )
  const events = yield* makeDue('events', 'tenant_id, id')
  const schedules = yield* makeDue('schedules', 'id', 'and t.next_attempt_at > t.due_at')
  const callbacks = yield* makeDue('callbacks', 'id')
  const notifications = yield* rows(
    `update pillarbox.dispatch set visible_at = ${now} where notification_id in (
        select d.notification_id from pillarbox.dispatch d join pillarbox.notifications n on n.id = d.notification_id
        where d.token is null and d.visible_at > ${now} and d.spent = 0 and d.last_error is null
          and (n.due_at is null or n.due_at <= ${now}) limit :limit ${dialect.skipLocked('d')}
      ) returning notification_id`,
    { limit },
  )
  yield* rows(`update pillarbox.workers set beat_at = ${now} where beat_at > ${now}`)
  return events.length + schedules.length + callbacks.length + notifications.length
}
