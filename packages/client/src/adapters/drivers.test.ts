import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it, type TestContext } from 'node:test'
import BetterSqlite3 from 'better-sqlite3'
import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle as drizzleBetterSqlite3 } from 'drizzle-orm/better-sqlite3'
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import knex from 'knex'
import { Kysely, sql as kyselySql, PostgresDialect, SqliteDialect } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import { DataSource } from 'typeorm'
import { type FreshDatabase, freshDatabase } from '../../../../test/support/postgres/database.ts'
import { MIGRATIONS } from '../../../pillarbox/src/store/postgres/migrations/index.ts'
import { MIGRATIONS as SQLITE_MIGRATIONS } from '../../../pillarbox/src/store/sqlite/migrate.ts'
import {
  fromBetterSqlite3,
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromNodeSqlite,
  fromPg,
  fromPostgresJs,
  fromTypeOrm,
  InvalidEventError,
  type NewEvent,
  NotInTransactionError,
  type PgOptions,
  publish,
  publishMany,
  publishManySync,
  publishSync,
  type SyncTransaction,
  type Transaction,
} from '../index.ts'

// ── what a driver has to offer the tests ─────────────────────────────────────────────────────────────────────────

/** What may be done inside a transaction. Drivers that wait answer a promise, the others are done. */
interface Operations {
  publish(event: NewEvent): unknown
  publishMany(events: readonly NewEvent[]): unknown
  /** Writes a row of the application's own. */
  writeOwnRow(name: string): unknown
}
type Step = (operations: Operations) => unknown

interface Session {
  /** Takes the steps in one transaction, made as the library's users make theirs: a step that throws rolls it back. */
  transaction(steps: readonly Step[]): Promise<void>
  /** The adapter on something of the library that is in no transaction. */
  outside: Transaction
  close(): Promise<void>
}

interface Driver {
  name: string
  engine: 'postgres' | 'sqlite'
  /** `location` is a URL, or a file's path. */
  open(location: string): Promise<Session>
}

const OWN_ROW = 'insert into own_rows (name) values'

async function takeSteps(
  steps: readonly Step[],
  tx: Transaction,
  writeOwnRow: Operations['writeOwnRow'],
): Promise<void> {
  const operations: Operations = {
    publish: (event) => publish(tx, event),
    publishMany: (events) => publishMany(tx, events),
    writeOwnRow,
  }
  for (const step of steps) await step(operations)
}

function takeStepsSync(steps: readonly Step[], tx: SyncTransaction, writeOwnRow: Operations['writeOwnRow']): void {
  const operations: Operations = {
    publish: (event) => publishSync(tx, event),
    publishMany: (events) => publishManySync(tx, events),
    writeOwnRow,
  }
  for (const step of steps) step(operations)
}

// ── the drivers ──────────────────────────────────────────────────────────────────────────────────────────────────

