import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createRateLimiter } from './rate.ts'

function setup(maxIds?: number) {
  let now = 1_000
  const clock = { now: () => now, monotonic: () => now, sleep: () => Promise.resolve() }
  const limiter = createRateLimiter(clock, maxIds)
  const take = (id = 'a', perSecond = 10, burst = 5): boolean => limiter.take(id, perSecond, burst).allowed
  const advance = (ms: number): void => {
    now += ms
  }
  return { limiter, take, advance }
}

describe('a rate', () => {
  it('allows the burst, then one per interval', () => {
    const { take, advance } = setup()

    assert.deepEqual(
      Array.from({ length: 7 }, () => take()),
      [true, true, true, true, true, false, false],
    )
    advance(100)
    assert.deepEqual([take(), take()], [true, false])
    advance(10_000)
    assert.equal(Array.from({ length: 10 }, () => take()).filter(Boolean).length, 5)
  })

  it('makes one that counts for several wait no longer, and the next as long as it should', () => {
    const { limiter, take, advance } = setup()

    assert.ok(limiter.take('a', 10, 5, 8).allowed)
    assert.equal(take(), false)
    advance(399)
    assert.equal(take(), false)
    advance(1)
    assert.equal(take(), true)
  })

  it('says exactly how long to wait', () => {
    const { limiter, take, advance } = setup()
    while (take());
    const answer = limiter.take('a', 10, 5)
    assert.ok(!answer.allowed)

    advance(answer.retryAfterMs - 1)
    assert.equal(take(), false)
    advance(1)
    assert.equal(take(), true)
  })

  it('never exceeds burst plus rate times time, whatever the arrivals', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(400), { maxLength: 300 }), fc.integer({ min: 1, max: 50 }), (gaps, perSecond) => {
        const { take, advance } = setup()
        let granted = 0
        let elapsed = 0
        for (const gap of gaps) {
          advance(gap)
          elapsed += gap
          if (take('a', perSecond, perSecond)) granted += 1
        }
        assert.ok(granted <= perSecond + (perSecond * elapsed) / 1_000 + 1e-6)
      }),
    )
  })

  it('keeps ids apart, and looking costs nothing', () => {
    const { limiter, take } = setup()
    while (take('a'));

    assert.equal(take('b'), true)
    for (let i = 0; i < 100; i++) assert.equal(limiter.peek('b', 10, 5).allowed, true)
    assert.equal(limiter.peek('a', 10, 5).allowed, false)
  })

  it('remembers a bounded number of ids, and forgets the rested ones first', () => {
    const { take, advance } = setup(100)
    for (let i = 0; i < 99; i++) take(`rested-${i}`)
    advance(10_000)
    while (take('busy'));
    for (let i = 0; i < 50; i++) take(`new-${i}`)

    assert.equal(take('busy'), false)
  })
})
