import { type Static, Type } from 'typebox'
import type { LaneView } from '../dispatch/lane-store.ts'
import { ChannelName, EntityRef, JsonObject, Nullable } from '../intake/body-fields.ts'
import type { StoredAccount } from '../model/account.ts'
import { EVENT_STATUSES, type EventRecipient, SCHEDULE_STATUSES, type StoredEvent } from '../model/event.ts'
import type { AttemptView, AuditView, NotificationView } from '../model/notification.ts'
import { isLive, NOTIFICATION_STATUSES } from '../model/notification.ts'
import type { ReceiptView } from '../model/receipt.ts'
import { RECEIPT_KINDS } from '../model/receipt.ts'
import { type Address, maskAddress } from '../model/recipient.ts'
import type { StoredSchedule } from '../model/schedule.ts'
import { withoutSealedTexts } from '../security/payload-seal.ts'
import type { HttpConfig } from './context.ts'
import { Id, isoOrNull, WarningSchema } from './schemas.ts'

const text = Nullable(Type.String())
const instant = Nullable(Type.String({ format: 'date-time' }))

const AddressJson = Type.Object({
  name: Type.Optional(Type.String()),
  email: Type.Optional(Type.String()),
  phone: Type.Optional(Type.String()),
  deviceToken: Type.Optional(Type.String()),
  platform: Type.Optional(Type.String()),
  userId: Type.Optional(Type.String()),
  url: Type.Optional(Type.String()),
  contactId: Type.Optional(Type.String()),
  list: Type.Optional(Type.String()),
})

const fields = {
  id: Id,
  tenantId: Type.String(),
  status: Type.Enum([...NOTIFICATION_STATUSES]),
  reason: text,
  lastError: text,
  channel: ChannelName,
  provider: text,
  accountId: text,
  to: AddressJson,
  contactId: text,
  conversationId: text,
  eventId: text,
  eventType: text,
  entity: Nullable(EntityRef),
  templateId: text,
  templateVersion: Nullable(Type.Integer()),
  locale: text,
  idempotencyKey: Type.String(),
  correlationId: text,
  executionId: text,
  parentExecutionId: text,
  site: text,
  attemptCount: Type.Integer(),
  nextAttemptAt: instant,
  possibleDuplicate: Type.Boolean(),
  stuck: Type.Boolean(),
  stale: Type.Boolean(),
  warnings: Type.Array(WarningSchema),
  resolvedTargets: Nullable(
    Type.Array(Type.String(), { description: 'Whom a recipient list stood for, as of the last attempt.' }),
  ),
  isSealed: Type.Boolean({ description: 'Its content holds secrets: sealed, and shown to nobody.' }),
  isScrubbed: Type.Boolean({ description: 'Its content held secrets and was removed when it was final.' }),
  providerMessageId: text,
  fallback: Type.Array(ChannelName),
  fallbackOf: text,
  fallbackTo: text,
  triggeredBy: Type.String(),
  createdAt: Type.String({ format: 'date-time' }),
  dueAt: instant,
  expiresAt: instant,
  sentAt: instant,
  deliveredAt: instant,
  readAt: instant,
}

/** A notification as lists and actions show it: the address masked. */
export const NotificationJson = Type.Object(fields)

const AttemptJson = Type.Object({
  number: Type.Integer(),
  outcome: Type.String(),
  late: Type.Boolean(),
  code: text,
  error: text,
  provider: Type.String(),
  providerMessageId: text,
  startedAt: Type.String({ format: 'date-time' }),
  durationMs: Type.Number(),
  workerId: Type.String(),
})

const AuditJson = Type.Object({
  at: Type.String({ format: 'date-time' }),
  actor: Type.String(),
  action: Type.String(),
  notificationId: text,
  attempt: Nullable(Type.Integer()),
  durationMs: Nullable(Type.Number()),
  from: text,
  to: text,
  reason: text,
  correlationId: text,
  executionId: text,
  parentExecutionId: text,
})

/** An event as the outbox shows it; the payload is only in a notification's detail. */
export const EventJson = Type.Object({
  id: Type.String(),
  tenantId: Type.String(),
  type: Type.String(),
  entity: EntityRef,
  status: Type.Enum([...EVENT_STATUSES]),
  attemptCount: Type.Integer(),
  nextAttemptAt: instant,
  lastError: text,
  correlationId: text,
  locale: text,
  schemaVersion: Type.Integer(),
  occurredAt: instant,
  dueAt: instant,
  createdAt: Type.String({ format: 'date-time' }),
  publishedAt: instant,
  payload: Type.Optional(Type.Unknown()),
  recipients: Type.Optional(Nullable(Type.Array(Type.Unknown()))),
  channels: Type.Optional(Nullable(Type.Array(Type.String()))),
  conversation: Type.Optional(Nullable(EntityRef)),
})

