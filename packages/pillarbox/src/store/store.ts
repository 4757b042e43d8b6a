import type { Account, AccountStatus, Pace } from '../model/account.ts'
import type { Catalogue, EventType, ProviderTemplate } from '../model/catalogue.ts'
import type { Channel } from '../model/channel.ts'
import type { Entity, EventStatus, NewEvent, ScheduleStatus, StoredEvent } from '../model/event.ts'
import type { Action, NotificationStatus } from '../model/notification.ts'
import type { OutcomeKind } from '../model/outcome.ts'
import type { Reason, StoredReason } from '../model/reason.ts'
import type { ReceiptFailure, ReceiptKind } from '../model/receipt.ts'
import type { Address } from '../model/recipient.ts'

/**
 * The store contract. SQLite and PostgreSQL stand behind it and pass one conformance suite (`conformance/`).
 *
 * Promises every method keeps:
 * - It resolves only after its commit. If it rejects with `store_unavailable`, the commit may or may not have happened.
 * - It is one transaction: all of it happens or nothing.
 * - Instants are milliseconds since 1970. What is due, expired or silent is judged by the store's own clock (on
 *   PostgreSQL the database's, on SQLite the injected one), so callers pass durations, not deadlines.
 * - A tenant's id is the first filter of everything that reads or changes a tenant's rows.
 */
export interface Store {
  readonly engine: 'postgres' | 'sqlite'
  /** Brings the schema to this version's. Safe when several processes do it at once; refuses a newer schema. */
  migrate(): Promise<{ from: number; to: number }>
  /** The schema version found, and the one this code wants. */
  schema(): Promise<{ found: number; wanted: number }>
  /** The store's own time; rejects when it cannot be reached. */
  now(): Promise<number>
  readonly events: EventStore
  readonly plan: PlanStore
  readonly notifications: NotificationStore
  readonly dispatch: DispatchStore
  readonly receipts: ReceiptStore
  readonly suppressions: SuppressionStore
  readonly inbox: InboxStore
  readonly lanes: LaneStore
  readonly workers: WorkerStore
  readonly tenants: TenantStore
  readonly keys: KeyStore
  readonly accounts: AccountStore
  readonly catalogue: CatalogueStore
  readonly templates: TemplateStore
  readonly people: PeopleStore
  readonly lists: ListStore
  readonly schedules: ScheduleStore
  readonly instance: InstanceStore
  readonly sealed: SealedStore
  readonly wake: WakeStore
  close(): Promise<void>
}

// ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────

export interface EventStore {
  /** Writes events that are not there yet; answers in the given order. Repeats inside one call count as repeats too. */
  insert(events: readonly NewEvent[]): Promise<{ id: string; duplicate: boolean }[]>
  find(tenantId: string, id: string): Promise<StoredEvent | null>
  list(filter: EventFilter, page: Page): Promise<PageOf<StoredEvent>>
  /** failed → pending with a fresh count; `false` when it is not failed. Audited. */
  replay(tenantId: string, id: string, actor: string): Promise<boolean>
}

export interface EventFilter {
  tenantId?: string
  status?: EventStatus
  from?: number
  to?: number
}

// ── planning ─────────────────────────────────────────────────────────────────────────────────────────────────────

export interface PlanStore {
  /**
   * Takes up to `limit` pending, due events, oldest first, fewer where they are very large, skipping those another process
   * holds, lets `prepare` read
   * what their plans need, asks `plan` for each, and writes what it answers, all in one transaction.
   * Rejects, with nothing written, when a row is refused: the planner then goes one by one.
   */
  events(limit: number, planning: Planning<StoredEvent, EventPlan>): Promise<Planned>
  /** The same for schedules whose time has come. */
  schedules(limit: number, planning: Planning<DueSchedule, SchedulePlan>): Promise<Planned>
  /** An event whose planning was refused: tried again after `delayMs`, or `failed` when that is null. */
  deferEvent(ref: EventRef, error: string, delayMs: number | null): Promise<void>
  deferSchedule(ref: ScheduleRef, error: string, delayMs: number | null): Promise<void>
  /**
   * When each entity was last cancelled for an event type (`cancelledBy`), by the time of the event that did it; null:
   * never. Answers in the given order.
   */
  cancelledAt(requests: readonly { tenantId: string; entity: Entity; eventType: string }[]): Promise<(number | null)[]>
}

export interface Planning<Row, Plan> {
  /**
   * Reads whatever the plans need, before any is asked for. Nothing is answered where all of it is known already. It
   * must not write to the taken rows, and may not take longer than a few seconds.
   */
  prepare(rows: readonly Row[]): Promise<void> | void
  /** Synchronous; must not throw. */
  plan(row: Row): Plan
}

export interface DueSchedule {
  schedule: StoredSchedule
  event: StoredEvent
}

export interface EventRef {
  tenantId: string
  id: string
}
export interface ScheduleRef {
  tenantId: string
  id: string
}

/** What an event becomes. Every event that does not fail gets exactly one schedule. */
export type EventPlan =
  /** Left as it is, not counted as an attempt: the batch has enough. */
  | { kind: 'later' }
  | { kind: 'failed'; reason: Reason; error: string }
  /** Due later, or waiting for somebody's word: a pending schedule, or one that awaits approval. */
  | { kind: 'schedule'; scheduleId: string; dueAt: number; needsApproval: boolean; cancels: Cancels | null }
  /** Not to be sent at all: a schedule born cancelled that says why. */
  | { kind: 'cancelled'; scheduleId: string; reason: Reason; error: string; cancels: Cancels | null }
  /** Due now: a schedule already completed, and its notifications. */
  | { kind: 'notifications'; scheduleId: string; notifications: NewNotification[]; cancels: Cancels | null }

