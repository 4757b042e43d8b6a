import assert from 'node:assert/strict'

const FACTOR = 16
/** What caches and the collector may add for the larger input; a square would add 16. */
const LEEWAY = 6

/**
 * The work grows with its input and not with its square: 16 times the input may take 16 times as long, give or take the
 * machine, and not 256 times. Compares the best of several runs of each size, in this run, by the processor time of this
 * thread: a slow machine is slow in both, and what else it does counts for neither.
 */
export function assertLinear(work: (size: number) => void, largest: number, what: string): void {
  const small = best(() => work(Math.ceil(largest / FACTOR)))
  const large = best(() => work(largest))
  // Below a millisecond the clock and the compiler tell more than the work does.
  assert.ok(
    large < Math.max(1, small) * FACTOR * LEEWAY,
    `${what}: ${small.toFixed(2)} ms became ${large.toFixed(2)} ms`,
  )
}

function best(work: () => void): number {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < 5; i++) {
    const before = process.threadCpuUsage()
    work()
    const { user, system } = process.threadCpuUsage(before)
    least = Math.min(least, (user + system) / 1_000)
  }
  return least
}
