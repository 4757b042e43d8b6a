import type { Account, AccountStatus, Pace } from '../model/account.ts'
import type { Catalogue, EventType } from '../model/catalogue.ts'
import type { Channel } from '../model/channel.ts'
import type { Entity, EventStatus, NewEvent, ScheduleStatus, StoredEvent } from '../model/event.ts'
import type { Action, NotificationStatus } from '../model/notification.ts'
import type { OutcomeKind } from '../model/outcome.ts'
import type { Reason, StoredReason } from '../model/reason.ts'
import type { ReceiptKind } from '../model/receipt.ts'
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
  readonly lanes: LaneStore
  readonly workers: WorkerStore
  readonly tenants: TenantStore
  readonly keys: KeyStore
  readonly accounts: AccountStore
  readonly catalogue: CatalogueStore
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
   * Takes up to `limit` pending, due events, oldest first, skipping those another process holds, asks `plan` for each,
   * and writes what it answers, all in one transaction. `plan` is synchronous and must not throw.
   * Rejects, with nothing written, when a row is refused: the planner then goes one by one.
   */
  events(limit: number, plan: (event: StoredEvent) => EventPlan): Promise<Planned>
  /** The same for schedules whose time has come. */
  schedules(limit: number, plan: (schedule: StoredSchedule, event: StoredEvent) => SchedulePlan): Promise<Planned>
  /** An event whose planning was refused: tried again after `delayMs`, or `failed` when that is null. */
  deferEvent(ref: EventRef, error: string, delayMs: number | null): Promise<void>
  deferSchedule(ref: ScheduleRef, error: string, delayMs: number | null): Promise<void>
}

export interface EventRef {
  tenantId: string
  id: string
}
export interface ScheduleRef {
  tenantId: string
  id: string
}

/** What an event becomes. */
export type EventPlan =
  /** What the planner needs is not loaded yet: left as it is, not counted as an attempt. */
  | { kind: 'later' }
  | { kind: 'failed'; reason: Reason; error: string }
  /** Due later: a pending schedule. */
  | { kind: 'schedule'; scheduleId: string; dueAt: number }
  /** Due now: a schedule already completed, and its notifications. */
  | { kind: 'notifications'; scheduleId: string; notifications: NewNotification[] }

export type SchedulePlan =
  | { kind: 'later' }
  | { kind: 'failed'; reason: Reason; error: string }
  | { kind: 'cancelled'; reason: Reason; error: string }
  | { kind: 'notifications'; notifications: NewNotification[] }

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
}

// ── notifications ────────────────────────────────────────────────────────────────────────────────────────────────

export interface Content {
  subject: string | null
  body: string
  data: Record<string, unknown>
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
  /** Null only when `parked` says why there is none. */
  content: Content | null
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

export interface NotificationStore {
  /** Writes ledger and dispatch rows; a repeated (tenant, key) answers the first one's id and writes nothing. */
  insert(notifications: readonly NewNotification[]): Promise<{ id: string; duplicate: boolean }[]>
  find(tenantId: string | null, id: string): Promise<NotificationView | null>
  list(filter: NotificationFilter, page: Page): Promise<PageOf<NotificationView>>
  attempts(notificationId: string): Promise<AttemptView[]>
  /** Oldest first; attempts appear as `attempt` rows followed by the transition they led to. */
  audit(notificationId: string): Promise<AuditView[]>
  schedule(tenantId: string, id: string): Promise<StoredSchedule | null>
  /**
   * Moves a notification by hand, with its audit row. Null: no such notification of that tenant. Retrying an
   * `uncertain` one sets `possibleDuplicate`: the call in doubt may have arrived.
   */
  act(request: ActRequest): Promise<{ moved: boolean; from: NotificationStatus; laneId: string | null } | null>
  /** How long the event or notification that is due and waits longest has been due; null when nothing is. */
  oldestDueMs(): Promise<number | null>
  /** Sum per status, for the conservation check. Counts the whole ledger. */
  countByStatus(tenantId: string | null): Promise<Record<NotificationStatus, number>>
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
    content: Content
    templateId: string | null
    templateVersion: number | null
  }
}

