import { after } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { type FreshDatabase, freshDatabase } from '../../../../../test/postgres/database.ts'
import type { Clock, Logger } from '../../model/ports.ts'
import { type OpenStore, storeConformance } from '../conformance/index.ts'
import { openPostgres } from './open.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

const clock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) => wait(ms, undefined, signal === undefined ? {} : { signal }).catch(() => {}),
}

/** Migrated databases that no rule is using: emptying one is several times as fast as making one. */
const spare: FreshDatabase[] = []

async function migratedDatabase(): Promise<FreshDatabase> {
  const database = await freshDatabase()
  const store = await openPostgres({ url: database.url, clock, logger: silent })
  await store.migrate()
  await store.close()
  return database
}

async function empty({ url }: FreshDatabase): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    // Of few rows in many tables, deleting is several times as fast as truncating, which makes new files for each.
    const { rows } = await client.query<{ deletes: string }>(
      `select string_agg(format('delete from pillarbox.%I', tablename), '; ') as deletes from pg_tables
        where schemaname = 'pillarbox' and tablename <> 'schema_versions'`,
    )
    await client.query(`set session_replication_role = replica; ${rows[0]?.deletes}`)
  } finally {
    await client.end()
  }
}

async function openEmpty(prepare: boolean): Promise<OpenStore> {
  const database = spare.pop() ?? (await migratedDatabase())
  const open = () => openPostgres({ url: database.url, clock, logger: silent, prepare })
  const store = await open()
  const opened = [store]
  return {
    store,
    advance: (ms) => wait(ms),
    another: async () => {
      const other = await open()
      opened.push(other)
      return other
    },
    close: async () => {
      await Promise.all(opened.map((each) => each.close()))
      await empty(database)
      spare.push(database)
    },
  }
}

after(async () => {
  await Promise.all(spare.map((database) => database.drop()))
})

storeConformance('postgres', () => openEmpty(true))
storeConformance('postgres behind a pooler', () => openEmpty(false), {}, { modelRuns: 3 })
