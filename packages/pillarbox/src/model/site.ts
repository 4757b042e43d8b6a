/**
 * A place that buffers what it has to say and hands it off to us whenever it can reach us. A site needs no registration: it is
 * known from its first contact on.
 *
 * Its buffer has an incarnation, an id that was made with the buffer, and numbers what it is given from 1 without gaps. A
 * buffer that was restored from a copy, or cloned, gives a number twice: that is how it is noticed.
 */
export interface Site {
  tenantId: string
  site: string
  /** Of its buffer; null: what hands off has none, and is not expected to be heard of regularly. */
  incarnation: string | null
  /** Everything up to this number has come. */
  sequence: number
  /** Numbers up to the highest that have not come. */
  missing: number
  /** What still waits at the site, as it said last. */
  backlog: number
  firstContactAt: number
  lastContactAt: number
  /** When its buffer was last seen to have been restored or cloned. */
  rewoundAt: number | null
  /** How far the clock of the site is ahead of ours, where it says what time it has. */
  clockAheadMs: number | null
}

/** Who acts where a site has handed something off. */
export function siteActor(site: string): string {
  return `site:${site}`
}

/** Numbers that have come, as stretches in their order: `[[1, 50], [53, 60]]`. */
export type SequenceRanges = readonly SequenceRange[]
type SequenceRange = readonly [from: number, to: number]

/**
 * Urgent ones overtake a backlog, each a stretch of its own until the backlog has come. Beyond so many the highest are forgotten:
 * nothing is ever taken to have come that has not, for that would look like a copy of the buffer.
 */
const MOST_RANGES = 10_000

export function hasSequence(ranges: SequenceRanges, sequence: number): boolean {
  // Halved again and again: a thousand numbers are looked up at once, in as many as ten thousand stretches.
  let first = 0
  for (let end = ranges.length; first < end; ) {
    const middle = Math.floor((first + end) / 2)
    if (sequence > (ranges[middle]?.[1] ?? 0)) first = middle + 1
    else end = middle
  }
  return sequence >= (ranges[first]?.[0] ?? Infinity)
}

export function withSequences(ranges: SequenceRanges, sequences: readonly number[]): SequenceRanges {
  const sorted = [...ranges, ...sequences.map((one): SequenceRange => [one, one])].toSorted(([a], [b]) => a - b)
  const merged: [number, number][] = []
  for (const [from, to] of sorted) {
    const last = merged.at(-1)
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else merged.push([from, to])
  }
  return merged.slice(0, MOST_RANGES)
}

/** What the ranges say of a site: up to where there is no gap, and how many numbers the gaps have. */
export function gapsIn(ranges: SequenceRanges): Pick<Site, 'sequence' | 'missing'> {
  const [first] = ranges
  const highest = ranges.at(-1)?.[1] ?? 0
  const received = ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0)
  return { sequence: first && first[0] === 1 ? first[1] : 0, missing: highest - received }
}