/**
 * What an event puts an end to, for its own entity, before anything of its own is written. Schedules that are pending
 * or await approval become `cancelled`, notifications that are queued or retrying, too; all audited.
 */
export interface Cancels {
  /** Event types whose schedules and notifications are cancelled (`cancelled_by_event`), and remembered as cancelled. */
  eventTypes: string[]
  /** An earlier schedule of the event's own type is replaced (`replaced`); its notifications are left alone. */
  replaces: boolean
}

export type SchedulePlan =
  | { kind: 'later' }
  | { kind: 'failed'; reason: Reason; error: string }
  | { kind: 'cancelled'; reason: Reason; error: string }
  | { kind: 'notifications'; notifications: NewNotification[] }
  /** A part of a large one: it stays pending, due at once, and goes on from `cursor`. */
  | { kind: 'part'; notifications: NewNotification[]; progress: Progress }

/** How far the planning of a schedule with very many recipients has come. */
export interface Progress {
  /** Where to go on; the planner's own. */
  cursor: string
  /** Recipients planned so far, and all of them as far as is known. */
  planned: number
  total: number
}

export interface Planned {
  /** Rows taken, `later` ones included: equal to the limit means there is probably more. */
  taken: number
  /** Rows that reached a decision. */
  decided: number
  /** Notifications inserted; repeats by key are not. */
  inserted: number
  /** Accounts that now have due work, for the in-process nudge. */
  lanes: string[]
}

export interface StoredSchedule {
  id: string
  tenantId: string
  eventId: string
  eventType: string
  entity: Entity
  dueAt: number
  status: ScheduleStatus
  attemptCount: number
  lastError: string | null
  createdAt: number
  completedAt: number | null
  /** Only of a schedule that is planned in parts. */
  progress: Progress | null
  /** Who approved it, and when; null where nobody had to, or has yet. */
  approvedBy: string | null
  approvedAt: number | null
}

/** Looking at schedules and moving them by hand. */
export interface ScheduleStore {
  find(tenantId: string, id: string): Promise<StoredSchedule | null>
  /** Newest first. */
  list(filter: ScheduleFilter, page: Page): Promise<PageOf<StoredSchedule>>
  /**
   * cancel: pending or awaiting_approval → cancelled. approve: awaiting_approval → pending. reject: awaiting_approval →
   * cancelled. replay: failed → pending with a fresh count. Audited. Null: no such schedule of that tenant.
   */
  act(request: {
    tenantId: string
    id: string
    action: 'cancel' | 'approve' | 'reject' | 'replay'
    actor: string
    reason?: string
  }): Promise<{ moved: boolean; from: ScheduleStatus } | null>
}

export interface ScheduleFilter {
  tenantId?: string
  status?: ScheduleStatus[]
  eventType?: string
  entityType?: string
  entityId?: string
  dueFrom?: number
  dueTo?: number
}

// ── notifications ────────────────────────────────────────────────────────────────────────────────────────────────

export interface Content {
  subject: string | null
  body: string
  data: Record<string, unknown>
  /** The body is HTML. Any other is plain text and sent as such, whatever it looks like. */
  isHtml?: boolean
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
  /** The lane; null only when `parked` says why there is none. */
  accountId: string | null
  provider: string | null
  to: Address
  /** Null only when `parked` says why there is none, or once it was scrubbed. */
  content: Content | SealedContent | null
  /** Who that is, where it is known, and the exchange it belongs to. */
  contactId: string | null
  conversationId: string | null
  /** What the event type says in place of the account. */
  policy: NotificationPolicy | null
  eventId: string | null
  eventType: string | null
  scheduleId: string | null
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
  /** Channels still to be tried, in order, should this one fail for good. */
  fallback: Channel[]
  fallbackOf: string | null
  warnings: Warning[]
  /** Not before; null: at once. */
  dueAt: number | null
  /** Cancelled with `expired` if not sent by then. */
  expiresAt: number | null
  /** Born stopped: visible, and retryable once fixed. */
  parked: { reason: Reason; error: string } | null
}

export interface NotificationPolicy {
  /** A retry policy as the catalogue has it; null: the account's. */
  retry?: unknown
  /** An address the provider rejects as undeliverable ends `failed`, without waiting for an operator. */
  onUndeliverable?: 'fail' | 'park'
}

export interface NotificationStore {
  /** Writes ledger and dispatch rows; a repeated (tenant, key) answers the first one's id and writes nothing. */
  insert(notifications: readonly NewNotification[]): Promise<{ id: string; duplicate: boolean }[]>
  find(tenantId: string | null, id: string): Promise<NotificationView | null>
  list(filter: NotificationFilter, page: Page): Promise<PageOf<NotificationView>>
  attempts(notificationId: string): Promise<AttemptView[]>
  /** Oldest first; attempts appear as `attempt` rows followed by the transition they led to. */
  audit(notificationId: string): Promise<AuditView[]>
  /**
   * Moves a notification by hand, with its audit row. Null: no such notification of that tenant. Retrying an
   * `uncertain` one sets `possibleDuplicate`: the call in doubt may have arrived.
   */
  act(request: ActRequest): Promise<Acted | null>
  /** How long the event or notification that is due and waits longest has been due; null when nothing is. */
  oldestDueMs(): Promise<number | null>
  /**
   * Scrubs what was sealed and is no longer needed: the content of notifications that are final (`sent` and delivered
   * or without a fallback left, delivered, read, failed, discarded, cancelled), and then the sealed payload fields of
   * events of which every notification was scrubbed and no schedule is pending. Answers how many rows it changed.
   */
  scrub(limit: number): Promise<number>
  /** Sum per status, for the conservation check. Counts the whole ledger. */
  countByStatus(tenantId: string | null): Promise<Record<NotificationStatus, number>>
}

