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
