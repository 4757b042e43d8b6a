/** Every table that may hold device tokens from before they were sealed. */
export const CLEAR_TOKEN_TABLES = ['suppressions', 'notifications', 'events'] as const

export type ClearTokenTable = (typeof CLEAR_TOKEN_TABLES)[number]

/** What is gone through once, to seal device tokens that an earlier version wrote in clear. */
export interface ClearTokenStore {
  /**
   * Looks at the next `limit` rows behind `after`, in a fixed order, and answers those that may hold a token which does not
   * begin with `sealed`; of events those of these `types`.
   */
  look(table: ClearTokenTable, after: string | null, limit: number, given: ClearTokenHints): Promise<ClearTokenStretch>
  /**
   * Puts new texts in place of those that were seen; a row that somebody has changed since, or is changing, is left alone.
   * A ban that is there sealed already makes the one in clear go. Answers how many rows hold no clear token any more.
   */
  replace(table: ClearTokenTable, changes: readonly ClearTokenChange[]): Promise<number>
}

export interface ClearTokenHints {
  sealed: string
  types: readonly { tenantId: string; type: string }[]
}

export interface ClearTokenStretch {
  rows: ClearTokenRow[]
  /** Where the next stretch begins; null: that was the last. */
  next: string | null
}

export interface ClearTokenRow {
  tenantId: string
  id: string
  /** Of a suppression its address, of a notification its recipient, of an event its payload, the last two as JSON. */
  text: string
  /** Of a notification its idempotency key, of an event its type. */
  name: string
  /** Of a notification. */
  channel: string
}

export interface ClearTokenChange {
  tenantId: string
  id: string
  before: string
  after: string
  /** Of a notification: what it is sent to, and its key, with another should that be taken. */
  address?: string | null
  key?: string
  spareKey?: string
}
