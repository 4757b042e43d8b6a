import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ENGINE_NAMES } from '../support/engines.ts'
import { chaosWorld } from './chaos-world.ts'
import { reckon } from './oracle.ts'
import { newOrders, openShop, publish, request } from './shop.ts'

const PROCESSES = { sqlite: 3, postgres: 2 }

describe('several processes on one database', { concurrency: 2 }, () => {
  for (const engine of ENGINE_NAMES) {
    it(`${engine}: all come up when they start at once on nothing`, async () => {
      await using world = await chaosWorld(engine)

      const processes = await Promise.all(
        Array.from({ length: 4 }, () => world.startProcess('start', { PILLARBOX_DEMO: 'true' })),
      )
      const answers = await Promise.all(
        processes.map(({ url }) => request(url, 'GET', '/api/channel-accounts?tenantId=demo')),
      )

      const accounts = answers.map(({ body }) => (body as { items: unknown[] }).items.length)
      assert.deepEqual(accounts, [6, 6, 6, 6])
    })

    it(`${engine}: share the work and send everything once`, async () => {
      await using world = await chaosWorld(engine)
      const first = await world.startProcess('start')
      const others = Array.from({ length: PROCESSES[engine] - 1 }, () => world.startProcess('start'))
      const processes = [first, ...(await Promise.all(others))]
      await openShop(first.url, { channels: ['sms'], latencyMs: 30 })
      const orders = newOrders(240, 'order')
      const batches = Array.from({ length: 24 }, (_, i) => orders.slice(i * 10, i * 10 + 10))

      const answers = await Promise.all(
        batches.map((batch, i) => publish(processes[i % processes.length]?.url ?? '', batch)),
      )
      const { broken, notifications, messages } = await reckon({
        url: first.url,
        world,
        orders,
        channels: ['sms'],
      })

      assert.deepEqual(
        answers.filter(({ status }) => status !== 200),
        [],
      )
      assert.deepEqual(broken, [])
      assert.equal(messages.length, orders.length, 'no key is honoured here: a second call would be a second message')
      assert.deepEqual(
        notifications.filter((row) => row.possibleDuplicate || row.attemptCount !== 1),
        [],
      )
    })
  }
})
