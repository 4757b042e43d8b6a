import type { AuditEntry } from './audit.ts'
import type { ProviderTemplate } from './catalogue.ts'
import type { Channel } from './channel.ts'
import type { Entity } from './event.ts'
import type { OutcomeKind, RefusedMember } from './outcome.ts'
import type { Reason, StoredReason } from './reason.ts'
import type { Address } from './recipient.ts'
/**
 * One thing to deliver to one recipient on one channel, and where it stands.
 *
 *   live      queued ──claim──▶ sending ──accepted──▶ sent ──receipt──▶ delivered ──receipt──▶ read
 *             sending ──transient, or unknown and resent──▶ retrying ──claim──▶ sending
 *             sending ──released unsent──▶ queued | retrying
 *   stopped   sending ──permanent, or out of attempts──▶ parked ──retry──▶ queued
 *             sending ──unknown, and the policy is to hold──▶ uncertain ──retry──▶ queued, ──receipt──▶ sent …
 *             parked | uncertain | skipped ──discard──▶ discarded      discarded ──restore──▶ parked
 *             queued | retrying ──cancel, expiry──▶ cancelled
 *             queued | retrying | uncertain ──park──▶ parked sent | delivered ──receipt: failed, bounced──▶ parked
 *             sending | sent | delivered ──permanent, and a fallback channel is next──▶ failed
 *             parked | failed by a receipt ──a receipt of higher rank──▶ delivered | read | parked | failed
 *             (planned, and there is nothing to send on this channel to this recipient) skipped ──retry──▶ queued | skipped,
 *             ──address corrected──▶ discarded
 *
 * Who moves what: a worker everything out of `sending`; receipts everything out of `sent`, and on from where a receipt
 * led (`model/receipt.ts`); an operator everything out of `parked`, `uncertain`, `discarded` and `skipped`. `cancelled` and
 * `read` are closed, and `failed` too where it was not a receipt that said so.
 *
 * Where it is kept: a `dispatch` row while work remains (queued, retrying, sending), a `settled` row once it has come
 * to rest anywhere but `sent`; with neither it is `sent`. One that a receipt took from `uncertain` to `sent` has a
 * `settled` row that says so. The tables' check constraints restate this.
 */
export const NOTIFICATION_STATUSES = [
  'queued',
  'sending',
  'retrying',
  'sent',
  'delivered',
  'read',
  'parked',
  'uncertain',
  'failed',
  'discarded',
  'cancelled',
  'skipped',
] as const

export type NotificationStatus = (typeof NOTIFICATION_STATUSES)[number]

/** Statuses with a `dispatch` row: a worker still has something to do. */
export type LiveStatus = 'queued' | 'retrying' | 'sending'

/** Statuses with a `settled` row; `sent` has one only where a receipt led there. */
export type SettledStatus =
  | 'sent'
  | 'delivered'
  | 'read'
  | 'parked'
  | 'uncertain'
  | 'failed'
  | 'discarded'
  | 'cancelled'
  | 'skipped'

export const NEXT_STATUSES = {
  queued: ['sending', 'parked', 'cancelled'],
  retrying: ['sending', 'parked', 'cancelled'],
  sending: ['sent', 'retrying', 'queued', 'parked', 'uncertain', 'failed', 'cancelled'],
  sent: ['delivered', 'read', 'parked', 'failed'],
  delivered: ['read', 'parked', 'failed'],
  read: [],
  parked: ['queued', 'discarded', 'delivered', 'read', 'failed'],
  uncertain: ['queued', 'discarded', 'parked', 'sent', 'delivered', 'read', 'failed'],
  failed: ['delivered', 'read', 'parked'],
  discarded: ['parked'],
  cancelled: [],
  skipped: ['queued', 'discarded'],
} as const satisfies Record<NotificationStatus, readonly NotificationStatus[]>

export function canMove(from: NotificationStatus, to: NotificationStatus): boolean {
  return (NEXT_STATUSES[from] as readonly NotificationStatus[]).includes(to)
}

/** No arrow leaves a closed status. */
export function isClosed(status: NotificationStatus): boolean {
  return NEXT_STATUSES[status].length === 0
}

export function isLive(status: NotificationStatus): status is LiveStatus {
  return status === 'queued' || status === 'retrying' || status === 'sending'
}

/** What an operator may ask for, where it may be asked, and what it leads to. */
export const ACTIONS = {
  retry: { from: ['parked', 'uncertain', 'skipped'], to: 'queued' },
  discard: { from: ['parked', 'uncertain', 'skipped'], to: 'discarded' },
  cancel: { from: ['queued', 'retrying'], to: 'cancelled' },
  park: { from: ['queued', 'retrying', 'uncertain'], to: 'parked' },
  restore: { from: ['discarded'], to: 'parked' },
} as const satisfies Record<string, { from: readonly NotificationStatus[]; to: NotificationStatus }>

export type Action = keyof typeof ACTIONS

export interface Content {
  subject: string | null
  body: string
  data: Record<string, unknown>
  /** The body is HTML. Any other is plain text and sent as such, whatever it looks like. */
  isHtml?: boolean
  /** What a reader without HTML is shown in place of the body. */
  text?: string
  /** What the provider is told instead of, or beside, the words: an approved WhatsApp template, DLT ids. Rendered. */
  providerTemplate?: ProviderTemplate
}

/** Content that holds secret payload fields: sealed, and opened only to send. */
export interface SealedContent {
  sealed: string
}

