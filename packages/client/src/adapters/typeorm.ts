import type { Transaction } from '../transaction.ts'

/** What is needed of a TypeORM `QueryRunner` after `startTransaction()`. */
export interface TypeOrmQueryRunner extends TypeOrmSource {
  readonly isTransactionActive: boolean
}

/** What is needed of the `EntityManager` that `dataSource.transaction(async (manager) => …)` hands to its callback. */
export interface TypeOrmEntityManager extends TypeOrmSource {
  readonly queryRunner?: { readonly isTransactionActive: boolean } | undefined
}

/** The data source is called `connection` before TypeORM 1.0. */
export interface TypeOrmSource {
  query(sql: string, parameters: unknown[]): Promise<unknown>
  readonly dataSource?: TypeOrmDataSource
  readonly connection?: TypeOrmDataSource
}

export interface TypeOrmDataSource {
  readonly options: { readonly type: string }
}

/** The transaction of TypeORM, over PostgreSQL or SQLite as the data source says. */
export function fromTypeOrm(source: TypeOrmEntityManager | TypeOrmQueryRunner): Transaction {
  const { options } = source.dataSource ?? source.connection ?? { options: { type: 'postgres' } }
  return {
    engine: options.type.includes('sqlite') ? 'sqlite' : 'postgres',
    run: (sql, parameters) => source.query(sql, [...parameters]),
    inTransaction: () =>
      'isTransactionActive' in source ? source.isTransactionActive : source.queryRunner?.isTransactionActive === true,
  }
}
