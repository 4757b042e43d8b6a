import type { CallbackResult, CallbackStatus, ListedCallback, NewCallback, StoredCallback } from '../model/callback.ts'
import type { EndedChain, NotificationView, Takeover } from '../model/notification.ts'
import type { Page, PageOf } from '../model/page.ts'
import type { ReceiptFailure, ReceiptKind, ReceiptView } from '../model/receipt.ts'

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
  /** Of these accounts, those that a callback asks somebody to do something about: what the newest one asks. */
  notes(accountIds: readonly string[]): Promise<Map<string, string>>
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
  next: Takeover | null
  /** Where nobody does: what says so of each channel of its chain, which ends with it. */
  skipped?: EndedChain['skipped']
}
