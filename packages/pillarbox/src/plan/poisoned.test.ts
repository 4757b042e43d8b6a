import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { silent } from '../../../../test/support/samples.ts'
import { createCrashGuard } from './crash-guard.ts'
import { openPlanning } from './fixture.ts'
import type { PlanStore } from './plan-store.ts'
import type { ResolveHook } from './resolve-hook.ts'

const catalogue = {
  entities: { booking: 'bookings' },
  eventTypes: {
    'booking.confirmed': {
      entity: 'booking',
      recipients: [{ phone: 'phone' }],
      templates: [{ channel: 'sms', locale: 'en', body: 'text' }],
    },
  },
}

/** Processes that plan one after the other. Each dies over the first row that `kills` says it dies over. */
async function setup(t: TestContext, kills: (process: number, id: string) => boolean) {
  const bench = await openPlanning(t, { catalogue })
  let started = 0
  /** Resolves once the process is done, true, or dead. */
  const start = async (): Promise<boolean> => {
    const pid = ++started
    const id = bench.ids()
    await bench.store.workers.register({ id, host: 'web', pid, version: 'v', channels: null })
    const death = Promise.withResolvers<boolean>()
    const { store } = bench
    /** What a process holds is free again when it dies. */
    const held: { release(): Promise<void> }[] = []
    const takeEvents: PlanStore['takeEvents'] = async (...given) => {
      const batch = await store.plan.takeEvents(...given)
      held.push(batch)
      return batch
    }
    const resolve: ResolveHook = async ({ entity }) => {
      if (!kills(pid, entity.id)) return undefined
      for (const batch of held) await batch.release()
      death.resolve(false)
      return new Promise(() => {})
    }
    const guard = createCrashGuard({
      plan: bench.store.plan,
      self: () => ({ id, host: 'web', pid, space: 'web', boot: String(pid) }),
      isRunning: (other) => other === started,
      ttlMs: 30_000,
      logger: silent,
    })
    const planner = bench.planner({ guard, resolve, store: { ...store, plan: { ...store.plan, takeEvents } } })
    const done = (async () => {
      while ((await planner.round()) > 0);
      return true
    })()
    return Promise.race([done, death.promise])
  }
  const statuses = async (...ids: string[]): Promise<string[]> =>
    Promise.all(ids.map(async (id) => (await bench.event(id)).status))
  return { bench, start, statuses }
}

describe('a row over which processes die', () => {
  it('first among others is poisoned by the third death, and none of the others is', async (t) => {
    const { bench, start, statuses } = await setup(t, (_, id) => id === 'poison')
    for (const id of ['first', 'poison', 'last']) await bench.publish({ id })

    assert.deepEqual([await start(), await start(), await start(), await start()], [false, false, false, true])

    assert.deepEqual(await statuses('first', 'poison', 'last'), ['published', 'failed', 'published'])
    assert.match((await bench.event('poison')).lastError ?? '', /ended the process twice/)
  })

  it('alone from the beginning is poisoned by the second', async (t) => {
    const { bench, start, statuses } = await setup(t, (_, id) => id === 'poison')
    await bench.publish({ id: 'poison' })

    assert.deepEqual([await start(), await start(), await start()], [false, false, true])

    assert.deepEqual(await statuses('poison'), ['failed'])
  })

  it('twice for another reason is not: the next process plans it', async (t) => {
    const { bench, start, statuses } = await setup(t, (process) => process <= 2)
    for (const id of ['first', 'second', 'third']) await bench.publish({ id })

    assert.deepEqual([await start(), await start(), await start()], [false, false, true])

    assert.deepEqual(await statuses('first', 'second', 'third'), ['published', 'published', 'published'])
  })

  it('and that is replayed is tried anew', async (t) => {
    const { bench, start, statuses } = await setup(t, (process, id) => id === 'poison' && process < 4)
    await bench.publish({ id: 'poison' })
    for (const isDone of [false, false, true]) assert.equal(await start(), isDone)
    assert.deepEqual(await statuses('poison'), ['failed'])

    await bench.store.events.replay('acme', 'poison', 'key:ada')
    assert.equal(await start(), true)

    assert.deepEqual(await statuses('poison'), ['published'])
  })
})
