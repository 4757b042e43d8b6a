import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PillarboxError } from '../../model/errors.ts'
import { grouped } from './group.ts'

/** A flush that waits until it is let go, and refuses every batch with a negative number in it. */
function setup() {
  const batches: number[][] = []
  const gates: (() => void)[] = []
  let failure: Error | null = null
  const insert = grouped(async (items: readonly number[]) => {
    batches.push([...items])
    await new Promise<void>((open) => gates.push(open))
    if (failure !== null) throw failure
    if (items.some((item) => item < 0)) throw new Error('refused')
    return items.map((item) => item * 10)
  })
  /** Lets the flush under way end, and those it leads to begin. */
  const flush = async (): Promise<void> => {
    await tick()
    gates.shift()?.()
    await tick()
  }
  const fail = (error: Error): void => {
    failure = error
  }
  return { batches, insert, flush, fail }
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('grouped', () => {
  it('commits calls of one tick together and answers each with its own part', async () => {
    const { batches, insert, flush } = setup()
    const answers = Promise.all([insert([1, 2]), insert([3])])

    await flush()

    assert.deepEqual(await answers, [[10, 20], [30]])
    assert.deepEqual(batches, [[1, 2, 3]])
  })

  it('gathers the calls made during a flush into the next one', async () => {
    const { batches, insert, flush } = setup()
    const first = insert([1])
    await tick()
    const others = [insert([2]), insert([3])]

    await flush()
    await flush()

    assert.deepEqual(await Promise.all([first, ...others]), [[10], [20], [30]])
    assert.deepEqual(batches, [[1], [2, 3]])
  })

  it('answers nobody before the flush has ended', async () => {
    const { insert, flush } = setup()
    let isAnswered = false
    const answer = insert([1]).then(() => {
      isAnswered = true
    })

    await tick()
    const before = isAnswered
    await flush()
    await answer

    assert.deepEqual([before, isAnswered], [false, true])
  })

  it('lets a refused call fail alone', async () => {
    const { batches, insert, flush } = setup()
    const answers = Promise.allSettled([insert([1]), insert([-1]), insert([2])])

    for (let i = 0; i < 4; i++) await flush()

    assert.deepEqual(
      (await answers).map((answer) => (answer.status === 'fulfilled' ? answer.value : String(answer.reason))),
      [[10], 'Error: refused', [20]],
    )
    assert.deepEqual(batches, [[1, -1, 2], [1], [-1], [2]])
  })

  it('does not repeat a flush that may have been committed', async () => {
    const { batches, insert, flush, fail } = setup()
    fail(new PillarboxError('store_unavailable', 'gone'))
    const answers = Promise.allSettled([insert([1]), insert([2])])

    await flush()

    assert.deepEqual(
      (await answers).map(({ status }) => status),
      ['rejected', 'rejected'],
    )
    assert.deepEqual(batches, [[1, 2]])
  })

  it('keeps a flush to a thousand rows, but never splits a call', async () => {
    const { batches, insert, flush } = setup()
    const rows = (count: number): number[] => Array.from({ length: count }, (_, i) => i)
    const answers = Promise.all([insert(rows(600)), insert(rows(600)), insert(rows(1500)), insert(rows(1))])

    for (let i = 0; i < 4; i++) await flush()
    await answers

    assert.deepEqual(
      batches.map(({ length }) => length),
      [600, 600, 1500, 1],
    )
  })

  it('answers an empty call without a flush', async () => {
    const { batches, insert } = setup()

    assert.deepEqual(await insert([]), [])
    assert.deepEqual(batches, [])
  })
})
