import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { freshDatabase } from '../support/postgres/database.ts'
import { chaosWorld } from './chaos-world.ts'
import { SIDES, type Side, startCommitProxy } from './commit-proxy.ts'
import { reckon } from './oracle.ts'
import { newOrders, openShop, publish, publishUntilAcknowledged, SHOP_CHANNELS } from './shop.ts'

const isFull = process.env['PILLARBOX_CHAOS'] === 'full'

/** The product's connections by what they carry, and how many commits of each pass between two cuts. */
const EVERY = { intake: 4, plan: 3, claim: 3, complete: 3, control: 2, beat: 3 }
const CUTS_PER_SIDE = isFull ? 12 : 2
const MOST_ORDERS = isFull ? 3_000 : 600

describe('connections cut on either side of a commit', () => {
  it('lose nothing, repeat nothing in silence, and leave no row behind in sending', async () => {
    await using database = await freshDatabase()
    await using proxy = await startCommitProxy(database.url)
    await using world = await chaosWorld('postgres', { databaseUrl: proxy.url })
    const one = await world.startProcess('start')
    const other = await world.startProcess('start')
    await openShop(one.url)
    const wanted = Object.keys(EVERY).flatMap((role) => SIDES.map((side) => `${role} ${side}`))
    const isEnough = (): boolean => wanted.every((cut) => (proxy.cuts.get(cut) ?? 0) >= CUTS_PER_SIDE)
    proxy.decide = cutter()

    const orders = newOrders(MOST_ORDERS, 'order')
    const statuses = new Map<number, number>()
    const refusals: unknown[] = []
    let published = 0
    for (; published < orders.length && !isEnough(); published += 3) {
      const url = published % 2 ? one.url : other.url
      const answers = await Promise.all(orders.slice(published, published + 3).map((order) => publish(url, [order])))
      for (const { status, body, retryAfter } of answers) {
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        if (![200, 202, 503].includes(status) || (status === 503 && retryAfter === null)) refusals.push([status, body])
      }
    }
    proxy.decide = () => null
    const given = orders.slice(0, published)
    await publishUntilAcknowledged(one.url, given)
    const { broken } = await reckon({ url: one.url, world, orders: given, channels: SHOP_CHANNELS })

    assert.deepEqual(broken, [])
    assert.deepEqual(refusals, [], 'a broken connection is answered with 503 and Retry-After')
    assert.ok(isEnough(), `too few cuts: ${JSON.stringify([...proxy.cuts])}`)
    assert.ok(statuses.get(503), 'no caller ever felt a cut')
    assert.deepEqual([one.hasExited(), other.hasExited()], [false, false])
  })
})

/** Cuts every so manieth commit of each role, on each side in turn. */
function cutter(): (role: string) => Side | null {
  const seen = new Map<string, number>()
  return (role) => {
    const every = EVERY[role as keyof typeof EVERY]
    if (every === undefined) return null
    const count = (seen.get(role) ?? 0) + 1
    seen.set(role, count)
    return count % every === 0 ? (SIDES[(count / every) % SIDES.length] ?? null) : null
  }
}
