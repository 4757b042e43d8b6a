import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import pg from 'pg'
import { type FreshDatabase, freshDatabase } from '../../../test/support/postgres/database.ts'
import { until } from '../../../test/support/until.ts'
import { MIGRATIONS } from '../../pillarbox/src/store/postgres/migrations/index.ts'
import { fromPg, fromPrisma, type NewEvent, nudge, publish, publishMany } from './index.ts'

let database: FreshDatabase

before(async () => {
  database = await freshDatabase()
  const client = new pg.Client(database.url)
  await client.connect()
  for (const { sql } of MIGRATIONS) await client.query(sql)
  await client.query(`
    create table bookings (id integer primary key, tenant text not null, guest_phone text, status text not null);
    create function announce() returns trigger language plpgsql as $$
    begin
      perform pillarbox.publish(new.tenant, 'booking.' || new.status, 'booking', new.id::text,
        json_build_object('bookingId', new.id, 'guestPhone', new.guest_phone),
        id => 'booking-' || new.id || '-' || new.status);
      return null;
    end $$;
    create trigger announce after update of status on bookings
      for each row when (old.status is distinct from new.status) execute function announce();
  `)
  await client.end()
})
after(() => database.drop())

async function setup(t: TestContext) {
  const pool = new pg.Pool({ connectionString: database.url })
  t.after(() => pool.end())
  await pool.query('truncate pillarbox.events, bookings')
  const events = async (): Promise<Record<string, unknown>[]> => {
    const { rows } = await pool.query<Record<string, unknown>>(
      `select tenant_id, id, type, entity_type, entity_id, payload::text, due_at, occurred_at, correlation_id, topic, traceparent, locale,
        recipients, channels, conversation, schema_version, status, attempt_count, last_error,
        published_at, created_at = next_attempt_at as is_due_at_once
        from pillarbox.events order by id`,
    )
    return rows
  }
  return { events, pool }
}

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const EVENT: NewEvent = {
  tenantId: 'atlas',
  id: 'e1',
  type: 'booking.confirmed',
  entity: { type: 'booking', id: '1' },
  payload: { bookingId: 1, note: 'Zoë’s "room"' },
}

describe('the SQL function pillarbox.publish', () => {
  it('writes the same row as publish() for the same event', async (t) => {
    const { events, pool } = await setup(t)
    const client = await pool.connect()
    await client.query('begin')
    await publish(fromPg(client), {
      ...EVENT,
      dueAt: '2026-03-15T09:00:00Z',
      occurredAt: '2026-03-14T09:00:00Z',
      correlationId: 'c1',
      topic: 'bookings.of-day',
      traceparent: TRACE,
      locale: 'de-DE',
      recipients: [{ phone: '+4915112345678' }],
      channels: ['sms'],
      conversation: { type: 'booking', id: '1' },
    })
    await client.query('commit')
    client.release()

    const { rows } = await pool.query(
      `select pillarbox.publish('atlas', 'booking.confirmed', 'booking', '1', $1, id => 'e2',
        due_at => '2026-03-15T09:00:00Z', occurred_at => '2026-03-14T09:00:00Z', correlation_id => 'c1',
        locale => 'de-DE', recipients => '[{"phone":"+4915112345678"}]', channels => '["sms"]',
        conversation => '{"type":"booking","id":"1"}', topic => 'bookings.of-day', traceparent => $2) as id`,
      [JSON.stringify(EVENT.payload), TRACE],
    )

    const [first, second, ...others] = await events()
    assert.deepEqual(rows, [{ id: 'e2' }])
    assert.deepEqual(others, [])
    assert.deepEqual(second, { ...first, id: 'e2' })
  })

  it('writes the same row as publish() where all that is optional is left out', async (t) => {
    const { events, pool } = await setup(t)
    const client = await pool.connect()
    await client.query('begin')
    await publish(fromPg(client), { ...EVENT, payload: {} })
    await client.query('commit')
    client.release()

    const { rows } = await pool.query<{ id: string }>(
      `select pillarbox.publish('atlas', 'booking.confirmed', 'booking', '1', '{}') as id`,
    )

    const id = rows[0]?.id ?? ''
    assert.match(id, /^[0-9a-f-]{36}$/)
    const all = await events()
    const [mine, other] = [all.find((row) => row['id'] === id), all.find((row) => row['id'] === 'e1')]
    assert.equal(all.length, 2)
    assert.deepEqual(mine, { ...other, id })
  })

  it('writes nothing for a known id, and answers it', async (t) => {
    const { events, pool } = await setup(t)
    const call = `select pillarbox.publish('atlas', 'a', 'booking', '1', $1, id => 'e1') as id`

    const answers = [await pool.query(call, ['{"n":1}']), await pool.query(call, ['{"n":2}'])]

    assert.deepEqual(
      answers.map(({ rows }) => rows as unknown),
      [[{ id: 'e1' }], [{ id: 'e1' }]],
    )
    assert.deepEqual(
      (await events()).map((row) => row['payload']),
      ['{"n":1}'],
    )
  })

  it('leaves nothing behind when the transaction is rolled back', async (t) => {
    const { events, pool } = await setup(t)
    const client = await pool.connect()

    await client.query(`begin; select pillarbox.publish('atlas', 'a', 'booking', '1', '{}'); rollback`)
    client.release()

    assert.deepEqual(await events(), [])
  })

  it('works from a trigger: with the change, once, and not without it', async (t) => {
    const { events, pool } = await setup(t)
    await pool.query(`insert into bookings values (7, 'atlas', '+919876543210', 'held'), (8, 'atlas', null, 'held')`)

    await pool.query(`update bookings set status = 'confirmed' where id = 7`)
    await pool.query(`update bookings set status = 'held' where id = 7`)
    await pool.query(`update bookings set status = 'confirmed' where id = 7`)
    await pool.query(`begin; update bookings set status = 'confirmed' where id = 8; rollback`)

    assert.deepEqual(
      (await events()).map((row) => [row['id'], row['type'], row['entity_id'], row['payload']]),
      [
        ['booking-7-confirmed', 'booking.confirmed', '7', '{"bookingId" : 7, "guestPhone" : "+919876543210"}'],
        ['booking-7-held', 'booking.held', '7', '{"bookingId" : 7, "guestPhone" : "+919876543210"}'],
      ],
    )
  })
})