const DRIVERS: Driver[] = [
  {
    name: 'pg, a client',
    engine: 'postgres',
    async open(url) {
      const client = new pg.Client(url)
      await client.connect()
      return {
        transaction: (steps) => pgTransaction(client, steps),
        outside: fromPg(client),
        close: () => client.end(),
      }
    },
  },
  {
    name: 'pg, a client that prepares',
    engine: 'postgres',
    async open(url) {
      const client = new pg.Client(url)
      await client.connect()
      return {
        transaction: (steps) => pgTransaction(client, steps, { prepare: true }),
        outside: fromPg(client, { prepare: true }),
        close: () => client.end(),
      }
    },
  },
  {
    name: 'pg, a client of a pool',
    engine: 'postgres',
    async open(url) {
      const pool = new pg.Pool({ connectionString: url })
      return {
        async transaction(steps) {
          const client = await pool.connect()
          try {
            await pgTransaction(client, steps)
          } finally {
            client.release()
          }
        },
        outside: fromPg(pool),
        close: () => pool.end(),
      }
    },
  },
  {
    name: 'postgres.js',
    engine: 'postgres',
    async open(url) {
      const sql = postgres(url)
      return {
        async transaction(steps) {
          await sql.begin((tx) =>
            takeSteps(steps, fromPostgresJs(tx), (name) => tx`insert into own_rows (name) values (${name})`),
          )
        },
        outside: fromPostgresJs(sql),
        close: () => sql.end(),
      }
    },
  },
  {
    name: 'Kysely over pg',
    engine: 'postgres',
    async open(url) {
      const pool = new pg.Pool({ connectionString: url })
      return kyselySession(new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) }), 'postgres')
    },
  },
  {
    name: 'Kysely over better-sqlite3',
    engine: 'sqlite',
    async open(file) {
      const database = new BetterSqlite3(file)
      return kyselySession(new Kysely<unknown>({ dialect: new SqliteDialect({ database }) }), 'sqlite')
    },
  },
  {
    name: 'Drizzle over pg',
    engine: 'postgres',
    async open(url) {
      const pool = new pg.Pool({ connectionString: url })
      const db = drizzlePg(pool)
      return {
        transaction: (steps) =>
          db.transaction((tx) =>
            takeSteps(steps, fromDrizzle(tx, drizzleSql), (name) =>
              tx.execute(drizzleSql`insert into own_rows (name) values (${name})`),
            ),
          ),
        outside: fromDrizzle(db, drizzleSql),
        close: () => pool.end(),
      }
    },
  },
  {
    name: 'Drizzle over postgres.js',
    engine: 'postgres',
    async open(url) {
      const sql = postgres(url)
      const db = drizzlePostgresJs(sql)
      return {
        transaction: (steps) =>
          db.transaction((tx) =>
            takeSteps(steps, fromDrizzle(tx, drizzleSql), (name) =>
              tx.execute(drizzleSql`insert into own_rows (name) values (${name})`),
            ),
          ),
        outside: fromDrizzle(db, drizzleSql),
        close: () => sql.end(),
      }
    },
  },
  {
    name: 'Drizzle over better-sqlite3, synchronously',
    engine: 'sqlite',
    async open(file) {
      const database = new BetterSqlite3(file)
      const db = drizzleBetterSqlite3(database)
      return {
        async transaction(steps) {
          db.transaction((tx) => {
            takeStepsSync(steps, fromDrizzle(tx, drizzleSql), (name) =>
              tx.run(drizzleSql`insert into own_rows (name) values (${name})`),
            )
          })
        },
        outside: fromDrizzle(db, drizzleSql),
        close: async () => void database.close(),
      }
    },
  },
  {
    name: 'Knex over pg',
    engine: 'postgres',
    open: async (url) => knexSession(knex({ client: 'pg', connection: url })),
  },
  {
    name: 'Knex over better-sqlite3',
    engine: 'sqlite',
    open: async (filename) =>
      knexSession(knex({ client: 'better-sqlite3', connection: { filename }, useNullAsDefault: true })),
  },
  {
    name: 'TypeORM over pg, an entity manager',
    engine: 'postgres',
    open: async (url) => typeOrmSession(new DataSource({ type: 'postgres', url })),
  },
  {
    name: 'TypeORM over pg, a query runner',
    engine: 'postgres',
    async open(url) {
      const source = await new DataSource({ type: 'postgres', url }).initialize()
      const runner = source.createQueryRunner()
      return {
        async transaction(steps) {
          await runner.startTransaction()
          try {
            await takeSteps(steps, fromTypeOrm(runner), (name) => runner.query(`${OWN_ROW} ($1)`, [name]))
            await runner.commitTransaction()
          } catch (error) {
            await runner.rollbackTransaction()
            throw error
          }
        },
        outside: fromTypeOrm(runner),
        async close() {
          await runner.release()
          await source.destroy()
        },
      }
    },
  },
  {
    name: 'TypeORM over better-sqlite3',
    engine: 'sqlite',
    open: async (database) => typeOrmSession(new DataSource({ type: 'better-sqlite3', database })),
  },
  {
    name: 'node:sqlite',
    engine: 'sqlite',
    async open(file) {
      const db = new DatabaseSync(file)
      return {
        async transaction(steps) {
          db.exec('begin immediate')
          try {
            await takeSteps(steps, fromNodeSqlite(db), (name) => db.prepare(`${OWN_ROW} (?)`).run(name))
            db.exec('commit')
          } catch (error) {
            db.exec('rollback')
            throw error
          }
        },
        outside: fromNodeSqlite(db),
        close: async () => db.close(),
      }
    },
  },
  {
    name: 'node:sqlite, synchronously',
    engine: 'sqlite',
    async open(file) {
      const db = new DatabaseSync(file)
      return {
        async transaction(steps) {
          db.exec('begin immediate')
          try {
            takeStepsSync(steps, fromNodeSqlite(db), (name) => db.prepare(`${OWN_ROW} (?)`).run(name))
            db.exec('commit')
          } catch (error) {
            db.exec('rollback')
            throw error
          }
        },
        outside: fromNodeSqlite(db),
        close: async () => db.close(),
      }
    },
  },
  {
    name: 'better-sqlite3, synchronously',
    engine: 'sqlite',
    async open(file) {
      const db = new BetterSqlite3(file)
      return {
        async transaction(steps) {
          db.transaction(() => {
            takeStepsSync(steps, fromBetterSqlite3(db), (name) => db.prepare(`${OWN_ROW} (?)`).run(name))
          })()
        },
        outside: fromBetterSqlite3(db),
        close: async () => void db.close(),
      }
    },
  },
]

