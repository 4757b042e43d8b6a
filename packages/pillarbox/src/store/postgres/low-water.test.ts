import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createManualClock } from '../../../../../test/support/manual-clock.ts'
import { createLowWater } from './low-water.ts'

const LANE = '01900000-0000-7000-8000-000000000001'
const OLDEST = Date.UTC(2026, 0, 1)

describe('the low-water mark', () => {
  it('is the beginning of the lane until a claim found something', () => {
    const lowWater = createLowWater(createManualClock())

    assert.equal(lowWater.since(LANE), '-infinity')
    assert.equal(lowWater.since(LANE), '-infinity')
  })

  it('is a little before the oldest row of the last claim', () => {
    const lowWater = createLowWater(createManualClock())
    lowWater.since(LANE)

    lowWater.saw(LANE, OLDEST)

    assert.equal(lowWater.since(LANE), '2025-12-31T23:59:59.500Z')
  })

  it('gives a look at many lanes their marks, and the whole of them once a second', async () => {
    const clock = createManualClock()
    const lowWater = createLowWater(clock)
    lowWater.since(LANE)
    lowWater.saw(LANE, OLDEST)

    assert.deepEqual(lowWater.marks(), { accountIds: [], since: [] })
    assert.deepEqual(lowWater.marks(), { accountIds: [LANE], since: ['2025-12-31T23:59:59.500Z'] })
    await clock.advance(1_000)
    assert.deepEqual(lowWater.marks(), { accountIds: [], since: [] })
  })

  it('does not take a look at many lanes for a claim’s look at one', async () => {
    const clock = createManualClock()
    const lowWater = createLowWater(clock)
    lowWater.since(LANE)
    lowWater.saw(LANE, OLDEST)
    await clock.advance(1_000)

    lowWater.marks()

    assert.equal(lowWater.since(LANE), '-infinity')
  })

  it('lets the whole lane be looked at once a second', async () => {
    const clock = createManualClock()
    const lowWater = createLowWater(clock)
    lowWater.since(LANE)
    lowWater.saw(LANE, OLDEST)

    await clock.advance(1_000)

    assert.equal(lowWater.since(LANE), '-infinity')
    assert.notEqual(lowWater.since(LANE), '-infinity')
  })
})