export interface Acted {
  moved: boolean
  from: NotificationStatus
  laneId: string | null
  /** Not moved because this one has the key that the replacement would have: it was told in another way meanwhile. */
  twin?: string
}

export interface ActRequest {
  tenantId: string
  id: string
  action: Action
  actor: string
  /** For a retry of one that never had an account or content: what planning answers now. */
  replacement?: {
    accountId: string
    provider: string
    channel: Channel
    content: Content | SealedContent
    templateId: string | null
    templateVersion: number | null
    locale: string | null
    to: Address
    fallback: Channel[]
    warnings: Warning[]
    /** The key it has from now on: a notification planned anew is the one that its event would be planned as. */
    idempotencyKey: string
  }
}

export interface NotificationView extends Omit<NewNotification, 'parked'> {
  /** Whom one message went to, where a list was addressed; of the last attempt. */
  resolvedTargets: string[] | null
  /** Its content held secrets and was removed when it was final. */
  isScrubbed: boolean
  status: NotificationStatus
  reason: StoredReason | null
  lastError: string | null
  attemptCount: number
  nextAttemptAt: number | null
  possibleDuplicate: boolean
  providerMessageId: string | null
  fallbackTo: string | null
  createdAt: number
  sentAt: number | null
  deliveredAt: number | null
  readAt: number | null
}

export interface NotificationFilter {
  tenantId?: string
  status?: NotificationStatus[]
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
  possibleDuplicate?: boolean
  triggeredBy?: string
  /** Live, and due for longer than this. */
  stuckForMs?: number
  /** Sent longer ago than this, and no receipt since that says what became of it. */
  staleForMs?: number
  from?: number
  to?: number
  /** Exactly an id, an idempotency key, a provider's id or an address. */
  q?: string
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
  startedAt: number
  durationMs: number
  workerId: string
}

export interface AuditView {
  at: number
  actor: string
  action: string
  notificationId: string | null
  attempt: number | null
  durationMs: number | null
  from: string | null
  to: string | null
  reason: string | null
}

export interface Page {
  limit: number
  /** Opaque; from the previous answer's `nextCursor`. */
  cursor?: string
}

export interface PageOf<T> {
  items: T[]
  nextCursor: string | null
}

// ── dispatch ─────────────────────────────────────────────────────────────────────────────────────────────────────

export interface DispatchStore {
  /**
   * Accounts with due, unclaimed work that are not on hold, the longest-waiting first. A suspended one's hold counts for
   * nothing: its rows make no calls.
   */
  dueLanes(channels: readonly Channel[] | null, limit: number): Promise<DueLane[]>
  /**
   * Claims up to `limit` due rows of each lane, oldest first: `sending`, attempt + 1, a token never used before, this
   * worker. Two workers never get the same row. A lane on hold or with an open breaker gives nothing, unless `probe`.
   * `fenced` when this worker has been declared dead: it then claims nothing and must register anew.
   */
  claim(workerId: string, lanes: readonly LaneClaim[]): Promise<ClaimAnswer>
  /**
   * Writes results: dispatch row, attempt, settled row, fallback notification and audit in one transaction. A result
   * whose token is no longer the row's changes nothing, is kept as a late attempt, and is named in `fenced`. Repeating
   * a result whose commit succeeded but whose answer was lost changes nothing and is not fenced (its attempt has the
   * same token).
   */
  complete(workerId: string, completions: readonly Completion[]): Promise<{ fenced: string[]; lanes: string[] }>
  /** Gives unsent claims back as they were before the claim. Compares the token. */
  release(workerId: string, claims: readonly { notificationId: string; token: number }[]): Promise<void>
  /**
   * Rows this worker holds by the store's account and not by its own (`held`: the tokens it knows), because the answer
   * to a claim, a release or a take-over was lost. Claimed ones never left this process and go back as they were;
   * taken-over ones (`in_doubt`) are answered under a new token, to be settled as unknown. May scan: called rarely.
   */
  orphans(workerId: string, held: readonly number[]): Promise<Claim[]>
  /** Stops everything that waits on a lane (an account was suspended): parked with `reason`, at most `limit` rows. */
  stopLane(laneId: string, reason: Reason, error: string, actor: string, limit: number): Promise<number>
}

export interface DueLane {
  laneId: string
  channel: Channel
  breaker: BreakerState
}

/** How much of a lane to claim; `probe`: though it is on hold or its breaker open. */
export interface LaneClaim {
  laneId: string
  limit: number
  probe?: boolean
}

export interface ClaimRequest {
  workerId: string
  lanes: readonly LaneClaim[]
}

export type ClaimAnswer = { fenced: false; claims: Claim[] } | { fenced: true }