export interface NotificationView extends Omit<NewNotification, 'parked'> {
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
  eventType?: string
  entityType?: string
  entityId?: string
  site?: string
  accountId?: string
  reason?: string
  possibleDuplicate?: boolean
  triggeredBy?: string
  /** Live, and due for longer than this. */
  stuckForMs?: number
  /** Sent longer ago than this, and no receipt since. */
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
  /** Accounts with due, unclaimed work that are not on hold, the longest-waiting first. */
  dueLanes(channels: readonly Channel[] | null, limit: number): Promise<DueLane[]>
  /**
   * Claims up to `limit` due rows of each lane, oldest first: `sending`, attempt + 1, a token never used before, this
   * worker. Two workers never get the same row. A lane on hold or with an open breaker gives nothing, unless `probe`.
   * `fenced` when this worker has been declared dead: it then claims nothing and must register anew.
   */
  claim(workerId: string, lanes: readonly { laneId: string; limit: number; probe?: boolean }[]): Promise<ClaimAnswer>
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
  content: Content
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
  /** How long ago the call began, and how long it took. */
  ageMs: number
  durationMs: number
  to: 'sent' | 'retrying' | 'parked' | 'uncertain' | 'failed' | 'cancelled'
  reason: StoredReason | null
  /** For `retrying`: visible again after this. */
  delayMs: number
  /** The new count of attempts that counted. */
  spent: number
  possibleDuplicate: boolean
  /** For `failed` by fallback: the notification that takes over. */
  next: NewNotification | null
}

// ── receipts ─────────────────────────────────────────────────────────────────────────────────────────────────────

export interface ReceiptStore {
  /**
   * Keeps a receipt and moves its notification if the receipt outranks where it stands, with its audit row.
   * `waiting`: no accepted attempt of the tenant has that message id yet, or the notification is being sent (again);
   * it is kept, and `match` applies it later. `repeated`: heard before, changes nothing. `kept`: nothing moved.
   */
  merge(receipt: NewReceipt): Promise<'moved' | 'kept' | 'repeated' | 'waiting'>
  /** Applies receipts that had to wait, oldest first. Answers how many it applied. */
  match(limit: number): Promise<number>
  list(notificationId: string): Promise<ReceiptView[]>
}

export interface NewReceipt {
  tenantId: string
  provider: string
  providerMessageId: string
  kind: ReceiptKind
  /** When it happened, by the provider's account. */
  at: number
}

export interface ReceiptView {
  kind: ReceiptKind
  at: number
  receivedAt: number
  provider: string
  providerMessageId: string
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
  update(
    tenantId: string,
    id: string,
    changes: Partial<Omit<StoredAccount, 'id' | 'tenantId' | 'createdAt' | 'updatedAt'>>,
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

export interface Template {
  id: string
  tenantId: string
  eventType: string
  channel: Channel
  locale: string
  subject: string | null
  body: string
  version: number
  isActive: boolean
}

export interface CatalogueStore {
  /** Replaces the tenant's event types and entities; adds new templates, updates those whose text changed. */
  replace(tenantId: string, catalogue: Catalogue, newId: () => string): Promise<{ version: number }>
  eventType(tenantId: string, name: string): Promise<EventType | null>
  eventTypes(tenantId: string): Promise<EventType[]>
  templates(tenantId: string, eventType: string): Promise<Template[]>
  entities(tenantId: string): Promise<Record<string, string>>
}

// ── wake-ups ─────────────────────────────────────────────────────────────────────────────────────────────────────

export type WakeTopic = 'events' | 'dispatch'

/** A hint across processes, never a guarantee: polling alone is correct. */
export interface WakeStore {
  /** Tells other processes, rate-limited, never inside anybody's transaction. Does not wait, never rejects. */
  notify(topic: WakeTopic): void
  /** Calls back on hints from other processes; the answer unsubscribes. */
  subscribe(listener: (topic: WakeTopic) => void): () => void
}
