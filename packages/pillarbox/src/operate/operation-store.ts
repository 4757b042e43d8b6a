import type { StoppedCause } from '../model/cause.ts'
import type { Channel } from '../model/channel.ts'
import type { NotificationStatus } from '../model/notification.ts'
import type {
  BulkAction,
  BulkOptions,
  ItemOutcome,
  ItemRef,
  Operation,
  OperationItem,
  OperationStatus,
  Stand,
} from '../model/operation.ts'
import type { Page, PageOf } from '../model/page.ts'
import type { NotificationFilter } from '../plan/notification-store.ts'

/** Why notifications stopped, and acts on very many of them. */
export interface OperationStore {
  /** The commonest causes among the newest `mostRows` that stopped. `isWhole`: there are no more of either. */
  causes(
    filter: NotificationFilter,
    limits: { mostRows: number; limit: number },
  ): Promise<{ causes: StoppedCause[]; isWhole: boolean }>
  /** Gives a fingerprint to what stopped before there were any; answers how many got one. */
  printStopped(limit: number): Promise<number>

  /** What somebody chooses from, newest first. */
  candidates(filter: NotificationFilter & { tenantId: string }, page: Page): Promise<PageOf<Candidate>>
  /** The same by id; those that are not the tenant's are left out. */
  candidatesById(tenantId: string, ids: readonly string[]): Promise<Candidate[]>
  /** Begins a preview; null: the tenant has `most` that have not expired. */
  beginPreview(preview: NewPreview, limits: { most: number; lifeMs: number }): Promise<{ expiresAt: number } | null>
  /** Adds to what was chosen, behind what is there. */
  addItems(operationId: string, items: readonly ChosenItem[]): Promise<void>
  /** From now on it can be started; null: it was given up, and expires. */
  endPreview(operationId: string, total: number | null): Promise<void>
  /** Takes items of previews that expired, and in the end the previews; answers how many rows went. */
  dropPreviews(limits: { rows: number; rememberMs: number }): Promise<number>

  /** Starts what was previewed, audited. What was started before is answered as it is. Null: no such preview. */
  start(request: StartRequest): Promise<{ operation: Operation } | { expired: true } | null>
  find(tenantId: string, id: string): Promise<Operation | null>
  list(tenantId: string, filter: { status?: OperationStatus[] }, page: Page): Promise<PageOf<Operation>>
  /** In the order of their places. */
  items(operationId: string, filter: { outcome?: ItemOutcome }, page: Page): Promise<PageOf<OperationItem>>
  /**
   * pause, resume, cancel, undo; audited. Once it resolves, no item is moved any more that the operation does not let
   * through. `moved: false`: it is not where that could be asked for. Null: no such operation of that tenant.
   */
  steer(request: SteerRequest): Promise<{ moved: boolean; operation: Operation } | null>

  /**
   * The operation that has waited longest for a worker, for whoever asks alone until the lease is over; null: there is
   * none. One whose grace is over begins by this.
   */
  take(leaseMs: number): Promise<TakenOperation | null>
  /** The items behind a place, in order. */
  nextItems(
    operationId: string,
    afterPlace: number,
    limit: number,
  ): Promise<Pick<OperationItem, 'place' | 'notificationId' | 'outcome'>[]>
  /** Writes what became of an item whose act was refused; nothing where it has its outcome or the operation does not run. */
  settleItem(ref: ItemRef, settled: { outcome: ItemOutcome; why: string }): Promise<void>
  /** What was moved, or could not be, so far, in order: to be asked while that is no more than its canary. */
  canary(operationId: string): Promise<CanaryItem[]>
  /**
   * Counts the outcomes up to `position`, and gives the operation back, or keeps it. Changes nothing where another worker
   * has counted them. What was paused or cancelled meanwhile stays so.
   */
  checkpoint(request: Checkpoint): Promise<void>
}

/** A notification as somebody sees it who chooses what to do about very many. */
export interface Candidate extends Stand {
  id: string
  channel: Channel
  accountId: string | null
  fingerprint: string | null
  /** Where it is sent to, as the ledger keeps it. */
  address: string | null
  possibleDuplicate: boolean
  isScrubbed: boolean
}

export interface NewPreview {
  id: string
  tenantId: string
  action: BulkAction
  options: BulkOptions
  actor: string
  /** Unless whoever starts it says otherwise. */
  canary: number
}

export interface ChosenItem extends Stand {
  place: number
  notificationId: string
}

export interface StartRequest {
  tenantId: string
  id: string
  actor: string
  note: string | null
  perSecond: number | null
  /** Null: as it was previewed. */
  canary: number | null
  graceMs: number
}

export type SteerAction = 'pause' | 'resume' | 'cancel' | 'undo'

export interface SteerRequest {
  tenantId: string
  id: string
  action: SteerAction
  actor: string
}

export interface TakenOperation extends Operation {
  status: 'canary' | 'running'
  /** Every item up to this place has its outcome and is counted. */
  position: number
  /** How long its canary may still be waited for; null: it is not waited for yet. */
  canaryLeftMs: number | null
}

/** One of those that went first: what became of its item, and where what was sent for it stands now. */
export interface CanaryItem {
  notificationId: string
  outcome: Exclude<ItemOutcome, 'left_alone'>
  why: string | null
  status: NotificationStatus
  reason: string | null
}

export interface Checkpoint {
  operationId: string
  /** What the caller was given, and how far it has come. */
  from: number
  position: number
  /** Where it goes on; null: it stays where it is. */
  to: 'running' | 'done' | 'failed' | null
  problem?: string
  /** The caller keeps it so long; or, where it gives the operation back, nobody works on it before. */
  leaseMs: number
  /** It waits for its canary from now on, for so long. */
  canaryMs?: number
}
