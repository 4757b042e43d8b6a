import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import pg from 'pg'
import { createBench } from '../../../../../test/conformance/fixtures.ts'
import { migratedDatabase } from '../../../../../test/support/postgres/database.ts'
import { until } from '../../../../../test/support/until.ts'
import type { Logger } from '../../model/ports.ts'
import { systemClock } from '../../runtime/system.ts'
import { openPostgres } from './open.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** A store, a connection that holds locks, and one that looks who waits for them. */
async function setup(t: TestContext) {
  const database = await migratedDatabase()
  const store = await openPostgres({ url: database.url, clock: systemClock, logger: silent })
  const [holder, onlooker] = [database, database].map(({ url }) => new pg.Client({ connectionString: url }))
  assert.ok(holder && onlooker)
  t.after(async () => {
    await Promise.all([store.close(), holder.end(), onlooker.end()])
    await database.drop()
  })
  await Promise.all([holder.connect(), onlooker.connect()])
  const bench = await createBench({ store, advance: systemClock.sleep, close: () => store.close() })
  /** Resolves once somebody waits for a lock; fails if `work` ends before. */
  const untilWaiting = async (work: Promise<unknown>): Promise<void> => {
    let hasEnded = false
    const end = (): void => {
      hasEnded = true
    }
    work.then(end, end)
    await until('somebody waits for a lock', async () => {
      const { rows } = await onlooker.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      assert.ok(rows.length > 0 || !hasEnded, 'nobody waited for the lock')
      return rows.length > 0
    })
  }
  return { store, bench, holder, untilWaiting }
}

describe('a claim on PostgreSQL', () => {
  it('waits for a rescuer that is declaring its worker dead, and then finds itself fenced', async (t) => {
    const { store, bench, holder, untilWaiting } = await setup(t)
    const [lane, worker] = [await bench.lane(), await bench.worker()]
    await bench.enqueue(lane)
    await holder.query('begin')
    await holder.query('delete from pillarbox.workers where id = $1', [worker])

    const claiming = store.dispatch.claim(worker, [{ accountId: lane.id, limit: 1 }])
    await untilWaiting(claiming)
    await holder.query('commit')

    assert.deepEqual(await claiming, { fenced: true })
  })

  it('does not wait for a beat of its worker that is being written', async (t) => {
    const { bench, holder } = await setup(t)
    const [lane, worker] = [await bench.lane(), await bench.worker()]
    await bench.enqueue(lane)
    await holder.query('begin')
    await holder.query('update pillarbox.workers set beat_at = now() where id = $1', [worker])

    const claims = await bench.claim(worker, lane)

    await holder.query('rollback')
    assert.equal(claims.length, 1)
  })

  it('passes over a row that somebody else has locked, and takes the next', async (t) => {
    const { bench, holder } = await setup(t)
    const [lane, worker] = [await bench.lane(), await bench.worker()]
    const [locked, free] = await bench.enqueue(lane, 2)
    await holder.query('begin')
    await holder.query('select from pillarbox.dispatch where notification_id = $1 for update', [locked])

    const claims = await bench.claim(worker, lane, 2)

    await holder.query('rollback')
    assert.deepEqual(
      claims.map(({ notificationId }) => notificationId),
      [free],
    )
  })
})

describe('a take-over on PostgreSQL', () => {
  it('waits for a rescuer that is declaring it dead itself, and then takes over nothing', async (t) => {
    const { store, bench, holder, untilWaiting } = await setup(t)
    const [lane, gone, rescuer] = [await bench.lane(), await bench.worker(), await bench.worker()]
    await bench.enqueue(lane)
    await bench.claim(gone, lane)
    await store.workers.remove(gone)
    await holder.query('begin')
    await holder.query('delete from pillarbox.workers where id = $1', [rescuer])

    const taking = store.workers.takeOver(rescuer, 60_000, 10)
    await untilWaiting(taking)
    await holder.query('commit')

    assert.deepEqual(await taking, [])
    const { rows } = await holder.query('select worker_id from pillarbox.departed')
    assert.deepEqual(rows, [{ worker_id: gone }], 'whom nobody looked after must not be forgotten')
  })
})
