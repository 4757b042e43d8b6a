import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { recordingLogger, sampleNotification, silent } from '../../../../test/support/samples.ts'
import { PillarboxError } from '../model/errors.ts'
import type { GaugeReading } from '../model/meters.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import type { Store } from '../store/store.ts'
import { createGauges } from './gauges.ts'

async function setup(t: TestContext) {
  const clock = createManualClock()
  const logger = recordingLogger()
  const store = await openSqlite({ path: ':memory:', clock, logger: silent })
  t.after(() => store.close())
  await store.migrate()
  const world = { asked: 0, answer: (real: Promise<number>): Promise<number> => real }
  const watched: Store = {
    ...store,
    now: () => {
      world.asked += 1
      return world.answer(store.now())
    },
  }
  const config = { stuckAfterMs: 60_000, kpiWindowMs: 60_000, workerTtlMs: 30_000, alertSiteSilentMs: 60_000 }
  const read = createGauges({ store: watched, clock, logger, config })
  const values = async (): Promise<Record<string, number>> => Object.fromEntries((await read()).map(named))
  return { clock, logger, store, world, values }
}

const named = ({ name, labels, value }: GaugeReading): [string, number] => [
  [name, ...Object.values(labels)].join(' '),
  value,
]

describe('the gauges', () => {
  it('tell what waits, who works, and which accounts cannot send', async (t) => {
    const { clock, store, values } = await setup(t)
    await store.rollups.rebuild('rebuild-1', () => {})
    await store.tenants.insert({ id: 'acme', name: 'acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
    await store.notifications.insert([sampleNotification(), sampleNotification({ id: 'n2', idempotencyKey: 'k2' })])
    await store.workers.register({ id: 'worker-1', host: 'h', pid: 1, version: '0', channels: null })
    await clock.advance(61_000)

    const found = await values()

    assert.equal(found['store_up'], 1)
    assert.equal(found['queue_depth sms'], 2)
    assert.equal(found['queue_depth email'], 0)
    assert.equal(found['stuck_notifications sms'], 2)
    assert.equal(found['oldest_pending_age_seconds'], 61)
    assert.equal(found['workers alive'], 0)
    assert.equal(found['workers silent'], 1)
    assert.equal(found['store_calls writer'], 0)
  })

  it('tell which sites are silent, and how much waits there; what hands off without a buffer is not expected', async (t) => {
    const { clock, store, values } = await setup(t)
    await store.tenants.insert({ id: 'acme', name: 'acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
    const heardOf = (site: string, incarnation: string | null, backlog: number) =>
      store.sites.handOff({ tenantId: 'acme', site, incarnation, backlog, clockAheadMs: null, refused: [] }, [])
    await heardOf('plant-1', 'buffer-1', 7)
    await heardOf('script', null, 0)
    await clock.advance(60_001)
    await heardOf('plant-2', 'buffer-2', 3)

    const found = await values()

    assert.deepEqual([found['sites silent'], found['sites heard'], found['site_backlog']], [1, 1, 10])
  })

  it('ask the database once in five seconds, however often they are read', async (t) => {
    const { clock, world, values } = await setup(t)
    await Promise.all([values(), values(), values()])
    await values()
    const once = world.asked
    await clock.advance(5_000)
    await values()

    assert.equal(world.asked, 2 * once)
  })

  it('say that the database does not answer, and no more of it', async (t) => {
    const { world, logger, values } = await setup(t)
    world.answer = () => Promise.reject(new PillarboxError('store_unavailable', 'gone'))

    assert.deepEqual(await values(), { store_up: 0, 'store_calls writer': 0 })
    assert.equal(logger.lines.length, 1)
  })

  it('wait three seconds for a database that is slow, and do not ask again before it has answered', async (t) => {
    const { clock, world, values } = await setup(t)
    const { promise, resolve } = Promise.withResolvers<number>()
    world.answer = () => promise

    const first = values()
    await clock.advance(3_000)
    assert.equal((await first)['store_up'], 0)
    const second = values()
    await clock.advance(3_000)
    assert.equal((await second)['store_up'], 0)
    assert.equal(world.asked, 1)

    resolve(clock.now())
    world.answer = (real) => real
    await clock.advance(0)
    assert.equal((await values())['store_up'], 1)
  })
})
