import type { AuditEntry, AuditedAct, AuditedRow, AuditHead, AuditLink } from '../model/audit.ts'
import type { Page, PageOf } from '../model/page.ts'

export interface AuditStore {
  /** Writes down an act that changes no other row of the store. */
  record(act: RecordedAct): Promise<void>
  /**
   * Newest first. A page looks at a bounded number of rows: one of fewer entries than were asked for, or of none, may still
   * have a next one.
   */
  list(filter: AuditFilter, page: Page): Promise<PageOf<AuditEntry>>
  /** How far the audit goes now. */
  horizon(): Promise<AuditHorizon>
  /** The highest number that was taken, also by something that is still under way. */
  lastId(): Promise<number>
  /** Whether no further row up to the horizon can appear. */
  isOver(horizon: AuditHorizon): Promise<boolean>
  /**
   * Of up to `limit` chains, the rows up to the horizon that have no link yet, oldest first, with where the chain ends.
   * Null while something is under way that may still write such a row.
   */
  unchained(horizon: AuditHorizon, limit: UnchainedLimit): Promise<UnchainedStretch[] | null>
  /** Adds links to their chains, in order; one that another worker has added meanwhile is left as it is. */
  append(links: readonly AuditLink[]): Promise<void>
  /** Whose chains there are; the empty name is that of what belongs to no tenant. */
  chains(): Promise<string[]>
  /** The links of a chain behind a number, in order. */
  links(tenantId: string, after: number, limit: number): Promise<AuditLink[]>
  /** The rows of a chain with numbers above `after` and up to `upTo`, in order. */
  rows(tenantId: string, after: number, upTo: number): Promise<AuditedRow[]>
  /** Retention has removed rows of a chain that are older than this; null: it has removed none. */
  purgedBefore(tenantId: string): Promise<number | null>
  /** How many rows of a chain have higher numbers, up to a thousand. */
  countBehind(tenantId: string, after: number): Promise<number>
  /** Removes what was said about these notifications in somebody's own words. The chain stays verifiable. */
  eraseWords(tenantId: string, notificationIds: readonly string[]): Promise<number>
  readonly sink: SinkStore
}

/** How far an external sink has come. Its position is the id of the last link that was delivered. */
export interface SinkStore {
  /** Null while another holder has it. */
  take(holder: string, leaseMs: number): Promise<{ position: number } | null>
  /** The next links of all chains with their rows as people read them. */
  next(position: number, limit: number): Promise<DeliverableLink[]>
  /** False: it is another holder's by now. */
  advance(holder: string, position: number): Promise<boolean>
  /** Notes that the sink could not be fed. */
  fail(holder: string, error: string): Promise<void>
  /** Why it cannot be fed; null while it can, or nobody has tried lately. */
  trouble(): Promise<{ sinceMs: number; error: string } | null>
}

export interface DeliverableLink extends AuditLink {
  id: number
  entries: AuditEntry[]
}

export type RecordedAct = Pick<AuditedAct, 'tenantId' | 'actor' | 'action' | 'subject'> &
  Partial<Pick<AuditedAct, 'reason' | 'note' | 'before' | 'after'>>

export interface AuditFilter {
  tenantId?: string | undefined
  actor?: string | undefined
  action?: string | undefined
  notificationId?: string | undefined
  /** What an act is about, such as `key:<id>`. */
  subject?: string | undefined
  /** From this time on, and before that one. */
  from?: number | undefined
  to?: number | undefined
}

export interface AuditHorizon {
  /** The highest number that was taken. */
  upTo: number
  /** Whatever was begun before this transaction may still write rows with such numbers. */
  transaction: string
}

export interface UnchainedLimit {
  chains: number
  rowsOfEach: number
}

export interface UnchainedStretch {
  tenantId: string
  /** Null: the chain begins here. */
  head: AuditHead | null
  rows: AuditedRow[]
  /** Up to which number these are all of the chain's rows. */
  upTo: number
}
