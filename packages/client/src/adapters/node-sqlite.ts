import type { Parameter, SyncTransaction } from '../transaction.ts'

/** What is needed of `DatabaseSync` from `node:sqlite`. */
export interface NodeSqliteDatabase {
  prepare(sql: string): { run(...parameters: Parameter[]): unknown }
  /** Absent in older versions of Node. */
  readonly isTransaction?: boolean
}

/** The transaction of `node:sqlite`, between `db.exec('begin immediate')` and `db.exec('commit')`. */
export function fromNodeSqlite(db: NodeSqliteDatabase): SyncTransaction {
  return {
    engine: 'sqlite',
    isSync: true,
    run: (sql, parameters) => db.prepare(sql).run(...parameters),
    inTransaction: () => db.isTransaction,
  }
}
