import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { createPoll } from './poll.ts'

const middle = () => 0.5

it('looks again soon at first, then ever less often up to the limit', () => {
  const poll = createPoll(middle, 100)

  assert.deepEqual(
    Array.from({ length: 8 }, () => poll.nextMs()),
    [5, 10, 20, 40, 80, 100, 100, 100],
  )
})

it('looks again soon once there was work', () => {
  const poll = createPoll(middle, 100)
  for (let i = 0; i < 6; i++) poll.nextMs()

  poll.found()

  assert.deepEqual([poll.nextMs(), poll.nextMs()], [5, 10])
})

it('strays by a fifth at most, so that many loops do not look at the same moment', () => {
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  fc.assert(
    fc.property(
      fc.array(random, { minLength: 20, maxLength: 20 }),
      fc.integer({ min: 5, max: 10_000 }),
      (chances, maxMs) => {
        let i = 0
        const poll = createPoll(() => chances[i++] ?? 0, maxMs)
        let bare = 5
        for (let n = 0; n < 20; n++) {
          const ms = poll.nextMs()
          assert.ok(ms >= bare * 0.8 - 1e-9 && ms <= bare * 1.2 + 1e-9, `${ms} strays from ${bare}`)
          bare = Math.min(maxMs, bare * 2)
        }
      },
    ),
  )
})
