import assert from 'node:assert/strict'
import path from 'node:path'
import { describe, it } from 'node:test'
import { ENGINE_NAMES } from '../support/engines.ts'
import { until } from '../support/until.ts'
import { chaosWorld } from './chaos-world.ts'
import { call, openShop, publish, TENANT } from './shop.ts'

const HOST = path.join(import.meta.dirname, 'poisoned-host.ts')

describe('an event that ends whichever process plans it', { concurrency: 2 }, () => {
  for (const engine of ENGINE_NAMES)
    it(`${engine}: ends three, first among others and then twice alone, and is given up by the fourth, which plans all others`, async () => {
      await using world = await chaosWorld(engine)
      const { url } = await world.startProcess('api')
      await openShop(url, { channels: ['email'] })
      const orders = ['first', 'poison', 'last'].map((id) => ({ id, acknowledged: false }))
      assert.equal((await publish(url, orders)).status, 200)
      const event = (id: string) =>
        call<{ status: string; lastError: string | null }>(url, 'GET', `/api/events/${id}?tenantId=${TENANT}`)

      for (const nth of ['first', 'second', 'third']) {
        const host = await world.startScript(HOST, {}, { mayEnd: true })
        assert.deepEqual(await host.exited, { code: null, signal: 'SIGKILL' }, `the ${nth} process`)
      }
      const fourth = await world.startScript(HOST, {}, { mayEnd: false })

      await until('all of them are decided', async () => {
        const statuses = await Promise.all(orders.map(async ({ id }) => (await event(id)).status))
        return statuses.every((status) => status !== 'pending')
      })
      const { status, lastError } = await event('poison')
      assert.equal(status, 'failed')
      assert.match(lastError ?? '', /planning it, and nothing else, has ended the process twice/)
      for (const id of ['first', 'last']) assert.equal((await event(id)).status, 'published')
      assert.equal(fourth.hasExited(), false)
    })
})
