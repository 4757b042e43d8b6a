import type { Parameter, SyncTransaction, Transaction } from '../transaction.ts'

/** The `sql` tag that drizzle-orm exports. */
export type DrizzleSqlTag = (strings: TemplateStringsArray, ...values: unknown[]) => unknown

/** What is needed of a Drizzle transaction over PostgreSQL, whatever the driver. */
export interface DrizzlePostgresTransaction {
  execute(query: unknown): PromiseLike<unknown>
}

/** What is needed of a Drizzle transaction over SQLite. better-sqlite3 answers at once, other drivers later. */
export interface DrizzleSqliteTransaction {
  run(query: unknown): unknown
  /** The driver's own database, which better-sqlite3 lets tell whether it is in a transaction. */
  readonly $client?: unknown
}

/**
 * The transaction of Drizzle: `fromDrizzle(tx, sql)` inside `db.transaction((tx) => …)`, `sql` being drizzle-orm's own
 * tag, which this package cannot import. Over better-sqlite3 the callback must be synchronous: use `publishSync`.
 */
export function fromDrizzle(tx: DrizzlePostgresTransaction, sql: DrizzleSqlTag): Transaction
export function fromDrizzle(tx: DrizzleSqliteTransaction, sql: DrizzleSqlTag): SyncTransaction
export function fromDrizzle(
  tx: DrizzlePostgresTransaction | DrizzleSqliteTransaction,
  sql: DrizzleSqlTag,
): Transaction {
  if ('execute' in tx) {
    return {
      engine: 'postgres',
      run: (text, parameters) => tx.execute(tagged(sql, text, parameters)),
      inTransaction: () => 'rollback' in tx, // a transaction can be rolled back, a database cannot
    }
  }
  const sync: SyncTransaction = {
    engine: 'sqlite',
    isSync: true,
    run: (text, parameters) => tx.run(tagged(sql, text, parameters)),
    inTransaction: () => 'rollback' in tx || (tx.$client as { inTransaction?: boolean } | undefined)?.inTransaction,
  }
  return sync
}

/** Calls the tag as a template literal would: the text between the placeholders, then the values. */
function tagged(sql: DrizzleSqlTag, text: string, parameters: readonly Parameter[]): unknown {
  const strings = text.split(/\$\d+|\?/)
  return sql(Object.assign(strings, { raw: strings }), ...parameters)
}
