import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { freshDatabase } from '../../../../../test/support/postgres/database.ts'
import { until } from '../../../../../test/support/until.ts'
import type { Logger } from '../../model/ports.ts'
import { systemClock } from '../../system.ts'
import { openSession, type Query } from './session.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** Two sessions on a table `t` that has the rows 1 and 2. */
async function setup({ settings = [] }: { settings?: string[] } = {}) {
  const database = await freshDatabase()
  const open = () =>
    openSession({
      url: database.url,
      role: 'test',
      clock: systemClock,
      logger: silent,
      statementTimeoutMs: 5_000,
      prepare: true,
      pipeline: true,
      settings,
    })
  const [session, other] = [open(), open()]
  await session.run({ text: 'create table t (id int primary key, at timestamptz)' })
  await session.run({ text: 'insert into t values (1), (2)' })
  return {
    session,
    other,
    ids: async () => (await other.run<{ id: number }>({ text: 'select id from t order by id' })).map(({ id }) => id),
    inTransaction: async () =>
      (
        await other.run({
          text: `select 1 from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
        })
      ).length > 0,
    async [Symbol.asyncDispose]() {
      await Promise.all([session.close(), other.close()])
      await database[Symbol.asyncDispose]()
    },
  }
}

const TAKE: Query = { name: 'take', text: 'select id from t order by id for update skip locked', values: [] }
const insert = (id: number): Query => ({
  name: 'insert',
  text: 'insert into t (id) values ($1) returning id',
  values: [id],
})

describe('an exchange', () => {
  it('hands over what it took, commits what is decided and answers its rows', async () => {
    await using to = await setup()

    const written = await to.session.exchange(TAKE, (rows) => [insert(rows.length + 1)])

    assert.deepEqual(written, [[{ id: 3 }]])
    assert.deepEqual(await to.ids(), [1, 2, 3])
  })

  it('keeps what it took from others until its commit', async () => {
    await using to = await setup()
    await to.other.run({ text: 'select pg_advisory_lock(1)' })
    let seen: unknown[] | null = null

    // The second statement ends only after the other session has looked.
    await to.session.exchange(TAKE, () => {
      void to.other.run(TAKE).then((rows) => {
        seen = rows
        return to.other.run({ text: 'select pg_advisory_unlock(1)' })
      })
      return [{ text: 'select pg_advisory_lock(1)' }]
    })

    assert.deepEqual(seen, [])
    assert.equal((await to.other.run(TAKE)).length, 2)
  })

  it('ends without a trace where nothing is decided', async () => {
    await using to = await setup()

    assert.deepEqual(await to.session.exchange(TAKE, () => []), [])

    assert.equal(await to.inTransaction(), false)
  })

  it('writes nothing and rejects with the first error when a statement fails, each time anew', async () => {
    await using to = await setup()
    const write: Query = {
      name: 'write',
      text: 'with added as (insert into t (id) values (3)) insert into t (id) values ($1)',
      values: [1],
    }

    for (let i = 0; i < 2; i++)
      await assert.rejects(
        to.session.exchange(TAKE, () => [write]),
        { code: '23505' },
      )
    for (let i = 0; i < 2; i++)
      await assert.rejects(
        to.session.exchange({ name: 'wrong', text: 'select * from nowhere' }, () => [insert(4)]),
        { code: '42P01' },
      )

    assert.deepEqual([await to.ids(), await to.inTransaction()], [[1, 2], false])
    await to.session.exchange(TAKE, () => [insert(5)])
    assert.deepEqual(await to.ids(), [1, 2, 5])
  })

  it('writes nothing when deciding fails', async () => {
    await using to = await setup()
    const decide = (): never => {
      throw new Error('cannot decide')
    }

    await assert.rejects(to.session.exchange(TAKE, decide), { message: 'cannot decide' })

    assert.deepEqual([await to.ids(), await to.inTransaction()], [[1, 2], false])
  })

  it('runs several statements in their order, and answers the rows of each', async () => {
    await using to = await setup()

    const written = await to.session.exchange(TAKE, () => [
      insert(3),
      { text: 'delete from t where id = 3' },
      insert(3),
    ])

    assert.deepEqual(written, [[{ id: 3 }], [], [{ id: 3 }]])
    assert.deepEqual(await to.ids(), [1, 2, 3])
  })

  it('writes none of several statements when the last of them fails', async () => {
    await using to = await setup()

    await assert.rejects(
      to.session.exchange(TAKE, () => [insert(3), insert(4), insert(1)]),
      { code: '23505' },
    )

    assert.deepEqual([await to.ids(), await to.inTransaction()], [[1, 2], false])
  })

  it('keeps what it took while deciding waits for something', async () => {
    await using to = await setup()

    const written = await to.session.exchange(TAKE, async (rows) => {
      assert.deepEqual(await to.other.run(TAKE), [])
      return [insert(rows.length + 1)]
    })

    assert.deepEqual(written, [[{ id: 3 }]])
  })

  it('undoes all and goes on when what deciding waited for fails', async () => {
    await using to = await setup()
    const decide = async (): Promise<never> => {
      await to.ids()
      throw new Error('no answer')
    }

    await assert.rejects(to.session.exchange(TAKE, decide), { message: 'no answer' })

    assert.equal(await to.inTransaction(), false)
    await to.session.exchange(TAKE, () => [insert(3)])
    assert.deepEqual(await to.ids(), [1, 2, 3])
  })

  for (const how of ['decides', 'fails'] as const)
    it(`writes nothing and connects again when deciding outlasts the server's patience and then ${how}`, async () => {
      await using to = await setup({ settings: ['idle_in_transaction_session_timeout = 50'] })
      const decide = async (): Promise<Query[]> => {
        await until('the server has ended the transaction', async () => !(await to.inTransaction()))
        if (how === 'fails') throw new Error('too late')
        return [insert(3)]
      }

      await assert.rejects(
        to.session.exchange(TAKE, decide),
        how === 'fails' ? { message: 'too late' } : { code: 'store_unavailable' },
      )
      await to.session.exchange(TAKE, () => [insert(4)])

      assert.deepEqual([await to.ids(), await to.inTransaction()], [[1, 2, 4], false])
    })

  it('rejects with store_unavailable when its connection is lost, and connects again', async () => {
    await using to = await setup()
    const endIt: Query = { text: 'select pg_terminate_backend(pg_backend_pid())' }

    await assert.rejects(
      to.session.exchange(TAKE, () => [endIt]),
      { code: 'store_unavailable' },
    )
    await to.session.exchange(TAKE, () => [insert(3)])

    assert.deepEqual(await to.ids(), [1, 2, 3])
  })
})

describe('a timestamp', () => {
  it('is read to the millisecond in any time zone and century', async () => {
    await using to = await setup()
    const read = async (text: string): Promise<unknown> =>
      (await to.session.run<{ at: Date }>({ text: `select '${text}'::timestamptz as at` }))[0]?.at.toISOString()
    await to.session.run({ text: `set time zone 'UTC'` })

    assert.equal(await read('2026-03-04 05:06:07.891999+00'), '2026-03-04T05:06:07.891Z')
    assert.equal(await read('2026-03-04 05:06:07+00'), '2026-03-04T05:06:07.000Z')
    assert.equal(await read('12026-03-04 05:06:07+00'), '+012026-03-04T05:06:07.000Z')
    await to.session.run({ text: `set time zone 'Asia/Kolkata'` })
    assert.equal(await read('2026-03-04 05:06:07.891+00'), '2026-03-04T05:06:07.891Z')
  })
})
