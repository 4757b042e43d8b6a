import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it, type TestContext } from 'node:test'
import pg from 'pg'
import { migratedDatabase } from '../../../../test/support/postgres/database.ts'
import { until } from '../../../../test/support/until.ts'
import { systemClock } from '../runtime/system.ts'
import { openPostgres } from '../store/postgres/open.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import { type Fixture, openFixture } from './fixture.ts'

const LIMIT_MS = 3_000

/** Schedules whose list takes minutes, on a real store. `isReading`: whether its statement is still run. */
interface SlowLists {
  f: Fixture
  isReading(): Promise<boolean>
}

async function onSqlite(t: TestContext): Promise<SlowLists> {
  const folder = await mkdtemp(join(tmpdir(), 'pillarbox-'))
  const path = join(folder, 'store.db')
  const f = await openFixture({
    open: ({ logger }) => openSqlite({ path, clock: systemClock, logger, reportLimitMs: LIMIT_MS }),
  })
  t.after(async () => {
    await f.app.close()
    await f.deps.store.close()
    await rm(folder, { recursive: true })
  })
  const db = new DatabaseSync(path)
  db.exec(`alter table pillarbox_schedules rename to slow_schedules;
    create view pillarbox_schedules as
      with recursive c (x) as (select 1 union all select x + 1 from c limit 4000000000)
      select s.* from c cross join slow_schedules s`)
  db.close()
  return { f, isReading: async () => false }
}

async function onPostgres(t: TestContext): Promise<SlowLists> {
  const database = await migratedDatabase()
  const f = await openFixture({
    open: ({ logger }) => openPostgres({ url: database.url, clock: systemClock, logger, reportLimitMs: LIMIT_MS }),
  })
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  t.after(async () => {
    await client.end()
    await f.app.close()
    await f.deps.store.close()
    await database.drop()
  })
  await client.query(`alter table pillarbox.schedules rename to slow_schedules;
    create view pillarbox.schedules as select * from pillarbox.slow_schedules where (select pg_sleep(600)) is not null`)
  const isReading = async (): Promise<boolean> => {
    const { rows } = await client.query(
      `select 1 from pg_stat_activity where datname = current_database() and state = 'active'
        and application_name = 'pillarbox report'`,
    )
    return rows.length > 0
  }
  return { f, isReading }
}

for (const [engine, open] of Object.entries({ sqlite: onSqlite, postgres: onPostgres })) {
  it(`answers others while a list takes long, and ends it when its time is over, on ${engine}`, async (t) => {
    const { f, isReading } = await open(t)
    let isAnswered = false
    const listing = f.call(f.opsKey, 'GET', '/api/automation-schedules').finally(() => {
      isAnswered = true
    })

    assert.equal((await f.inject({ method: 'GET', url: '/health/live' })).statusCode, 200)
    assert.equal((await f.call(f.opsKey, 'GET', '/ops/tenants')).statusCode, 200)
    assert.equal((await f.call(f.opsKey, 'GET', '/api/notifications')).statusCode, 200)
    assert.equal(isAnswered, false, 'the list was to take minutes')

    const answer = await listing
    assert.equal(answer.statusCode, 503)
    assert.equal(answer.headers['retry-after'], '1')
    assert.equal(answer.json().code, 'overloaded')
    assert.match(answer.json().detail, /took longer than 3 seconds and was ended/)
    await until('its statement is ended', async () => !(await isReading()))
  })
}
