import { once } from 'node:events'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before } from 'node:test'
import { storeConformance } from '../../../../../test/conformance/index.ts'
import type { Clock, Logger } from '../../model/ports.ts'
import type { Store } from '../store.ts'
import { openSqlite } from './open.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

storeConformance('sqlite in memory', async () => {
  const { clock, advance } = handClock()
  const store = await openSqlite({ path: ':memory:', clock, logger: silent })
  await store.migrate()
  return { store, advance, close: () => store.close() }
})

/** A migrated file that each rule's is a copy of: copying one is several times as fast as migrating one. */
let template = ''

before(async () => {
  template = await mkdtemp(join(tmpdir(), 'pillarbox-'))
  const store = await openSqlite({ path: join(template, 'store.db'), clock: handClock().clock, logger: silent })
  await store.migrate()
  // The log goes with the last connection, so the file is all there is.
  await store.close()
})
after(() => rm(template, { recursive: true }))

storeConformance(
  'sqlite in a file',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'pillarbox-'))
    const { clock, advance } = handClock()
    const path = join(folder, 'store.db')
    await copyFile(join(template, 'store.db'), path)
    const open = () => openSqlite({ path, clock, logger: silent, defer: setImmediate })
    const store = await open()
    const opened = [store]
    const another = async (): Promise<Store> => {
      const other = await open()
      opened.push(other)
      return other
    }
    const close = async (): Promise<void> => {
      await Promise.all(opened.map((each) => each.close()))
      await rm(folder, { recursive: true })
    }
    return { store, advance, another, tables: async () => tablesOf(path), close }
  },
  {},
  // Every commit waits for the disk here, and the histories are the same as in memory.
  { modelRuns: 10 },
)

/** What a file holds, but for what PostgreSQL keeps elsewhere: its claim tokens are a sequence. */
function tablesOf(path: string): Record<string, Record<string, unknown>[]> {
  const database = new DatabaseSync(path, { readOnly: true })
  const names = database
    .prepare(`select substr(name, 11) as name from sqlite_schema where type = 'table' and name like 'pillarbox_%'`)
    .all()
    .map(({ name }) => String(name))
    .filter((name) => !['schema_versions', 'claim_tokens', 'notification_marks'].includes(name))
  const found: Record<string, Record<string, unknown>[]> = {}
  for (const name of names) found[name] = database.prepare(`select * from pillarbox_${name}`).all()
  database.close()
  return found
}

/** Time that only `advance` moves. The store is alone with its file, and waits only for what it is then told of. */
function handClock(): { clock: Clock; advance: (ms: number) => Promise<void> } {
  let now = 1_800_000_000_000
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    async sleep(_ms, signal) {
      if (!signal) throw new Error('the store waited for a lock that nobody holds')
      if (!signal.aborted) await once(signal, 'abort')
    },
  }
  return {
    clock,
    advance: async (ms) => {
      now += ms
    },
  }
}
