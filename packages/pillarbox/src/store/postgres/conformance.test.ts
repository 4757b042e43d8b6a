import { after } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { type OpenStore, storeConformance } from '../../../../../test/conformance/index.ts'
import { type FreshDatabase, migratedDatabase } from '../../../../../test/support/postgres/database.ts'
import { type PoolingProxy, startPoolingProxy } from '../../../../../test/support/postgres/pooling-proxy.ts'
import type { Clock, Logger } from '../../model/ports.ts'
import type { Store } from '../store.ts'
import { openPostgres } from './open.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** How far this process's own clock has been moved on; see `longAfter`. */
let skippedMs = 0

const clock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now() + skippedMs,
  sleep: (ms, signal) => wait(ms, undefined, signal === undefined ? {} : { signal }).catch(() => {}),
}

/** A store as production has one, open for long, and the connection that empties its database between two rules. */
interface Bed {
  database: FreshDatabase
  /** Between the store and the server, where sessions change with every transaction. */
  pooler: PoolingProxy | null
  url: string
  store: Store
  emptying: pg.Client
  deletes: string
  tables: string[]
}

/** What no rule is using. Connections are most of what a rule costs, with all that PostgreSQL reads for each anew. */
const spare = { direct: [] as Bed[], pooled: [] as Bed[] }

const openOn = (url: string): Promise<Store> => openPostgres({ url, clock, logger: silent })

async function makeBed(isPooled: boolean): Promise<Bed> {
  const database = await migratedDatabase()
  const pooler = isPooled ? await startPoolingProxy(database.url) : null
  const url = pooler?.url ?? database.url
  const emptying = new pg.Client({ connectionString: database.url })
  await emptying.connect()
  await emptying.query('set session_replication_role = replica')
  // Of few rows in many tables, deleting is several times as fast as truncating, which makes new files for each.
  const { rows } = await emptying.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'pillarbox' and tablename <> 'schema_versions'`,
  )
  const tables = rows.map(({ name }) => name)
  // One row that is always there, and is left as it was found.
  const emptied = tables.filter((name) => name !== 'rollup_state')
  const deletes = emptied.map((name) => `delete from pillarbox.${name}`).join('; ')
  return { database, pooler, url, store: await openOn(url), emptying, deletes, tables }
}

async function removeBed({ database, pooler, store, emptying }: Bed): Promise<void> {
  await Promise.all([store.close(), emptying.end()])
  await pooler?.[Symbol.asyncDispose]()
  await database.drop()
}

/** What the store remembers of the rule before is as old as if that had been a minute ago. */
function longAfter(): void {
  skippedMs += 60_000
}

async function openEmpty(isPooled: boolean): Promise<OpenStore> {
  const beds = isPooled ? spare.pooled : spare.direct
  const bed = beds.pop() ?? (await makeBed(isPooled))
  longAfter()
  const others: Store[] = []
  return {
    store: bed.store,
    advance: (ms) => wait(ms),
    another: async () => {
      const other = await openOn(bed.url)
      others.push(other)
      return other
    },
    tables: async () => {
      const found: Record<string, Record<string, unknown>[]> = {}
      for (const table of bed.tables) {
        const { rows } = await bed.emptying.query<Record<string, unknown>>(`select * from pillarbox.${table}`)
        found[table] = rows
      }
      return found
    },
    close: async (hasFailed) => {
      await Promise.all(others.map((each) => each.close()))
      // What a rule that failed has left under way would be the next one's.
      if (hasFailed) return await removeBed(bed)
      await bed.emptying.query(bed.deletes)
      beds.push(bed)
    },
  }
}

after(async () => {
  await Promise.all([...spare.direct, ...spare.pooled].map(removeBed))
})

storeConformance('postgres', () => openEmpty(false))
storeConformance('postgres behind a pooler', () => openEmpty(true), {}, { modelRuns: 3 })
