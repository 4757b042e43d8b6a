import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isPillarboxError } from '../../model/errors.ts'
import type { Clock } from '../../model/ports.ts'
import { type Connection, openConnection } from './connection.ts'
import { openWriter, type Writer } from './writer.ts'

const frozen: Clock = {
  now: () => 1_000,
  monotonic: () => 0,
  sleep: () => Promise.reject(new Error('nothing is to be waited for')),
}

interface Bench {
  writer: Writer
  connection: Connection
  /** Runs the group that `defer` was given. */
  flush: () => void
  insert: (id: number) => Promise<number>
  ids: () => number[]
  /** Statements of the writer's transactions, in order. */
  log: string[]
}

function setup(): Bench {
  const connection = openConnection({ path: ':memory:', readOnly: false, now: frozen.now })
  connection.db.exec('create table t (id integer primary key)')
  const log: string[] = []
  const logged: Connection = { ...connection, db: loggedDatabase(connection.db, log) }
  const deferred: (() => void)[] = []
  const writer = openWriter({ connection: logged, clock: frozen, defer: (flush) => deferred.push(flush) })
  return {
    writer,
    connection,
    log,
    flush: () => deferred.shift()?.(),
    insert: (id) =>
      writer.write(() => {
        connection.db.prepare('insert into t values (?)').run(id)
        return id
      }),
    ids: () =>
      connection.db
        .prepare('select id from t order by id')
        .all()
        .map(({ id }) => Number(id)),
  }
}

/** The database with every statement that the writer prepares noting when it runs. */
function loggedDatabase(db: Connection['db'], log: string[]): Connection['db'] {
  return new Proxy(db, {
    get(target, name) {
      if (name !== 'prepare') {
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      }
      return (text: string) => {
        const statement = target.prepare(text)
        return {
          run: () => {
            log.push(text)
            return statement.run()
          },
        }
      }
    },
  })
}

describe('group commit', () => {
  it('puts what was asked for together into one transaction, and answers after its commit', async () => {
    const { insert, flush, log, connection } = setup()
    const answered: number[] = []
    const writes = [1, 2, 3].map((id) =>
      insert(id).then((value) => {
        assert.equal(connection.db.isTransaction, false)
        answered.push(value)
      }),
    )
    await Promise.resolve()
    assert.deepEqual(answered, [])

    flush()
    await Promise.all(writes)

    assert.deepEqual(answered, [1, 2, 3])
    assert.equal(log.filter((text) => text === 'begin immediate').length, 1)
    assert.equal(log.at(-1), 'commit')
  })

  it('undoes and rejects a write that throws, and no other', async () => {
    const { writer, insert, flush, ids, connection } = setup()
    const first = insert(1)
    const refused = writer.write(() => {
      connection.db.exec('insert into t values (100)')
      connection.db.exec('insert into t values (1)')
    })
    const last = insert(2)
    const outcome = assert.rejects(refused, /UNIQUE/)

    flush()

    assert.deepEqual(await Promise.all([first, last]), [1, 2])
    await outcome
    assert.deepEqual(ids(), [1, 2])
  })

  it('spares a single write the savepoint', async () => {
    const { insert, flush, log } = setup()
    const write = insert(1)

    flush()
    await write

    assert.deepEqual(log, ['begin immediate', 'commit'])
  })

  it('rolls a single write back when it throws, and goes on', async () => {
    const { writer, insert, flush, ids, connection } = setup()
    const refused = writer.write(() => {
      connection.db.exec('insert into t values (1)')
      throw new Error('no')
    })
    const outcome = assert.rejects(refused, /no/)
    flush()
    await outcome

    const next = insert(2)
    flush()
    await next

    assert.deepEqual(ids(), [2])
  })

  it('gives every write of a group the same time', async () => {
    const { writer, flush } = setup()
    const times = Promise.all([writer.write((now) => now), writer.write(() => writer.now())])

    flush()

    assert.deepEqual(await times, [1_000, 1_000])
  })

  it('rejects the whole group when the commit fails', async () => {
    const { writer, connection, flush, ids } = setup()
    connection.db.exec('create table child (t integer references t deferrable initially deferred)')
    const writes = Promise.allSettled([
      writer.write(() => connection.db.exec('insert into t values (1)')),
      writer.write(() => connection.db.exec('insert into child values (99)')),
    ])

    flush()

    for (const outcome of await writes)
      assert.ok(outcome.status === 'rejected' && isPillarboxError(outcome.reason, 'store_unavailable'))
    assert.deepEqual(ids(), [])
    assert.equal(connection.db.isTransaction, false)
  })

  it('rejects what ran before when the transaction is lost, and runs the rest in the next', async () => {
    const { writer, connection, insert, flush, ids } = setup()
    const writes = Promise.allSettled([
      insert(1),
      writer.write(() => {
        // As a full disk does: SQLite ends the transaction by itself.
        connection.db.exec('rollback')
        throw new Error('disk full')
      }),
      insert(3),
    ])

    flush()
    flush()

    const statuses = (await writes).map(({ status }) => status)
    assert.deepEqual(statuses, ['rejected', 'rejected', 'fulfilled'])
    assert.deepEqual(ids(), [3])
  })

  it('finishes what is queued before it closes, and refuses what comes later', async () => {
    const { writer, insert, flush, ids } = setup()
    const queued = insert(1)
    const closed = writer.close()
    const late = assert.rejects(insert(2), (error) => isPillarboxError(error, 'store_unavailable'))

    flush()
    await Promise.all([queued, closed, late])

    assert.deepEqual(ids(), [1])
  })
})