/** One claimed row with all that one provider call needs. */
export interface Claim {
  notificationId: string
  laneId: string
  token: number
  /** Number of this provider call, from 1. */
  attempt: number
  /** Attempts that counted against the retry policy so far. */
  spent: number
  possibleDuplicate: boolean
  tenantId: string
  channel: Channel
  to: Address
  content: Content | SealedContent
  policy: NotificationPolicy | null
  eventType: string | null
  entity: Entity | null
  locale: string | null
  correlationId: string | null
  fallback: Channel[]
  expiresAt: number | null
  /** The store's time when it was claimed. */
  claimedAt: number
}

export interface Completion {
  notificationId: string
  laneId: string
  token: number
  attempt: number
  provider: string
  /** Null: no provider call was made (expired, suspended); the transition is audited instead. */
  outcome: OutcomeKind | null
  code: string | null
  error: string | null
  providerMessageId: string | null
  /** Whom a list stood for in this call; null where there was none. */
  resolvedTargets: string[] | null
  /** How long ago the call began, and how long it took. */
  ageMs: number
  durationMs: number
  to: 'sent' | 'retrying' | 'parked' | 'uncertain' | 'failed' | 'cancelled'
  reason: StoredReason | null
  /** For `retrying`: visible again after this. */
  delayMs: number
  /** For `retrying`: from now on the lane of another account of the channel, with its provider; null: it stays. */
  moveTo: { accountId: string; provider: string } | null
  /** The new count of attempts that counted. */
  spent: number
  possibleDuplicate: boolean
  /** For `failed` by fallback: the notification that takes over. */
  next: NewNotification | null
}

// ── receipts ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** What vendors call back with, raw, and what they said of our notifications. */
export interface ReceiptStore {
  /** Keeps a genuine callback before it is answered. False: the very same bytes were kept before. */
  keep(callback: NewCallback): Promise<boolean>
  /**
   * Takes up to `limit` callbacks that are due to be applied, oldest first, and hides them from others for `leaseMs`.
   * Applying one twice changes nothing, so a lease that runs out is no harm.
   */
  take(limit: number, leaseMs: number): Promise<StoredCallback[]>
  /** What became of a taken one. `delayMs`: something in it has to wait and is tried again then; null: it is over. */
  settle(id: number, result: CallbackResult): Promise<void>
  /** applied or unmatched → pending, to be read again. False when it is unknown. Audited. */
  replay(id: number, actor: string): Promise<boolean>
  /** Newest first, each with the first `bodyBytes` of its body. Default: all of it. */
  callbacks(filter: CallbackFilter, page: Page, bodyBytes?: number): Promise<PageOf<ListedCallback>>
  /** Adds to the counts of callbacks that were not believed. */
  countRefused(counts: readonly RefusedCount[]): Promise<void>
  /** By source, tenant and cause. */
  refused(): Promise<RefusedCallbacks[]>
  /**
   * The notification a report is about: by our own reference where the vendor repeats it, else by the vendor's message
   * id (only of the providers that have an index for it). Null where there is none, it belongs to none of the accounts, or
   * no call to that provider was made for it, nor is being made.
   */
  locate(report: {
    accountIds: readonly string[]
    provider: string
    providerMessageId: string | null
    notificationId: string | null
  }): Promise<NotificationView | null>
  /**
   * Keeps a receipt and moves its notification if the receipt outranks where it stands, with its audit row and, where
   * `next` is given and it fails or bounces by this, the notification that takes over (`failed`,
   * `fallback_triggered:<channel>`). Nobody takes over from one that may have arrived (`possibleDuplicate`), nor twice.
   * `waiting`: the notification is being sent (again), nothing was written; try later. `repeated`: heard before,
   * changes nothing. `kept`: on record, nothing moved.
   */
  merge(receipt: NewReceipt): Promise<'moved' | 'kept' | 'repeated' | 'waiting'>
  list(notificationId: string): Promise<ReceiptView[]>
}

export interface NewCallback {
  source: string
  tenantId: string | null
  accountIds: readonly string[]
  headers: Readonly<Record<string, string>>
  body: Buffer
}

export const CALLBACK_STATUSES = ['pending', 'applied', 'unmatched'] as const
export type CallbackStatus = (typeof CALLBACK_STATUSES)[number]

export interface StoredCallback extends NewCallback {
  id: number
  status: CallbackStatus
  attemptCount: number
  receivedAt: number
  /** Null until it was read for the first time. */
  result: Pick<CallbackResult, 'reports' | 'matched' | 'moved' | 'unreadable'> | null
}

/** Its `body` may be only the beginning. */
export interface ListedCallback extends StoredCallback {
  /** Of the whole body, in bytes. */
  size: number
}

export interface CallbackResult {
  /** Reports in it; of those, about notifications of ours; of those, that moved one. */
  reports: number
  matched: number
  moved: number
  unreadable: number
  status: CallbackStatus
  /** For `pending`. */
  delayMs: number
}

export interface CallbackFilter {
  source?: string
  tenantId?: string
  status?: CallbackStatus
}

export interface RefusedCount {
  source: string
  /** Of the path; null where it names none, or nobody we know. */
  tenantId: string | null
  why: string
  count: number
}
export interface RefusedCallbacks extends RefusedCount {
  lastAt: number
}

