import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { freshDatabase } from '../../../../../test/support/postgres/database.ts'
import type { Logger } from '../../model/ports.ts'
import { migrate, schemaVersions } from './migrate.ts'
import { MIGRATIONS, type Migration } from './migrations/index.ts'
import { openSession, type Session } from './session.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

async function setup(sessionCount = 1) {
  const database = await freshDatabase()
  const sessions = Array.from({ length: sessionCount }, () =>
    openSession({
      url: database.url,
      role: 'test',
      clock: { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve() },
      logger: silent,
      statementTimeoutMs: 60_000,
      prepare: true,
    }),
  )
  return {
    sessions,
    session: sessions[0] as Session,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(sessions.map((session) => session.close()))
      await database.drop()
    },
  }
}

const small: Migration[] = [
  { version: 1, name: 'one', sql: 'create table pillarbox.one (id int)' },
  { version: 2, name: 'two', sql: 'create table pillarbox.two (id int); insert into pillarbox.two values (2)' },
]

describe('migrate', () => {
  it('numbers its migrations without gaps', () => {
    assert.deepEqual(
      MIGRATIONS.map(({ version }) => version),
      MIGRATIONS.map((_, i) => i + 1),
    )
  })

  it('brings an empty database to this version once, though several processes start at the same time', async () => {
    await using bench = await setup(5)

    const answers = await Promise.all(bench.sessions.map((session) => migrate(session, silent)))

    const wanted = MIGRATIONS.length
    // The lock is held for one migration at a time, so one process may go on from where another left off.
    for (const { from, to } of answers) assert.ok(from >= 0 && from <= wanted && to === wanted)
    assert.equal(answers.filter(({ from }) => from === 0).length, 1)
    assert.deepEqual(await schemaVersions(bench.session), { found: wanted, wanted })
  })

  it('goes on from the version it finds', async () => {
    await using bench = await setup()
    await migrate(bench.session, silent, small.slice(0, 1))

    const answer = await migrate(bench.session, silent, small)

    assert.deepEqual(answer, { from: 1, to: 2 })
    assert.deepEqual(await bench.session.run({ text: 'select id from pillarbox.two' }), [{ id: 2 }])
    assert.deepEqual(
      await bench.session.run({ text: 'select version, name from pillarbox.schema_versions order by 1' }),
      [
        { version: 1, name: 'one' },
        { version: 2, name: 'two' },
      ],
    )
  })

  it('leaves the last good version when a migration fails half-way', async () => {
    await using bench = await setup()
    const broken = { version: 2, name: 'two', sql: 'create table pillarbox.half (id int); select 1 / 0' }

    await assert.rejects(migrate(bench.session, silent, [...small.slice(0, 1), broken]), { code: '22012' })

    assert.deepEqual(await schemaVersions(bench.session, small), { found: 1, wanted: 2 })
    assert.deepEqual(await bench.session.run({ text: `select to_regclass('pillarbox.half') as half` }), [
      { half: null },
    ])
  })

  it('refuses a schema of a newer version and says so', async () => {
    await using bench = await setup()
    await migrate(bench.session, silent, small)

    await assert.rejects(migrate(bench.session, silent, small.slice(0, 1)), {
      name: 'SetupError',
      message: /schema version 2.*up to 1/,
    })
  })

  it('finds version 0 in a database that never saw Pillarbox', async () => {
    await using bench = await setup()

    assert.deepEqual(await schemaVersions(bench.session, small), { found: 0, wanted: 2 })
  })
})
