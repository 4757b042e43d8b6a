import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { OPS_KEY } from '../support/api.ts'
import { ENGINE_NAMES } from '../support/engines.ts'
import { until } from '../support/until.ts'
import { chaosWorld } from './chaos-world.ts'
import { reckon } from './oracle.ts'
import { newOrders, openShop, publish, TENANT } from './shop.ts'

/** Enough that some were committed, some were answered and some were under way when it ends. */
const ACKNOWLEDGED = 200

describe('a server that is asked for more than it can do, and killed', { concurrency: 2 }, () => {
  for (const engine of ENGINE_NAMES)
    it(`${engine}: has everything that it acknowledged, and says 503, 429 or 401 to the rest`, async (t) => {
      await using world = await chaosWorld(engine)
      const doomed = await world.startProcess('start')
      await openShop(doomed.url, { channels: ['sms'] })
      const pressers = [
        press(doomed.url, `GET /api/notifications?tenantId=${TENANT}&limit=200`, OPS_KEY),
        press(doomed.url, 'GET /api/notifications?limit=1', 'pbx_unknown'),
        press(doomed.url, `POST /api/webhooks/meta/${TENANT}`, 'none'),
      ]

      const orders = newOrders(2_000, 'order')
      const statuses = new Set<number>()
      const acknowledged = (): number => orders.filter((order) => order.acknowledged).length
      let next = 0
      const publishing = Array.from({ length: 32 }, async () => {
        for (let order = orders[next++]; order && !doomed.hasExited(); order = orders[next++])
          statuses.add((await publish(doomed.url, [order])).status)
      })
      await until('some are acknowledged', () => acknowledged() >= ACKNOWLEDGED)
      doomed.signal('SIGKILL')
      await Promise.all(publishing)
      const refused = pressers.map((presser) => presser.end())

      const healthy = await world.startProcess('start')
      const { broken } = await reckon({ url: healthy.url, world, orders, channels: ['sms'] })

      t.diagnostic(`${acknowledged()} acknowledged; the pressers were told ${JSON.stringify(refused)}`)
      assert.deepEqual(broken, [])
      statuses.delete(0)
      statuses.delete(503)
      assert.deepEqual([...statuses], [202])
      const [lists = {}, unknown = {}, forged = {}] = refused
      assert.deepEqual(
        [lists, unknown, forged].map((counts) => Object.keys(counts).filter((status) => !EXPECTED.has(status))),
        [[], [], []],
      )
      for (const counts of [unknown, forged]) assert.equal(counts['200'], undefined)
    })
})

const EXPECTED = new Set(['200', '401', '403', '429', '503'])

/** Seven connections that always have eight requests under way, and how they were answered. */
function press(url: string, line: string, key: string): { end(): Record<string, number> } {
  const counts: Record<string, number> = {}
  const { hostname, port } = new URL(url)
  const request = `${line} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-length: 0\r\n\r\n`
  const sockets = Array.from({ length: 7 }, () => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    socket.setEncoding('latin1').on('data', (text) => {
      const answered = [...String(text).matchAll(/HTTP\/1\.1 (\d+) /g)]
      for (const [, status = ''] of answered) counts[status] = (counts[status] ?? 0) + 1
      socket.write(request.repeat(answered.length))
    })
    socket.write(request.repeat(8))
    return socket
  })
  return {
    end() {
      for (const socket of sockets) socket.destroy()
      return counts
    },
  }
}
