/** What is bound: text, whole numbers and null are all that every driver hands over unchanged. */
export type Parameter = string | number | null

/**
 * The host's open transaction, as far as this package needs it. An adapter makes one from what the host's library
 * gives it (`fromPg`, `fromKysely`, …); a library without an adapter needs these two members and nothing more.
 */
export interface Transaction {
  readonly engine: 'postgres' | 'sqlite'
  /** Runs one statement: `$1`, `$2`, … on PostgreSQL and `?` on SQLite, each parameter once and in order. */
  run(sql: string, parameters: readonly Parameter[]): unknown
  /** Whether a transaction is open; undefined, or no such method, where the library does not tell. */
  inTransaction?(): boolean | undefined
}

/** A transaction whose `run` is done when it returns, as the synchronous SQLite libraries have it. */
export interface SyncTransaction extends Transaction {
  readonly engine: 'sqlite'
  readonly isSync: true
}

/**
 * Thrown instead of writing an event that would not be part of any transaction of the host: on a pool, or before
 * `begin`. Such an event would stay when the change it speaks of is rolled back.
 */
export class NotInTransactionError extends Error {
  override readonly name = 'NotInTransactionError'
  readonly code = 'not_in_transaction'

  constructor() {
    super('publish() needs the object that runs your open transaction: this one has none open, or is a pool')
  }
}