/** The arguments of the function for an event: what it has no argument for is left to its default. */
function argumentsOf(event: NewEvent): unknown[] {
  const json = (value: unknown): string | null => (value === undefined ? null : (JSON.stringify(value) ?? null))
  const { tenantId, type, entity, payload, id, dueAt, occurredAt, correlationId, locale } = event
  const { recipients, channels, conversation } = event
  return [
    tenantId,
    type,
    entity.type,
    entity.id,
    json(payload),
    id,
    dueAt,
    occurredAt,
    correlationId,
    locale,
    json(recipients),
    json(channels),
    json(conversation),
  ]
}

const CALL = 'select pillarbox.publish($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) as id'

interface Refusal {
  code: string
  message: string
  hint: string
  column: string
  detail?: string
}

describe('the refusals of the SQL function pillarbox.publish', () => {
  it('says what came and what to do', async (t) => {
    const { pool } = await setup(t)
    const refusal = (changes: Record<string, unknown>): Promise<Partial<Refusal>> =>
      pool.query(CALL, argumentsOf({ ...EVENT, ...changes })).then(
        () => assert.fail('it was taken'),
        (error: unknown) => error as Refusal,
      )

    const { message, hint } = await refusal({ dueAt: 'infinity' })
    assert.equal(
      message,
      'pillarbox.publish: due_at must be a time of the years 1970 to 9998 with its zone, such as 2026-03-15T09:00:00Z, not infinity',
    )
    assert.equal(hint, 'Leave it out, or pass null, where the catalogue’s timing is to decide.')
    assert.match((await refusal({ payload: [] })).message ?? '', /payload must be an object .*, not a JSON array$/)
    assert.match(
      (await refusal({ payload: { a: 'x'.repeat(1_100_000) } })).message ?? '',
      /1 MiB.*, and has 1100008 bytes$/,
    )
    assert.match((await refusal({ tenantId: null })).message ?? '', /tenant_id must be .*, not null$/)
    assert.match((await refusal({ type: 'a b' })).message ?? '', /type must be .*, not "a b"$/)
  })

  it('does not count the spaces between the parts of a payload', async (t) => {
    const { events, pool } = await setup(t)
    const payload = { list: Array.from({ length: 240_000 }, () => 1), text: ' "  '.repeat(40_000) }
    const spaced = JSON.stringify(payload, null, 4)
    assert.ok(spaced.length > 1_200_000 && JSON.stringify(payload).length < 1_048_576)

    await pool.query(`select pillarbox.publish('atlas', 'a', 'booking', '1', $1)`, [spaced])

    assert.equal((await events()).length, 1)
  })
})

describe('fromPg with prepare', () => {
  it('has each form of statement prepared once per connection, and without it none', async (t) => {
    const { pool } = await setup(t)
    const client = await pool.connect()
    const prepared = async (): Promise<number> => {
      const { rows } = await client.query<{ count: number }>(
        'select count(*)::int as count from pg_prepared_statements',
      )
      return rows[0]?.count ?? 0
    }

    await client.query('begin')
    await publish(fromPg(client), { ...EVENT, id: 'a' })
    const atFirst = await prepared()
    for (const id of ['b', 'c', 'd']) await publish(fromPg(client, { prepare: true }), { ...EVENT, id })
    for (const id of ['e', 'f']) await publishMany(fromPg(client, { prepare: true }), [{ ...EVENT, id }])
    await client.query('commit')
    const atTheEnd = await prepared()
    client.release()

    assert.equal(atFirst, 0)
    assert.equal(atTheEnd, 2)
  })
})

