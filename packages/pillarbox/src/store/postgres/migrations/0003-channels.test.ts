import { it } from 'node:test'
import pg from 'pg'
import {
  assertCausesUpgraded,
  assertListUpgraded,
  assertReceiptsUpgraded,
  listOfSchema2,
  rowsOfSchema2,
} from '../../../../../../test/conformance/upgrade.ts'
import { freshDatabase } from '../../../../../../test/support/postgres/database.ts'
import { migrate } from '../migrate.ts'
import { openPostgres } from '../open.ts'
import { openSession } from '../session.ts'
import { MIGRATIONS } from './index.ts'

const logger = { debug() {}, info() {}, warn() {}, error() {} }
const clock = { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve() }

it('takes along where receipts had led, and lists, in a database of schema 2', async () => {
  await using database = await freshDatabase()
  const { url } = database
  const session = openSession({ url, role: 'test', clock, logger, statementTimeoutMs: 60_000, prepare: true })
  await migrate(session, logger, MIGRATIONS.slice(0, 2))
  await session.close()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(rowsOfSchema2('pillarbox.', 'now()'))
  await client.query(listOfSchema2('pillarbox.', 'now()'))
  await client.end()
  const store = await openPostgres({ url, clock, logger })

  await store.migrate()

  await assertCausesUpgraded(store)
  await assertReceiptsUpgraded(store)
  await assertListUpgraded(store)
  await store.close()
})