export interface NewReceipt {
  tenantId: string
  notificationId: string
  provider: string
  providerMessageId: string
  kind: ReceiptKind
  /**
   * Of a message to several: this is about one of them, and says of the whole no more than that somebody has it: a
   * delivery or a reading counts as delivered, a failure moves nothing.
   */
  recipient: string | null
  /** Why it failed or bounced; null for every other kind. */
  failure: ReceiptFailure | null
  /** When it happened, by the provider's account. */
  at: number
  /** Who takes over, should the receipt move it. */
  next: NewNotification | null
}

export interface ReceiptView {
  kind: ReceiptKind
  at: number
  receivedAt: number
  provider: string
  providerMessageId: string
  recipient: string | null
  code: string | null
  error: string | null
}

// ── addresses that are not to be used any more ───────────────────────────────────────────────────────────────────

export const SUPPRESSION_CAUSES = ['dead_address', 'bounced', 'complained', 'operator'] as const
export type SuppressionCause = (typeof SUPPRESSION_CAUSES)[number]

export interface SuppressionStore {
  /** Adds one, audited as `createdBy`; false when the address is suppressed on that channel already. */
  insert(suppression: Omit<Suppression, 'createdAt'>): Promise<boolean>
  /** Whether the tenant has any on that channel: nearly always no, and then nobody needs to ask further. */
  any(tenantId: string, channel: Channel): Promise<boolean>
  /** Those of `addresses` that are suppressed, in no order; `addressIdentity` tells which is which. */
  among(tenantId: string, channel: Channel, addresses: readonly string[]): Promise<Suppression[]>
  find(tenantId: string, id: string): Promise<Suppression | null>
  /** Newest first. `address`: exactly, whatever the case of an email. */
  list(tenantId: string, filter: { channel?: Channel; address?: string }, page: Page): Promise<PageOf<Suppression>>
  /** Audited. False when unknown. */
  remove(tenantId: string, id: string, actor: string): Promise<boolean>
}

/** An address that is not used on a channel until somebody lifts the ban. */
export interface Suppression {
  id: string
  tenantId: string
  channel: Channel
  /** As notifications have it: E.164, device token, …; an email in lower case, since both cases are one mailbox. */
  address: string
  cause: SuppressionCause
  /** The provider's words. */
  error: string | null
  /** The notification that taught us. */
  notificationId: string | null
  createdBy: string
  createdAt: number
}

// ── the inbox of in_app ──────────────────────────────────────────────────────────────────────────────────────────

/**
 * Every change in an inbox (a message comes, is read, is removed) gets the next number of that inbox, its revision, in
 * the order of commits: whoever has seen all up to one revision misses nothing by asking for what came after it.
 */
export interface InboxStore {
  /** Puts a message into a user's inbox; repeating it changes nothing, also once it was removed. */
  put(message: { id: string; tenantId: string; userId: string; sealed: string }): Promise<void>
  find(tenantId: string, userId: string, id: string): Promise<InboxMessage | null>
  /** Newest first. */
  list(tenantId: string, userId: string, filter: { isUnread?: boolean }, page: Page): Promise<PageOf<InboxMessage>>
  /** What was changed after the revision `after`, oldest change first, each message once: what a live stream tells. */
  since(tenantId: string, userId: string, after: number, limit: number): Promise<InboxChange[]>
  /** Where each inbox stands, in the given order; 0 where nothing ever came. */
  revisions(inboxes: readonly { tenantId: string; userId: string }[]): Promise<number[]>
  countUnread(tenantId: string, userId: string): Promise<number>
  /**
   * Marks messages as seen or read: `ids`, or the user's oldest unmarked 200. Answers those that changed, at most 200;
   * their notifications become `delivered` or `read` by a receipt in the same transaction. One that is still being sent
   * cannot take a receipt yet: that is owed, and `settleOwed` brings it.
   */
  mark(tenantId: string, userId: string, mark: 'seen' | 'read', ids: readonly string[] | 'oldest'): Promise<string[]>
  /** The message leaves the inbox and its words are deleted; its notification stays. */
  remove(tenantId: string, userId: string, id: string): Promise<boolean>
  /** Brings receipts that were owed, of at most `limit` messages behind `after` (null: from the first). `next`: where to go on. */
  settleOwed(after: string | null, limit: number): Promise<{ settled: number; next: string | null }>
}

export interface InboxMessage {
  /** The notification's id. */
  id: string
  tenantId: string
  userId: string
  /** Its words, sealed for (tenant, `inbox_messages`, id). */
  sealed: string
  /** The inbox's revision when it came, and when it was last changed; being seen is no change. */
  arrival: number
  revision: number
  createdAt: number
  seenAt: number | null
  readAt: number | null
}

/** `sealed` is null once it was removed. */
export interface InboxChange extends Omit<InboxMessage, 'sealed'> {
  sealed: string | null
}

// ── lanes: what all workers must agree on about an account ───────────────────────────────────────────────────────

/** `open`: nothing is sent until the hold ends; `half_open`: one probe is under way. */
export type BreakerState = 'closed' | 'open' | 'half_open'

