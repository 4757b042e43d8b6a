import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { LATENCY_BOUNDS, latencyBucket, quantileMs } from './latency.ts'

describe('latencyBucket', () => {
  it('is the number of bounds that are not above it, as the database reckons it', () => {
    const spots = LATENCY_BOUNDS.flatMap((bound) => [bound - 1, bound, bound + 1])
    for (const ms of [0, ...spots, 2 ** 31 - 1])
      assert.equal(latencyBucket(ms), LATENCY_BOUNDS.filter((bound) => bound <= ms).length, String(ms))
  })

  it('takes what is out of range for the nearest that is in it', () => {
    assert.equal(latencyBucket(-5), 0)
    assert.equal(latencyBucket(1e15), LATENCY_BOUNDS.length)
  })
})

describe('quantileMs', () => {
  it('is within an eighth of the true percentile', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 10_000_000 }), { minLength: 1, maxLength: 200 }),
        fc.constantFrom(0.5, 0.95, 0.99),
        (all, share) => {
          const histogram = new Map<number, number>()
          for (const ms of all) histogram.set(latencyBucket(ms), (histogram.get(latencyBucket(ms)) ?? 0) + 1)
          const sorted = all.toSorted((a, b) => a - b)
          const truth = sorted[Math.max(0, Math.ceil(share * all.length) - 1)] ?? 0

          const told = quantileMs(histogram, share) ?? Number.NaN

          assert.ok(Math.abs(told - truth) <= truth / 8 + 1, `${told} for ${truth}`)
        },
      ),
    )
  })

  it('is null where nothing was measured', () => {
    assert.equal(quantileMs(new Map(), 0.5), null)
    assert.equal(quantileMs(new Map([[3, 0]]), 0.5), null)
  })
})
