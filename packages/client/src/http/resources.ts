import type { Channel, EntityRef, Instant } from '../event.ts'
import type { Problem } from '../json-text.ts'

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
  entity?: EntityRef
  dueAt?: Instant | null
  expiresAt?: Instant | null
  fallback?: Channel[]
  correlationId?: string
  executionId?: string
  parentExecutionId?: string
  /** For `to.list`: one notification per member. */
  expand?: boolean
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
  warnings: { code: string; key?: string; message: string }[]
  resolvedTargets: string[] | null
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
  content: { subject: string | null; body: string; data: Record<string, unknown> } | null
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
  schedule: Record<string, unknown> | null
}

export interface NotificationFilter {
  status?: NotificationStatus | readonly NotificationStatus[]
  channel?: Channel
  eventType?: string
  entityType?: string
  entityId?: string
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

/** What `/health` says: `down` (its 503) is an unreachable database, `degraded` no live worker or an open breaker. */
export interface Health {
  status: 'ok' | 'degraded' | 'down'
  version: string
  database: 'up' | 'down'
  workers: { id: string; status: 'alive' | 'silent'; silentForSeconds: number; inFlight: number }[]
  backlog: { oldestPendingAgeSeconds: number | null }
  /** Ids of the accounts that are not being sent to for now. */
  openBreakers: string[]
}