const ReceiptJson = Type.Object({
  kind: Type.Enum([...RECEIPT_KINDS]),
  at: Type.String({ format: 'date-time' }),
  receivedAt: Type.String({ format: 'date-time' }),
  provider: Type.String(),
  providerMessageId: Type.String(),
  recipient: Nullable(Type.String({ description: 'Of a message to several: whom this is about.' })),
  code: text,
  error: text,
})

export const ScheduleJson = Type.Object({
  id: Id,
  tenantId: Type.String(),
  eventId: Type.String(),
  eventType: Type.String(),
  entity: EntityRef,
  dueAt: Type.String({ format: 'date-time' }),
  status: Type.Enum([...SCHEDULE_STATUSES]),
  attemptCount: Type.Integer(),
  lastError: text,
  createdAt: Type.String({ format: 'date-time' }),
  completedAt: instant,
  approvedBy: text,
  approvedAt: instant,
  progress: Nullable(
    Type.Object(
      { planned: Type.Integer(), total: Type.Integer() },
      { description: 'Of one with very many recipients: how many are planned so far, of how many.' },
    ),
  ),
})

/** All there is to know about a notification. */
export const NotificationDetailJson = Type.Object({
  ...fields,
  waitingFor: Nullable(
    Type.Object(
      {
        accountId: Id,
        why: Type.Enum(['paused', 'held'], {
          description:
            'paused: the vendor refused its credentials; held: it failed in a row, or the vendor asked us to wait.',
        }),
        detail: text,
        until: Nullable(
          Type.String({ format: 'date-time', description: 'When it goes on by itself; null: when somebody mends it.' }),
        ),
      },
      { description: 'Why a queued or retrying notification is not sent yet, where that is for its account to say.' },
    ),
  ),
  content: Nullable(
    Type.Object({
      subject: text,
      body: Type.String(),
      data: JsonObject,
      isHtml: Type.Optional(Type.Boolean()),
      providerTemplate: Type.Optional(JsonObject),
    }),
  ),
  attempts: Type.Array(AttemptJson),
  receipts: Type.Array(ReceiptJson),
  audit: Type.Array(AuditJson),
  event: Nullable(EventJson),
  schedule: Nullable(ScheduleJson),
})

export const NotificationStatusJson = Type.Object({
  notificationId: Id,
  status: Type.Enum([...NOTIFICATION_STATUSES]),
  retryCount: Type.Integer({ description: 'Provider calls that failed.' }),
  lastError: text,
  nextAttemptAt: instant,
  deliveredAt: instant,
})

