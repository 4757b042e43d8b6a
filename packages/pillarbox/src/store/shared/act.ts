import { ACTIONS, type Action, type NewNotification, type NotificationStatus } from '../../model/notification.ts'
import type { ItemRef } from '../../model/operation.ts'
import { UNTOLD_REASONS } from '../../model/reason.ts'
import { addressOf } from '../../model/recipient.ts'
import { type RollupMove, rollupStatus, secondOf } from '../../model/rollup.ts'
import type { Acted, ActRequest, RepeatedItem } from '../../plan/notification-store.ts'
import { type AuditRow, writeAudit } from './audit.ts'
import { booleanOf, isSealed, textOrNull, uuidOrNull } from './fields.ts'
import { IS_RETRYING, statusOf } from './notification-view.ts'
import { takeItem } from './operation-items.ts'
import {
  type CountedStanding,
  GROUP_COLUMNS,
  groupOf,
  movesBetween,
  plainMove,
  secondNow,
  writeMoves,
} from './rollup-deltas.ts'
import { type Dialect, givenList, instantOf, row, rows, type Script } from './script.ts'
import { writeSettled } from './settle.ts'
import { type ActChanges, actChanges, type RestingNotification } from './transitions.ts'

/**
 * Moves a notification by hand. The row of `dispatch` or `settled` that it rests in is locked first, so of two operators,
 * or an operator and a worker, only one finds it there. A retry of one without account or content needs a `replacement`
 * and otherwise moves nothing; one whose content was scrubbed is never sent again.
 */
export function* act(dialect: Dialect, request: ActRequest): Script<Acted | null> {
  const id = uuidOrNull(request.id)
  if (id === null) return null
  const { tenantId, action, replacement, obstacle } = request
  const notification = yield* row(
    `select ${GROUP_COLUMNS}, n.created_at, n.content is not null as has_content, n.is_scrubbed, n.schedule_id
      from pillarbox.notifications n
      where n.id = :id and n.tenant_id = :tenantId ${action === 'retry' ? dialect.lock('n') : ''}`,
    { id, tenantId },
  )
  if (!notification) return null

  const accountId = replacement?.accountId ?? textOrNull(notification['account_id'])
  const hasWords = replacement !== undefined || (accountId !== null && booleanOf(notification['has_content']))
  const twin = replacement ? yield* twinOf(tenantId, id, replacement.idempotencyKey) : null
  const canBeSent = hasWords && twin === null && !booleanOf(notification['is_scrubbed'])
  const isHeld = action === 'retry' && !canBeSent && !obstacle
  const place = { id, tenantId, action, accountId }
  const resting = isHeld ? null : yield* lockResting(dialect, place)
  const changes = resting && actChanges(request, resting)
  if (!changes) {
    const from = yield* statusNow(id)
    return from && { moved: false, from, accountId, ...(twin === null ? {} : { twin }) }
  }
  if (request.item && !(yield* takeItem(dialect, request.item, { notificationId: id })))
    return { moved: false, from: resting.from, accountId, isPassedOver: true }

  const before = { group: groupOf(notification), status: rollupStatus(resting.from), dueSecond: resting.dueSecond }
  const after: CountedStanding = { ...before, status: changes.settled?.status ?? 'live', dueSecond: null }
  if (resting.from === 'queued' || resting.from === 'retrying')
    yield* rows('delete from pillarbox.dispatch where notification_id = :id', { id })
  if (changes.queued) {
    yield* rows('delete from pillarbox.settled where notification_id = :id', { id })
    if (replacement) yield* replace(tenantId, replacement, id)
    const overrides = request.overridesSuppression ? true : null
    const { keepsExpiry = false } = request
    after.dueSecond = yield* requeue(dialect, { id, accountId, overrides, keepsExpiry, ...changes.queued })
    after.group = { ...after.group, accountId, ...(replacement && { channel: replacement.channel }) }
  }
  if (changes.settled) yield* writeSettled(dialect, [changes.settled])
  if (request.correction) yield* correct(dialect, request, request.correction)
  yield* writeAudit(dialect, changes.audit)
  if (changes.queued || request.correction)
    yield* completeSchedule(dialect, request, textOrNull(notification['schedule_id']))
  const bornSecond = secondOf(instantOf(notification['created_at']))
  yield* writeMoves(actMoves(before, after, bornSecond, yield* secondNow(dialect)))
  return { moved: true, from: resting.from, accountId }
}

