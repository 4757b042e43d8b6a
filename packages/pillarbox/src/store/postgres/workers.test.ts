import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { createBench } from '../../../../../test/conformance/fixtures.ts'
import { migratedDatabase } from '../../../../../test/support/postgres/database.ts'
import type { Logger } from '../../model/ports.ts'
import { systemClock } from '../../runtime/system.ts'
import { openPostgres } from './open.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }
/** Longer than a beat takes, and shorter than any lock is waited for. */
const SOON_MS = 2_000

async function setup(t: TestContext) {
  const database = await migratedDatabase()
  const store = await openPostgres({ url: database.url, clock: systemClock, logger: silent })
  const other = new pg.Client({ connectionString: database.url })
  t.after(async () => {
    await store.close()
    await other.end()
    await database.drop()
  })
  await other.connect()
  const bench = await createBench({ store, advance: systemClock.sleep, close: () => store.close() })
  return { store, bench, other }
}

async function within<T>(ms: number, work: Promise<T>): Promise<T | 'still waiting'> {
  const ended = new AbortController()
  try {
    return await Promise.race([work, wait(ms, 'still waiting' as const, { signal: ended.signal })])
  } finally {
    ended.abort()
  }
}

describe('workers on PostgreSQL', () => {
  it('leave something to look for only if they hold something', async (t) => {
    const { store, bench, other } = await setup(t)
    const [lane, idle, holding] = [await bench.lane(), await bench.worker(), await bench.worker()]
    await bench.enqueue(lane)
    await bench.claim(holding, lane)

    await store.workers.remove(idle)
    const afterIdle = await other.query('select worker_id from pillarbox.departed')
    await store.workers.remove(holding)
    const afterBoth = await other.query('select worker_id from pillarbox.departed')

    assert.deepEqual([afterIdle.rows, afterBoth.rows], [[], [{ worker_id: holding }]])
  })

  it('beat while a take-over waits for a row that somebody holds', async (t) => {
    const { store, bench, other } = await setup(t)
    const [lane, dead, living] = [await bench.lane(), await bench.worker(), await bench.worker()]
    const [id = ''] = await bench.enqueue(lane)
    await bench.claim(dead, lane)
    await store.workers.remove(dead)
    // A result that is being written by a process which has stopped in the middle of it.
    await other.query('begin')
    await other.query('select from pillarbox.dispatch where notification_id = $1 for update', [id])

    const takingOver = store.workers.takeOver(living, 60_000, 10)
    assert.equal(await within(100, takingOver), 'still waiting')
    const isAlive = await within(SOON_MS, store.workers.beat(living))

    assert.equal(isAlive, true)
    await other.query('rollback')
    assert.deepEqual(
      (await takingOver).map(({ notificationId }) => notificationId),
      [id],
    )
  })

  it('give a beat up that is not answered, long before they would be taken for dead', async (t) => {
    const { store, bench, other } = await setup(t)
    const worker = await bench.worker()
    await other.query('begin')
    await other.query('select from pillarbox.workers where id = $1 for update', [worker])

    const failed = store.workers.beat(worker).then(
      () => 'beaten',
      (error: { code?: string }) => error.code,
    )

    assert.equal(await within(8_000, failed), 'store_unavailable')
    await other.query('rollback')
    assert.equal(await store.workers.beat(worker), true)
  })
})
