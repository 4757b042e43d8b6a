import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '../../packages/pillarbox/src/system.ts'
import { freshDatabase } from '../support/postgres/database.ts'
import { startCommitProxy } from './commit-proxy.ts'
import { listLive, reckon, untilQuiet } from './oracle.ts'
import { createRig, ENGINES, type Rig, type Running, until } from './rig.ts'
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
  for (const engine of ENGINES)
    it(`${engine}: stopped by SIGSTOP, its late results change nothing`, { timeout: 120_000 }, async () => {
      await using rig = await createRig(engine)
      const worker = await rig.start('worker', SLOW)

      await silentPastItsLease(rig, worker, {
        begin: () => worker.signal('SIGSTOP'),
        end: () => worker.signal('SIGCONT'),
      })
    })

  it('postgres: cut off from the database by a dead network, its late results change nothing', {
    timeout: 120_000,
  }, async () => {
    await using database = await freshDatabase()
    await using proxy = await startCommitProxy(database.url)
    await using rig = await createRig('postgres', { databaseUrl: database.url })
    const worker = await rig.start('worker', { ...SLOW, DATABASE_URL: proxy.url })

    await silentPastItsLease(rig, worker, { begin: () => proxy.freeze(), end: () => proxy.thaw() })
  })
})

/** While its calls are under way the worker falls silent; another one takes over and finishes; then it comes back. */
async function silentPastItsLease(rig: Rig, worker: Running, silence: { begin(): void; end(): void }): Promise<void> {
  const api = await rig.start('api', SLOW)
  await openShop(api.url, { latencyMs: LATENCY_MS })
  const orders = newOrders(10, 'order')
  const calls = orders.length * SHOP_CHANNELS.length
  await publish(api.url, orders)
  await until('calls are under way', 20_000, async () => (await listLive(api.url, ['sending'])).length === calls)
  await systemClock.sleep(TO_THE_CALL_MS)

  silence.begin()
  await rig.start('worker', SLOW)
  await untilQuiet(api.url, 30_000)
  silence.end()
  await until('it hears that it was fenced', 20_000, async () => worker.log().includes('results came after'))
  const more = newOrders(10, 'more')
  await publish(api.url, more)
  const { broken, notifications, messages } = await reckon({
    url: api.url,
    dataDir: rig.dataDir,
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
  await until('both workers are alive', 10_000, async () => {
    const { workers } = await call<{ workers: { status: string }[] }>(api.url, 'GET', '/health')
    return workers.filter(({ status }) => status === 'alive').length === 2
  })
}