describe('publish and publishMany on PostgreSQL', () => {
  it('write the same row, whichever of the optional fields an event or its neighbours have', async (t) => {
    const { events, pool } = await setup(t)
    const client = await pool.connect()
    const optional: Partial<NewEvent>[] = [
      {},
      { correlationId: 'c "1" \\ {NULL}, ü' },
      { occurredAt: '2026-03-14T09:00:00.123Z' },
      { dueAt: '2026-03-15T09:00:00Z' },
      { locale: 'de-DE' },
      { recipients: [{ name: 'Zoë "Z" \\', phone: '+4915112345678' }] },
      { channels: ['sms', 'email'] },
      { conversation: { type: 'booking', id: '\\"1"' } },
      { schemaVersion: 3 },
      { topic: 'bookings' },
      { topic: 'bookings', locale: 'de-DE' },
      { traceparent: TRACE },
      { traceparent: TRACE, topic: 'bookings', correlationId: 'c' },
      { correlationId: 'NULL', dueAt: '2026-03-15T09:00:00Z', locale: 'en', schemaVersion: 2 },
    ]
    const made = (kind: string, changes: Partial<NewEvent> = {}): NewEvent[] =>
      optional.map((fields, index) => ({ ...EVENT, ...fields, ...changes, id: `${kind}-${index}` }))

    await client.query('begin')
    for (const event of made('single')) await publish(fromPg(client), event)
    for (const event of made('alone')) await publishMany(fromPg(client), [event])
    await publishMany(fromPg(client), made('together'))
    await publishMany(fromPg(client), [...made('mixed'), ...made('other', { type: 'b', tenantId: 'zeta' })])
    await client.query('commit')
    client.release()

    const rows = await events()
    const of = (kind: string): unknown[] =>
      rows
        .filter(({ id }) => String(id).startsWith(`${kind}-`))
        .map((row) => ({ ...row, id: String(row['id']).split('-')[1] }))
    const expected = of('single')
    assert.equal(expected.length, optional.length)
    assert.deepEqual(of('alone'), expected)
    assert.deepEqual(of('together'), expected)
    assert.deepEqual(of('mixed'), expected)
    assert.deepEqual(
      of('other'),
      expected.map((row) => Object.assign({}, row, { type: 'b', tenant_id: 'zeta' })),
    )
  })
})

describe('publishMany on PostgreSQL', () => {
  it('does not deadlock with another that has the same ids in another order', async (t) => {
    const { events, pool } = await setup(t)
    const [first, middle, last] = ['a', 'm', 'z'].map((id) => ({ ...EVENT, id })) as [NewEvent, NewEvent, NewEvent]
    const holder = await pool.connect()
    await holder.query('begin')
    await publish(fromPg(holder), middle)
    const inTransaction = async (given: NewEvent[]): Promise<void> => {
      const client = await pool.connect()
      try {
        await client.query('begin')
        await publishMany(fromPg(client), given)
        await client.query('commit')
      } finally {
        client.release()
      }
    }

    // Both come to wait: each would then hold the id that the other takes last, if they took them as given.
    const both = Promise.all([inTransaction([first, middle, last]), inTransaction([last, middle, first])])
    await untilWaiting(pool, 2)
    await holder.query('commit')
    holder.release()
    await both

    assert.deepEqual(
      (await events()).map((row) => row['id']),
      ['a', 'm', 'z'],
    )
  })
})

async function untilWaiting(pool: pg.Pool, count: number): Promise<void> {
  await until(`${count} sessions wait for a lock`, async () => {
    const { rows } = await pool.query<{ waiting: number }>(
      `select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows[0]?.waiting === count
  })
}

describe('fromPrisma', () => {
  // Prisma's client is generated by a tool that downloads binaries, so its raw interface is stood in for by pg.
  it('hands statement and values to $executeRawUnsafe, each value by itself', async (t) => {
    const { events, pool } = await setup(t)
    const client = await pool.connect()
    const tx = { $executeRawUnsafe: (sql: string, ...values: unknown[]) => client.query(sql, values) }

    await client.query('begin')
    await publish(fromPrisma(tx), EVENT)
    await publishMany(fromPrisma(tx), [{ ...EVENT, id: 'e2' }])
    await client.query('commit')
    client.release()

    const [first, second] = await events()
    assert.equal(first?.['payload'], JSON.stringify(EVENT.payload))
    assert.deepEqual(second, { ...first, id: 'e2' })
    assert.equal(fromPrisma(tx, 'sqlite').engine, 'sqlite')
  })
})

describe('workers that listen', () => {
  it('hear of a nudge after the commit, and nothing from inside the transaction', async (t) => {
    const { pool } = await setup(t)
    const heard: (string | undefined)[] = []
    const listener = new pg.Client(database.url)
    await listener.connect()
    t.after(() => listener.end())
    await listener.query('listen pillarbox')
    const { promise: notified, resolve } = Promise.withResolvers<void>()
    listener.on('notification', ({ payload }) => {
      heard.push(payload)
      resolve()
    })
    const client = await pool.connect()

    await client.query('begin')
    await publish(fromPg(client), EVENT)
    await nudge(fromPg(client))
    await client.query('commit')
    client.release()
    await listener.query('select 1') // what a commit had notified would have arrived by now
    assert.deepEqual(heard, [])
    await nudge(fromPg(pool))
    await notified

    assert.deepEqual(heard, ['events'])
  })
})
