import type { Transaction } from '../transaction.ts'

/** What is needed of node-postgres: a `Client`, or the client a `Pool` lent out. */
export interface PgClient {
  query(text: string, values: unknown[]): Promise<unknown>
  /** `I` idle, `T` in a transaction, `E` in a failed one; absent in older versions. */
  getTransactionStatus?(): string | null
}

/** The transaction of a node-postgres client, between its `begin` and its `commit`. A pool is good for `nudge` only. */
export function fromPg(client: PgClient): Transaction {
  return {
    engine: 'postgres',
    run: (sql, parameters) => client.query(sql, [...parameters]),
    inTransaction: () => {
      if ('totalCount' in client) return false // only a Pool counts its clients
      const status = client.getTransactionStatus?.() ?? null
      return status === null ? undefined : status !== 'I'
    },
  }
}
