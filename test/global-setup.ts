import { TEST_POSTGRES_VARIABLE } from './postgres/database.ts'
import { type PostgresServer, startPostgres } from './postgres/launcher.ts'

let server: PostgresServer | undefined

/**
 * Starts the one PostgreSQL server that all test files of a run share, each with databases of its own. The test
 * processes inherit its address through the environment. A server named there beforehand is used as it is.
 */
export async function globalSetup(): Promise<void> {
  if (process.env[TEST_POSTGRES_VARIABLE] !== undefined) return
  server = await startPostgres()
  process.env[TEST_POSTGRES_VARIABLE] = server.url
}

export async function globalTeardown(): Promise<void> {
  await server?.dispose()
}
