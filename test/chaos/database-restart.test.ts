import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Answer } from '../support/api.ts'
import { startPostgres } from '../support/postgres/launcher.ts'
import { until } from '../support/until.ts'
import { chaosWorld } from './chaos-world.ts'
import { listLive, reckon } from './oracle.ts'
import { newOrders, openShop, publish, publishUntilAcknowledged, SHOP_CHANNELS } from './shop.ts'

/** Less than the time after which a statement is given up; far more than what it takes on a machine that is busy. */
const STUCK_MS = 30_000

describe('PostgreSQL going away under load', () => {
  it('ends no process, is answered with 503 meanwhile, and loses nothing', async (t) => {
    await using server = await startPostgres({ durable: true })
    await using world = await chaosWorld('postgres', { databaseUrl: server.url })
    const processes = await Promise.all([world.startProcess('start'), world.startProcess('worker')])
    const [{ url }] = processes
    await openShop(url, { latencyMs: 20 })
    const orders = newOrders(5_000, 'order')
    const answers: Answer<unknown>[] = []
    let published = 0
    let isOver = false
    const publisher = async (): Promise<void> => {
      while (!isOver && published < orders.length) {
        const order = orders[published++]
        if (order) answers.push(await publish(url, [order]))
      }
    }
    const load = Promise.all(Array.from({ length: 4 }, publisher))

    for (const goDown of [() => server.stop('fast'), () => server.stop('immediate'), () => server.kill()]) {
      const before = answers.length
      await until(
        'it is under load',
        async () => answers.slice(before).filter(({ status }) => status === 202).length >= 20,
      )
      await goDown()
      const downSince = answers.length
      await until(
        'intake refuses',
        async () => answers.slice(downSince).filter(({ status }) => status === 503).length >= 4,
      )
      await server.start()
    }
    const before = answers.length
    await until('intake takes again', async () => answers.slice(before).some(({ status }) => status === 202))
    isOver = true
    await load
    const given = orders.slice(0, published)
    await publishUntilAcknowledged(url, given)
    const { broken } = await reckon({ url, world, orders: given, channels: SHOP_CHANNELS })

    assert.deepEqual(broken, [])
    assert.deepEqual(
      processes.map((process) => process.hasExited()),
      [false, false],
    )
    const odd = answers.filter(({ status, retryAfter }) => status !== 202 && (status !== 503 || retryAfter === null))
    assert.deepEqual(odd, [], 'nothing but 202, and 503 with Retry-After')
    const slowest = Math.max(...answers.map(({ tookMs }) => tookMs))
    t.diagnostic(`${answers.length} requests, slowest answer ${Math.round(slowest)} ms`)
    assert.ok(slowest < STUCK_MS, `an answer took ${Math.round(slowest)} ms`)
  })

  it('does not keep a process from starting: it waits for the database', async () => {
    await using server = await startPostgres({ durable: true })
    await using world = await chaosWorld('postgres', { databaseUrl: server.url })
    await server.stop()

    const starting = world.startProcess('start')
    const failed = starting.then(
      () => false,
      () => true,
    )
    await Promise.race([failed, until('it says that it waits', async () => world.lastLog().includes('trying again'))])
    await server.start()

    assert.equal((await starting).hasExited(), false)
  })

  it('does not keep a process from stopping, and what it could not write is rescued', async (t) => {
    await using server = await startPostgres({ durable: true })
    await using world = await chaosWorld('postgres', { databaseUrl: server.url })
    const stopped = await world.startProcess('start', { PILLARBOX_SHUTDOWN_GRACE: 'PT2S' })
    await openShop(stopped.url, { latencyMs: 400 })
    const orders = newOrders(20, 'order')
    await publish(stopped.url, orders)
    await until('calls are under way', async () => (await listLive(stopped.url, ['sending'])).length > 0)

    await server.stop('immediate')
    const startedAt = performance.now()
    stopped.signal('SIGTERM')
    const exit = await stopped.exited
    const tookMs = performance.now() - startedAt
    await server.start()
    const next = await world.startProcess('start')
    const { broken } = await reckon({ url: next.url, world, orders, channels: SHOP_CHANNELS })

    t.diagnostic(`ended with ${exit.code} after ${Math.round(tookMs)} ms; the grace is 2000 ms`)
    assert.deepEqual(broken, [])
    assert.equal(exit.signal, null)
    assert.ok(tookMs < STUCK_MS, `it took ${Math.round(tookMs)} ms to stop`)
  })
})
