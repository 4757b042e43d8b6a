import { ACTIONS, type Action, type NotificationStatus } from '../../model/notification.ts'
import { addressOf } from '../../model/recipient.ts'
import type { Acted, ActRequest } from '../../plan/notification-store.ts'
import { writeAudit } from './audit.ts'
import { booleanOf, isSealed, textOrNull, uuidOrNull } from './fields.ts'
import { IS_RETRYING, isRetrying, statusOf } from './notification-view.ts'
import { type Dialect, type Row, row, type Script } from './script.ts'

/** What the row was when it was taken, and so locked. */
interface Taken {
  from: NotificationStatus
  attempt: number
  spent: number
  possibleDuplicate: boolean
  lastError: string | null
}

/**
 * Moves a notification by hand. Each action begins with a statement that takes the row it moves (delete, or an update),
 * so of two operators, or an operator and a worker, only one finds it there. A retry of one without account or content
 * needs a `replacement` and otherwise moves nothing; one whose content was scrubbed is never sent again.
 */
export function* act(dialect: Dialect, request: ActRequest): Script<Acted | null> {
  const id = uuidOrNull(request.id)
  if (id === null) return null
  const { action } = request
  const notification = yield* row(
    `select n.account_id, n.content is not null as has_content, n.is_scrubbed from pillarbox.notifications n
      where n.id = $1 and n.tenant_id = $2 ${action === 'retry' ? dialect.lock('n') : ''}`,
    [id, request.tenantId],
  )
  if (!notification) return null

  const laneId = request.replacement?.accountId ?? textOrNull(notification['account_id'])
  const hasWords = request.replacement !== undefined || (laneId !== null && booleanOf(notification['has_content']))
  const twin = request.replacement ? yield* twinOf(request.tenantId, id, request.replacement.idempotencyKey) : null
  const canBeSent = hasWords && twin === null && !booleanOf(notification['is_scrubbed'])
  const taken = action === 'retry' && !canBeSent ? null : yield* take(dialect, action, id)
  if (!taken) {
    const now = yield* row(
      `select d.notification_id as live, d.token, ${IS_RETRYING} as is_retrying, s.status as settled_status
        from pillarbox.notifications n left join pillarbox.dispatch d on d.notification_id = n.id
        left join pillarbox.settled s on s.notification_id = n.id where n.id = $1`,
      [id],
    )
    return now && { moved: false, from: statusOf(now), laneId, ...(twin === null ? {} : { twin }) }
  }

  if (action === 'retry') yield* requeue(dialect, request, { id, laneId: laneId ?? '', taken })
  else if (action !== 'discard' && taken.from !== 'uncertain') yield* settle(dialect, request, id, taken)
  yield* writeAudit(dialect, {
    tenantId: request.tenantId,
    actor: request.actor,
    action,
    notificationId: id,
    attempt: taken.attempt,
    from: taken.from,
    to: ACTIONS[action].to,
    reason: action === 'retry' ? null : REASON[action],
  })
  return { moved: true, from: taken.from, laneId }
}

/** Another notification that already has the key. */
function* twinOf(tenantId: string, id: string, idempotencyKey: string): Script<string | null> {
  const found = yield* row(
    'select id from pillarbox.notifications where tenant_id = $1 and idempotency_key = $2 and id <> $3',
    [tenantId, idempotencyKey, id],
  )
  return found && String(found['id'])
}

const REASON = {
  discard: 'discarded_by_operator',
  cancel: 'cancelled_by_operator',
  park: 'parked_by_operator',
} as const satisfies Partial<Record<Action, string>>

/** Takes the row out of where it rests, or, where it stays in `settled`, moves it there; null when it is elsewhere. */
function* take(dialect: Dialect, action: Action, id: string): Script<Taken | null> {
  if (action === 'retry')
    return takenSettled(
      yield* row(
        `delete from pillarbox.settled where notification_id = $1 and status in ('parked', 'uncertain')
      returning status as from_status, attempt, spent, possible_duplicate, last_error`,
        [id],
      ),
    )
  if (action === 'discard') return yield* moveSettled(dialect, id, 'discard', ['parked', 'uncertain'])
  // One with a token is being sent and waits no longer.
  const waiting = yield* row(
    `delete from pillarbox.dispatch where notification_id = $1 and token is null
      returning notification_id as live, token, attempt, spent, possible_duplicate, last_error,
        ${isRetrying('')} as is_retrying`,
    [id],
  )
  if (waiting) return taken(waiting, statusOf(waiting))
  return action === 'park' ? yield* moveSettled(dialect, id, 'park', ['uncertain']) : null
}

