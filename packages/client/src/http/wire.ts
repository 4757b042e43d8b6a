// Made by `npm run client-types` from the OpenAPI document: change the routes' schemas instead.
import type { EntityRef, Instant } from '../event.ts'
import type { Channel } from '../event-rules.ts'
import type { Problem } from '../json-text.ts'

/** Where a notification stands; `docs/reference/states.md` says who moves it. */
export type NotificationStatus = 'queued' | 'sending' | 'retrying' | 'sent' | 'delivered' | 'read' | 'parked' | 'uncertain' | 'failed' | 'discarded' | 'cancelled' | 'skipped'

export type ScheduleStatus = 'awaiting_approval' | 'pending' | 'completed' | 'failed' | 'cancelled'

/** What is legal and probably not meant. */
export interface Warning {
  code: string
  key?: string
  message: string
}

/** Where a notification is to go: what its channel needs. */
export interface Address {
  name?: string | null
  email?: string | null
  /** E.164 */
  phone?: string | null
  deviceToken?: string | null
  platform?: 'fcm' | 'wns' | null
  userId?: string | null
  url?: string | null
  /** A contact: its addresses are used where none is given here. */
  contactId?: string | null
  /** A recipient list by name, resolved when it is sent: one email, everybody in BCC. */
  list?: string | null
}

/** Where a notification goes; masked in lists, and for a viewer. */
export interface AddressView {
  name?: string
  email?: string
  phone?: string
  deviceToken?: string
  platform?: string
  userId?: string
  url?: string
  contactId?: string
  list?: string
}

/** A notification that needs no event: its words, or a template and what fills it. */
export interface NewNotification {
  /** Unique per tenant; a repeat is refused. Absent: the notification’s own id. */
  idempotencyKey?: string | null
  channel: Channel
  /** What the channel needs, and what its fallbacks need. */
  to: Address
  subject?: string | null
  body?: string | null
  /** What body is. Absent: HTML where it is a mail and has an element of HTML. */
  format?: 'text' | 'html' | null
  data?: Record<string, unknown> | null
  /** In place of subject and body: this template of the channel. */
  templateId?: string | null
  /** In place of subject and body: the template that planning would choose. */
  eventType?: string | null
  context?: Record<string, unknown> | null
  locale?: string | null
  entity?: EntityRef | null
  /** Not before this time. */
  dueAt?: Instant | null
  /** Cancelled if not sent by then. */
  expiresAt?: Instant | null
  fallback?: readonly Channel[] | null
  correlationId?: string | null
  executionId?: string | null
  parentExecutionId?: string | null
}

/** The push form: a title and a body for one device. */
export interface NewPush {
  /** Unique per tenant; a repeat is refused. Absent: the notification’s own id. */
  idempotencyKey?: string | null
  targetPlatform: 'FCM' | 'WNS'
  deviceToken: string
  title: string
  body: string
  data?: Record<string, unknown> | null
}

export interface AcceptedNotification {
  /** A UUIDv7. */
  id: string
  /** The same id, by the name that the status has for it. */
  notificationId: string
  status: NotificationStatus
  links: {
    self: string
    status: string
  }
}

/** What became of each member of a list. */
export interface ExpandedNotifications {
  /** One per member, in the order of the list. */
  ids: string[]
  count: number
  /** How many of them an earlier call with the same key had made. */
  duplicates: number
  /** Members without an address for any of the channels. */
  skipped: number
}

/** `duplicate`: the id was known, and nothing was written. */
export interface AcceptedEvent {
  id: string
  duplicate: boolean
}

/** What became of one item of a batch: 202 taken, 200 or 409 known already, 422 refused. */
export interface BatchResult {
  index: number
  id?: string
  status: number
  code?: string
  detail?: string
  errors?: Problem[]
}

export interface NotificationStatusView {
  /** A UUIDv7. */
  notificationId: string
  status: NotificationStatus
  /** Provider calls that failed. */
  retryCount: number
  lastError: string | null
  nextAttemptAt: string | null
  deliveredAt: string | null
}

/** When an event is to be turned into notifications. */
export interface Schedule {
  /** A UUIDv7. */
  id: string
  tenantId: string
  eventId: string
  eventType: string
  entity: EntityRef
  dueAt: string
  status: ScheduleStatus
  attemptCount: number
  lastError: string | null
  createdAt: string
  completedAt: string | null
  approvedBy: string | null
  approvedAt: string | null
  /** Of one with very many recipients: how many are planned so far, of how many. */
  progress: {
    planned: number
    total: number
  } | null
}

