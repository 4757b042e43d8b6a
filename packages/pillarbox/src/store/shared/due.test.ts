import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import pg from 'pg'
import { type Bench, completion, createBench } from '../../../../../test/conformance/fixtures.ts'
import { createManualClock } from '../../../../../test/support/manual-clock.ts'
import { migratedDatabase } from '../../../../../test/support/postgres/database.ts'
import { silent } from '../../../../../test/support/samples.ts'
import { systemClock } from '../../runtime/system.ts'
import { openPostgres } from '../postgres/open.ts'
import { openSqlite } from '../sqlite/open.ts'

const HOUR_MS = 3_600_000

interface World {
  bench: Bench
  /** Sets the store's clock back by an hour. */
  setBack(): Promise<void>
}

async function onSqlite(t: TestContext): Promise<World> {
  const clock = createManualClock()
  const store = await openSqlite({ path: ':memory:', clock, logger: silent })
  t.after(() => store.close())
  await store.migrate()
  const bench = await createBench({ store, advance: clock.advance, close: store.close })
  return { bench, setBack: async () => clock.setWall(clock.now() - HOUR_MS) }
}

/** Nobody sets a test server's clock: what was written there is moved instead. */
const SET_BACK = `
  update pillarbox.events set next_attempt_at = next_attempt_at + interval '1 hour', created_at = created_at + interval '1 hour';
  update pillarbox.callbacks set next_attempt_at = next_attempt_at + interval '1 hour';
  update pillarbox.dispatch set visible_at = visible_at + interval '1 hour';
  update pillarbox.notifications set created_at = created_at + interval '1 hour';
  update pillarbox.workers set beat_at = beat_at + interval '1 hour'`

async function onPostgres(t: TestContext): Promise<World> {
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
  return { bench, setBack: async () => void (await other.query(SET_BACK)) }
}

for (const [engine, open] of [
  ['sqlite', onSqlite],
  ['postgres', onPostgres],
] as const)
  describe(`a clock of ${engine} that was set back by an hour`, () => {
    it('hides nothing that is due at once', async (t) => {
      const { bench, setBack } = await open(t)
      const { store, enqueue } = bench
      const lane = await bench.lane()
      const ids = await enqueue(lane, 2)
      await store.events.insert([bench.event(lane.tenantId)])
      await store.receipts.keep({
        source: 'sandbox',
        tenantId: null,
        accountIds: [],
        headers: {},
        body: Buffer.from('{}'),
      })
      await setBack()

      // Two kinds have one row, one has two.
      const changed = [
        await store.due.bringForward(1),
        await store.due.bringForward(1),
        await store.due.bringForward(1),
      ]

      const events = await store.plan.takeEvents(10)
      await events.release()
      const claims = await bench.claim(await bench.worker(), lane, 10)
      const callbacks = await store.receipts.take(10, 1_000)
      assert.deepEqual(
        [changed, events.rows.length, claims.map(({ notificationId }) => notificationId).sort(), callbacks.length],
        [[3, 1, 0], 1, ids.toSorted(), 1],
      )
    })

    it('brings nothing forward that waits for its time or for its next attempt', async (t) => {
      const { bench, setBack } = await open(t)
      const { store } = bench
      const lane = await bench.lane()
      await bench.enqueue(lane, 1, { dueAt: (await store.now()) + 10 * HOUR_MS })
      const worker = await bench.worker()
      await bench.enqueue(lane)
      const [claim] = await bench.claim(worker, lane)
      assert.ok(claim)
      await store.dispatch.complete(worker, [completion(claim, 'retrying', { delayMs: 60_000 })])
      await setBack()

      assert.equal(await store.due.bringForward(10), 0)
      assert.deepEqual(await store.dispatch.dueLanes(null, 10), [])
    })

    it('keeps no dead worker alive for that hour', async (t) => {
      const { bench, setBack } = await open(t)
      const { store } = bench
      await bench.worker()
      await setBack()

      await store.due.bringForward(10)

      const [worker] = await store.workers.list()
      await bench.advance(5)
      const [later] = await store.workers.list()
      assert.ok(worker && later && later.silentForMs > 0)
    })
  })
