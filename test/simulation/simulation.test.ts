import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { simulateFairness } from './fairness.ts'
import { PLANTED_BUGS, withDispatch } from './planted-bugs.ts'
import { simulate } from './simulate.ts'
import { simulateMany } from './simulate-many.ts'

/** The suite as a whole must stay quick: `npm run simulate -- --seeds 10000` runs as many as a release does. */
const SCHEDULES = 2_000
/** The rarest situation, a stale worker that reports late, comes once in some 300 schedules. */
const SEEDS_PER_BUG = 3_000

describe('simulation', () => {
  it(`keeps P1–P7 and P11 in ${SCHEDULES} crash schedules`, { timeout: 600_000 }, async () => {
    const failed = await simulateMany({ from: 1, count: SCHEDULES, processes: 2 })

    assert.deepEqual(failed, [], 'replay one with: npm run simulate -- --seed N')
  })

  it('replays a seed exactly', async () => {
    for (const seed of [3, 17, 42]) {
      const [first, second] = [await simulate(seed, { story: true }), await simulate(seed, { story: true })]

      assert.equal(first.trace, second.trace)
      assert.deepEqual(first.story, second.story)
    }
  })

  it('keeps P8: a flooded, hanging account delays a quiet one by at most one claim round', async () => {
    for (let seed = 1; seed <= 100; seed++) {
      const { waitedMs, roundMs } = await simulateFairness(seed)

      assert.ok(Math.max(...waitedMs) <= roundMs, `seed ${seed}: waited ${waitedMs.map(Math.round).join(', ')} ms`)
    }
  })

  it('catches the planted bug: one queue for all, the longest waiting first', async () => {
    const { waitedMs, roundMs } = await simulateFairness(1, (store) =>
      withDispatch(store, { dueLanes: async (...args) => (await store.dispatch.dueLanes(...args)).slice(0, 1) }),
    )

    assert.ok(Math.max(...waitedMs) > roundMs)
  })

  for (const bug of PLANTED_BUGS)
    it(`catches the planted bug: ${bug.name}`, async () => {
      let found: { seed: number; violations: string[] } | null = null
      for (let seed = 1; seed <= SEEDS_PER_BUG && !found; seed++) {
        const { violations } = await simulate(seed, { bug })
        if (violations.length) found = { seed, violations }
      }

      assert.ok(found, `not caught in ${SEEDS_PER_BUG} schedules`)
      assert.match(found.violations.join('\n'), bug.breaks)
    })
})