export interface Warning {
  code: string
  key?: string
  message: string
}

export interface NewNotification {
  id: string
  tenantId: string
  idempotencyKey: string
  channel: Channel
  /** The lane; null only when `stopped` says why there is none. */
  accountId: string | null
  provider: string | null
  to: Address
  /** Null only when `stopped` says why there is none, or once it was scrubbed. */
  content: Content | SealedContent | null
  /** Who that is, where it is known, and the exchange it belongs to. */
  contactId: string | null
  conversationId: string | null
  /** What the event type says in place of the account. */
  policy: NotificationPolicy | null
  eventId: string | null
  eventType: string | null
  scheduleId: string | null
  /**
   * Which of the event's recipients it is for: their place, or that of a recipient list and the member's id (`0/<id>`).
   * There is one notification for each place and channel of an event; null for what no event was planned as.
   */
  place: string | null
  entity: Entity | null
  templateId: string | null
  templateVersion: number | null
  locale: string | null
  correlationId: string | null
  executionId: string | null
  parentExecutionId: string | null
  site: string | null
  /** `key:<name>`, `console:<name>` or `system`. */
  triggeredBy: string
  /** The trace that its provider calls belong to, by W3C Trace Context. */
  traceparent?: string | null
  /** Channels still to be tried, in order, should this one fail for good. */
  fallback: Channel[]
  fallbackOf: string | null
  /** The one whose address was corrected by hand, in whose place this is sent. */
  correctedFrom: string | null
  warnings: Warning[]
  /** Not before; null: at once. */
  dueAt: number | null
  /** Since when it is wanted: its event's time, or a later one that it was to wait for; null or absent: since it is written. */
  wantedAt?: number | null
  /** Cancelled with `expired` if not sent by then. */
  expiresAt: number | null
  /** Of one that is skipped because somebody is told the same already: the notification that came first. */
  duplicateOf: string | null
  /** Born stopped: visible, and retryable once fixed. */
  stopped: BornStopped | null
  /** One that has its key, and was called off by a later event before it told anybody, does not stand in its way. */
  followsCancelled?: boolean
}

/** A notification that takes over from one that failed, with those of the channels that its chain passed over. */
export interface Takeover extends NewNotification {
  passedOver?: readonly NewNotification[]
}

/** A chain that nobody takes over on: a notification for each of its channels that says why. The chain holds none any more. */
export interface EndedChain {
  skipped: readonly NewNotification[]
}

/** What was skipped as a chain went on: the channels that it passed over or, where nobody takes over, all that were left. */
export function skippedByChain({
  to,
  next,
  skipped = [],
}: {
  to: NotificationStatus
  next: Takeover | null
  skipped?: EndedChain['skipped']
}): readonly NewNotification[] {
  if (next) return next.passedOver ?? []
  return to === 'parked' || to === 'failed' ? skipped : []
}

/** What is said of a notification where another one would repeat it. Of one that was called off nobody has heard. */
export function wordsOfFirst({ id, status }: { id: string; status: NotificationStatus | null }): string {
  const isUntold = status === 'cancelled' || status === 'discarded' || status === 'skipped'
  return isUntold
    ? `Notification ${id} was to tell the same, and is ${status}`
    : `Notification ${id} tells the same already`
}

/** Why a notification that was just made is not to be sent: it is skipped, or parked where somebody has to look. */
export interface BornStopped {
  status: Extract<SettledStatus, 'parked' | 'skipped'>
  reason: Reason
  error: string
}

export interface NotificationPolicy {
  /** A retry policy as the catalogue has it; null: the account's. */
  retry?: unknown
  /** An address the provider rejects as undeliverable ends `failed`, without waiting for an operator. */
  onUndeliverable?: 'fail' | 'park'
}

/** A notification without its words, as lists have it. */
export type ListedNotification = Omit<NotificationView, 'content'>

export interface NotificationView extends Omit<NewNotification, 'stopped'> {
  /** Whom one message went to, where a list was addressed; of the last attempt. */
  resolvedTargets: string[] | null
  /** Its content holds secrets. */
  isSealed: boolean
  /** Its content held secrets and was removed when it was final. */
  isScrubbed: boolean
  status: NotificationStatus
  reason: StoredReason | null
  lastError: string | null
  /** Since it was last sent again by hand, where it was. */
  attemptCount: number
  nextAttemptAt: number | null
  possibleDuplicate: boolean
  providerMessageId: string | null
  fallbackTo: string | null
  /** The one that is sent in its place, to a corrected address. */
  correctedTo: string | null
  createdAt: number
  sentAt: number | null
  deliveredAt: number | null
  readAt: number | null
}

export interface AttemptView {
  number: number
  outcome: OutcomeKind
  /** The result arrived after the claim had been taken over; it changed nothing. */
  late: boolean
  code: string | null
  error: string | null
  provider: string
  providerMessageId: string | null
  /** Null for those of before it was recorded. */
  accountId: string | null
  /** What the provider said, bounded and without secrets. */
  answer: string | null
  /** Members of a list that the provider would not take while it took the others. */
  refused: RefusedMember[] | null
  startedAt: number
  durationMs: number
  workerId: string
}

/** An entry of the audit as a notification shows its own. */
export type AuditView = Omit<
  AuditEntry,
  'id' | 'tenantId' | 'subject' | 'before' | 'after' | 'correlationId' | 'executionId' | 'parentExecutionId'
>
