import assert from 'node:assert/strict'
import { it } from 'node:test'
import pg from 'pg'
import { migratedDatabase } from '../../../../../test/support/postgres/database.ts'
import { createIdSource } from '../../runtime/ids.ts'
import { systemClock, systemRandom } from '../../runtime/system.ts'
import { openPostgres } from './open.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const newId = createIdSource(systemClock, systemRandom())
const CONTACTS = 5_000

it('looks contacts up by key, also by a plan that was made while there were none', async () => {
  await using database = await migratedDatabase()
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const store = await openPostgres({ url: database.url, clock: systemClock, logger: silent })
  try {
    await store.tenants.insert({ id: 'acme', name: 'Acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
    await client.query('vacuum analyze')
    const resolve = (name: string) =>
      store.people.resolve(
        [{ tenantId: 'acme', email: `${name}@example.test`, conversation: { type: 'trip', id: '1' } }],
        newId,
      )
    await resolve('first')
    // Every statement that looks for people has its plan now; the tables grow, and nobody analyses them.
    await resolve('first')
    await client.query(`with made as (
        insert into pillarbox.contacts (id, tenant_id, email)
        select gen_random_uuid(), 'acme', n || '@example.test' from generate_series(1, ${CONTACTS}) n returning id, email)
      insert into pillarbox.contact_identifiers (tenant_id, kind, value, contact_id)
      select 'acme', 'email', email, id from made`)
    const before = await read(client)

    for (let i = 0; i < 10; i++) await resolve(String(i + 1))

    // A session reports what it counted when it ends.
    await store.close()
    assert.ok((await read(client)) - before < CONTACTS, 'contacts were read from end to end')
  } finally {
    await store.close()
    await client.end()
  }
})

/** How many entries of indexes on contacts and what leads to them were read so far. */
async function read(client: pg.Client): Promise<number> {
  await client.query('select pg_stat_force_next_flush()')
  await client.query('select pg_stat_clear_snapshot()')
  const { rows } = await client.query<{ entries: string }>(
    `select sum(idx_tup_read) as entries from pg_stat_user_indexes
      where relname in ('contacts', 'contact_identifiers', 'conversations')`,
  )
  return Number(rows[0]?.entries)
}