export interface LaneStore {
  /** Takes up to `want` tokens from each lane's bucket. Exact across processes. */
  take(
    requests: readonly { laneId: string; want: number; pace: Pace }[],
  ): Promise<{ laneId: string; granted: number; waitMs: number }[]>
  /** Returns tokens that were taken and not used. */
  giveBack(laneId: string, count: number, pace: Pace): Promise<void>
  /** Nothing of the lane is claimed for `ms`; a longer hold in place stays. */
  hold(laneId: string, ms: number, reason: string): Promise<void>
  openBreaker(laneId: string, resetAfterMs: number, error: string): Promise<void>
  /** True for exactly one caller once the open breaker's hold is over; the probe must report within `leaseMs`. */
  probe(laneId: string, leaseMs: number): Promise<boolean>
  /** Ends hold and breaker. */
  closeBreaker(laneId: string): Promise<void>
  list(tenantId: string | null): Promise<LaneView[]>
}

export interface LaneView {
  laneId: string
  tenantId: string
  channel: Channel
  /** Of its account. */
  status: AccountStatus
  breaker: BreakerState
  heldForMs: number
  holdReason: string | null
}

// ── workers ──────────────────────────────────────────────────────────────────────────────────────────────────────

export interface WorkerStore {
  register(worker: {
    id: string
    host: string
    pid: number
    version: string
    channels: readonly Channel[] | null
  }): Promise<void>
  /**
   * Says that this worker lives, and how many calls it has under way (for people; nothing depends on it).
   * False: it was declared dead and its claims were taken over.
   */
  beat(id: string, inFlight?: number): Promise<boolean>
  /** Leaves for good. Whatever it still held becomes rescuable at once. */
  remove(id: string): Promise<void>
  /**
   * Takes over what workers silent for longer than `ttlMs` (or gone) held: each row gets a new token and this worker.
   * The rows are marked `in_doubt` until completed. Whether those calls were made is unknown; the caller settles each with outcome `unknown` and the old attempt's number.
   */
  takeOver(workerId: string, ttlMs: number, limit: number): Promise<Claim[]>
  list(): Promise<WorkerView[]>
}

export interface WorkerView {
  id: string
  host: string
  pid: number
  version: string
  channels: Channel[] | null
  startedAt: number
  silentForMs: number
  /** As of its last beat. */
  inFlight: number
}

// ── configuration ────────────────────────────────────────────────────────────────────────────────────────────────

export interface Tenant {
  id: string
  name: string
  defaultLocale: string
  timeZone: string
  settings: Record<string, unknown>
  createdAt: number
}

export interface TenantStore {
  /** False when the id is taken. */
  insert(tenant: Omit<Tenant, 'createdAt'>): Promise<boolean>
  find(id: string): Promise<Tenant | null>
  list(page: Page): Promise<PageOf<Tenant>>
  update(id: string, changes: Partial<Omit<Tenant, 'id' | 'createdAt'>>): Promise<Tenant | null>
}

export const ROLES = ['publisher', 'viewer', 'operator', 'admin', 'ops'] as const
export type Role = (typeof ROLES)[number]

export interface ApiKey {
  id: string
  /** Null for `ops`, which spans tenants. */
  tenantId: string | null
  name: string
  role: Role
  site: string | null
  ratePerSecond: number | null
  expiresAt: number | null
  revokedAt: number | null
  createdAt: number
}

export interface KeyStore {
  /** False, and nothing written, when the key is known already. */
  insert(key: Omit<ApiKey, 'createdAt' | 'revokedAt'>, hash: string): Promise<boolean>
  findByHash(hash: string): Promise<ApiKey | null>
  list(tenantId: string | null): Promise<ApiKey[]>
  revoke(tenantId: string | null, id: string): Promise<boolean>
}

/** An account as stored: secrets sealed, the retry policy as it was given. */
export interface StoredAccount extends Omit<Account, 'secrets' | 'retry' | 'retryWarning'> {
  sealedSecrets: string | null
  /** Names of the secrets that are set. */
  secretNames: string[]
  retry: unknown
}

export interface AccountStore {
  insert(account: Omit<StoredAccount, 'createdAt' | 'updatedAt'>): Promise<boolean>
  find(tenantId: string | null, id: string): Promise<StoredAccount | null>
  /** By priority, then age. */
  list(tenantId: string, channel?: Channel): Promise<StoredAccount[]>
  /** Every tenant's accounts of these providers, for callbacks whose path names no tenant. By age. */
  listOfProviders(providers: readonly string[]): Promise<StoredAccount[]>
  /** `from`: only while its secrets are still these, sealed; null otherwise, as when it is unknown. */
  update(
    tenantId: string,
    id: string,
    changes: Partial<Omit<StoredAccount, 'id' | 'tenantId' | 'createdAt' | 'updatedAt'>>,
    from?: Pick<StoredAccount, 'sealedSecrets'>,
  ): Promise<StoredAccount | null>
  /** `from`: only when it has one of these statuses now. Audited. False when nothing changed. */
  setStatus(
    id: string,
    status: AccountStatus,
    reason: string | null,
    actor: string,
    from?: readonly AccountStatus[],
  ): Promise<boolean>
  /** False when it is unknown; refuses (`already_exists`) while notifications still wait on it. */
  remove(tenantId: string, id: string): Promise<boolean>
}

/** The words, per event type × channel × locale × scope. */
export interface Template {
  id: string
  tenantId: string
  eventType: string
  channel: Channel
  locale: string
  /** Only for entities of this scope, e.g. listing 10; null: for all. */
  scope: Entity | null
  subject: string | null
  body: string
  /** Liquid in its component parameters, rendered like the body. */
  providerTemplate: ProviderTemplate | null
  version: number
  isActive: boolean
  /** Changed by hand since the catalogue gave it: an import keeps it. */
  isEdited: boolean
  createdAt: number
  updatedAt: number
  updatedBy: string
}

