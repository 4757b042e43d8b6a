import { type Static, Type } from 'typebox'
import type { LaneView } from '../dispatch/lane-store.ts'
import { ChannelName, EntityRef, JsonObject, Nullable } from '../intake/body-fields.ts'
import type { StoredAccount } from '../model/account.ts'
import { EVENT_STATUSES, type ListedEvent, SCHEDULE_STATUSES, type StoredEvent, topicOf } from '../model/event.ts'
import {
  type AttemptView,
  type AuditView,
  isLive,
  type ListedNotification,
  NOTIFICATION_STATUSES,
  type NotificationView,
} from '../model/notification.ts'
import { RECEIPT_KINDS, type ReceiptView, sendsReceipts } from '../model/receipt.ts'
import type { StoredSchedule } from '../model/schedule.ts'
import { withoutSealedTexts } from '../security/payload-seal.ts'
import type { HttpConfig } from './context.ts'
import { Id, iso, isoOrNull, TextOrNull, Time, TimeOrNull, WarningSchema, withTimes } from './schemas.ts'

const AddressJson = Type.Object(
  {
    name: Type.Optional(Type.String()),
    email: Type.Optional(Type.String()),
    phone: Type.Optional(Type.String()),
    deviceToken: Type.Optional(Type.String()),
    platform: Type.Optional(Type.String()),
    userId: Type.Optional(Type.String()),
    url: Type.Optional(Type.String()),
    contactId: Type.Optional(Type.String()),
    list: Type.Optional(Type.String()),
  },
  { title: 'AddressView' },
)

const fields = {
  id: Id,
  tenantId: Type.String(),
  status: Type.Enum([...NOTIFICATION_STATUSES]),
  reason: TextOrNull,
  lastError: TextOrNull,
  channel: ChannelName,
  provider: TextOrNull,
  accountId: TextOrNull,
  to: AddressJson,
  contactId: TextOrNull,
  conversationId: TextOrNull,
  eventId: TextOrNull,
  eventType: TextOrNull,
  entity: Nullable(EntityRef),
  templateId: TextOrNull,
  templateVersion: Nullable(Type.Integer()),
  locale: TextOrNull,
  idempotencyKey: Type.String(),
  correlationId: TextOrNull,
  executionId: TextOrNull,
  parentExecutionId: TextOrNull,
  site: TextOrNull,
  attemptCount: Type.Integer({ description: 'Since it was last retried by hand, where it was; `attempts` has all.' }),
  nextAttemptAt: TimeOrNull,
  possibleDuplicate: Type.Boolean(),
  stuck: Type.Boolean(),
  stale: Type.Boolean(),
  warnings: Type.Array(WarningSchema),
  resolvedTargets: Nullable(
    Type.Array(Type.String(), { description: 'Whom a recipient list stood for, as of the last attempt.' }),
  ),
  isSealed: Type.Boolean({ description: 'Its content holds secrets: sealed, and shown to nobody.' }),
  isScrubbed: Type.Boolean({ description: 'Its content held secrets and was removed when it was final.' }),
  providerMessageId: TextOrNull,
  fallback: Type.Array(ChannelName),
  fallbackOf: TextOrNull,
  fallbackTo: TextOrNull,
  correctedFrom: TextOrNull,
  correctedTo: TextOrNull,
  duplicateOf: Nullable(
    Type.String({ description: 'Of one that was skipped as a duplicate: the notification that tells the same.' }),
  ),
  triggeredBy: Type.String(),
  createdAt: Time,
  dueAt: TimeOrNull,
  expiresAt: TimeOrNull,
  sentAt: TimeOrNull,
  deliveredAt: TimeOrNull,
  readAt: TimeOrNull,
}

/** A notification as lists and actions show it. */
export const NotificationJson = Type.Object(fields, { title: 'NotificationView' })

const AttemptJson = Type.Object(
  {
    number: Type.Integer(),
    outcome: Type.String(),
    late: Type.Boolean(),
    code: TextOrNull,
    error: TextOrNull,
    provider: Type.String(),
    providerMessageId: TextOrNull,
    accountId: Nullable(Type.String({ description: 'The account it went through.' })),
    answer: Nullable(
      Type.String({
        description:
          'What the provider said, at most 4,096 characters of it, without secrets. A viewer does not see it.',
      }),
    ),
    refused: Nullable(
      Type.Array(Type.Object({ recipient: Type.String(), error: Type.String() }), {
        description: 'Members of a recipient list that the provider would not take while it took the others.',
      }),
    ),
    startedAt: Time,
    durationMs: Type.Number(),
    workerId: Type.String(),
  },
  { title: 'Attempt' },
)

