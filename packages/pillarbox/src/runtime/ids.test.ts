import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { seededRandom } from '../../../../test/simulation/scheduler.ts'
import { createIdSource } from './ids.ts'

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** An id source whose clock shows these times one after the other, then stands still. */
function idsAt(times: readonly number[], random: () => number = seededRandom(1)): string[] {
  let i = 0
  const clock = { now: () => times[i++] ?? 0, monotonic: () => 0, sleep: () => Promise.resolve() }
  const ids = createIdSource(clock, random)
  return times.map(() => ids())
}

function timeOf(id: string): number {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
}

const same = (count: number, time = 1_767_225_600_000): number[] => Array.from({ length: count }, () => time)

function assertAscending(ids: readonly string[]): void {
  for (const [i, id] of ids.entries()) if (i > 0) assert.ok(id > (ids[i - 1] ?? ''), `${ids[i - 1]} then ${id}`)
}

describe('an id', () => {
  it('is a UUIDv7 that begins with the time', () => {
    const [id = ''] = idsAt([1_767_225_600_123])

    assert.match(id, UUID_V7)
    assert.equal(timeOf(id), 1_767_225_600_123)
  })

  it('is well formed at the ends of chance', () => {
    const almostOne = 1 - 2 ** -53

    for (const random of [() => 0, () => almostOne]) for (const id of idsAt(same(3), random)) assert.match(id, UUID_V7)
  })

  it('is well formed before 1970 and far in the future', () => {
    for (const id of idsAt([-5, 0, 1, 2 ** 48 - 1])) assert.match(id, UUID_V7)
  })
})

describe('ids of one source', () => {
  it('sort in the order they were made, within one millisecond too', () => {
    assertAscending(idsAt(same(1_000)))
  })

  it('borrow the next millisecond when one is full, and do not repeat it when it comes', () => {
    const ids = idsAt([...same(5_000), ...same(5_000, 1_767_225_600_001)])

    assertAscending(ids)
    assert.equal(new Set(ids).size, 10_000)
    assert.ok(timeOf(ids.at(-1) ?? '') <= 1_767_225_600_003)
  })

  it('go on from the latest time when the clock is set back', () => {
    const ids = idsAt([2_000, 1_000, 1_500, 2_000, 2_001])

    assertAscending(ids)
    assert.deepEqual(ids.map(timeOf), [2_000, 2_000, 2_000, 2_000, 2_001])
  })

  it('sort within a millisecond that the clock divides', () => {
    assertAscending(idsAt([1_000.9, 1_000.91, 1_000.95, 1_000.99, 1_001.1, 1_001.2]))
  })

  it('are valid, unique and ascending, whatever clock and chance do', () => {
    const times = fc.array(
      fc.oneof(
        fc.integer({ min: 0, max: 10 }),
        fc.integer({ min: 0, max: 2 ** 47 }),
        fc.double({ min: 0, max: 10, noNaN: true }),
      ),
      { maxLength: 200 },
    )
    fc.assert(
      fc.property(times, fc.integer(), (at, seed) => {
        const ids = idsAt(at, seededRandom(seed))
        for (const id of ids) assert.match(id, UUID_V7)
        assertAscending(ids)
        assert.equal(new Set(ids).size, ids.length)
      }),
    )
  })
})

it('two sources on one clock do not collide', () => {
  const ids = [...idsAt(same(2_000), seededRandom(1)), ...idsAt(same(2_000), seededRandom(2))]

  assert.equal(new Set(ids).size, 4_000)
})
