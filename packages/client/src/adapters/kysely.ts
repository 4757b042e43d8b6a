import type { Transaction } from '../transaction.ts'

/** What is needed of Kysely: the `trx` of `db.transaction().execute(async (trx) => …)`. */
export interface KyselyTransaction {
  readonly isTransaction: boolean
  executeQuery(query: KyselyCompiledQuery): Promise<unknown>
}

/** Kysely's own `CompiledQuery`, as its `CompiledQuery.raw` makes it. */
export interface KyselyCompiledQuery {
  readonly sql: string
  readonly parameters: readonly unknown[]
  readonly query: {
    readonly kind: 'RawNode'
    readonly sqlFragments: readonly string[]
    readonly parameters: readonly never[]
  }
  readonly queryId: { readonly queryId: string }
}

/** The transaction of Kysely; say `'sqlite'` where its dialect is one for SQLite. */
export function fromKysely(trx: KyselyTransaction, engine: Transaction['engine'] = 'postgres'): Transaction {
  return {
    engine,
    run: (sql, parameters) =>
      trx.executeQuery({
        sql,
        parameters: [...parameters],
        query: { kind: 'RawNode', sqlFragments: [sql], parameters: [] },
        // Kysely only compares it, to tell its plugins which result belongs to which query: none of ours needs that.
        queryId: { queryId: 'pillarbox' },
      }),
    inTransaction: () => trx.isTransaction,
  }
}