export function notificationJson(
  view: NotificationView,
  { now, config, reveal = false }: { now: number; config: HttpConfig; reveal?: boolean },
): Static<typeof NotificationJson> {
  const waitingSince = Math.max(view.createdAt, view.dueAt ?? 0, view.nextAttemptAt ?? 0)
  return {
    id: view.id,
    tenantId: view.tenantId,
    status: view.status,
    reason: view.reason,
    lastError: view.lastError,
    channel: view.channel,
    provider: view.provider,
    accountId: view.accountId,
    to: reveal ? view.to : maskAddress(view.to),
    contactId: view.contactId,
    conversationId: view.conversationId,
    eventId: view.eventId,
    eventType: view.eventType,
    entity: view.entity,
    templateId: view.templateId,
    templateVersion: view.templateVersion,
    locale: view.locale,
    idempotencyKey: view.idempotencyKey,
    correlationId: view.correlationId,
    executionId: view.executionId,
    parentExecutionId: view.parentExecutionId,
    site: view.site,
    attemptCount: view.attemptCount,
    nextAttemptAt: isoOrNull(view.nextAttemptAt),
    possibleDuplicate: view.possibleDuplicate,
    stuck: isLive(view.status) && now - waitingSince > config.stuckAfterMs,
    stale: view.status === 'sent' && view.sentAt !== null && now - view.sentAt > config.staleAfterMs,
    warnings: view.warnings,
    resolvedTargets: reveal ? view.resolvedTargets : (view.resolvedTargets?.map(maskTarget) ?? null),
    isSealed: view.content !== null && 'sealed' in view.content,
    isScrubbed: view.isScrubbed,
    providerMessageId: view.providerMessageId,
    fallback: view.fallback,
    fallbackOf: view.fallbackOf,
    fallbackTo: view.fallbackTo,
    triggeredBy: view.triggeredBy,
    createdAt: new Date(view.createdAt).toISOString(),
    dueAt: isoOrNull(view.dueAt),
    expiresAt: isoOrNull(view.expiresAt),
    sentAt: isoOrNull(view.sentAt),
    deliveredAt: isoOrNull(view.deliveredAt),
    readAt: isoOrNull(view.readAt),
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
  const until = new Date(now + lane.heldForMs).toISOString()
  return { accountId: account.id, why: 'held', detail: lane.holdReason, until }
}

/** A member of a list is reached by email, or by telephone. One that a vendor did not name has nothing to hide. */
function maskTarget(target: string): string {
  if (target === 'unknown') return target
  return (target.includes('@') ? maskAddress({ email: target }).email : maskAddress({ phone: target }).phone) ?? '***'
}

export function statusJson(view: NotificationView): Static<typeof NotificationStatusJson> {
  // The last call is not a failed one while it runs, nor once it was accepted.
  const running = view.status === 'sending' || view.sentAt !== null ? 1 : 0
  return {
    notificationId: view.id,
    status: view.status,
    retryCount: Math.max(0, view.attemptCount - running),
    lastError: view.lastError,
    nextAttemptAt: isoOrNull(view.nextAttemptAt),
    deliveredAt: isoOrNull(view.deliveredAt),
  }
}

export function receiptJson(receipt: ReceiptView, reveal: boolean): Static<typeof ReceiptJson> {
  const { at, receivedAt, recipient } = receipt
  return {
    ...receipt,
    at: new Date(at).toISOString(),
    receivedAt: new Date(receivedAt).toISOString(),
    recipient: recipient === null || reveal ? recipient : maskTarget(recipient),
  }
}

export function attemptJson(attempt: AttemptView): Static<typeof AttemptJson> {
  return { ...attempt, startedAt: new Date(attempt.startedAt).toISOString() }
}

/** The audit row, with the caller's own ids of the notification it is about. */
export function auditJson(row: AuditView, view: NotificationView): Static<typeof AuditJson> {
  const { correlationId, executionId, parentExecutionId } = view
  return { ...row, at: new Date(row.at).toISOString(), correlationId, executionId, parentExecutionId }
}

export function scheduleJson(schedule: StoredSchedule): Static<typeof ScheduleJson> {
  const { progress } = schedule
  return {
    ...schedule,
    dueAt: new Date(schedule.dueAt).toISOString(),
    createdAt: new Date(schedule.createdAt).toISOString(),
    completedAt: isoOrNull(schedule.completedAt),
    approvedAt: isoOrNull(schedule.approvedAt),
    // Where planning goes on is its own affair.
    progress: progress && { planned: progress.planned, total: progress.total },
  }
}

/** The event without what it carries. */
export function eventJson(event: StoredEvent): Static<typeof EventJson> {
  return {
    id: event.id,
    tenantId: event.tenantId,
    type: event.type,
    entity: event.entity,
    status: event.status,
    attemptCount: event.attemptCount,
    nextAttemptAt: event.status === 'pending' ? isoOrNull(event.nextAttemptAt) : null,
    lastError: event.lastError,
    correlationId: event.correlationId,
    locale: event.locale,
    schemaVersion: event.schemaVersion,
    occurredAt: isoOrNull(event.occurredAt),
    dueAt: isoOrNull(event.dueAt),
    createdAt: new Date(event.createdAt).toISOString(),
    publishedAt: isoOrNull(event.publishedAt),
  }
}

/** The event with payload and recipients; whoever may not see addresses sees them masked, and nobody sees secrets. */
export function eventDetailJson(event: StoredEvent, reveal: boolean): Static<typeof EventJson> {
  const payload = withoutSealedTexts(event.payload)
  return {
    ...eventJson(event),
    payload: reveal ? payload : maskDeep(payload),
    recipients: reveal ? event.recipients : (event.recipients?.map(maskRecipient) ?? null),
    channels: event.channels,
    conversation: event.conversation,
  }
}

function maskRecipient({ name, phone, email, ...rest }: EventRecipient): EventRecipient {
  const address: Address = {
    ...(name !== undefined && { name }),
    ...(phone !== undefined && { phone }),
    ...(email !== undefined && { email }),
  }
  const masked = maskAddress(address)
  return {
    ...rest,
    ...(masked.name !== undefined && { name: masked.name }),
    ...(masked.phone !== undefined && { phone: masked.phone }),
    ...(masked.email !== undefined && { email: masked.email }),
  }
}

/** A payload's fields can be called anything, so what looks like an address is taken for one. */
function maskDeep(value: unknown): unknown {
  if (typeof value === 'string') {
    if (/^[^\s@]+@[^\s@]+$/.test(value)) return maskAddress({ email: value }).email
    const isPhone = /^\+?[\d ()-]{7,20}$/.test(value) && !/^\d{4}-\d\d-\d\d$/.test(value)
    return isPhone ? maskAddress({ phone: value }).phone : value
  }
  if (Array.isArray(value)) return value.map(maskDeep)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, maskDeep(inner)]))
}
