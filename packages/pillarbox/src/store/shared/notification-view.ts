import type { Entity } from '../../model/event.ts'
import type { Content, ListedNotification, NotificationView, SealedContent } from '../../model/notification.ts'
import { NOTIFICATION_STATUSES, type NotificationStatus, type SettledStatus } from '../../model/notification.ts'
import type { RefusedMember } from '../../model/outcome.ts'
import type { StoredReason } from '../../model/reason.ts'
import { sendsReceipts } from '../../model/receipt.ts'
import type { Address } from '../../model/recipient.ts'
import { booleanOf, textOrNull, uuidOrNull } from './fields.ts'
import { nounOf } from './noun.ts'
import { givenRows, instantOf, instantOrNull, jsonOf, jsonOrNull, type Row, row, rows, type Script } from './script.ts'

/**
 * The ledger row with all that tells where it stands: the `from` of what `viewOf` and `listedOf` read. The attempt joined
 * is the last accepted one. `n` may come from any source named `n` that has the ledger's columns.
 */
export const VIEW_JOINS = `left join pillarbox.dispatch d on d.notification_id = n.id
  left join pillarbox.settled s on s.notification_id = n.id
  left join pillarbox.attempts a on a.notification_id = n.id and not a.late and a.number =
    (select max(x.number) from pillarbox.attempts x where x.notification_id = n.id and not x.late and x.outcome = 'accepted')`

/**
 * Whether a dispatch row `d` without a token waits for another try rather than its first. A retry by hand begins anew:
 * its attempts go on counting, but nothing is spent and no error stands.
 */
export const IS_RETRYING = '(d.attempt > 0 and (d.spent > 0 or d.last_error is not null))'

const OF_LEDGER = {
  id: 'uuid',
  tenantId: 'text',
  idempotencyKey: 'text',
  channel: 'text',
  accountId: 'uuid',
  provider: 'text',
  eventId: 'text',
  eventType: 'text',
  scheduleId: 'uuid',
  place: 'text',
  entity: 'entity',
  templateId: 'text',
  templateVersion: 'number',
  locale: 'text',
  correlationId: 'text',
  traceparent: 'text',
  executionId: 'text',
  parentExecutionId: 'text',
  site: 'text',
  triggeredBy: 'text',
  fallback: 'json',
  fallbackOf: 'uuid',
  fallbackTo: 'uuid',
  correctedFrom: 'uuid',
  correctedTo: 'uuid',
  duplicateOf: 'uuid',
  warnings: 'json',
  contactId: 'uuid',
  conversationId: 'uuid',
  policy: 'json',
  isScrubbed: 'boolean',
  dueAt: 'instant',
  expiresAt: 'instant',
  createdAt: 'instant',
} as const
const LEDGER = nounOf<Pick<NotificationView, keyof typeof OF_LEDGER>>('notifications', OF_LEDGER)

/** What `listedOf` reads: all but the words, which are long and kept apart from the row. */
export const LISTED_COLUMNS = `${LEDGER.columnsOf('n')}, n.recipient,
  exists (select 1 from pillarbox.sealed_contents c where c.notification_id = n.id) as is_sealed,
  d.notification_id as live, d.token, ${IS_RETRYING} as is_retrying, d.visible_at, d.last_error as live_error,
  s.status as settled_status, s.reason, s.last_error as settled_error, s.settled_at, s.delivered_at, s.read_at,
  a.provider_message_id, a.refused, a.started_at, a.duration_ms,
  coalesce(d.possible_duplicate, s.possible_duplicate, a.possible_duplicate, false) as possible_duplicate,
  (select count(*) from pillarbox.attempts x where x.notification_id = n.id and not x.late
    and x.number > coalesce(n.attempts_before, 0)) as attempt_count,
  (select x.resolved_targets from pillarbox.attempts x where x.notification_id = n.id and not x.late
    order by x.number desc limit 1) as resolved_targets`

/** What `viewOf` reads. */
export const VIEW_COLUMNS = `${LISTED_COLUMNS}, n.content`

export function* findNotification(tenantId: string | null, id: string): Script<NotificationView | null> {
  const notificationId = uuidOrNull(id)
  if (notificationId === null) return null
  const found = yield* row(
    `select ${VIEW_COLUMNS} from pillarbox.notifications n ${VIEW_JOINS}
      where n.id = :notificationId ${tenantId === null ? '' : 'and n.tenant_id = :tenantId'}`,
    { notificationId, tenantId },
  )
  return found && viewOf(found)
}

/**
 * Where a notification stands, told by which of the two work tables has a row for it:
 * dispatch → sending (with a token), retrying or queued; settled → its status; neither → sent. A settled row says `sent`
 * where only a receipt could tell that the provider has it.
 */
export function statusOf(found: Row): NotificationStatus {
  if (found['live'] !== null) {
    if (found['token'] !== null) return 'sending'
    return booleanOf(found['is_retrying']) ? 'retrying' : 'queued'
  }
  return (found['settled_status'] as SettledStatus | null) ?? 'sent'
}

