import type { NotificationStatus } from '../../model/notification.ts'
import { type ItemOutcome, type ItemRef, isSameStand, type Stand } from '../../model/operation.ts'
import { IS_RETRYING, statusOf } from './notification-view.ts'
import { type Dialect, instantOrNull, type Row, row, type Script } from './script.ts'

/** What `standOf` reads of the rows `d` and `s` that a notification has, or has not, in the work tables. */
export const STAND_COLUMNS = `d.notification_id as live, d.token, ${IS_RETRYING} as is_retrying, s.status as settled_status,
  coalesce(d.attempt, s.attempt, 0) as attempt, s.settled_at`

export function standOf(found: Row): Stand {
  return {
    status: statusOf(found),
    attempt: Number(found['attempt']),
    settledAt: instantOrNull(found['settled_at']),
  }
}

/**
 * Marks an item as done, in the transaction that does it. False, with nothing to be done: the operation was paused or
 * cancelled, the item has its outcome already, or its notification has moved since it was chosen and is left alone.
 * The operation's row stays as it is until the end, so that whoever cancels it waits for what is under way.
 */
export function* takeItem(
  dialect: Dialect,
  { operationId, place }: ItemRef,
  { notificationId, resultId = null }: { notificationId: string; resultId?: string | null },
): Script<boolean> {
  const item = yield* row(
    `select i.status as was_status, i.attempt as was_attempt, i.settled_at as was_settled_at, ${STAND_COLUMNS}
      from pillarbox.operations o cross join pillarbox.operation_items i
      left join pillarbox.dispatch d on d.notification_id = i.notification_id
      left join pillarbox.settled s on s.notification_id = i.notification_id
      where o.id = :operationId and o.status in ('canary', 'running') and i.operation_id = o.id and i.place = :place
        and i.notification_id = :notificationId ${dialect.share('o')}`,
    { operationId, place, notificationId },
  )
  if (!item) return false
  const was: Stand = {
    status: String(item['was_status']) as NotificationStatus,
    attempt: Number(item['was_attempt']),
    settledAt: instantOrNull(item['was_settled_at']),
  }
  const stand = standOf(item)
  const ref = { operationId, place }
  if (isSameStand(was, stand)) return yield* settleItem(ref, { outcome: 'done', resultId })
  const why =
    was.status === stand.status ? `it has moved, and is ${stand.status} again` : `it is ${stand.status} by now`
  yield* settleItem(ref, { outcome: 'left_alone', why })
  return false
}

/** Writes what became of an item, once; false: it had its outcome already, or its operation does not run. */
export function* settleItem(
  { operationId, place }: ItemRef,
  { outcome, why = null, resultId = null }: { outcome: ItemOutcome; why?: string | null; resultId?: string | null },
): Script<boolean> {
  const settled = yield* row(
    `update pillarbox.operation_items set outcome = :outcome, why = :why, result_id = :resultId
      where operation_id = :operationId and place = :place and outcome is null and exists
        (select 1 from pillarbox.operations o where o.id = :operationId and o.status in ('canary', 'running'))
      returning place`,
    { operationId, place, outcome, why, resultId },
  )
  return settled !== null
}
