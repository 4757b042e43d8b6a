import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { PrismaPg } from '@prisma/adapter-pg'

/** What both a Prisma client and its interactive transactions can do; the part of the generated type tests need. */
export type PrismaSession = {
  $executeRawUnsafe(sql: string, ...values: unknown[]): Promise<number>
  $queryRawUnsafe<T>(sql: string, ...values: unknown[]): Promise<T>
  booking: {
    create(row: { data: { id: string; guest: string } }): Promise<unknown>
    count(): Promise<number>
  }
}

export type Prisma = PrismaSession & {
  $transaction<T>(run: (transaction: PrismaSession) => Promise<T>): Promise<T>
  $disconnect(): Promise<void>
}

/**
 * Generates the client of `schema.prisma` and connects it. The generated files are no part of the repository, so they
 * are imported by a path that the type checker does not follow. One test file at a time may use this.
 */
export async function openPrisma(url: string): Promise<Prisma> {
  const { dirname } = import.meta
  await promisify(execFile)('prisma', ['generate', '--config', path.join(dirname, 'prisma.config.ts')])
  const generated = path.join(dirname, 'generated/client.ts')
  const { PrismaClient } = (await import(generated)) as { PrismaClient: new (options: object) => Prisma }
  return new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) })
}