function* moveSettled(
  dialect: Dialect,
  id: string,
  action: 'discard' | 'park',
  from: readonly NotificationStatus[],
): Script<Taken | null> {
  // Changes nothing, but locks the row, so that the status read here is the one that is moved from.
  const found = yield* row(
    `update pillarbox.settled set status = status where notification_id = $1
      returning status as from_status, attempt, spent, possible_duplicate, last_error`,
    [id],
  )
  const resting = takenSettled(found)
  if (!resting || !from.includes(resting.from)) return null
  yield {
    text: `update pillarbox.settled set status = $2, reason = $3, possible_duplicate = $4, settled_at = ${dialect.now}
      where notification_id = $1`,
    values: [
      id,
      ACTIONS[action].to,
      REASON[action],
      action === 'park' ? mayHaveArrived(resting) : resting.possibleDuplicate,
    ],
  }
  return resting
}

function takenSettled(found: Row | null): Taken | null {
  return found && taken(found, String(found['from_status']) as NotificationStatus)
}

function taken(found: Row, from: NotificationStatus): Taken {
  return {
    from,
    attempt: Number(found['attempt']),
    spent: Number(found['spent']),
    possibleDuplicate: booleanOf(found['possible_duplicate']),
    lastError: textOrNull(found['last_error']),
  }
}

/** Whether sending it now may make it arrive twice. What is uncertain may have arrived already. */
function mayHaveArrived({ from, possibleDuplicate }: Taken): boolean {
  return possibleDuplicate || from === 'uncertain'
}

/** A fresh allowance of attempts; their numbers go on from the last, so that none repeats. */
function* requeue(
  dialect: Dialect,
  request: ActRequest,
  { id, laneId, taken: resting }: { id: string; laneId: string; taken: Taken },
): Script<void> {
  const { replacement } = request
  if (replacement) yield* replace(request, replacement, id)
  const last = yield* row('select max(number) as number from pillarbox.attempts where notification_id = $1', [id])
  yield {
    text: `insert into pillarbox.dispatch (notification_id, lane_id, visible_at, attempt, spent, possible_duplicate)
      select n.id, $2, case when n.due_at > ${dialect.now} then n.due_at else ${dialect.now} end, $3, 0, $4
      from pillarbox.notifications n where n.id = $1`,
    values: [id, laneId, Math.max(resting.attempt, Number(last?.['number'] ?? 0)), mayHaveArrived(resting)],
  }
}

/** What planning answers now, in place of what was there when it was parked. */
function* replace(
  { tenantId }: ActRequest,
  { content, channel, to, ...planned }: NonNullable<ActRequest['replacement']>,
  id: string,
): Script<void> {
  yield {
    text: `update pillarbox.notifications set account_id = $2, provider = $3, channel = $4, content = $5, template_id = $6,
      template_version = $7, locale = $8, recipient = $9, address = $10, fallback = $11, warnings = $12, idempotency_key = $13 where id = $1`,
    values: [
      id,
      planned.accountId,
      planned.provider,
      channel,
      JSON.stringify(content),
      planned.templateId,
      planned.templateVersion,
      planned.locale,
      JSON.stringify(to),
      addressOf(channel, to),
      planned.fallback.length > 0 ? JSON.stringify(planned.fallback) : null,
      planned.warnings.length > 0 ? JSON.stringify(planned.warnings) : null,
      planned.idempotencyKey,
    ],
  }
  if (isSealed(content))
    yield {
      text: `insert into pillarbox.sealed_contents (notification_id, tenant_id, event_id)
        select n.id, $2, n.event_id from pillarbox.notifications n where n.id = $1
        on conflict (notification_id) do nothing`,
      values: [id, tenantId],
    }
}

function* settle(dialect: Dialect, request: ActRequest, id: string, resting: Taken): Script<void> {
  const action = request.action === 'cancel' ? 'cancel' : 'park'
  yield {
    text: `insert into pillarbox.settled
        (notification_id, tenant_id, status, reason, last_error, spent, attempt, possible_duplicate, settled_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, ${dialect.now})`,
    values: [
      id,
      request.tenantId,
      ACTIONS[action].to,
      REASON[action],
      resting.lastError,
      resting.spent,
      resting.attempt,
      resting.possibleDuplicate,
    ],
  }
}
