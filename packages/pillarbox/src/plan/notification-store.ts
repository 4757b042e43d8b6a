import type { Channel } from '../model/channel.ts'
import type {
  Action,
  AttemptView,
  AuditView,
  Content,
  ListedNotification,
  NewNotification,
  NotificationStatus,
  NotificationView,
  SealedContent,
  Warning,
} from '../model/notification.ts'
import type { ItemRef } from '../model/operation.ts'
import type { Page, PageOf } from '../model/page.ts'
import type { Reason } from '../model/reason.ts'
import type { Address } from '../model/recipient.ts'

export interface NotificationStore {
  /** Writes ledger and dispatch rows; a repeated (tenant, key) answers the first one's id and writes nothing. */
  insert(notifications: readonly NewNotification[]): Promise<{ id: string; duplicate: boolean }[]>
  /**
   * Writes what somebody has sent by hand, with an audit row for each. Their keys are new. False, and nothing is written:
   * it was part of an operation that does not run any more, or has done it, or whose notification has moved.
   */
  insertByHand(
    notifications: readonly NewNotification[],
    act: { actor: string; action: 'resend' | 'test_send'; note?: string; item?: RepeatedItem },
  ): Promise<boolean>
  find(tenantId: string | null, id: string): Promise<NotificationView | null>
  /** Reads no words: a page of long mails costs what a page of short ones does. */
  list(filter: NotificationFilter, page: Page): Promise<PageOf<ListedNotification>>
  attempts(notificationId: string): Promise<AttemptView[]>
  /** Oldest first; attempts appear as `attempt` rows followed by the transition they led to. */
  audit(notificationId: string): Promise<AuditView[]>
  /**
   * Moves a notification by hand, with its audit row. Null: no such notification of that tenant. Retrying an
   * `uncertain` one sets `possibleDuplicate`: the call in doubt may have arrived. Where its schedule failed because nobody
   * could be told, and this one is sent now, or another in its place, the schedule is completed, as after a replay.
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
  accountId: string | null
  /** Not moved because this one has the key that the replacement would have: it was told in another way meanwhile. */
  twin?: string
  /** Not moved because the item of its operation says otherwise; what is wrong is written there. */
  isPassedOver?: boolean
}

/** The item of an operation for which a notification is sent once more. */
export interface RepeatedItem extends ItemRef {
  notificationId: string
}

export interface ActRequest {
  tenantId: string
  id: string
  action: Action
  actor: string
  /** Why, in the actor's own words. */
  note?: string
  /** As part of an operation: moves it only where the item has no outcome yet and it stands where it stood; then writes that. */
  item?: ItemRef
  /** For a retry: send it though its address is suppressed. */
  overridesSuppression?: boolean
  /** For a retry that nobody asked for: what has expired stays where it is, and what has not keeps its expiry. */
  keepsExpiry?: boolean
  /** For a retry of one that is skipped: what stands in the way now. It stays skipped, for that reason. */
  obstacle?: { reason: Reason; error: string }
  /** For a discard: what is sent in its place, to a corrected address. Written in the same commit. */
  correction?: NewNotification
  /** For a retry of one that never had an account or content, or in other words: what planning answers now. */
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
  /** What all that stopped by one cause have in common. */
  fingerprint?: string
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
  /** What `q` is sealed to, should it be a device token. */
  sealedToken?: string
}
