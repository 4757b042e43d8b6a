import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gapsIn, hasSequence, type SequenceRanges, withSequences } from './site.ts'

describe('the numbers that have come from a site', () => {
  it('are one stretch where nothing is missing, whatever order they came in', () => {
    const ranges = withSequences(withSequences([], [3, 1]), [2, 4, 2])

    assert.deepEqual(ranges, [[1, 4]])
    assert.deepEqual(gapsIn(ranges), { sequence: 4, missing: 0 })
  })

  it('show what is missing between them', () => {
    const ranges = withSequences([[1, 10]], [100, 101])

    assert.deepEqual(ranges, [
      [1, 10],
      [100, 101],
    ])
    assert.deepEqual(gapsIn(ranges), { sequence: 10, missing: 89 })
    assert.deepEqual(
      [10, 11, 99, 100, 102].map((one) => hasSequence(ranges, one)),
      [true, false, false, true, false],
    )
  })

  it('reach up to nothing while the first has not come', () => {
    assert.deepEqual(gapsIn(withSequences([], [2, 3])), { sequence: 0, missing: 1 })
    assert.deepEqual(gapsIn([]), { sequence: 0, missing: 0 })
  })

  it('are bounded in the strangest order, and none is taken to have come that has not', () => {
    const odd = Array.from({ length: 12_000 }, (_, i) => 2 * i + 1)
    const ranges: SequenceRanges = withSequences([], odd)

    assert.equal(ranges.length, 10_000)
    assert.ok(odd.slice(0, 10_000).every((one) => hasSequence(ranges, one)))
    assert.ok(!odd.some((one) => hasSequence(ranges, one + 1)))
  })

  it('are found in a few looks, however many stretches there are', () => {
    const ranges = withSequences(
      [],
      Array.from({ length: 10_000 }, (_, i) => 2 * i + 1),
    )
    let looks = 0
    const watched = new Proxy(ranges, {
      get(target, name, receiver) {
        if (typeof name === 'string' && /^\d+$/.test(name)) looks += 1
        return Reflect.get(target, name, receiver) as unknown
      },
    })

    assert.deepEqual(
      [1, 2, 19_999, 20_000, 30_000].map((one) => hasSequence(watched, one)),
      [true, false, true, false, false],
    )
    assert.ok(looks < 100, `${looks} looks`)
  })
})
