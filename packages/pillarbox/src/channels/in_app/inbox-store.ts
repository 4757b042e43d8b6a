import type { InboxChange, InboxMessage } from '../../model/inbox.ts'
import type { Page, PageOf } from '../../model/page.ts'

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
