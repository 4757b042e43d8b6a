import { type RollupMove, secondOf } from '../../model/rollup.ts'
import { TEST_CLOCK, testClockMs } from '../../model/tenant.ts'
import type { DueStore, TestClockMove } from '../../operate/due-store.ts'
import { writeAudit } from './audit.ts'
import { GROUP_COLUMNS, groupOf, movesBetween, secondNow, writeMoves } from './rollup-deltas.ts'
import {
  type Dialect,
  givenIds,
  instantOf,
  jsonOf,
  type Row,
  row,
  rows,
  type Script,
  type ScriptRunner,
} from './script.ts'

export function sharedDue({ dialect, write }: ScriptRunner): DueStore {
  return {
    bringForward: (limit) => write(() => bringForward(dialect, limit)),
    moveTestClock: (request) => write(() => moveTestClock(dialect, request)),
  }
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
    `select d.notification_id, d.visible_at, ${GROUP_COLUMNS}
      from pillarbox.dispatch d join pillarbox.notifications n on n.id = d.notification_id
      where d.token is null and d.visible_at > ${now} and d.spent = 0 and d.last_error is null
        and (n.due_at is null or n.due_at <= ${now}) limit :limit ${dialect.skipLocked('d')}`,
    { limit },
  )
  if (notifications.length > 0) {
    yield* rows(`update pillarbox.dispatch set visible_at = ${now} where notification_id in (select g.id from :g)`, {
      g: givenIds(notifications.map((found) => String(found['notification_id']))),
    })
    const atSecond = yield* secondNow(dialect)
    yield* writeMoves(dueMoves(notifications, () => atSecond, atSecond))
  }
  yield* rows(`update pillarbox.workers set beat_at = ${now} where beat_at > ${now}`)
  return events.length + schedules.length + callbacks.length + notifications.length
}

const WAITING_NOTIFICATIONS = `select d.notification_id from pillarbox.accounts a cross join pillarbox.dispatch d
  where a.tenant_id = :tenantId and d.lane_id = a.id and d.token is null`

function* moveTestClock(
  dialect: Dialect,
  { tenantId, advanceMs, actor, most, longestMs }: TestClockMove,
): Script<Awaited<ReturnType<DueStore['moveTestClock']>>> {
  const tenant = yield* row(`select t.settings from pillarbox.tenants t where t.id = :tenantId ${dialect.lock('t')}`, {
    tenantId,
  })
  if (!tenant) return null
  const counted = yield* row(
    `select (select count(*) from pillarbox.schedules where tenant_id = :tenantId and status <> 'completed'
        and status in ('pending', 'awaiting_approval')) + (select count(*) from (${WAITING_NOTIFICATIONS}) w) as waiting`,
    { tenantId },
  )
  const waiting = Number(counted?.['waiting'])
  if (waiting > most) return { waiting }

  const { [TEST_CLOCK]: _, ...settings } = jsonOf<Record<string, unknown>>(tenant['settings'])
  const before = testClockMs({ settings: jsonOf(tenant['settings']) })
  const aheadMs = advanceMs === null ? 0 : before + advanceMs
  if (aheadMs > longestMs) return { tooFar: true }
  const byMs = before - aheadMs
  yield* rows('update pillarbox.tenants set settings = :settings where id = :tenantId', {
    tenantId,
    settings: aheadMs === 0 ? settings : { ...settings, [TEST_CLOCK]: aheadMs },
  })
  const moved = (instant: string): string => dialect.plus(instant, ':byMs')
  // Only forwards does an attempt that failed wait for less: back in the real time it is not put off again.
  const everything = advanceMs === null ? 'attempt_count = 0' : 'true'
  const schedules = yield* rows(
    `update pillarbox.schedules set due_at = ${moved('due_at')},
        next_attempt_at = case when ${everything} then ${moved('next_attempt_at')} else next_attempt_at end
      where tenant_id = :tenantId and status <> 'completed' and status in ('pending', 'awaiting_approval') returning id`,
    { tenantId, byMs },
  )
  const notifications = yield* rows(
    `update pillarbox.notifications set due_at = ${moved('due_at')}, expires_at = ${moved('expires_at')}
      where id in (${WAITING_NOTIFICATIONS}) returning id`,
    { tenantId, byMs },
  )
  const waited = yield* rows(
    `select d.notification_id, d.visible_at, ${GROUP_COLUMNS} from pillarbox.dispatch d
      join pillarbox.notifications n on n.id = d.notification_id
      where d.notification_id in (${WAITING_NOTIFICATIONS}) ${dialect.lock('d')}`,
    { tenantId },
  )
  const visible = yield* rows(
    advanceMs === null
      ? `update pillarbox.dispatch set visible_at = (select n.due_at from pillarbox.notifications n
            where n.id = notification_id)
          where token is null and notification_id in (${WAITING_NOTIFICATIONS}) and exists
            (select 1 from pillarbox.notifications n where n.id = notification_id and n.due_at > ${dialect.now})
          returning notification_id, visible_at`
      : `update pillarbox.dispatch set visible_at = ${moved('visible_at')}
          where token is null and notification_id in (${WAITING_NOTIFICATIONS}) returning notification_id, visible_at`,
    { tenantId, byMs },
  )
  const dueSeconds = new Map(
    visible.map((each) => [String(each['notification_id']), secondOf(instantOf(each['visible_at']))]),
  )
  const shifted = waited.filter((each) => dueSeconds.has(String(each['notification_id'])))
  yield* writeMoves(dueMoves(shifted, (id) => dueSeconds.get(id) ?? 0, yield* secondNow(dialect)))
  const note = `${Math.round(aheadMs / 1_000)} seconds ahead`
  yield* writeAudit(dialect, { tenantId, actor, action: 'move-clock', subject: `tenant:${tenantId}`, note })
  return { aheadMs, schedules: schedules.length, notifications: notifications.length }
}

/** What is due at another second from now on. */
function dueMoves(
  found: readonly Row[],
  newSecond: (notificationId: string) => number,
  atSecond: number,
): RollupMove[] {
  return found.flatMap((each) => {
    const live = { group: groupOf(each), status: 'live' } as const
    const before = { ...live, dueSecond: secondOf(instantOf(each['visible_at'])) }
    const dueSecond = newSecond(String(each['notification_id']))
    return before.dueSecond === dueSecond ? [] : movesBetween(before, { ...live, dueSecond }, atSecond)
  })
}
