import { it } from 'node:test'
import pg from 'pg'
import { assertUpgraded, rowsOfSchema1 } from '../../../../../../test/conformance/upgrade.ts'
import { freshDatabase } from '../../../../../../test/support/postgres/database.ts'
import { migrate } from '../migrate.ts'
import { openPostgres } from '../open.ts'
import { openSession } from '../session.ts'
import { MIGRATIONS } from './index.ts'

const logger = { debug() {}, info() {}, warn() {}, error() {} }
const clock = { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve() }

it('takes along what is in a database of schema 1', async () => {
  await using database = await freshDatabase()
  const { url } = database
  const session = openSession({ url, role: 'test', clock, logger, statementTimeoutMs: 60_000, prepare: true })
  await migrate(session, logger, MIGRATIONS.slice(0, 1))
  await session.close()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(rowsOfSchema1('pillarbox.', 'now()'))
  await client.end()
  const store = await openPostgres({ url, clock, logger })

  await store.migrate()

  await assertUpgraded(store)
  await store.close()
})