export interface TemplateVersion {
  version: number
  subject: string | null
  body: string
  providerTemplate: ProviderTemplate | null
  isActive: boolean
  changedAt: number
  changedBy: string
}

export type NewTemplate = Pick<
  Template,
  | 'id'
  | 'tenantId'
  | 'eventType'
  | 'channel'
  | 'locale'
  | 'scope'
  | 'subject'
  | 'body'
  | 'providerTemplate'
  | 'isActive'
>

export interface TemplateStore {
  /** Null when there is one for the same event type, channel, locale and scope. Audited, as every change below. */
  insert(template: NewTemplate, actor: string): Promise<Template | null>
  find(tenantId: string, id: string): Promise<Template | null>
  /** By event type, channel, locale and scope. */
  list(tenantId: string, filter: TemplateFilter, page: Page): Promise<PageOf<Template>>
  /** All of one event type, for planning. */
  ofEventType(tenantId: string, eventType: string): Promise<Template[]>
  /**
   * A new version, marked as edited. Null when unknown; `taken` when another has the same place; `stale`, and nothing
   * changed, when `version` is given and is not the one it has.
   */
  update(
    tenantId: string,
    id: string,
    changes: Partial<Omit<NewTemplate, 'id' | 'tenantId'>>,
    actor: string,
    version?: number,
  ): Promise<Template | 'taken' | 'stale' | null>
  /** Removes one that no notification was made from; another is deactivated. Null when unknown. */
  remove(tenantId: string, id: string, actor: string): Promise<'removed' | Template | null>
  /** Newest first. */
  versions(tenantId: string, id: string): Promise<TemplateVersion[]>
  /** Remembers that notifications were made from these, so that `remove` deactivates them. Repeating changes nothing. */
  markUsed(ids: readonly string[]): Promise<void>
}

export interface TemplateFilter {
  eventType?: string
  channel?: Channel
  locale?: string
  isActive?: boolean
}

export interface CatalogueStore {
  /**
   * Replaces the tenant's catalogue. Templates it brings: new ones are added, those nobody edited are brought up to
   * date, edited ones are kept and named in `kept`. Templates it does not name stay. `document` is kept as the version.
   */
  replace(
    tenantId: string,
    catalogue: Catalogue,
    source: { document: string; actor: string; newId: () => string },
  ): Promise<{ version: number; kept: Template[] }>
  /** What the current version says beside its event types; null before the first import. */
  current(tenantId: string): Promise<StoredCatalogue | null>
  /** Newest first, at most 100. */
  versions(tenantId: string): Promise<Omit<StoredCatalogue, 'document'>[]>
  version(tenantId: string, version: number): Promise<StoredCatalogue | null>
  eventType(tenantId: string, name: string): Promise<EventType | null>
  eventTypes(tenantId: string): Promise<EventType[]>
  /** Types that name this one in `cancelledBy`. */
  cancelledBy(tenantId: string, eventType: string): Promise<string[]>
  entities(tenantId: string): Promise<Record<string, string>>
}

export interface StoredCatalogue {
  version: number
  name: string
  defaultLocale: string
  /** As it was given: YAML or JSON. */
  document: string
  importedBy: string
  importedAt: number
}

// ── people ───────────────────────────────────────────────────────────────────────────────────────────────────────

export interface PeopleStore {
  /**
   * Finds or creates the contact of each request, and its conversation where one is asked for. Profile id first, then
   * user id, phone, email; what the request knows and the contact does not is added. When identifiers of one request
   * meet two contacts, the younger is merged into the older, unless both have a profile id of their own, or a user id and
   * only a phone or an email in common (`model/contact.ts`). A request without any identifier has no contact. Answers in
   * the given order; requests that name the same person get the same contact, also from two processes at once.
   */
  resolve(requests: readonly PersonRequest[], newId: () => string): Promise<Person[]>
  findContact(tenantId: string, id: string): Promise<Contact | null>
  /** Newest first. `q`: exactly a profile id, user id, phone or email, or the beginning of a name. */
  listContacts(tenantId: string, filter: { q?: string }, page: Page): Promise<PageOf<Contact>>
  /** `taken` when another contact has one of the identifiers. */
  insertContact(contact: NewContact, actor: string): Promise<Contact | 'taken'>
  /** `stale`, and nothing changed, when `version` is given and is not the one it has. */
  updateContact(
    tenantId: string,
    id: string,
    changes: Partial<Omit<NewContact, 'id' | 'tenantId'>>,
    actor: string,
    version?: number,
  ): Promise<Contact | 'taken' | 'stale' | null>
  /** The ledger keeps its addresses; the contact and its identifiers go. */
  removeContact(tenantId: string, id: string, actor: string): Promise<boolean>
  findConversation(tenantId: string, id: string): Promise<Conversation | null>
  /** Newest first. */
  listConversations(
    tenantId: string,
    filter: { contactId?: string; status?: ConversationStatus; context?: Entity },
    page: Page,
  ): Promise<PageOf<Conversation>>
  /** Rejects with `already_exists` when it is to be opened again and another one has taken its place. */
  setConversationStatus(
    tenantId: string,
    id: string,
    status: ConversationStatus,
    actor: string,
  ): Promise<Conversation | null>
}