export interface NotificationView {
  /** A UUIDv7. */
  id: string
  tenantId: string
  status: NotificationStatus
  reason: string | null
  lastError: string | null
  channel: Channel
  provider: string | null
  accountId: string | null
  to: AddressView
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
  /** Since it was last retried by hand, where it was; `attempts` has all. */
  attemptCount: number
  nextAttemptAt: string | null
  possibleDuplicate: boolean
  stuck: boolean
  stale: boolean
  warnings: Warning[]
  /** Whom a recipient list stood for, as of the last attempt. */
  resolvedTargets: string[] | null
  /** Its content holds secrets: sealed, and shown to nobody. */
  isSealed: boolean
  /** Its content held secrets and was removed when it was final. */
  isScrubbed: boolean
  providerMessageId: string | null
  fallback: Channel[]
  fallbackOf: string | null
  fallbackTo: string | null
  correctedFrom: string | null
  correctedTo: string | null
  /** Of one that was skipped as a duplicate: the notification that tells the same. */
  duplicateOf: string | null
  triggeredBy: string
  createdAt: string
  dueAt: string | null
  expiresAt: string | null
  sentAt: string | null
  deliveredAt: string | null
  readAt: string | null
}

export interface NotificationDetail extends NotificationView {
  /** Why a queued or retrying notification is not sent yet, where that is for its account to say. */
  waitingFor: {
    /** A UUIDv7. */
    accountId: string
    /** paused: the vendor refused its credentials; held: it failed in a row, or the vendor asked us to wait. */
    why: 'paused' | 'held'
    detail: string | null
    /** When it goes on by itself; null: when somebody mends it. */
    until: string | null
  } | null
  content: {
    subject: string | null
    body: string
    data: Record<string, unknown>
    isHtml?: boolean
    providerTemplate?: Record<string, unknown>
  } | null
  attempts: ({
    number: number
    outcome: string
    late: boolean
    code: string | null
    error: string | null
    provider: string
    providerMessageId: string | null
    /** The account it went through. */
    accountId: string | null
    /** What the provider said, at most 4,096 characters of it, without secrets. A viewer does not see it. */
    answer: string | null
    /** Members of a recipient list that the provider would not take while it took the others. */
    refused: {
      recipient: string
      error: string
    }[] | null
    startedAt: string
    durationMs: number
    workerId: string
  })[]
  receipts: ({
    kind: 'sent' | 'failed' | 'delivered' | 'bounced' | 'complained' | 'read'
    at: string
    receivedAt: string
    provider: string
    providerMessageId: string
    /** Of a message to several: whom this is about. */
    recipient: string | null
    code: string | null
    error: string | null
  })[]
  audit: ({
    at: string
    actor: string
    action: string
    notificationId: string | null
    attempt: number | null
    durationMs: number | null
    from: string | null
    to: string | null
    reason: string | null
    /** Why somebody did it, in their own words. */
    note: string | null
    /** The operation that it was part of. */
    operationId: string | null
    correlationId: string | null
    executionId: string | null
    parentExecutionId: string | null
  })[]
  event: {
    id: string
    tenantId: string
    type: string
    entity: EntityRef
    status: 'pending' | 'published' | 'failed'
    attemptCount: number
    nextAttemptAt: string | null
    lastError: string | null
    correlationId: string | null
    topic: string
    /** The domain event that planning made it of. */
    derivedFrom: string | null
    locale: string | null
    schemaVersion: number
    occurredAt: string | null
    dueAt: string | null
    createdAt: string
    publishedAt: string | null
    payload?: unknown
    recipients?: unknown[] | null
    channels?: string[] | null
    conversation?: EntityRef | null
  } | null
  schedule: Schedule | null
}

