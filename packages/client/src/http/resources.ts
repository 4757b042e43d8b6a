import type { EntityRef, Instant } from '../event.ts'
import type { Channel } from '../event-rules.ts'
import type { Problem } from '../json-text.ts'
import type { Schedule } from './schedules.ts'

/** Where a notification stands; `docs/reference/states.md` says who moves it. */
export type NotificationStatus =
  | 'queued'
  | 'sending'
  | 'retrying'
  | 'sent'
  | 'delivered'
  | 'read'
  | 'parked'
  | 'uncertain'
  | 'failed'
  | 'discarded'
  | 'cancelled'

/** Where it goes: what its channel needs. */
export interface Address {
  name?: string
  email?: string
  phone?: string
  deviceToken?: string
  platform?: 'fcm' | 'wns'
  userId?: string
  url?: string
  contactId?: string
  list?: string
}

/** A notification that needs no event: its words, or a template and what fills it. */
export interface NewNotification {
  /** Unique per tenant; a repeat is refused with `duplicate_notification`. With one, sending again is safe. */
  idempotencyKey?: string
  channel: Channel
  to: Address
  subject?: string
  body?: string
  data?: Record<string, unknown>
  templateId?: string
  eventType?: string
  context?: Record<string, unknown>
  /** For `eventType`: the language to prefer. */
  locale?: string
  entity?: EntityRef
  dueAt?: Instant | null
  expiresAt?: Instant | null
  fallback?: Channel[]
  correlationId?: string
  executionId?: string
  parentExecutionId?: string
}

/** What became of each member of a list. */
export interface ExpandedNotifications {
  /** One per member, in the order of the list; those that were there already included. */
  ids: string[]
  count: number
  /** How many an earlier call with the same key had made. */
  duplicates: number
  /** Members without an address for any of the channels. */
  skipped: number
}

/** The push form: a title and a body for one device. */
export interface NewPush {
  idempotencyKey?: string
  targetPlatform: 'FCM' | 'WNS'
  deviceToken: string
  title: string
  body: string
  data?: Record<string, unknown>
}

export interface AcceptedNotification {
  id: string
  status: NotificationStatus
  links?: Record<string, string>
}

export interface AcceptedEvent {
  id: string
  /** True when the id was known: nothing was written. */
  duplicate: boolean
}

/** What became of one item of a batch: 202 taken, 200 or 409 known already, 422 refused. */
export interface BatchResult {
  index: number
  status: number
  id?: string
  code?: string
  detail?: string
  errors?: Problem[]
}

export interface Warning {
  code: string
  key?: string
  message: string
}

export interface NotificationStatusView {
  notificationId: string
  status: NotificationStatus
  retryCount: number
  lastError: string | null
  nextAttemptAt: string | null
  deliveredAt: string | null
}

export interface NotificationView {
  id: string
  tenantId: string
  status: NotificationStatus
  reason: string | null
  lastError: string | null
  channel: Channel
  provider: string | null
  accountId: string | null
  /** Masked in lists. */
  to: Address
  /** Who that is, where it is known, and the exchange it belongs to. */
  contactId: string | null
  conversationId: string | null
  eventId: string | null
  eventType: string | null
  entity: EntityRef | null
  templateId: string | null
  templateVersion: number | null
  locale: string | null
  idempotencyKey: string
  correlationId: string | null
  executionId: string | null
  parentExecutionId: string | null
  site: string | null
  attemptCount: number
  nextAttemptAt: string | null
  possibleDuplicate: boolean
  stuck: boolean
  stale: boolean
  warnings: Warning[]
  /** Whom a recipient list stood for, as of the last attempt; masked in lists. */
  resolvedTargets: string[] | null
  /** Its content holds secrets: sealed, and shown to nobody. */
  isSealed: boolean
  /** Its content held secrets and was removed when it was final. */
  isScrubbed: boolean
  providerMessageId: string | null
  /** Channels still to be tried should this one fail for good. */
  fallback: Channel[]
  fallbackOf: string | null
  fallbackTo: string | null
  triggeredBy: string
  createdAt: string
  dueAt: string | null
  expiresAt: string | null
  sentAt: string | null
  deliveredAt: string | null
  readAt: string | null
}

export interface NotificationDetail extends NotificationView {
  /** Why it is not sent yet, where that is for its account to say; `until`: when it goes on by itself. */
  waitingFor: { accountId: string; why: 'paused' | 'held'; detail: string | null; until: string | null } | null
  /** Null where there is none yet, where it is sealed because it holds secrets, and once those were scrubbed. */
  content: {
    subject: string | null
    body: string
    data: Record<string, unknown>
    providerTemplate?: Record<string, unknown>
  } | null
  attempts: {
    number: number
    outcome: string
    /** Reported by a worker that had been given up for dead: on record, without effect. */
    late: boolean
    code: string | null
    error: string | null
    provider: string
    providerMessageId: string | null
    startedAt: string
    durationMs: number
    workerId: string
  }[]
  receipts: Record<string, unknown>[]
  audit: Record<string, unknown>[]
  event: Record<string, unknown> | null
  schedule: Schedule | null
}

export interface NotificationFilter {
  status?: NotificationStatus | readonly NotificationStatus[]
  channel?: Channel
  eventId?: string
  eventType?: string
  entityType?: string
  entityId?: string
  contactId?: string
  conversationId?: string
  site?: string
  accountId?: string
  reason?: string
  stuck?: boolean
  stale?: boolean
  possibleDuplicate?: boolean
  from?: Instant
  to?: Instant
  /** An id, an idempotency key, a provider's message id, or an exact address. */
  q?: string
}

export interface Page<Item> {
  items: Item[]
  nextCursor: string | null
}

/** A line of an entity's panel: what was sent about it. */
export interface CommunicationLog {
  id: string
  channel: Channel
  eventType: string | null
  templateId: string | null
  templateVersion: number | null
  /** Masked. */
  toAddress: string | null
  status: NotificationStatus
  provider: string | null
  providerMessageId: string | null
  sentAtUtc: string | null
  attemptCount: number
  lastError: string | null
  idempotencyKey: string
  correlationId: string | null
  createdAtUtc: string
  triggeredBy: string
}

export interface Resent {
  requestId: string
  /** The new notifications' ids. */
  notifications: string[]
}

/** What `/health` says: `down` (its 503) is an unreachable database, `degraded` no live worker, an open breaker or a paused account. */
export interface Health {
  status: 'ok' | 'degraded' | 'down'
  version: string
  database: 'up' | 'down'
  workers: { id: string; status: 'alive' | 'silent'; silentForSeconds: number; inFlight: number }[]
  backlog: { oldestPendingAgeSeconds: number | null }
  /** Ids of the accounts that are not being sent to for now. */
  openBreakers: string[]
  /** Ids of the accounts whose credentials were refused: what is to go through them waits for others. */
  pausedAccounts: string[]
}
