import assert from 'node:assert/strict'
import { it } from 'node:test'
import pg from 'pg'
import { freshDatabase } from '../../../../../../test/support/postgres/database.ts'
import { migrate } from '../migrate.ts'
import { openSession } from '../session.ts'
import { MIGRATIONS } from './index.ts'

const logger = { debug() {}, info() {}, warn() {}, error() {} }
const clock = { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve() }

/** What a host may have built on the function of schema 3. */
const HOST = `
  create table bookings (id integer primary key, status text not null, remind_at timestamptz);
  create function announce() returns trigger language plpgsql as $$
  begin
    perform pillarbox.publish('atlas', 'booking.' || new.status, 'booking', new.id::text, '{}', due_at => new.remind_at,
      id => 'booking-' || new.id);
    return null;
  end $$;
  create trigger announce after insert on bookings for each row execute function announce();
  insert into bookings values (1, 'held', null);
  revoke execute on function pillarbox.publish from public`

it('lets triggers and rights of schema 3 stand, and gives them the clear refusals', async () => {
  await using database = await freshDatabase()
  const { url } = database
  const session = openSession({ url, role: 'test', clock, logger, statementTimeoutMs: 60_000, prepare: true })
  await migrate(session, logger, MIGRATIONS.slice(0, 3))
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(HOST)

  await migrate(session, logger)

  await client.query(`insert into bookings values (2, 'held', '2030-01-01T09:00:00Z')`)
  await assert.rejects(client.query(`insert into bookings values (3, 'held', 'infinity')`), {
    code: '22023',
    column: 'due_at',
    message: /^pillarbox\.publish: due_at must be a time of the years 1970 to 9998 .+, not infinity$/,
  })
  const { rows } = await client.query<{ id: string }>('select id from pillarbox.events order by id')
  assert.deepEqual(rows, [{ id: 'booking-1' }, { id: 'booking-2' }])
  const rights = `select has_function_privilege('public', oid, 'execute') as open from pg_proc
    where pronamespace = 'pillarbox'::regnamespace and proname = 'publish'`
  assert.deepEqual((await client.query(rights)).rows, [{ open: false }])
  await client.end()
  await session.close()
})

it('keeps the first instant of 1970 whatever zone the database was set up in', async () => {
  await using database = await freshDatabase()
  const url = `${database.url}${database.url.includes('?') ? '&' : '?'}options=${encodeURIComponent('-c TimeZone=America/Los_Angeles')}`
  const session = openSession({ url, role: 'test', clock, logger, statementTimeoutMs: 60_000, prepare: true })
  await migrate(session, logger)
  const publish = (dueAt: string) =>
    session.run<{ id: string }>({
      text: `select pillarbox.publish('atlas', 'a', 'booking', '1', id => 'e1', due_at => $1) as id`,
      values: [dueAt],
    })

  assert.deepEqual(await publish('1970-01-01T00:00:00Z'), [{ id: 'e1' }])
  await assert.rejects(publish('1969-12-31T23:59:59Z'), { column: 'due_at' })
  await session.close()
})