/** One that is planned anew on another channel is counted as if it had been born there. */
function actMoves(
  before: CountedStanding,
  after: CountedStanding,
  bornSecond: number,
  atSecond: number,
): readonly RollupMove[] {
  const { channel } = after.group
  if (channel === before.group.channel) return movesBetween(before, after, atSecond)
  const born = { from: 'new', to: before.status, atSecond: bornSecond } as const
  const group = { ...before.group, channel }
  return [
    plainMove({ group: before.group, ...born, count: -1 }),
    plainMove({ group, ...born }),
    ...movesBetween({ ...before, group }, after, atSecond),
  ]
}

/** Another notification that already has the key. */
function* twinOf(tenantId: string, id: string, idempotencyKey: string): Script<string | null> {
  const found = yield* row(
    `select id from pillarbox.notifications
      where tenant_id = :tenantId and idempotency_key = :idempotencyKey and id <> :id`,
    { tenantId, id, idempotencyKey },
  )
  return found && String(found['id'])
}

/** Where a settled row `s` stood when it was last discarded. */
const DISCARDED_FROM = `(select a.from_status from pillarbox.audit a
  where a.notification_id = s.notification_id and a.action = 'discard' and s.status = 'discarded' order by a.id desc limit 1)`

/** Locks the row that the notification rests in, in the table where the action may find it; null: there is none. */
function* lockResting(
  dialect: Dialect,
  { id, tenantId, action, accountId }: { id: string; tenantId: string; action: Action; accountId: string | null },
): Script<(RestingNotification & { dueSecond: number | null }) | null> {
  const movable: readonly NotificationStatus[] = ACTIONS[action].from
  const columns = 'attempt, spent, possible_duplicate, last_error'
  // One with a token is being sent and waits no longer.
  const waiting = movable.includes('queued')
    ? yield* row(
        `select d.notification_id as live, d.token, d.visible_at, ${columns}, ${IS_RETRYING} as is_retrying from pillarbox.dispatch d
          where d.notification_id = :id and d.token is null ${dialect.lock('d')}`,
        { id },
      )
    : null
  const found =
    waiting ??
    (yield* row(
      `select null as live, s.status as settled_status, s.reason, s.code, s.fingerprint, ${columns},
          ${DISCARDED_FROM} as discarded_from
        from pillarbox.settled s
        where s.notification_id = :id ${dialect.lock('s')}`,
      { id },
    ))
  return (
    found && {
      notificationId: id,
      tenantId,
      from: statusOf(found),
      dueSecond: waiting ? secondOf(instantOf(waiting['visible_at'])) : null,
      attempt: Number(found['attempt']),
      spent: Number(found['spent']),
      possibleDuplicate: booleanOf(found['possible_duplicate']),
      accountId,
      lastError: textOrNull(found['last_error']),
      code: textOrNull(found['code']),
      fingerprint: textOrNull(found['fingerprint']),
      stoppedBecause: textOrNull(found['reason'] ?? null),
      discardedFrom: textOrNull(found['discarded_from'] ?? null) as NotificationStatus | null,
    }
  )
}

function* statusNow(id: string): Script<NotificationStatus | null> {
  const found = yield* row(
    `select d.notification_id as live, d.token, ${IS_RETRYING} as is_retrying, s.status as settled_status
      from pillarbox.notifications n left join pillarbox.dispatch d on d.notification_id = n.id
      left join pillarbox.settled s on s.notification_id = n.id where n.id = :id`,
    { id },
  )
  return found && statusOf(found)
}

/**
 * A fresh allowance of attempts, counted anew; their numbers go on from the last, so that none repeats. Whoever sends it
 * by hand wants it sent, however late. Answers the second in which it is due.
 */
