import assert from 'node:assert/strict'
import type { PlanStore, TakenBatch, TakeTurns } from '../../packages/pillarbox/src/plan/plan-store.ts'
import { planEvents } from '../support/planning.ts'
import { type Bench, dueLater, type Rule } from './fixtures.ts'

type Kind = 'events' | 'schedules'

/** Tenants take turns in planning, so that nobody's backlog is in another's way. */
export function turnRules(rule: Rule): void {
  for (const kind of ['events', 'schedules'] as const) {
    rule(`while more ${kind} are due than one batch takes, tenants take turns`, async (bench) => {
      const [a, b, c] = await tenants(bench)
      const take = taking(bench.store.plan, kind)
      // Nothing: from here on a store that others have used before knows of no more.
      assert.deepEqual(await take(3), [])
      await waiting(bench, kind, [a, a, a, a, a, a, a, b, b, c])

      assert.deepEqual(await take(3), [a, a, a])
      assert.deepEqual(await take(3, { after: a }), [b, c, a])
      assert.deepEqual(await take(3, { after: a }), [b, a])
      assert.deepEqual(await take(3, { after: b }), [a, a])
      assert.deepEqual(await take(3, { after: a }), [])
    })

    rule(
      `each tenant’s share of a batch of ${kind} is the same, and the first of every tenant come first`,
      async (bench) => {
        const [a, b, c] = await tenants(bench)
        await waiting(bench, kind, [...Array<string>(12).fill(a), ...Array<string>(8).fill(b), c])
        const take = taking(bench.store.plan, kind)
        await take(7)

        assert.deepEqual(await take(6, { after: b }), [c, a, b, a, b])
        assert.deepEqual(await take(6, { after: a }), [b, a, b, a, b, a])
      },
    )

    rule(`${kind} of tenants that are left out stay, and those of one tenant are taken alone`, async (bench) => {
      const [a, b, c] = await tenants(bench)
      await waiting(bench, kind, [a, a, b, c])
      const take = taking(bench.store.plan, kind)

      assert.deepEqual(await take(10, { without: [a, c] }), [b])
      assert.deepEqual(await take(10, { only: c }), [c])
      assert.deepEqual(await take(1, { only: a }), [a])
      assert.deepEqual(await take(10, { without: [a] }), [])
      assert.deepEqual(await take(10), [a])
    })

    rule(`no two batches of ${kind} that are under way have a row in common`, async (bench) => {
      const [a, b] = await tenants(bench)
      await waiting(bench, kind, [a, a, a, a, b])
      const { plan } = bench.store
      const take: (limit: number, turns?: TakeTurns) => Promise<TakenBatch<unknown, never>> =
        kind === 'events' ? plan.takeEvents : plan.takeSchedules

      const first = await take(2)
      const second = await take(2, { after: a })
      const third = await take(10, { only: a })

      assert.deepEqual(
        [first, second, third].map(({ rows }) => rows.length),
        [2, 2, 1],
      )
      for (const batch of [first, second, third]) await batch.release()
      assert.equal((await taking(plan, kind)(10)).length, 5)
    })
  }
}

/** Three tenants in the order of their ids. */
async function tenants({ tenant }: Bench): Promise<[string, string, string]> {
  const [a = '', b = '', c = ''] = [await tenant(), await tenant(), await tenant()].toSorted()
  return [a, b, c]
}

/** One row of each of these tenants, in this order, and due. */
async function waiting({ store, event, newId, advance }: Bench, kind: Kind, owners: readonly string[]): Promise<void> {
  for (const tenantId of owners) {
    await store.events.insert([event(tenantId)])
    await advance(2)
    if (kind === 'schedules') await planEvents(store, 1, () => dueLater(newId(), Date.now() - 60_000))
  }
  await advance(2)
}

/** Takes a batch and decides each of its rows. Answers whose they were. */
function taking(plan: PlanStore, kind: Kind): (limit: number, turns?: TakeTurns) => Promise<string[]> {
  const failure = { kind: 'failed', reason: 'invalid_event', error: 'no' } as const
  return async (limit, turns) => {
    if (kind === 'events') {
      const batch = await plan.takeEvents(limit, turns)
      await batch.write(batch.rows.map(() => failure))
      return batch.rows.map(({ tenantId }) => tenantId)
    }
    const batch = await plan.takeSchedules(limit, turns)
    await batch.write(batch.rows.map(() => failure))
    return batch.rows.map(({ schedule }) => schedule.tenantId)
  }
}
