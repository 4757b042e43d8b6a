import type { SyncTransaction } from '../transaction.ts'

/** What is needed of a better-sqlite3 `Database`. */
export interface BetterSqlite3Database {
  prepare(sql: string): { run(...parameters: unknown[]): unknown }
  readonly inTransaction: boolean
}

/** The transaction of better-sqlite3: inside a `db.transaction(() => …)` callback, with `publishSync`. */
export function fromBetterSqlite3(db: BetterSqlite3Database): SyncTransaction {
  return {
    engine: 'sqlite',
    isSync: true,
    run: (sql, parameters) => db.prepare(sql).run(...parameters),
    inTransaction: () => db.inTransaction,
  }
}