function* requeue(
  dialect: Dialect,
  queued: NonNullable<ActChanges['queued']> & {
    id: string
    accountId: string | null
    overrides: true | null
    keepsExpiry: boolean
  },
): Script<number> {
  const last = yield* row('select max(number) as number from pillarbox.attempts where notification_id = :id', queued)
  const attempt = Math.max(queued.attempt, Number(last?.['number'] ?? 0))
  yield* rows(
    `update pillarbox.notifications set attempts_before = :before, overrides_suppression = :overrides
        ${queued.keepsExpiry ? '' : ', expires_at = null'}
      where id = :id`,
    { ...queued, before: attempt > 0 ? attempt : null },
  )
  const written = yield* row(
    `insert into pillarbox.dispatch (notification_id, lane_id, visible_at, attempt, spent, possible_duplicate)
      select n.id, :accountId, case when n.due_at > ${dialect.now} then n.due_at else ${dialect.now} end, :attempt, 0,
        :possibleDuplicate from pillarbox.notifications n where n.id = :id returning visible_at`,
    { ...queued, attempt },
  )
  return secondOf(instantOf(written?.['visible_at']))
}

/** A schedule that failed only because nobody could be told: somebody is, now. One that was not planned to its end stays. */
function* completeSchedule(
  dialect: Dialect,
  { tenantId, actor, action, correction }: ActRequest,
  scheduleId: string | null,
): Script<void> {
  if (scheduleId === null) return
  const subject = `schedule:${scheduleId}`
  const completed = yield* row(
    `update pillarbox.schedules set status = 'completed', completed_at = ${dialect.now}, last_error = null
      where id = :scheduleId and status = 'failed' and (select a.reason from pillarbox.audit a
        where a.tenant_id = :tenantId and a.subject = :subject and a.to_status = 'failed'
        order by a.id desc limit 1) in (:untold) returning id`,
    { scheduleId, tenantId, subject, untold: givenList(UNTOLD_REASONS) },
  )
  if (!completed) return
  const verb = correction ? 'correct' : action
  yield* writeAudit(dialect, { tenantId, actor, action: verb, subject, from: 'failed', to: 'completed' })
}

/** The link to what is sent in its place, which is written in the same transaction. */
function* correct(dialect: Dialect, { id, actor, note }: ActRequest, correction: NewNotification): Script<void> {
  yield* rows('update pillarbox.notifications set corrected_to = :correctedTo where id = :id', {
    id,
    correctedTo: correction.id,
  })
  yield* writeAudit(
    dialect,
    ...handAudits([correction], { actor, action: 'correct', ...(note !== undefined && { note }) }),
  )
}

/** The item of an operation for which these are sent; false: nothing is to be sent for it. */
export function takeRepeated(
  dialect: Dialect,
  { notificationId, ...ref }: RepeatedItem,
  [first]: readonly NewNotification[],
): Script<boolean> {
  return takeItem(dialect, ref, { notificationId, resultId: first?.id ?? null })
}

/** The audit rows of notifications that somebody has sent by hand. */
export function handAudits(
  notifications: readonly NewNotification[],
  { actor, action, note, item }: { actor: string; action: string; note?: string; item?: ItemRef },
): AuditRow[] {
  const operationId = item?.operationId ?? null
  return notifications.map(({ id, tenantId, stopped }) => {
    const to = stopped?.status ?? 'queued'
    return { tenantId, actor, action, notificationId: id, attempt: 0, to, note: note ?? null, operationId }
  })
}

/** What planning answers now, in place of what was there when it was born. */
function* replace(
  tenantId: string,
  { channel, to, fallback, warnings, ...planned }: NonNullable<ActRequest['replacement']>,
  id: string,
): Script<void> {
  const address = addressOf(channel, to)
  const lists = { fallback: fallback.length > 0 ? fallback : null, warnings: warnings.length > 0 ? warnings : null }
  yield* rows(
    `update pillarbox.notifications set account_id = :accountId, provider = :provider, channel = :channel,
      content = :content, template_id = :templateId, template_version = :templateVersion, locale = :locale,
      recipient = :to, address = :address, fallback = :fallback, warnings = :warnings, duplicate_of = null,
      idempotency_key = :idempotencyKey where id = :id`,
    { ...planned, ...lists, id, channel, to, address },
  )
  if (!isSealed(planned.content))
    // Nothing in it is secret any more: it is not to be removed either.
    yield* rows('delete from pillarbox.sealed_contents where notification_id = :id', { id })
  else
    yield* rows(
      `insert into pillarbox.sealed_contents (notification_id, tenant_id, event_id)
        select n.id, :tenantId, n.event_id from pillarbox.notifications n where n.id = :id
        on conflict (notification_id) do nothing`,
      { id, tenantId },
    )
}
