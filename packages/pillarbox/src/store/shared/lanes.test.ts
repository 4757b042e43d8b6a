import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { drawTokens } from './lanes.ts'

const pace = { perSecond: 10, burst: 5 }

describe('a bucket of tokens', () => {
  it('is full while nobody has taken from it, and never gives more than is asked for', () => {
    const drawn = drawTokens({ tokens: null, refilledAt: null }, { want: 3, pace, now: 1_000 })

    assert.deepEqual(drawn, { bucket: { tokens: 2, refilledAt: 1_000 }, granted: 3, waitMs: 0 })
  })

  it('says when the next whole token is there', () => {
    const drawn = drawTokens({ tokens: 0.5, refilledAt: 1_000 }, { want: 1, pace, now: 1_010 })

    assert.deepEqual([drawn.granted, drawn.waitMs], [0, 40])
  })

  it('gives a whole token that ten tenths make', () => {
    let bucket = { tokens: 0, refilledAt: 0 }
    for (let now = 10; now <= 90; now += 10) ({ bucket } = drawTokens(bucket, { want: 0, pace, now }))

    assert.equal(drawTokens(bucket, { want: 1, pace, now: 100 }).granted, 1)
  })

  it('credits no interval twice when the call that waited has the earlier time', () => {
    const { bucket } = drawTokens({ tokens: 0, refilledAt: 1_000 }, { want: 0, pace, now: 990 })

    assert.deepEqual(bucket, { tokens: 0, refilledAt: 1_000 })
  })

  it('goes on filling after the clock was set back by an hour', () => {
    const { bucket } = drawTokens({ tokens: 0, refilledAt: 7_200_000 }, { want: 0, pace, now: 3_600_000 })

    assert.equal(bucket.refilledAt, 3_600_000)
    assert.equal(drawTokens(bucket, { want: 5, pace, now: 3_600_200 }).granted, 2)
  })

  it('holds one token at least, and waits an hour at most', () => {
    const slow = { perSecond: 0, burst: 0 }
    const drawn = drawTokens({ tokens: null, refilledAt: null }, { want: 2, pace: slow, now: 0 })

    assert.deepEqual([drawn.granted, drawn.waitMs], [1, 3_600_000])
  })
})