/** What each entry of the audit says, wherever it is shown. */
export const AUDIT_FIELDS = {
  at: Time,
  actor: Type.String(),
  action: Type.String(),
  notificationId: TextOrNull,
  attempt: Nullable(Type.Integer()),
  durationMs: Nullable(Type.Number()),
  from: TextOrNull,
  to: TextOrNull,
  reason: TextOrNull,
  note: Nullable(Type.String({ description: 'Why somebody did it, in their own words.' })),
  operationId: Nullable(Type.String({ description: 'The operation that it was part of.' })),
  correlationId: TextOrNull,
  executionId: TextOrNull,
  parentExecutionId: TextOrNull,
}

const AuditJson = Type.Object(AUDIT_FIELDS, { title: 'AuditRow' })

/** An event as lists show it, without what it carries. */
export const EventJson = Type.Object(
  {
    id: Type.String(),
    tenantId: Type.String(),
    type: Type.String(),
    entity: EntityRef,
    status: Type.Enum([...EVENT_STATUSES]),
    attemptCount: Type.Integer(),
    nextAttemptAt: TimeOrNull,
    lastError: TextOrNull,
    correlationId: TextOrNull,
    topic: Type.String(),
    derivedFrom: Nullable(Type.String({ description: 'The domain event that planning made it of.' })),
    locale: TextOrNull,
    schemaVersion: Type.Integer(),
    occurredAt: TimeOrNull,
    dueAt: TimeOrNull,
    createdAt: Time,
    publishedAt: TimeOrNull,
  },
  { title: 'OutboxEvent' },
)

/** The same with what it carries. */
export const EventDetailJson = Type.Object({
  ...EventJson.properties,
  payload: Type.Optional(Type.Unknown()),
  recipients: Type.Optional(Nullable(Type.Array(Type.Unknown()))),
  channels: Type.Optional(Nullable(Type.Array(Type.String()))),
  conversation: Type.Optional(Nullable(EntityRef)),
})

const ReceiptJson = Type.Object(
  {
    kind: Type.Enum([...RECEIPT_KINDS]),
    at: Time,
    receivedAt: Time,
    provider: Type.String(),
    providerMessageId: Type.String(),
    recipient: Nullable(Type.String({ description: 'Of a message to several: whom this is about.' })),
    code: TextOrNull,
    error: TextOrNull,
  },
  { title: 'Receipt' },
)

export const ScheduleJson = Type.Object(
  {
    id: Id,
    tenantId: Type.String(),
    eventId: Type.String(),
    eventType: Type.String(),
    entity: EntityRef,
    dueAt: Time,
    status: Type.Enum([...SCHEDULE_STATUSES]),
    attemptCount: Type.Integer(),
    lastError: TextOrNull,
    createdAt: Time,
    completedAt: TimeOrNull,
    approvedBy: TextOrNull,
    approvedAt: TimeOrNull,
    progress: Nullable(
      Type.Object(
        { planned: Type.Integer(), total: Type.Integer() },
        { description: 'Of one with very many recipients: how many are planned so far, of how many.' },
      ),
    ),
  },
  { title: 'Schedule' },
)

/** All there is to know about a notification. */
export const NotificationDetailJson = Type.Object(
  {
    ...fields,
    waitingFor: Nullable(
      Type.Object(
        {
          accountId: Id,
          why: Type.Enum(['paused', 'held'], {
            description:
              'paused: the vendor refused its credentials; held: it failed in a row, or the vendor asked us to wait.',
          }),
          detail: TextOrNull,
          until: Nullable(
            Type.String({
              format: 'date-time',
              description: 'When it goes on by itself; null: when somebody mends it.',
            }),
          ),
        },
        { description: 'Why a queued or retrying notification is not sent yet, where that is for its account to say.' },
      ),
    ),
    content: Nullable(
      Type.Object({
        subject: TextOrNull,
        body: Type.String(),
        data: JsonObject,
        isHtml: Type.Optional(Type.Boolean()),
        providerTemplate: Type.Optional(JsonObject),
      }),
    ),
    attempts: Type.Array(AttemptJson),
    receipts: Type.Array(ReceiptJson),
    audit: Type.Array(AuditJson),
    event: Nullable(EventDetailJson),
    schedule: Nullable(ScheduleJson),
  },
  { title: 'NotificationDetail' },
)

