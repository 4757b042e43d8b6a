import type { Transaction } from '../transaction.ts'

/** What is needed of postgres.js: the `sql` that `sql.begin(async (sql) => …)` hands to its callback. */
export interface PostgresJsSql {
  unsafe(query: string, parameters: (string | number | null)[]): PromiseLike<unknown>
}

/** The transaction of postgres.js. The outer `sql`, which is a pool, is good for `nudge` only. */
export function fromPostgresJs(sql: PostgresJsSql): Transaction {
  return {
    engine: 'postgres',
    run: (text, parameters) => sql.unsafe(text, [...parameters]),
    inTransaction: () => {
      if ('savepoint' in sql) return true // only inside begin()
      return 'release' in sql ? undefined : false // a reserved connection may have begun by hand
    },
  }
}
