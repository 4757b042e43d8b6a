import type { Transaction } from '../transaction.ts'

/** What is needed of Prisma: the `tx` of `prisma.$transaction(async (tx) => …)`. */
export interface PrismaTransaction {
  $executeRawUnsafe(sql: string, ...parameters: unknown[]): PromiseLike<unknown>
}

/**
 * The interactive transaction of Prisma; say `'sqlite'` where the datasource is SQLite. "Unsafe" is Prisma's word for a
 * statement that is not a template literal: ours is fixed text, and every value is a bound parameter.
 */
export function fromPrisma(tx: PrismaTransaction, engine: Transaction['engine'] = 'postgres'): Transaction {
  return { engine, run: (sql, parameters) => tx.$executeRawUnsafe(sql, ...parameters) }
}
