import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { freshDatabase } from '../../../../../test/support/postgres/database.ts'
import type { Clock, Logger } from '../../model/ports.ts'
import { systemClock } from '../../runtime/system.ts'
import { openSession, type Query } from './session.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** Two sessions on a table `t` that has the rows 1 and 2. */
async function setup({ sleep = systemClock.sleep }: { sleep?: Clock['sleep'] } = {}) {
  const database = await freshDatabase()
  const open = () =>
    openSession({
      url: database.url,
      role: 'test',
      clock: { ...systemClock, sleep },
      logger: silent,
      statementTimeoutMs: 5_000,
      prepare: true,
      pipeline: true,
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

describe('an open transaction', () => {
  it('hands over what it took, commits what is written and answers its rows', async () => {
    await using to = await setup()
    const { rows, commit } = await to.session.begin(TAKE)

    assert.deepEqual(await commit([insert(rows.length + 1)]), [[{ id: 3 }]])

    assert.deepEqual(await to.ids(), [1, 2, 3])
  })

  it('keeps what it took from others until its commit', async () => {
    await using to = await setup()
    const { commit } = await to.session.begin(TAKE)

    assert.deepEqual(await to.other.run(TAKE), [])
    await commit([])

    assert.equal((await to.other.run(TAKE)).length, 2)
  })

  it('keeps the session from other callers until it ends', async () => {
    await using to = await setup()
    const { commit } = await to.session.begin(TAKE)
    const waiting = to.session.run<{ id: number }>({ text: 'select max(id) as id from t' })

    await commit([insert(3)])

    assert.deepEqual(await waiting, [{ id: 3 }])
  })

  it('ends without a trace when it is rolled back, once or again', async () => {
    await using to = await setup()
    const { rollback } = await to.session.begin(TAKE)

    await rollback()
    await rollback()

    assert.equal(await to.inTransaction(), false)
    assert.equal((await to.other.run(TAKE)).length, 2)
  })

  it('can be committed once, and not after a rollback', async () => {
    await using to = await setup()
    const first = await to.session.begin(TAKE)
    await first.commit([insert(3)])
    const second = await to.session.begin(TAKE)
    await second.rollback()

    for (const { commit } of [first, second]) await assert.rejects(commit([insert(4)]), { code: 'store_unavailable' })

    assert.deepEqual(await to.ids(), [1, 2, 3])
  })

  it('writes nothing and rejects with the first error when a statement fails, each time anew', async () => {
    await using to = await setup()
    const write: Query = {
      name: 'write',
      text: 'with added as (insert into t (id) values (3)) insert into t (id) values ($1)',
      values: [1],
    }
    const wrong: Query = { name: 'wrong', text: 'select * from nowhere' }

    for (let i = 0; i < 2; i++) {
      const { commit, rollback } = await to.session.begin(TAKE)
      await assert.rejects(commit([write]), { code: '23505' })
      await rollback()
    }
    for (let i = 0; i < 2; i++) await assert.rejects(to.session.begin(wrong), { code: '42P01' })

    assert.deepEqual([await to.ids(), await to.inTransaction()], [[1, 2], false])
    const { commit } = await to.session.begin(TAKE)
    await commit([insert(5)])
    assert.deepEqual(await to.ids(), [1, 2, 5])
  })

  it('runs several statements in their order, and answers the rows of each', async () => {
    await using to = await setup()
    const { commit } = await to.session.begin(TAKE)

    const written = await commit([insert(3), { text: 'delete from t where id = 3' }, insert(3)])

    assert.deepEqual(written, [[{ id: 3 }], [], [{ id: 3 }]])
    assert.deepEqual(await to.ids(), [1, 2, 3])
  })

  it('writes none of several statements when the last of them fails', async () => {
    await using to = await setup()
    const { commit } = await to.session.begin(TAKE)

    await assert.rejects(commit([insert(3), insert(4), insert(1)]), { code: '23505' })

    assert.deepEqual([await to.ids(), await to.inTransaction()], [[1, 2], false])
  })

  it('is given up after fifteen seconds, and its session serves others', async () => {
    let giveUp = (): void => {}
    const overtime = (): Promise<void> =>
      new Promise((resolve) => {
        giveUp = resolve
      })
    await using to = await setup({ sleep: overtime })
    const { commit } = await to.session.begin(TAKE)
    const waiting = to.session.begin(TAKE)

    giveUp()

    const { rows, rollback } = await waiting
    assert.equal(rows.length, 2)
    await rollback()
    await assert.rejects(commit([insert(3)]), /kept open for longer than 15 s/)
    assert.deepEqual([await to.ids(), await to.inTransaction()], [[1, 2], false])
  })

  it('ends with its connection, and its session connects again', async () => {
    await using to = await setup()
    const pid: Query = { text: 'select pg_backend_pid() as pid' }
    const { rows, commit } = await to.session.begin<{ pid: number }>(pid)
    const waiting = to.session.begin(TAKE)

    await to.other.run({ text: 'select pg_terminate_backend($1)', values: [rows[0]?.pid] })

    const next = await waiting
    await assert.rejects(commit([insert(3)]), { code: 'store_unavailable' })
    await next.commit([insert(4)])
    assert.deepEqual([await to.ids(), await to.inTransaction()], [[1, 2, 4], false])
  })

  it('rejects with store_unavailable when its connection is lost during the commit, and connects again', async () => {
    await using to = await setup()
    const endIt: Query = { text: 'select pg_terminate_backend(pg_backend_pid())' }
    const { commit } = await to.session.begin(TAKE)

    await assert.rejects(commit([endIt]), { code: 'store_unavailable' })

    await (await to.session.begin(TAKE)).commit([insert(3)])
    assert.deepEqual(await to.ids(), [1, 2, 3])
  })

  it('says that nothing was written when PostgreSQL rolled it back to end a deadlock', async () => {
    await using to = await setup()
    const { commit } = await to.session.begin({ text: 'select id from t where id = 1 for update' })
    const rolledBack: Query = { text: `do $$ begin raise exception 'deadlock' using errcode = '40P01'; end $$` }

    await assert.rejects(commit([insert(3), rolledBack]), { code: 'store_unavailable' })

    assert.deepEqual([await to.ids(), await to.inTransaction()], [[1, 2], false])
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