export const NotificationStatusJson = Type.Object(
  {
    notificationId: Id,
    status: Type.Enum([...NOTIFICATION_STATUSES]),
    retryCount: Type.Integer({ description: 'Provider calls that failed.' }),
    lastError: TextOrNull,
    nextAttemptAt: TimeOrNull,
    deliveredAt: TimeOrNull,
  },
  { title: 'NotificationStatusView' },
)

export function notificationJson(
  view: ListedNotification,
  { now, config }: { now: number; config: HttpConfig },
): Static<typeof NotificationJson> {
  const isUnheard = view.status === 'sent' && sendsReceipts(view.provider)
  const waitingSince = Math.max(view.createdAt, view.dueAt ?? 0, view.nextAttemptAt ?? 0)
  return {
    ...withTimes(view, 'createdAt', 'dueAt', 'nextAttemptAt', 'expiresAt', 'sentAt', 'deliveredAt', 'readAt'),
    stuck: isLive(view.status) && now - waitingSince > config.stuckAfterMs,
    stale: isUnheard && view.sentAt !== null && now - view.sentAt > config.staleAfterMs,
  }
}

/** What the account that a waiting notification is to go through does about it; null where nothing. */
export function waitingForJson(
  account: StoredAccount | null,
  lane: LaneView | undefined,
  now: number,
): Static<typeof NotificationDetailJson>['waitingFor'] {
  if (!account) return null
  if (account.status === 'paused')
    return { accountId: account.id, why: 'paused', detail: account.statusReason, until: null }
  if (!lane || lane.heldForMs <= 0) return null
  return { accountId: account.id, why: 'held', detail: lane.holdReason, until: iso(now + lane.heldForMs) }
}

export function statusJson(view: NotificationView): Static<typeof NotificationStatusJson> {
  // The last call is not a failed one while it runs, nor once it was accepted.
  const running = view.status === 'sending' || view.sentAt !== null ? 1 : 0
  const retryCount = Math.max(0, view.attemptCount - running)
  return { ...withTimes(view, 'nextAttemptAt', 'deliveredAt'), notificationId: view.id, retryCount }
}

export function receiptJson(receipt: ReceiptView): Static<typeof ReceiptJson> {
  return withTimes(receipt, 'at', 'receivedAt')
}

export function attemptJson(attempt: AttemptView): Static<typeof AttemptJson> {
  return withTimes(attempt, 'startedAt')
}

/** The audit row, with the caller's own ids of the notification it is about. */
export function auditJson(row: AuditView, view: NotificationView): Static<typeof AuditJson> {
  const { correlationId, executionId, parentExecutionId } = view
  return { ...withTimes(row, 'at'), correlationId, executionId, parentExecutionId }
}

/** Of its progress how far planning has come; where planning goes on is its own affair. */
export function scheduleJson(schedule: StoredSchedule): Static<typeof ScheduleJson> {
  return withTimes(schedule, 'dueAt', 'createdAt', 'completedAt', 'approvedAt')
}

/** The event as its schema has it: of one that was read whole, what it carries is left out by that. */
export function eventJson(event: ListedEvent): Static<typeof EventJson> {
  const nextAttemptAt = event.status === 'pending' ? isoOrNull(event.nextAttemptAt) : null
  return {
    ...withTimes(event, 'occurredAt', 'dueAt', 'createdAt', 'publishedAt'),
    nextAttemptAt,
    topic: topicOf(event),
  }
}

/** The event with payload and recipients. Nobody sees secrets. */
export function eventDetailJson(event: StoredEvent): Static<typeof EventDetailJson> {
  return {
    ...eventJson(event),
    payload: withoutSealedTexts(event.payload),
    recipients: event.recipients,
    channels: event.channels,
    conversation: event.conversation,
  }
}
