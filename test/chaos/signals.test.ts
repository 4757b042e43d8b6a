import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '../../packages/pillarbox/src/runtime/system.ts'
import { openPostgres } from '../../packages/pillarbox/src/store/postgres/open.ts'
import { openSqlite } from '../../packages/pillarbox/src/store/sqlite/open.ts'
import { ENGINE_NAMES } from '../support/engines.ts'
import type { ProductProcess } from '../support/product-process.ts'
import { until } from '../support/until.ts'
import type { World } from '../support/world.ts'
import { chaosWorld, WORKER_TTL_MS } from './chaos-world.ts'
import { listLive, reckon, type Seen } from './oracle.ts'
import { newOrders, type Order, openShop, publish, SHOP_CHANNELS } from './shop.ts'

/** Far more than is promised, for a machine that is busy; the exact time is asserted in `engine.test.ts`. */
const RESCUE_MS = 10 * WORKER_TTL_MS

describe('signals under load', { concurrency: 3 }, () => {
  for (const engine of ENGINE_NAMES) {
    it(`${engine}: SIGTERM ends with 0, which says that it was within the grace, and no row stays in sending`, async () => {
      await using world = await chaosWorld(engine)
      const stopped = await world.startProcess('start')
      const orders = await loaded(stopped)

      stopped.signal('SIGTERM')
      const exit = await stopped.exited
      const counts = await countByStatus(world)
      const next = await world.startProcess('start')
      const { broken, notifications } = await reckon({
        url: next.url,
        world,
        orders,
        channels: SHOP_CHANNELS,
      })

      assert.deepEqual(exit, { code: 0, signal: null })
      assert.equal(counts.sending, 0)
      assert.deepEqual(broken, [])
      // Every call under way had time to end, so there was nothing to be unsure of.
      assert.deepEqual(
        notifications.filter(({ attempts }) => attempts.some(({ outcome }) => outcome === 'unknown')),
        [],
      )
    })

    it(`${engine}: a second SIGTERM ends it at once, and what was under way is rescued`, async () => {
      await using world = await chaosWorld(engine)
      const slow = { PILLARBOX_PROVIDER_TIMEOUT: 'PT1S', PILLARBOX_WORKER_TTL: 'PT4S' }
      const stopped = await world.startProcess('start', slow)
      const orders = await loaded(stopped, 800)

      stopped.signal('SIGTERM')
      await until('it has heard the first signal', async () => stopped.log().includes('"msg":"stopping"'))
      // A second signal within 200 ms counts as the echo of the first.
      await until('it leaves', async () => {
        stopped.signal('SIGTERM')
        return stopped.hasExited()
      })
      const exit = await stopped.exited
      const next = await world.startProcess('start', slow)
      const { broken, notifications } = await reckon({
        url: next.url,
        world,
        orders,
        channels: SHOP_CHANNELS,
      })

      assert.deepEqual(exit, { code: 143, signal: null })
      assert.deepEqual(broken, [])
      assertRescued(notifications)
    })

    it(`${engine}: kill -9 is rescued by another worker`, async (t) => {
      await using world = await chaosWorld(engine)
      const few = { PILLARBOX_CONCURRENCY: '8' }
      const [api, killed, other] = await Promise.all([
        world.startProcess('api'),
        world.startProcess('worker', few),
        world.startProcess('worker', few),
      ])
      const orders = await loaded(api)
      // More than one worker alone has room for, so both are at it.
      await until('both workers are busy', async () => (await listLive(api.url, ['sending'])).length > 16)

      const startedAt = performance.now()
      killed.signal('SIGKILL')
      await until('the other takes over', async () => other.log().includes('took over'))
      const tookMs = performance.now() - startedAt
      const { broken, notifications } = await reckon({
        url: api.url,
        world,
        orders,
        channels: SHOP_CHANNELS,
      })

      assert.deepEqual(broken, [])
      assertRescued(notifications)
      t.diagnostic(`taken over ${Math.round(tookMs)} ms after the kill; the worker TTL is ${WORKER_TTL_MS} ms`)
      assert.ok(tookMs < RESCUE_MS, `it took ${Math.round(tookMs)} ms`)
    })
  }
})

function assertRescued(notifications: readonly Seen[]): void {
  const rescued = notifications.filter(({ attempts }) => attempts.some(({ code }) => code === 'worker_lost'))
  assert.notEqual(rescued.length, 0, 'nothing was under way')
}

/** Publishes, and resolves while provider calls are under way. */
async function loaded({ url }: ProductProcess, latencyMs = 300): Promise<Order[]> {
  await openShop(url, { latencyMs })
  const orders = newOrders(60, 'order')
  await publish(url, orders)
  assert.ok(orders.every(({ acknowledged }) => acknowledged))
  await until('calls are under way', async () => (await listLive(url, ['sending'])).length > 0)
  return orders
}

async function countByStatus({ engine, databaseUrl }: World) {
  const parts = { clock: systemClock, logger: { debug() {}, info() {}, warn() {}, error() {} } }
  const store =
    engine === 'sqlite'
      ? await openSqlite({ path: databaseUrl.slice('sqlite:'.length), ...parts })
      : await openPostgres({ url: databaseUrl, ...parts })
  try {
    return await store.notifications.countByStatus(null)
  } finally {
    await store.close()
  }
}