async function pgTransaction(client: pg.ClientBase, steps: readonly Step[], options?: PgOptions): Promise<void> {
  await client.query('begin')
  try {
    await takeSteps(steps, fromPg(client, options), (name) => client.query(`${OWN_ROW} ($1)`, [name]))
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

function kyselySession(db: Kysely<unknown>, engine: Transaction['engine']): Session {
  return {
    transaction: (steps) =>
      db
        .transaction()
        .execute((trx) =>
          takeSteps(steps, fromKysely(trx, engine), (name) =>
            kyselySql`insert into own_rows (name) values (${name})`.execute(trx),
          ),
        ),
    outside: fromKysely(db, engine),
    close: () => db.destroy(),
  }
}

function knexSession(db: ReturnType<typeof knex>): Session {
  return {
    transaction: (steps) =>
      db.transaction((trx) => takeSteps(steps, fromKnex(trx), (name) => trx('own_rows').insert({ name }))),
    outside: fromKnex(db),
    close: () => db.destroy(),
  }
}

async function typeOrmSession(source: DataSource): Promise<Session> {
  await source.initialize()
  const placeholder = source.options.type === 'postgres' ? '$1' : '?'
  return {
    transaction: (steps) =>
      source.transaction((manager) =>
        takeSteps(steps, fromTypeOrm(manager), (name) => manager.query(`${OWN_ROW} (${placeholder})`, [name])),
      ),
    outside: fromTypeOrm(source.manager),
    close: () => source.destroy(),
  }
}

// ── the database, seen from outside the driver ───────────────────────────────────────────────────────────────────

type EventRow = Record<string, string | number | null>

interface Database {
  location: string
  events(): Promise<EventRow[]>
  ownRows(): Promise<string[]>
  remove(): Promise<void>
}

const OWN_TABLE = 'create table own_rows (name text not null)'
const JSON_COLUMNS = ['payload', 'recipients', 'channels', 'conversation']
const TIME_COLUMNS = ['occurred_at', 'due_at', 'next_attempt_at', 'created_at', 'published_at']
let postgresDatabase: FreshDatabase

before(async () => {
  postgresDatabase = await freshDatabase()
  await withPg(postgresDatabase.url, async (client) => {
    for (const { sql } of MIGRATIONS) await client.query(sql)
    await client.query(OWN_TABLE)
  })
})
after(() => postgresDatabase.drop())

const TEXT_COLUMNS =
  'tenant_id, id, type, entity_type, entity_id, correlation_id, topic, locale, schema_version, status, attempt_count, last_error'

/** One database, emptied for each test: tests of a file run one after the other, and making one takes far longer. */
async function openPostgres(): Promise<Database> {
  const { url } = postgresDatabase
  await withPg(url, (client) => client.query('truncate pillarbox.events, own_rows'))
  const read = (text: string): Promise<EventRow[]> =>
    withPg(url, async (client) => (await client.query<EventRow>(text)).rows)
  // JSON as its text, times in ms: as they stand in SQLite.
  const columns = [
    TEXT_COLUMNS,
    ...JSON_COLUMNS.map((name) => `${name}::text`),
    ...TIME_COLUMNS.map((name) => `(extract(epoch from ${name}) * 1000)::float8 as ${name}`),
  ]
  return {
    location: url,
    events: () => read(`select ${columns.join(', ')} from pillarbox.events order by tenant_id, id collate "C"`),
    ownRows: async () => (await read('select name from own_rows order by name')).map(({ name }) => String(name)),
    remove: async () => {},
  }
}

async function openSqlite(): Promise<Database> {
  const folder = await mkdtemp(path.join(tmpdir(), 'pillarbox-client-'))
  const location = path.join(folder, 'host.db')
  const inFile = <T>(use: (db: DatabaseSync) => T): T => {
    const db = new DatabaseSync(location)
    try {
      return use(db)
    } finally {
      db.close()
    }
  }
  inFile((db) =>
    db.exec(`pragma journal_mode = wal; ${SQLITE_MIGRATIONS.map(({ sql }) => sql).join('')}; ${OWN_TABLE}`),
  )
  const read = (text: string): EventRow[] =>
    inFile((db) =>
      db
        .prepare(text)
        .all()
        .map((row) => ({ ...row }) as EventRow),
    )
  const columns = [TEXT_COLUMNS, ...JSON_COLUMNS, ...TIME_COLUMNS]
  return {
    location,
    events: async () => read(`select ${columns.join(', ')} from pillarbox_events order by tenant_id, id`),
    ownRows: async () => read('select name from own_rows order by name').map(({ name }) => String(name)),
    remove: () => rm(folder, { recursive: true }),
  }
}

async function withPg<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

// ── the promises ─────────────────────────────────────────────────────────────────────────────────────────────────

function event(changes: Partial<NewEvent> = {}): NewEvent {
  return {
    tenantId: 'atlas',
    id: 'event-1',
    type: 'booking.confirmed',
    entity: { type: 'booking', id: '12345' },
    payload: { bookingId: 12345 },
    ...changes,
  }
}

/** Everything that some driver, placeholder syntax, array text or JSON parser might trip over. */
function awkwardPayload(): object {
  // 32 levels with the payload itself: the deepest allowed.
  let nested: object = { end: true }
  for (let level = 0; level < 20; level += 1) nested = level % 2 ? { nested } : { list: [nested] }
  return {
    quotes: `it's "quoted", \`ticked\` and \\back\\slashed\\`,
    placeholders: '$1 ? ?? :name @p1 %s {{guestName}} $$ -- /* */ ;',
    arrays: '{a,b} "{NULL}" NULL null',
    unicode: 'Zoë 張三 🎉👩‍👩‍👧 \u202e \u2028 é e\u0301',
    controls: 'tab\t line\n return\r bell\u0007 delete\u007f',
    '': 'empty key',
    'ключ "x"': ['', null, true, false, 0, -1.5, 1e21, 5e-324, 123456789012345680000],
    empty: { list: [], object: {} },
    z: 1,
    a: 2,
    nested,
  }
}

class Rollback extends Error {}

function rollBack(): never {
  throw new Rollback()
}

/** Expects `action` to throw `InvalidEventError`, now or later. */
function expectInvalid(action: () => unknown): unknown {
  const judge = (error: unknown): void => assert.ok(error instanceof InvalidEventError, String(error))
  let result: unknown
  try {
    result = action()
  } catch (error) {
    judge(error)
    return undefined
  }
  assert.ok(result instanceof Promise, 'nothing was thrown')
  return result.then(() => assert.fail('nothing was thrown'), judge)
}

for (const driver of DRIVERS) {
  async function setup(t: TestContext) {
    const database = await (driver.engine === 'postgres' ? openPostgres() : openSqlite())
    const session = await driver.open(database.location)
    t.after(async () => {
      await session.close()
      await database.remove()
    })
    return { ...session, ...database }
  }

  describe(`publish in a transaction of ${driver.name}`, () => {
    it('writes the event with the commit, exactly as given', async (t) => {
      const { events, ownRows, transaction } = await setup(t)
      const startedAt = Date.now()

      await transaction([
        ({ writeOwnRow }) => writeOwnRow('booking'),
        (tx) =>
          tx.publish({
            tenantId: 'atlas',
            id: "id with 'quotes' and ü",
            type: 'booking.confirmed',
            entity: { type: 'booking', id: 'ü/1' },
            payload: { bookingId: 1 },
            occurredAt: new Date(Date.UTC(2026, 2, 15, 9, 0, 0, 123)),
            dueAt: '2026-03-16T09:00:00+05:30',
            correlationId: 'c-1',
            topic: 'bookings',
            locale: 'de-DE',
            recipients: [{ name: 'Zoë "Z"', phone: '+919876543210' }],
            channels: ['whatsapp', 'sms'],
            conversation: { type: 'booking', id: '1' },
            schemaVersion: 3,
          }),
      ])

      const [row, ...others] = await events()
      assert.deepEqual(others, [])
      const { created_at: createdAt, next_attempt_at: nextAttemptAt, ...rest } = row ?? {}
      assert.deepEqual(rest, {
        tenant_id: 'atlas',
        id: "id with 'quotes' and ü",
        type: 'booking.confirmed',
        entity_type: 'booking',
        entity_id: 'ü/1',
        payload: '{"bookingId":1}',
        occurred_at: Date.UTC(2026, 2, 15, 9, 0, 0, 123),
        due_at: Date.UTC(2026, 2, 16, 3, 30),
        correlation_id: 'c-1',
        topic: 'bookings',
        locale: 'de-DE',
        recipients: '[{"name":"Zoë \\"Z\\"","phone":"+919876543210"}]',
        channels: '["whatsapp","sms"]',
        conversation: '{"type":"booking","id":"1"}',
        schema_version: 3,
        status: 'pending',
        attempt_count: 0,
        last_error: null,
        published_at: null,
      })
      assert.equal(createdAt, nextAttemptAt)
      assert.ok(Math.abs(Number(createdAt) - startedAt) < 60_000, `created at ${createdAt}`)
      assert.deepEqual(await ownRows(), ['booking'])
    })

    it('leaves nothing behind when the transaction is rolled back', async (t) => {
      const { events, ownRows, transaction } = await setup(t)

      const rolledBack = transaction([
        ({ writeOwnRow }) => writeOwnRow('booking'),
        (tx) => tx.publish(event()),
        (tx) => tx.publishMany([event({ id: 'event-2' })]),
        rollBack,
      ])

      await assert.rejects(rolledBack, Rollback)
      assert.deepEqual(await events(), [])
      assert.deepEqual(await ownRows(), [])
    })

    it('writes both events of one transaction, each with an id of its own', async (t) => {
      const { events, transaction } = await setup(t)

      await transaction([
        (tx) => tx.publish(event({ id: undefined })),
        (tx) => tx.publish(event({ id: undefined, type: 'booking.paid' })),
      ])

      const rows = await events()
      assert.deepEqual(
        rows.map(({ type }) => type),
        ['booking.confirmed', 'booking.paid'],
      )
      for (const { id } of rows) assert.match(String(id), /^[0-9a-f-]{14}7[0-9a-f-]{21}$/)
    })

    it('writes one row for a repeated id, in this transaction and in a later one, and another tenant’s apart', async (t) => {
      const { events, ownRows, transaction } = await setup(t)

      await transaction([(tx) => tx.publish(event()), (tx) => tx.publish(event({ payload: { changed: 1 } }))])
      await transaction([
        (tx) => tx.publish(event({ payload: { changed: 2 } })),
        (tx) => tx.publishMany([event({ payload: { changed: 3 } }), event({ tenantId: 'busflow' })]),
        ({ writeOwnRow }) => writeOwnRow('after'),
      ])

      assert.deepEqual(
        (await events()).map(({ tenant_id: tenantId, payload }) => [tenantId, payload]),
        [
          ['atlas', '{"bookingId":12345}'],
          ['busflow', '{"bookingId":12345}'],
        ],
      )
      assert.deepEqual(await ownRows(), ['after'])
    })

    it('throws on bad input before it touches the transaction, which still commits its other work', async (t) => {
      const { events, ownRows, transaction } = await setup(t)

      await transaction([
        ({ writeOwnRow }) => writeOwnRow('before'),
        (tx) => expectInvalid(() => tx.publish(event({ payload: { text: 'a\0b' } }))),
        (tx) => expectInvalid(() => tx.publish(event({ payload: { text: '\ud800' } }))),
        (tx) => expectInvalid(() => tx.publish(event({ id: 'x'.repeat(201) }))),
        (tx) => expectInvalid(() => tx.publish(event({ occurredAt: new Date(8.64e15) }))),
        (tx) => expectInvalid(() => tx.publishMany([event(), event({ id: 'a\0b' })])),
        ({ writeOwnRow }) => writeOwnRow('beyond'),
        (tx) => tx.publish(event({ id: 'good' })),
      ])

      assert.deepEqual(
        (await events()).map(({ id }) => id),
        ['good'],
      )
      assert.deepEqual(await ownRows(), ['before', 'beyond'])
    })

    it('keeps a payload byte for byte, alone and among many', async (t) => {
      const { events, transaction } = await setup(t)
      const payload = awkwardPayload()
      const large = { text: '"\\é🎉'.repeat(20_000) }

      await transaction([
        (tx) => tx.publish(event({ id: '1', payload })),
        (tx) => tx.publishMany([event({ id: '2', payload }), event({ id: '3', payload: large })]),
      ])

      const texts = (await events()).map((row) => row['payload'])
      assert.deepEqual(
        texts,
        [payload, payload, large].map((given) => JSON.stringify(given)),
      )
    })

    it('writes many events, each with its own fields, and known ids once', async (t) => {
      const { events, transaction } = await setup(t)
      const id = (index: number): string => `e-${String(index).padStart(4, '0')}`
      const many = Array.from({ length: 1_100 }, (_, index) =>
        event({ id: id(index), payload: { index }, locale: index % 2 ? 'en-IN' : null, dueAt: new Date(index) }),
      )

      await transaction([
        (tx) => tx.publish(event({ id: id(7), payload: { first: true } })),
        (tx) => tx.publishMany([...many.toReversed(), event({ id: id(8), payload: { second: true } })]),
        (tx) => tx.publishMany([]),
      ])

      const rows = await events()
      assert.equal(rows.length, 1_100)
      assert.deepEqual(rows.map((row) => row['payload']).slice(6, 10), [
        '{"index":6}',
        '{"first":true}',
        '{"index":8}',
        '{"index":9}',
      ])
      assert.deepEqual(
        rows.slice(100, 102).map((row) => [row['due_at'], row['locale'], row['recipients']]),
        [
          [100, null, null],
          [101, 'en-IN', null],
        ],
      )
    })

    it('refuses to write outside of one', async (t) => {
      const { events, outside } = await setup(t)

      await assert.rejects(publish(outside, event()), NotInTransactionError)
      await assert.rejects(publishMany(outside, [event()]), NotInTransactionError)

      assert.deepEqual(await events(), [])
    })
  })
}
