import path from 'node:path'
import { systemClock } from '../packages/pillarbox/src/runtime/system.ts'
import { openPostgres } from '../packages/pillarbox/src/store/postgres/open.ts'
import {
  type FreshDatabase,
  freshDatabase,
  TEST_POSTGRES_VARIABLE,
  TEST_TEMPLATE_VARIABLE,
} from './support/postgres/database.ts'
import { type PostgresServer, startPostgres } from './support/postgres/launcher.ts'

/** Loading the code is most of what many test files cost; with its types stripped once, that takes half as long. */
const COMPILE_CACHE = path.resolve(import.meta.dirname, '../node_modules/.cache/pillarbox-tests')

let server: PostgresServer | undefined
let template: FreshDatabase | undefined

/**
 * Starts the one PostgreSQL server that all test files of a run share, each with databases of its own, and migrates a
 * database that they make copies of. The test processes inherit the addresses of both through the environment. A server
 * named there beforehand is used as it is. They inherit a compile cache in the same way.
 */
export async function globalSetup(): Promise<void> {
  process.env['NODE_COMPILE_CACHE'] ??= COMPILE_CACHE
  if (process.env[TEST_POSTGRES_VARIABLE] === undefined) {
    server = await startPostgres()
    process.env[TEST_POSTGRES_VARIABLE] = server.url
  }
  template = await freshDatabase()
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  const store = await openPostgres({ url: template.url, clock: systemClock, logger })
  await store.migrate()
  await store.close()
  process.env[TEST_TEMPLATE_VARIABLE] = new URL(template.url).pathname.slice(1)
}

export async function globalTeardown(): Promise<void> {
  if (server === undefined) await template?.drop()
  await server?.dispose()
}
