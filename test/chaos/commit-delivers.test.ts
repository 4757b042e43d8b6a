import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ENGINE_NAMES } from '../support/engines.ts'
import { until } from '../support/until.ts'
import { chaosWorld } from './chaos-world.ts'
import { reckon } from './oracle.ts'
import { eventOf, newOrders, type Order, openShop, TENANT } from './shop.ts'

const eventOfShop = (order: Order) => ({ tenantId: TENANT, ...eventOf(order) })

describe('what the application commits is delivered', { concurrency: 2 }, () => {
  for (const engine of ENGINE_NAMES)
    it(`${engine}: a commit delivers, a rollback does not, two in one transaction both arrive`, async () => {
      await using world = await chaosWorld(engine)
      const product = await world.startProcess('start')
      await openShop(product.url, { channels: ['email'] })
      const host = await world.host()
      const pay = (orders: readonly Order[], end: 'commit' | 'rollback') =>
        host.transact({ rows: orders.map(({ id }) => id), events: orders.map(eventOfShop), nudges: true }, end)
      const [committed, undone, pair] = [newOrders(1, 'committed'), newOrders(1, 'undone'), newOrders(2, 'pair')]

      await pay(undone, 'rollback')
      await pay(committed, 'commit')
      await pay(pair, 'commit')
      await until('all three have arrived', () => world.sandboxMessages().length >= 3)
      for (const order of [...committed, ...pair]) order.acknowledged = true
      const orders = [...committed, ...pair]
      const { broken, messages } = await reckon({ url: product.url, world, orders, channels: ['email'] })

      assert.deepEqual(broken, [])
      assert.equal(messages.length, 3)
      assert.deepEqual(await host.rows(), orders.map(({ id }) => id).toSorted())
    })
})