export function viewOf(found: Row): NotificationView {
  return { ...listedOf(found), content: jsonOrNull<Content | SealedContent>(found['content']) }
}

export function listedOf(found: Row): ListedNotification {
  const status = statusOf(found)
  const isWaiting = status === 'queued' || status === 'retrying'
  const ledger = LEDGER.of(found)
  // Nobody will say any more of it, so that its acceptance is all the delivery there is.
  const isFinal = status === 'sent' && !sendsReceipts(ledger.provider)
  return {
    ...ledger,
    to: jsonOf<Address>(found['recipient']),
    isSealed: booleanOf(found['is_sealed']),
    fallback: ledger.fallback ?? [],
    warnings: [...(ledger.warnings ?? []), ...refusalWarnings(found)],
    resolvedTargets: jsonOrNull<string[]>(found['resolved_targets']),
    status,
    reason: textOrNull(found['reason']) as StoredReason | null,
    lastError: textOrNull(found['live'] === null ? found['settled_error'] : found['live_error']),
    attemptCount: Number(found['attempt_count']),
    nextAttemptAt: isWaiting ? instantOf(found['visible_at']) : null,
    possibleDuplicate: booleanOf(found['possible_duplicate']),
    providerMessageId: textOrNull(found['provider_message_id']),
    sentAt: sentAt(found),
    deliveredAt: instantOrNull(found['delivered_at']) ?? (isFinal ? sentAt(found) : null),
    readAt: instantOrNull(found['read_at']),
  }
}

/** What the ledger cannot say, which is written before the call. */
function refusalWarnings(found: Row): NotificationView['warnings'] {
  const refused = jsonOrNull<RefusedMember[]>(found['refused'])
  if (!refused?.length) return []
  const names = refused.map(({ recipient }) => recipient).slice(0, 10)
  const others = refused.length > names.length ? ` and ${refused.length - names.length} more` : ''
  return [{ code: 'members_refused', message: `The provider did not take it for ${names.join(', ')}${others}.` }]
}

/** When the provider answered; where only a receipt said that it has it, when that was heard. */
function sentAt(found: Row): number | null {
  if (found['started_at'] !== null) return instantOf(found['started_at']) + Number(found['duration_ms'])
  return found['live'] === null && found['settled_status'] === 'sent' ? instantOf(found['settled_at']) : null
}

/** The status of a ledger row beside its dispatch row `d` and its settled row `s`, as SQL: what `statusOf` says. */
const STATUS = `case when d.token is not null then 'sending' when ${IS_RETRYING} then 'retrying'
  when d.notification_id is not null then 'queued' else coalesce(s.status, 'sent') end`

/** Each entity's notifications are read once, however many of the events are about it. */
export function* countByEvent(
  tenantId: string,
  events: readonly { id: string; entity: Entity }[],
): Script<Record<NotificationStatus, number>[]> {
  const given = events.map(({ id, entity }) => ({ id, entity_type: entity.type, entity_id: entity.id }))
  const found = yield* rows(
    `select n.event_id, ${STATUS} as status, count(*) as count from pillarbox.notifications n
      left join pillarbox.dispatch d on d.notification_id = n.id
      left join pillarbox.settled s on s.notification_id = n.id
      where n.tenant_id = :tenantId and n.event_id in (select g.id from :g)
        and (n.entity_type, n.entity_id) in (select g.entity_type, g.entity_id from :g)
      group by 1, 2`,
    { tenantId, g: givenRows({ id: 'text', entity_type: 'text', entity_id: 'text' }, given) },
  )
  const counts = new Map(events.map(({ id }) => [id, noneOfAny()]))
  for (const { event_id: id, status, count } of found) {
    const ofEvent = counts.get(String(id))
    if (ofEvent) ofEvent[status as NotificationStatus] = Number(count)
  }
  return events.map(({ id }) => counts.get(id) ?? noneOfAny())
}

function noneOfAny(): Record<NotificationStatus, number> {
  return Object.fromEntries(NOTIFICATION_STATUSES.map((status) => [status, 0])) as Record<NotificationStatus, number>
}

/** One statement, hence one moment: the sum over all statuses is the number of ledger rows. */
export function* countByStatus(tenantId: string | null): Script<Record<NotificationStatus, number>> {
  const one = tenantId !== null
  const found = yield* rows(
    `select case when d.token is not null then 'sending' when ${IS_RETRYING} then 'retrying' else 'queued' end as status,
        count(*) as count
      from pillarbox.dispatch d
      ${one ? 'join pillarbox.notifications n on n.id = d.notification_id where n.tenant_id = :tenantId' : ''} group by 1
    union all
    select status, count(*) from pillarbox.settled ${one ? 'where tenant_id = :tenantId' : ''} group by status
    union all
    select 'all', count(*) from pillarbox.notifications ${one ? 'where tenant_id = :tenantId' : ''}`,
    { tenantId },
  )
  const counts = noneOfAny()
  for (const { status, count } of found as { status: string; count: unknown }[]) {
    if (status === 'all') counts.sent += Number(count)
    else {
      counts[status as NotificationStatus] += Number(count)
      counts.sent -= Number(count)
    }
  }
  return counts
}
