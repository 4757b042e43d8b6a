import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import pg from 'pg'
import { migratedDatabase } from '../../../../../test/support/postgres/database.ts'
import { silent } from '../../../../../test/support/samples.ts'
import { systemClock } from '../../runtime/system.ts'
import { openSqlite } from '../sqlite/open.ts'
import { PERSONAL_COLUMNS } from './personal-columns.ts'

const DECLARED = Object.entries(PERSONAL_COLUMNS).flatMap(([table, columns]) =>
  Object.keys(columns).map((column) => `${table}.${column}`),
)

/** What only one engine has: claim tokens are a sequence in PostgreSQL, and marks are indexes; it notes when a worker departed. */
const ONLY = {
  sqlite: [
    'claim_tokens.one',
    'claim_tokens.value',
    ...['tenant_id', 'kind', 'value', 'slot'].map((column) => `notification_marks.${column}`),
  ],
  postgres: ['departed.departed_at'],
}

function declaredIn(engine: keyof typeof ONLY): string[] {
  const others = engine === 'sqlite' ? ONLY.postgres : ONLY.sqlite
  return DECLARED.filter((name) => !others.includes(name)).sort()
}

it('has every column of every SQLite table, and no other: what of a person may stand in it is decided', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'columns-'))
  t.after(() => rm(folder, { recursive: true }))
  const path = join(folder, 'store.db')
  const store = await openSqlite({ path, clock: systemClock, logger: silent })
  await store.migrate()
  await store.close()
  const database = new DatabaseSync(path, { readOnly: true })
  const found = database
    .prepare(
      `select substr(t.name, 11) || '.' || c.name as name from sqlite_schema t, pragma_table_info(t.name) c
       where t.type = 'table' and t.name like 'pillarbox_%'`,
    )
    .all()
  database.close()

  assert.deepEqual(found.map(({ name }) => String(name)).sort(), declaredIn('sqlite'))
})

it('has every column of every PostgreSQL table, and no other', async (t) => {
  const database = await migratedDatabase()
  t.after(() => database.drop())
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const { rows } = await client.query<{ name: string }>(
    `select table_name || '.' || column_name as name from information_schema.columns where table_schema = 'pillarbox'`,
  )
  await client.end()

  assert.deepEqual(rows.map(({ name }) => name).sort(), declaredIn('postgres'))
})
