import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '../../packages/pillarbox/src/runtime/system.ts'
import { ENGINE_NAMES } from '../support/engines.ts'
import { freshDatabase } from '../support/postgres/database.ts'
import type { ProductProcess } from '../support/product-process.ts'
import { until } from '../support/until.ts'
import type { World } from '../support/world.ts'
import { chaosWorld } from './chaos-world.ts'
import { startCommitProxy } from './commit-proxy.ts'
import { listLive, reckon, untilQuiet } from './oracle.ts'
import { call, newOrders, openShop, publish, SHOP_CHANNELS } from './shop.ts'

/**
 * Slow calls, so that they can be seen under way; the lease covers them all the same. A beat every 1.5 s, because timers
 * of equal length are run together when a stopped process goes on, and the deadline is not to come before the call.
 */
const SLOW = { PILLARBOX_PROVIDER_TIMEOUT: 'PT3S', PILLARBOX_WORKER_TTL: 'PT6S' }
const LATENCY_MS = 1_700
/** From a claim, which can be seen, to the call, which cannot: what is asked in between takes far less. */
const TO_THE_CALL_MS = 400

describe('a worker that is silent past its lease and comes back', { concurrency: 3 }, () => {
  for (const engine of ENGINE_NAMES)
    it(`${engine}: stopped by SIGSTOP, its late results change nothing`, async () => {
      await using world = await chaosWorld(engine)
      const worker = await world.startProcess('worker', SLOW)

      await silentPastItsLease(world, worker, {
        begin: () => worker.signal('SIGSTOP'),
        end: () => worker.signal('SIGCONT'),
      })
    })

  it('postgres: cut off from the database by a dead network, its late results change nothing', async () => {
    await using database = await freshDatabase()
    await using proxy = await startCommitProxy(database.url)
    await using world = await chaosWorld('postgres', { databaseUrl: database.url })
    const worker = await world.startProcess('worker', { ...SLOW, DATABASE_URL: proxy.url })

    await silentPastItsLease(world, worker, { begin: () => proxy.freeze(), end: () => proxy.thaw() })
  })
})

/** While its calls are under way the worker falls silent; another one takes over and finishes; then it comes back. */
async function silentPastItsLease(
  world: World,
  worker: ProductProcess,
  silence: { begin(): void; end(): void },
): Promise<void> {
  const api = await world.startProcess('api', SLOW)
  await openShop(api.url, { latencyMs: LATENCY_MS })
  const orders = newOrders(10, 'order')
  const calls = orders.length * SHOP_CHANNELS.length
  await publish(api.url, orders)
  await until('calls are under way', async () => (await listLive(api.url, ['sending'])).length === calls)
  await systemClock.sleep(TO_THE_CALL_MS)

  silence.begin()
  await world.startProcess('worker', SLOW)
  await untilQuiet(api.url)
  silence.end()
  await until('it hears that it was fenced', async () => worker.log().includes('a result came after'))
  const more = newOrders(10, 'more')
  await publish(api.url, more)
  const { broken, notifications, messages } = await reckon({
    url: api.url,
    world,
    orders: [...orders, ...more],
    channels: SHOP_CHANNELS,
  })

  assert.deepEqual(broken, [])
  const late = notifications.filter(({ attempts }) => attempts.some((attempt) => attempt.late))
  assert.equal(late.length, calls, 'every call it made is on record as late')
  const first = notifications.filter(({ channel, eventId }) => channel === 'sms' && eventId?.startsWith('order'))
  const ids = new Set(first.map(({ id }) => id))
  const sent = messages.filter(({ notificationId }) => ids.has(notificationId)).length
  assert.ok(sent > orders.length, 'where no key is honoured, both workers sent')
  assert.deepEqual(
    notifications.filter(({ eventId, possibleDuplicate }) => eventId?.startsWith('more') && possibleDuplicate),
    [],
  )
  await until('both workers are alive', async () => {
    const { workers } = await call<{ workers: { status: string }[] }>(api.url, 'GET', '/health')
    return workers.filter(({ status }) => status === 'alive').length === 2
  })
}
