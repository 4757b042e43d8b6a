import type { Transaction } from '../transaction.ts'

/** What is needed of Knex: the `trx` of `knex.transaction(async (trx) => …)`. */
export interface KnexTransaction {
  raw(sql: string, bindings: (string | number | null)[]): PromiseLike<unknown>
  readonly isTransaction?: boolean
  /** Knex's client; its dialect is `postgresql`, `sqlite3` or `better-sqlite3`. */
  readonly client: { readonly dialect: string }
}

/** The transaction of Knex, over PostgreSQL or SQLite as it is configured. */
export function fromKnex(trx: KnexTransaction): Transaction {
  const engine = trx.client.dialect.includes('sqlite') ? 'sqlite' : 'postgres'
  return {
    engine,
    // Knex counts question marks and writes the engine's own placeholders itself.
    run: (sql, parameters) => trx.raw(sql.replaceAll(/\$\d+/g, '?'), [...parameters]),
    inTransaction: () => trx.isTransaction === true,
  }
}
