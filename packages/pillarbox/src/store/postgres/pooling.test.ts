import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { completion, createBench, dueNow } from '../../../../../test/conformance/fixtures.ts'
import { migratedDatabase } from '../../../../../test/support/postgres/database.ts'
import { hasPgBouncer, startPgBouncer } from '../../../../../test/support/postgres/pgbouncer.ts'
import { type PoolingProxy, startPoolingProxy } from '../../../../../test/support/postgres/pooling-proxy.ts'
import { recordingLogger } from '../../../../../test/support/samples.ts'
import { refusalOf } from '../../config/setup.ts'
import { systemClock } from '../../runtime/system.ts'
import { openPostgres } from './open.ts'

type StartPooler = (url: string) => Promise<PoolingProxy>

async function setup(t: TestContext, start: StartPooler | null) {
  const database = await migratedDatabase()
  const pooler = start && (await start(database.url))
  const logger = recordingLogger()
  const store = await openPostgres({ url: pooler?.url ?? database.url, clock: systemClock, logger })
  t.after(async () => {
    await store.close()
    await pooler?.[Symbol.asyncDispose]()
    await database.drop()
  })
  const pooled = (): boolean => logger.lines.some(({ message }) => message.includes('pooler in transaction mode'))
  return { store, pooled }
}

/** Everything that uses sessions of its own: planning under a lock, claims, results, workers, people, what is read. */
async function work(t: TestContext, start: StartPooler | null): Promise<{ statuses: string[]; pooled: boolean }> {
  const { store, pooled } = await setup(t, start)
  await store.migrate()
  const bench = await createBench({ store, advance: systemClock.sleep, close: store.close })
  const [lane, worker] = [await bench.lane(), await bench.worker()]
  for (let round = 0; round < 5; round += 1) {
    const event = bench.event(lane.tenantId)
    await store.events.insert([event])
    const batch = await store.plan.takeEvents(10)
    await batch.write(batch.rows.map(() => dueNow(bench.newId(), [bench.notification(lane)])))
    await bench.enqueue(lane, 3)
    const claims = await bench.claim(worker, lane, 10)
    await Promise.all([
      store.dispatch.complete(
        worker,
        claims.map((claim) => completion(claim, 'sent')),
      ),
      store.workers.beat(worker),
      store.lanes.list(null),
      store.notifications.countByStatus(null),
    ])
  }
  const { items } = await store.notifications.list({}, { limit: 100 })
  return { statuses: items.map(({ status }) => status), pooled: pooled() }
}

const SENT = Array<string>(20).fill('sent')

describe('a store', () => {
  it('straight on the server prepares its statements', async (t) => {
    assert.deepEqual(await work(t, null), { statuses: SENT, pooled: false })
  })

  it('behind a pooler in transaction mode finds that out, and works', async (t) => {
    assert.deepEqual(await work(t, (url) => startPoolingProxy(url)), { statuses: SENT, pooled: true })
  })
})

/** npm does not bring it; the proxy above is what every machine has. */
if (hasPgBouncer)
  describe('PgBouncer', () => {
    it('in transaction mode is noticed, and works', async (t) => {
      assert.deepEqual(await work(t, (url) => startPgBouncer(url, 'transaction')), { statuses: SENT, pooled: true })
    })

    it('in session mode is used like the server itself', async (t) => {
      assert.deepEqual(await work(t, (url) => startPgBouncer(url, 'session')), { statuses: SENT, pooled: false })
    })

    it('in statement mode is refused, with the setting to change', async (t) => {
      const { store } = await setup(t, (url) => startPgBouncer(url, 'statement'))

      const refusal = await store.migrate().then(
        () => null,
        (error: unknown) => refusalOf(error),
      )

      assert.match(refusal?.advice ?? '', /pool_mode = transaction/)
    })
  })
