/**
 * How long things took, as counts in buckets that grow with what they hold: eight to every doubling, so that a percentile
 * read from them is off by an eighth at most, from a millisecond to 24 days in 231 buckets. Bucket `n` holds what is not
 * less than bound `n - 1` and less than bound `n`; bucket 0 what took less than a millisecond. The same as PostgreSQL's
 * `width_bucket` with these bounds.
 */
export const LATENCY_BOUNDS: readonly number[] = bounds()

const LARGEST_MS = 2 ** 31 - 1

function bounds(): number[] {
  const all: number[] = []
  for (let octave = 0; octave < 31; octave++) {
    const step = 2 ** Math.max(0, octave - 3)
    for (let bound = 2 ** octave; bound < 2 ** (octave + 1); bound += step) all.push(bound)
  }
  return all
}

export function latencyBucket(ms: number): number {
  const whole = Math.min(LARGEST_MS, Math.max(0, Math.floor(ms)))
  if (whole < 16) return whole
  const octave = 31 - Math.clz32(whole)
  return 16 + (octave - 4) * 8 + ((whole - 2 ** octave) >> (octave - 3))
}

/** How many there are of each bucket, by its number. */
export type Histogram = ReadonlyMap<number, number>

/** The milliseconds that the given share of all took at most, told from the buckets; null where there are none. */
export function quantileMs(histogram: Histogram, share: number): number | null {
  const buckets = [...histogram].filter(([, count]) => count > 0).toSorted(([a], [b]) => a - b)
  const total = buckets.reduce((sum, [, count]) => sum + count, 0)
  let before = 0
  for (const [bucket, count] of buckets) {
    const inside = share * total - before
    before += count
    if (inside > count) continue
    const from = bucket === 0 ? 0 : (LATENCY_BOUNDS[bucket - 1] ?? 0)
    const to = LATENCY_BOUNDS[bucket] ?? LARGEST_MS
    return Math.round(from + (Math.max(0, inside) / count) * (to - from))
  }
  return null
}