/** Identifiers are normalised already: E.164, folded email. */
export interface PersonRequest {
  tenantId: string
  /** A contact that is known: nothing is looked for or created; a contact that is gone answers null. */
  contactId?: string
  profileId?: string
  userId?: string
  phone?: string
  email?: string
  name?: string
  locale?: string
  /** What the exchange is about; null: no conversation. */
  conversation: Entity | null
}

export interface Person {
  contact: Contact | null
  conversationId: string | null
}

export interface Contact {
  id: string
  tenantId: string
  profileId: string | null
  userId: string | null
  name: string | null
  phone: string | null
  email: string | null
  locale: string | null
  /** One more with every change, also of what planning learns. */
  version: number
  createdAt: number
  updatedAt: number
}
export type NewContact = Omit<Contact, 'version' | 'createdAt' | 'updatedAt'>

export const CONVERSATION_STATUSES = ['open', 'snoozed', 'closed'] as const
export type ConversationStatus = (typeof CONVERSATION_STATUSES)[number]

export interface Conversation {
  id: string
  tenantId: string
  contactId: string
  context: Entity
  status: ConversationStatus
  createdAt: number
  updatedAt: number
}

export interface ListStore {
  /** False when the name is taken. */
  insert(
    list: { id: string; tenantId: string; name: string; members: readonly ListMember[] },
    actor: string,
  ): Promise<boolean>
  /** Replaces the name and, where given, the members. `taken` when another list has the name. */
  update(
    tenantId: string,
    id: string,
    changes: { name?: string; members?: readonly ListMember[] },
    actor: string,
  ): Promise<RecipientList | 'taken' | null>
  /** Adds members that are not on it yet (by email, in either case, and phone). Answers how many were added; null when unknown. */
  addMembers(tenantId: string, id: string, members: readonly ListMember[], actor: string): Promise<number | null>
  remove(tenantId: string, id: string, actor: string): Promise<boolean>
  find(tenantId: string, id: string): Promise<RecipientList | null>
  findByName(tenantId: string, name: string): Promise<RecipientList | null>
  list(tenantId: string, page: Page): Promise<PageOf<RecipientList>>
  /** In a fixed order, from behind `after`; `next` is null at the end. */
  members(
    tenantId: string,
    listId: string,
    after: string | null,
    limit: number,
  ): Promise<{ members: (ListMember & { id: string })[]; next: string | null }>
}

export interface ListMember {
  name: string | null
  email: string | null
  phone: string | null
}

export interface RecipientList {
  id: string
  tenantId: string
  name: string
  memberCount: number
  createdAt: number
  updatedAt: number
}

/** What is true of the whole installation. */
export interface InstanceStore {
  /** Writes the value if the name has none yet. Answers what it has now: of several processes at once, all get the same. */
  settle(name: string, value: string): Promise<string>
  read(name: string): Promise<string | null>
  /** Puts `to` in the place of `from`; false when it was something else. */
  change(name: string, from: string, to: string): Promise<boolean>
}

// ── what is sealed ───────────────────────────────────────────────────────────────────────────────────────────────

/** Every table that holds texts sealed under the master key. */
export const SEALED_TABLES = ['accounts', 'notifications', 'events', 'inbox_messages'] as const
export type SealedTable = (typeof SEALED_TABLES)[number]

/** What a rotation of the master key goes through, and which processes have which keys meanwhile. */
export interface SealedStore {
  /**
   * Looks at the next `limit` rows behind `after` that may hold something sealed, in a fixed order. Answers those that
   * do: of events every one, of the other tables those whose text does not begin with `except`.
   */
  look(table: SealedTable, after: string | null, limit: number, except: string): Promise<SealedStretch>
  /**
   * Puts new texts in place of old ones, where the row still holds exactly the old one and nobody is changing it at this
   * moment. Answers how many it replaced.
   */
  replace(table: SealedTable, changes: readonly SealedChange[]): Promise<number>
  /** Says, and says again, that a process runs and which keys it has. */
  announce(holder: KeyHolder): Promise<void>
  /** It runs no longer. */
  leave(id: string): Promise<void>
  /** In the order of host and pid. Whoever was killed stays on the list, silent, for a day. */
  holders(): Promise<(KeyHolder & { silentForMs: number })[]>
}

export interface SealedStretch {
  rows: SealedRow[]
  looked: number
  /** Where the next stretch begins; null: that was the last. */
  next: string | null
}

export interface SealedRow {
  tenantId: string
  id: string
  /** The sealed text; of a notification its content, of an event its payload, as the JSON it is stored as. */
  text: string
}

export interface SealedChange {
  tenantId: string
  id: string
  before: string
  after: string
}

/** A process that seals and opens. */
export interface KeyHolder {
  id: string
  host: string
  pid: number
  /** What it does, for people: `api`, `worker`, … */
  part: string
  /** The master keys it has. */
  keyIds: string[]
  /** The one it seals under; null: it has just begun and has sealed nothing yet. */
  sealsUnder: string | null
}

// ── wake-ups ─────────────────────────────────────────────────────────────────────────────────────────────────────

export type WakeTopic = 'events' | 'dispatch' | 'receipts' | 'inbox'

/** A hint across processes, never a guarantee: polling alone is correct. */
export interface WakeStore {
  /** Tells other processes, rate-limited, never inside anybody's transaction. Does not wait, never rejects. */
  notify(topic: WakeTopic): void
  /** Calls back on hints from other processes; the answer unsubscribes. */
  subscribe(listener: (topic: WakeTopic) => void): () => void
}
