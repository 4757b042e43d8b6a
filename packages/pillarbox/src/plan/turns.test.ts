import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ENGINES } from '../../../../test/support/engines.ts'
import { until } from '../../../../test/support/until.ts'
import { createUntrustedInProcess, NO_TIME, type Untrusted } from '../untrusted/untrusted.ts'
import { type Bench, openPlanning } from './fixture.ts'

const CATALOGUE = {
  entities: { booking: 'bookings' },
  eventTypes: {
    'booking.confirmed': {
      entity: 'booking',
      recipients: [{ phone: 'phone' }],
      payload: { type: 'object' },
      templates: [{ channel: 'sms', body: 'Hello' }],
    },
  },
}

/**
 * Makes words as this process does, for as much time as it is told that a tenant's take. `made`: for whom, in order.
 * `before` is waited for ahead of a tenant's words.
 */
function costly(
  msOf: (tenantId: string) => number,
  before: (turn: string) => Promise<void> = () => Promise.resolve(),
): Untrusted & { made: string[] } {
  const own = createUntrustedInProcess()
  const made: string[] = []
  return {
    made,
    async run(task, given, turn, allowance) {
      const results: Awaited<ReturnType<typeof own.run<typeof task>>> = []
      for (const one of given) {
        if (task === 'render') await before(turn)
        const isOver = allowance && allowance.leftMs() <= 0
        if (task === 'render' && !isOver) {
          allowance?.charge(one.tenantId, msOf(one.tenantId))
          made.push(one.tenantId)
        }
        results.push(...(isOver ? [NO_TIME] : await own.run(task, [one], turn)))
      }
      return results
    },
  }
}

async function publish(bench: Bench, tenantId: string, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++)
    ids.push(await bench.publish({ tenantId, id: `${tenantId}-${i}`, payload: { phone: '+15550100' } }))
  return ids
}

async function statuses(bench: Bench, tenantId: string, ids: readonly string[]): Promise<Set<string>> {
  return new Set(await Promise.all(ids.map(async (id) => (await bench.event(id, tenantId)).status)))
}

for (const { engine } of ENGINES)
  describe(`the planner’s turns on ${engine}`, () => {
    it('a tenant whose words take long is planned apart, and nobody waits for more than a batch of it', async (t) => {
      const bench = await openPlanning(t, { engine, catalogue: CATALOGUE, batchRows: 10 })
      const untrusted = costly((tenantId) => (tenantId === 'acme' ? 115 : 0))
      const planner = bench.planner({ untrusted })
      const slow = await publish(bench, 'acme', 40)
      const [quick = ''] = await publish(bench, 'other', 1)

      await planner.round()
      await planner.round()

      assert.equal((await bench.event(quick, 'other')).status, 'published')
      // Three until a batch for all has no time left, nine of the batch beside it.
      assert.deepEqual([untrusted.made.indexOf('other') <= 12, untrusted.made.includes('other')], [true, true])
      while ((await planner.round()) > 0);
      assert.deepEqual(await statuses(bench, 'acme', slow), new Set(['published']))
      assert.equal(untrusted.made.length, 41, 'no words were made twice')
    })

    it('a backlog that is quick delays another tenant by one batch', async (t) => {
      const bench = await openPlanning(t, { engine, catalogue: CATALOGUE, batchRows: 10 })
      const untrusted = costly(() => 0)
      const planner = bench.planner({ untrusted })
      await publish(bench, 'acme', 40)
      await publish(bench, 'other', 1)

      while ((await planner.round()) > 0);

      assert.ok(untrusted.made.indexOf('other') <= 20, `it was the ${untrusted.made.indexOf('other')}th`)
    })

    it('a tenant that was slow and is quick again is planned with all others', async (t) => {
      const bench = await openPlanning(t, { engine, catalogue: CATALOGUE, batchRows: 10 })
      let ms = 400
      const untrusted = costly(() => ms)
      const turns: string[] = []
      const planner = bench.planner({
        untrusted: {
          run: (task, given, turn, allowance) => {
            if (task === 'render' && given.length > 0) turns.push(turn)
            return untrusted.run(task, given, turn, allowance)
          },
        },
      })
      await publish(bench, 'acme', 5)

      await planner.round()
      assert.ok(turns.includes('acme'), 'it was not planned apart')
      while ((await planner.round()) > 0);
      ms = 0
      turns.length = 0
      await publish(bench, 'other', 2)
      while ((await planner.round()) > 0);

      assert.deepEqual(new Set(turns), new Set(['planning']))
    })

    it('two hands and a third for slow tenants plan each row once', async (t) => {
      const bench = await openPlanning(t, { engine, catalogue: CATALOGUE, batchRows: 4 })
      // What is planned apart takes as long as it takes until the other tenant has something: nobody waits for it.
      const untrusted = costly(
        (tenantId) => (tenantId === 'acme' ? 115 : 1),
        async (turn) => {
          if (turn === 'acme') await until('the other tenant is planned', () => untrusted.made.includes('other'))
        },
      )
      const stopping = new AbortController()
      const slow = await publish(bench, 'acme', 30)
      const quick = await publish(bench, 'other', 30)
      const running = bench.planner({ untrusted }).run(stopping.signal)

      await until('all are planned', async () => {
        const found = [await statuses(bench, 'acme', slow), await statuses(bench, 'other', quick)]
        return found.every((each) => !each.has('pending'))
      })
      stopping.abort()
      await running

      assert.equal((await bench.notifications()).length, 60)
    })
  })
