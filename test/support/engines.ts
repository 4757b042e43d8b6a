import type { Clock, Logger } from '../../packages/pillarbox/src/model/ports.ts'
import { systemClock } from '../../packages/pillarbox/src/runtime/system.ts'
import { openPostgres } from '../../packages/pillarbox/src/store/postgres/open.ts'
import { openSqlite } from '../../packages/pillarbox/src/store/sqlite/open.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'
import { migratedDatabase } from './postgres/database.ts'

export type EngineName = Store['engine']

export const ENGINE_NAMES: readonly EngineName[] = ['sqlite', 'postgres']

export type OpenEmpty = (deps: { clock: Clock; logger: Logger }) => Promise<Store>

/** Both stores, each opened empty and to be migrated, for which PostgreSQL's has no need; closing one leaves nothing behind. */
export const ENGINES: readonly { engine: EngineName; open: OpenEmpty }[] = [
  { engine: 'sqlite', open: (deps) => openSqlite({ path: ':memory:', ...deps }) },
  {
    engine: 'postgres',
    async open({ logger }) {
      const database = await migratedDatabase()
      // Its connections wait for a real server.
      const store = await openPostgres({ url: database.url, clock: systemClock, logger })
      const close = store.close
      store.close = async () => {
        await close()
        await database.drop()
      }
      return store
    },
  },
]