/** A line of an entity’s panel: what was sent about it. */
export interface CommunicationLog {
  /** A UUIDv7. */
  id: string
  channel: Channel
  eventType: string | null
  templateId: string | null
  templateVersion: number | null
  /** Masked; a recipient list’s name where one was addressed. */
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

/** How a notification is sent again; as it is where nothing is said. */
export interface RetryRequest {
  /** Why, in your own words. Kept in the audit. */
  note?: string
  /** In the words its event would be told in now. */
  rerender?: boolean
  /** A corrected address: what is given replaces that field. */
  to?: {
    name?: string | null
    email?: string | null
    /** E.164 */
    phone?: string | null
    deviceToken?: string | null
    platform?: 'fcm' | 'wns' | null
    userId?: string | null
    url?: string | null
  }
  /** Send it though its address is suppressed. The audit keeps who did. */
  override?: 'suppression'
}

/** What an entity’s recipients are told again. */
export interface ResendRequest {
  channel: Channel
  /** Absent: the one that planning would choose. */
  templateId?: string | null
  /** A corrected address: what is given replaces that field. */
  to?: {
    name?: string | null
    email?: string | null
    /** E.164 */
    phone?: string | null
    deviceToken?: string | null
    platform?: 'fcm' | 'wns' | null
    userId?: string | null
    url?: string | null
  }
  /** Understood as for a retry; a resend always has today’s words. */
  rerender?: true
  /** Why, in your own words. Kept in the audit. */
  note?: string
}

export interface Resent {
  /** A UUIDv7. */
  requestId: string
  notifications: string[]
}

/** `down` (its 503): nothing can be taken in; `degraded`: something is not sent, or not in time. `reasons` says what to do. */
export interface Health {
  status: 'ok' | 'degraded' | 'down'
  /** Empty while all is well. */
  reasons: ({
    code: 'disk_full' | 'read_only' | 'forbidden' | 'unreachable' | 'clock_stepped' | 'clocks_apart' | 'no_worker' | 'worker_silent' | 'channel_without_worker' | 'backlog' | 'breaker_open' | 'account_paused' | 'audit_sink'
    /** What is not well, and what to do about it. */
    message: string
  })[]
  version: string
  /** unwritable: it answers, and takes nothing. */
  database: 'up' | 'unwritable' | 'down'
  workers: ({
    id: string
    status: 'alive' | 'silent'
    silentForSeconds: number
    inFlight: number
  })[]
  backlog: {
    oldestPendingAgeSeconds: number | null
  }
  openBreakers: string[]
  pausedAccounts: string[]
}

/** Words in Liquid, and where they apply. */
export interface NewTemplate {
  /** One of the tenant’s catalogue. */
  eventType: string
  channel: Channel
  /** Absent: the tenant’s default. */
  locale?: string
  scopeType?: string | null
  scopeId?: string | null
  /** Liquid. */
  subject?: string | null
  /** Liquid. */
  body: string
  /** What a body is. Absent or null: HTML where it has an element of HTML, else text. */
  format?: 'text' | 'html' | null
  /** WhatsApp: name, language, components. SMS: dltTemplateId, dltEntityId, flowId. Text in it is Liquid. */
  providerTemplate?: Record<string, unknown> | null
  isActive?: boolean
}

export interface Template {
  /** A UUIDv7. */
  id: string
  tenantId: string
  eventType: string
  channel: Channel
  locale: string
  scopeType: string | null
  scopeId: string | null
  subject: string | null
  body: string
  /** What a body is. Absent or null: HTML where it has an element of HTML, else text. */
  format: 'text' | 'html' | null
  providerTemplate: Record<string, unknown> | null
  version: number
  isActive: boolean
  /** Changed since the catalogue gave it: an import keeps it. */
  isEdited: boolean
  warnings: Warning[]
  createdAt: string
  updatedAt: string
  updatedBy: string
}

export interface TemplateVersion {
  version: number
  subject: string | null
  body: string
  /** What a body is. Absent or null: HTML where it has an element of HTML, else text. */
  format: 'text' | 'html' | null
  providerTemplate: Record<string, unknown> | null
  isActive: boolean
  changedAt: string
  changedBy: string
}

/** Words that need not be saved, and what to fill them with. */
export interface TemplateDraft {
  channel: Channel
  /** Liquid. */
  subject?: string | null
  /** Liquid. */
  body: string
  /** What a body is. Absent or null: HTML where it has an element of HTML, else text. */
  format?: 'text' | 'html' | null
  /** WhatsApp: name, language, components. SMS: dltTemplateId, dltEntityId, flowId. Text in it is Liquid. */
  providerTemplate?: Record<string, unknown> | null
  /** What a payload would be. */
  context: Record<string, unknown>
  locale?: string
  /** One of the tenant’s catalogue. */
  eventType?: string
}

export interface TemplatePreview {
  subject: string | null
  body: string
  providerTemplate: Record<string, unknown> | null
  isHtml: boolean
  /** Keys that the context does not have. */
  missing: string[]
  /** Keys that no payload of the event type has. */
  unknown: string[]
  /** How an SMS is cut, and which characters make it long. */
  segments?: {
    encoding: 'GSM-7' | 'UCS-2'
    units: number
    segments: number
    remaining: number
    forcedBy: string[]
  }
  warnings: Warning[]
}

/** With at least one of profileId, userId, phone and email. */
export interface NewContact {
  /** The person’s id in your application. */
  profileId?: string | null
  /** The id that in_app notifications go to. */
  userId?: string | null
  name?: string | null
  /** Kept in E.164 form; without a country code it is one of the tenant’s region. */
  phone?: string | null
  email?: string | null
  locale?: string | null
}

/** Name, phone and email are masked for a viewer. */
export interface Contact {
  /** A UUIDv7. */
  id: string
  tenantId: string
  profileId: string | null
  userId: string | null
  name: string | null
  phone: string | null
  email: string | null
  locale: string | null
  /** One more with every change. */
  version: number
  createdAt: string
  updatedAt: string
  links: {
    notifications: string
    conversations: string
  }
}

/** With an email, a phone, or both. */
export interface ListMember {
  name?: string | null
  email?: string | null
  /** Without a country code it is one of the tenant’s region. */
  phone?: string | null
}

export interface RecipientList {
  /** A UUIDv7. */
  id: string
  tenantId: string
  name: string
  memberCount: number
  createdAt: string
  updatedAt: string
  links: {
    self: string
    members: string
  }
}

/** An address that is not used on a channel until the suppression is lifted. */
export interface Suppression {
  /** A UUIDv7. */
  id: string
  tenantId: string
  channel: Channel
  address: string
  /** dead_address: a provider said that the address is no good; bounced, complained: a receipt did; operator: by hand. */
  cause: 'dead_address' | 'bounced' | 'complained' | 'operator'
  /** The provider’s words. */
  error: string | null
  /** The notification that taught us. */
  notificationId: string | null
  createdBy: string
  createdAt: string
}

export interface InboxMessage {
  /** The notification’s. */
  id: string
  subject: string | null
  /** Plain text: show it as text. Made from the body where that is HTML. */
  text: string
  /** The body where it is HTML. Not sanitised: show it in a sandboxed frame, or not at all. */
  html: string | null
  data: Record<string, unknown>
  createdAt: string
  /** When it was first given to the user. */
  seenAt: string | null
  readAt: string | null
}

/** What was published, and where its notifications stand. */
export interface EventView {
  id: string
  tenantId: string
  type: string
  entity: EntityRef
  status: 'pending' | 'published' | 'failed'
  attemptCount: number
  nextAttemptAt: string | null
  lastError: string | null
  correlationId: string | null
  topic: string
  /** The domain event that planning made it of. */
  derivedFrom: string | null
  locale: string | null
  schemaVersion: number
  occurredAt: string | null
  dueAt: string | null
  createdAt: string
  publishedAt: string | null
  /** How many of its notifications stand where. */
  counts: {
    queued: number
    sending: number
    retrying: number
    sent: number
    delivered: number
    read: number
    parked: number
    uncertain: number
    failed: number
    discarded: number
    cancelled: number
    skipped: number
  }
}

/** The same with what it led to, and why. */
export interface EventDetail {
  id: string
  tenantId: string
  type: string
  entity: EntityRef
  status: 'pending' | 'published' | 'failed'
  attemptCount: number
  nextAttemptAt: string | null
  lastError: string | null
  correlationId: string | null
  topic: string
  /** The domain event that planning made it of. */
  derivedFrom: string | null
  locale: string | null
  schemaVersion: number
  occurredAt: string | null
  dueAt: string | null
  createdAt: string
  publishedAt: string | null
  payload?: unknown
  recipients?: unknown[] | null
  channels?: string[] | null
  conversation?: EntityRef | null
  /** How many of its notifications stand where. */
  counts: {
    queued: number
    sending: number
    retrying: number
    sent: number
    delivered: number
    read: number
    parked: number
    uncertain: number
    failed: number
    discarded: number
    cancelled: number
    skipped: number
  }
  schedules: Schedule[]
  /** Of a domain event: the events that it became. */
  derived: ({
    id: string
    tenantId: string
    type: string
    entity: EntityRef
    status: 'pending' | 'published' | 'failed'
    attemptCount: number
    nextAttemptAt: string | null
    lastError: string | null
    correlationId: string | null
    topic: string
    /** The domain event that planning made it of. */
    derivedFrom: string | null
    locale: string | null
    schemaVersion: number
    occurredAt: string | null
    dueAt: string | null
    createdAt: string
    publishedAt: string | null
  })[]
  /** The newest 200; all of them are at /api/notifications?eventId=. */
  notifications: NotificationView[]
  /** What was decided about it, oldest first, in words. */
  explanation: {
    at: string
    /** What was decided; of a notification that stopped, its reason. */
    code: string
    text: string
    notificationId?: string
    channel?: Channel
    /** Masked. */
    recipient?: string
  }[]
}

/** What operators steer by; `docs/guides/numbers.md` says what each means. */
export interface Kpis {
  /** As of when. */
  at: string
  range?: {
    from: string
    to: string
  }
  total: {
    /** Due, and waiting or being sent. */
    queueDepth: number | null
    /** Not due yet. */
    scheduledDepth: number | null
    /** Due for longer than PILLARBOX_STUCK_AFTER. */
    stuckCount: number | null
    parkedCount: number | null
    uncertainCount: number | null
    skippedCount: number | null
    /** In the last PILLARBOX_KPI_WINDOW; so the others. */
    sentLastInterval: number | null
    deliveredLastInterval: number | null
    skippedLastInterval: number | null
    parkedLastInterval: number | null
    failedLastInterval: number | null
    /** Null where nothing is due. */
    oldestPendingAgeSeconds: number | null
    /** In milliseconds: of the range, or else of the last interval. Null where nothing was measured. */
    latency: {
      eventToSent: {
        p50: number | null
        p95: number | null
        p99: number | null
      }
      sentToDelivered: {
        p50: number | null
        p95: number | null
        p99: number | null
      }
    }
    /** What happened in the range, or in the step. */
    counts?: {
      created: number
      sent: number
      delivered: number
      read: number
      skipped: number
      parked: number
      uncertain: number
      failed: number
      cancelled: number
      discarded: number
      sentPerSecond: number
    }
    series?: ({
      at: string
      /** What happened in the range, or in the step. */
      counts: {
        created: number
        sent: number
        delivered: number
        read: number
        skipped: number
        parked: number
        uncertain: number
        failed: number
        cancelled: number
        discarded: number
        sentPerSecond: number
      }
      /** In milliseconds: of the range, or else of the last interval. Null where nothing was measured. */
      latency: {
        eventToSent: {
          p50: number | null
          p95: number | null
          p99: number | null
        }
        sentToDelivered: {
          p50: number | null
          p95: number | null
          p99: number | null
        }
      }
    })[]
  }
  /** With `by`: one for each value that has something, under the name of `by`. */
  groups?: ({
    /** Null: those without. */
    tenantId?: string | null
    /** Null: those without. */
    channel?: string | null
    /** Null: those without. */
    accountId?: string | null
    /** Null: those without. */
    eventType?: string | null
    /** Null: those without. */
    site?: string | null
    /** Due, and waiting or being sent. */
    queueDepth: number | null
    /** Not due yet. */
    scheduledDepth: number | null
    /** Due for longer than PILLARBOX_STUCK_AFTER. */
    stuckCount: number | null
    parkedCount: number | null
    uncertainCount: number | null
    skippedCount: number | null
    /** In the last PILLARBOX_KPI_WINDOW; so the others. */
    sentLastInterval: number | null
    deliveredLastInterval: number | null
    skippedLastInterval: number | null
    parkedLastInterval: number | null
    failedLastInterval: number | null
    /** Null where nothing is due. */
    oldestPendingAgeSeconds: number | null
    /** In milliseconds: of the range, or else of the last interval. Null where nothing was measured. */
    latency: {
      eventToSent: {
        p50: number | null
        p95: number | null
        p99: number | null
      }
      sentToDelivered: {
        p50: number | null
        p95: number | null
        p99: number | null
      }
    }
    /** What happened in the range, or in the step. */
    counts?: {
      created: number
      sent: number
      delivered: number
      read: number
      skipped: number
      parked: number
      uncertain: number
      failed: number
      cancelled: number
      discarded: number
      sentPerSecond: number
    }
    series?: ({
      at: string
      /** What happened in the range, or in the step. */
      counts: {
        created: number
        sent: number
        delivered: number
        read: number
        skipped: number
        parked: number
        uncertain: number
        failed: number
        cancelled: number
        discarded: number
        sentPerSecond: number
      }
      /** In milliseconds: of the range, or else of the last interval. Null where nothing was measured. */
      latency: {
        eventToSent: {
          p50: number | null
          p95: number | null
          p99: number | null
        }
        sentToDelivered: {
          p50: number | null
          p95: number | null
          p99: number | null
        }
      }
    })[]
  })[]
}

/** What notifications that stopped have in common. */
export interface Cause {
  /** Finds them: `fingerprint=` of the list and of a bulk filter. */
  fingerprint: string
  reason: string
  code: string | null
  /** What was said of them, without numbers, ids and addresses. */
  text: string
  accountId: string | null
  channel: Channel
  count: number
  firstAt: string
  lastAt: string
  /** The newest of them. */
  sampleId: string
}

/** What a bulk action would do; nothing is moved by asking. */
export interface BulkPreview {
  /** Starts it: POST /api/notifications/bulk. The id of the operation, then. */
  token: string
  expiresAt: string
  /** How many would be moved. */
  count: number
  /** Of those, how many may have arrived before. */
  possibleDuplicates: number
  /** Those that were selected and cannot be moved. */
  skipped: {
    why: string
    count: number
  }[]
  /** The same by channel, account and cause; `others` are all beyond the commonest 200. */
  by: {
    channel: Record<string, number>
    accountId: Record<string, number>
    fingerprint: Record<string, number>
  }
  /** How long sending them takes at the pace of their accounts. */
  estimatedSeconds: number
}

/** One act on very many notifications. */
export interface Operation {
  /** A UUIDv7. */
  id: string
  tenantId: string
  action: 'retry' | 'discard' | 'cancel' | 'park' | 'restore' | 'resend'
  options: {
    rerender?: boolean
  }
  status: 'grace' | 'canary' | 'running' | 'paused' | 'cancelled' | 'done' | 'failed'
  total: number
  done: number
  /** They had moved since they were chosen. */
  leftAlone: number
  /** They could not be moved; `/items?outcome=failed` says why. */
  failed: number
  startedAt: string
  /** Who started it. */
  by: string
  note: string | null
  pace: {
    perSecond: number
  } | null
  canary: number
  graceUntil: string | null
  endedAt: string | null
  /** Why it failed, or was given up. */
  problem: string | null
}

export interface OperationItem {
  place: number
  /** A UUIDv7. */
  notificationId: string
  outcome: 'done' | 'left_alone' | 'failed' | null
  why: string | null
  /** Of a resend: the notification that was sent. */
  resultId: string | null
}

/** What an event means: who is told, when, and how. */
export interface EventType {
  name: string
  description?: string
  entity?: string
  once?: 'per-entity' | 'per-event' | 'per-occurrence' | null
  /** JSON Schema: 2020-12, or draft-07. */
  payload?: Record<string, unknown>
  recipients?: ({
    /** Dot path; passengers[].phone makes one recipient of each element. */
    phone?: string | null
    /** Dot path; passengers[].phone makes one recipient of each element. */
    email?: string | null
    /** Dot path; passengers[].phone makes one recipient of each element. */
    name?: string | null
    /** Dot path; passengers[].phone makes one recipient of each element. */
    locale?: string | null
    /** Dot path; passengers[].phone makes one recipient of each element. */
    profileId?: string | null
    /** Dot path; passengers[].phone makes one recipient of each element. */
    userId?: string | null
    /** Dot path; passengers[].phone makes one recipient of each element. */
    deviceToken?: string | null
    /** Dot path; passengers[].phone makes one recipient of each element. */
    platform?: string | null
    /** Dot path; passengers[].phone makes one recipient of each element. */
    url?: string | null
    list?: string
    /** One notification per member of the list. */
    expand?: boolean | null
  })[]
  delivery?: {
    all?: true
    channels?: Channel[]
    fallback?: Channel[]
    none?: true
  }
  timing?: {
    /** After the event, or after the date in field. */
    after?: string
    /** Before the date in field. */
    before?: string
    field?: string
    /** In the tenant’s zone. */
    at?: string
    ifPast?: 'send' | 'skip' | null
  }
  replaces?: boolean | null
  cancelledBy?: string[] | null
  approval?: boolean | null
  secrets?: string[] | null
  scopes?: Record<string, string> | null
  conversation?: {
    type: string
    id: string
  } | EntityRef | null
  /** Cancelled if not sent this long after it was due. */
  expiresAfter?: string | null
  retry?: Record<string, unknown> | null
  onUndeliverable?: 'fail' | 'park' | null
  templateCount: number
}

/** What importing a catalogue changed, or would change. */
export interface CatalogueImport {
  name: string
  defaultLocale: string
  /** The one in force: after a dry run still the one before, 0 if none. */
  version: number
  dryRun: boolean
  changes: ({
    kind: 'setting_changed' | 'entity_added' | 'entity_changed' | 'entity_removed' | 'event_type_added' | 'event_type_changed' | 'event_type_removed' | 'domain_event_added' | 'domain_event_changed' | 'domain_event_removed' | 'template_added' | 'template_updated' | 'template_kept' | 'template_left'
    /** In words. */
    text: string
    entity?: string
    eventType?: string
    domainEvent?: string
    channel?: string
    locale?: string
    scope?: EntityRef
    fields?: {
      field: string
      from?: unknown
      to?: unknown
    }[]
  })[]
  /** What is legal and probably not meant; `key` is its path. */
  warnings: Warning[]
}

export interface CatalogueVersion {
  version: number
  name: string
  defaultLocale: string
  importedBy: string
  importedAt: string
}

/** What the pretend vendor took. */
export interface SandboxMessage {
  id: string
  tenantId: string
  accountId: string
  channel: Channel
  /** The idempotency key the vendor was given. */
  key: string
  notificationId: string
  attempt: number
  to: Record<string, unknown>
  subject: string | null
  body: string
  data: Record<string, unknown>
  providerTemplate: Record<string, unknown> | null
  correlationId: string | null
  acceptedAt: string
  /** The first message with the same key. */
  duplicateOf: string | null
}

/** How the sandbox accounts misbehave. */
export interface SandboxFaults {
  kinds: ({
    kind: 'refuse' | 'slow' | 'timeout_before_accept' | 'timeout_after_accept' | 'rate_limited' | 'server_error' | 'permanent' | 'unauthorized' | 'malformed'
    /** What the pretend vendor does. */
    does: string
    /** What it can be told beside when it applies. */
    fields: string[]
  })[]
  items: ({
    account: {
      /** A UUIDv7. */
      id: string
      name: string
      channel: Channel
    }
    /** Its place among those of its account: they are tried in order. */
    index: number
    fault: {
      kind: 'refuse' | 'slow' | 'timeout_before_accept' | 'timeout_after_accept' | 'rate_limited' | 'server_error' | 'permanent' | 'unauthorized' | 'malformed'
      times?: number
      ratio?: number
      to?: string
      channel?: Channel
      delayMs?: number
      retryAfterMs?: number
      reason?: string
      name?: string
    }
  })[]
}

/** The time of a tenant that only tries things out. */
export interface TestClock {
  /** What the tenant’s clock says. */
  now: string
  /** How far that is ahead of the real time, as an ISO 8601 duration. */
  ahead: string
}

/** The exchange with one contact about one entity. */
export interface Conversation {
  /** A UUIDv7. */
  id: string
  tenantId: string
  /** A UUIDv7. */
  contactId: string
  context: EntityRef
  status: 'open' | 'snoozed' | 'closed'
  createdAt: string
  updatedAt: string
  links: {
    contact: string
    notifications: string
  }
}

/** Whom of a list each channel reaches. */
export interface ListReach {
  members: number
  channels: {
    channel: Channel
    hasAccount: boolean
    reachable: number
    /** Their address is suppressed on the channel. */
    suppressed: number
    /** They have no address for it. */
    missing: number
  }[]
  /** The first 100 whose address is suppressed. */
  unreachable: ({
    name: string | null
    email: string | null
    phone: string | null
    channel: Channel
    /** Why the address is suppressed. */
    cause: string
    /** The provider’s words. */
    error: string | null
    /** A UUIDv7. */
    suppressionId: string
  })[]
}

/** What adding members to a list would do. */
export interface TriedMembers {
  /** Would be added. */
  added: number
  /** Given twice, or on the list already. */
  duplicates: number
  /** Members that cannot be added, and why. */
  bad: {
    /** Of the member as given, from 0. */
    index: number
    message: string
  }[]
}

/** What was done, by whom and why. */
export interface AuditEntry {
  /** In the order in which entries were written. */
  id: string
  tenantId: string | null
  at: string
  actor: string
  action: string
  notificationId: string | null
  attempt: number | null
  durationMs: number | null
  from: string | null
  to: string | null
  reason: string | null
  /** Why somebody did it, in their own words. */
  note: string | null
  /** The operation that it was part of. */
  operationId: string | null
  correlationId: string | null
  executionId: string | null
  parentExecutionId: string | null
  /** What it is about where that is no notification, such as account:<id>. */
  subject: string | null
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
}

/** Whether the audit is as it was written. */
export interface AuditChain {
  /** False: the chain is longer than one answer reads. */
  isWhole: boolean
  /** Rows that were compared with what was chained of them. */
  rows: number
  /** Links that were read. */
  links: number
  /** Rows that retention has removed, on record. */
  purged: number
  /** Rows that came after the last link; a thousand stands for any more. */
  unchained: number
  /** The hash of the last link that was read, to be kept elsewhere. */
  head: string | null
  fault: {
    kind: string
    link: number
    rowId: number | null
    message: string
  } | null
}

/** An API key, without what it opens with. */
export interface Key {
  /** A UUIDv7. */
  id: string
  tenantId: string | null
  name: string
  role: string
  site: string | null
  ratePerSecond: number | null
  expiresAt: string | null
  revokedAt: string | null
  createdAt: string
  /** To the hour. Null: it was not used since this is noted. */
  lastUsedAt: string | null
}

/** A key as it is shown once. */
export interface IssuedKey {
  /** Shown this once. */
  key: string
  /** A UUIDv7. */
  id: string
  tenantId: string | null
  name: string
  role: string
  site: string | null
  ratePerSecond: number | null
  expiresAt: string | null
}

/** A process that sends. */
export interface Worker {
  /** A UUIDv7. */
  id: string
  host: string
  pid: number
  version: string
  /** What it sends on. */
  channels: Channel[] | null
  startedAt: string
  lastBeatAt: string
  /** Provider calls under way, as of its last beat. */
  inFlight: number
  /** It was heard of within PILLARBOX_WORKER_TTL. */
  isAlive: boolean
}

/** Something that is wrong, or was. */
export interface Alert {
  /** A UUIDv7. */
  id: string
  rule: 'stuck' | 'oldest_pending' | 'parked_rate' | 'breaker_open' | 'account_paused' | 'no_worker' | 'recovery_failed' | 'site_silent'
  status: 'open' | 'cleared'
  /** What it is about. */
  subject: 'installation' | 'tenant' | 'account' | 'operation' | 'site'
  subjectId: string | null
  /** Whose tenant, account or operation it is about. */
  tenantId: string | null
  /** What is wrong. */
  summary: string
  /** What to do about it. */
  advice: string
  /** What raised it: a count, milliseconds or percent, by the rule. */
  value: number
  /** Since when it was bad. */
  since: string
  raisedAt: string
  clearedAt: string | null
  acknowledgedAt: string | null
  acknowledgedBy: string | null
  note: string | null
  /** How often it was told again. */
  repeats: number
}

/** Who is signed in at the console. */
export interface Session {
  /** Null for ops, who choose one. */
  tenantId: string | null
  role: string
  /** The key’s name. The audit says console:<name>. */
  name: string
  /** Null where it came with the key itself. */
  expiresAt: string | null
}

export interface Tenant {
  id: string
  name: string
  defaultLocale: string
  timeZone: string
  /** ISO 3166. Telephone numbers without a country code are of this country. */
  region?: string
  /** How templates write dates: short, medium, long, full, iso, or a pattern such as dd-MMM-yyyy. */
  dateFormat?: string
  /** ISO 4217. What amounts without a currency are in. */
  currency?: string
  /** What a placeholder without a value becomes. */
  missingPlaceholder?: 'empty' | 'keep'
  /** An ISO 8601 duration of an hour or more, such as P365D. */
  retention?: string
  hasuraSecretHeader?: string
  createdAt: string
}

/** A tenant’s credentials, pace and retry policy with a provider. */
export interface Account {
  /** A UUIDv7. */
  id: string
  tenantId: string
  channel: Channel
  provider: string
  name: string
  /** Whoever cannot change them sees only the host of a URL in them. */
  settings: Record<string, unknown>
  /** The names of those that are set. */
  secrets: string[]
  /** Either perSecond (and burst), or a tier of WhatsApp. */
  pace: {
    perSecond?: number
    burst?: number
    tier?: 'TIER_1' | 'TIER_2' | 'TIER_3' | 'TIER_4' | 'UNLIMITED' | 'COEXISTENCE' | 'STANDARD' | 'HIGH'
  } | null
  retry: unknown
  onUnknown: string
  onUndeliverable: 'fail' | 'park'
  onUnmapped: 'retry' | 'park'
  breaker: {
    failures: number
    resetAfter: string
  }
  parkedRetryAfter: string | null
  priority: number
  status: 'active' | 'suspended' | 'paused'
  statusReason: string | null
  /** How sending through it goes at present, over all workers. */
  lane: {
    /** open: it has failed in a row, and nothing is sent until the hold ends; half_open: one call tries it. */
    breaker: 'closed' | 'open' | 'half_open'
    /** Nothing is sent before; null: it is not held. */
    heldUntil: string | null
    holdReason: string | null
  }
  /** Where the vendor sends its receipts to. Null where it sends none, and where the address holds a token and the key is no admin’s, or none was made yet. */
  webhookUrl: string | null
  /** What the vendor needs before its receipts come; null where it sends none. */
  nextStep: string | null
  warnings: Warning[]
  createdAt: string
  updatedAt: string
}

/** What an account of a provider is made of. */
export interface Provider {
  /** What accounts call it. */
  name: string
  channel: Channel
  /** What it sends, and by which service. */
  words: string
  /** Whether its vendor can be asked about credentials. */
  canVerify: boolean
  /** Whether its vendor can be told where receipts go. */
  canConnect: boolean
  settings: ({
    name: string
    /** What it is, in a sentence. */
    words: string
    isRequired: boolean
    kind: 'text' | 'number' | 'choice' | 'object'
    choices?: string[]
    /** What does not work where it is not set. */
    without?: string
    /** What an object is made of. */
    parts?: ({
      name: string
      /** What it is, in a sentence. */
      words: string
      isRequired: boolean
      kind: 'text' | 'number' | 'choice' | 'object'
      choices?: string[]
      /** What does not work where it is not set. */
      without?: string
    })[]
  })[]
  secrets: ({
    name: string
    /** What it is, in a sentence. */
    words: string
    isRequired: boolean
    kind: 'text' | 'number' | 'choice' | 'object'
    choices?: string[]
    /** What does not work where it is not set. */
    without?: string
    /** What an object is made of. */
    parts?: ({
      name: string
      /** What it is, in a sentence. */
      words: string
      isRequired: boolean
      kind: 'text' | 'number' | 'choice' | 'object'
      choices?: string[]
      /** What does not work where it is not set. */
      without?: string
    })[]
  })[]
}
