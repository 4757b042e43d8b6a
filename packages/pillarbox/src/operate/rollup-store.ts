import type { Dimension, RollupTally } from '../model/rollup.ts'

/** Sums that numbers are told from, kept up to date by whatever moves notifications ([0021](docs/decisions)). */
export interface RollupStore {
  /**
   * Adds at most `limit` deltas to the sums, the oldest first, and answers how many. One process does so at a time: where
   * another one does, nothing is folded and the answer is 0.
   */
  fold(limit: number): Promise<number>
  /** Forgets sums of times that are no longer kept, at most `limit` rows; answers how many. */
  prune(limit: number): Promise<number>
  /** The sums as of now, what is not folded yet included. Null: what was there before is not counted yet. */
  read(query: RollupQuery): Promise<RollupReading | null>
  /** How many values of a dimension have numbers of their own. */
  countValues(tenantId: string | null, dimension: Dimension): Promise<number>
  /** Whether a count of everything is still owed, as after an upgrade. */
  isCounted(): Promise<boolean>
  /**
   * Counts everything anew and mends the sums by what they were wrong, while everybody goes on. Null: another process is
   * at it, or has taken over. `onProgress` hears how many notifications have been counted.
   */
  rebuild(token: string, onProgress: (counted: number) => void): Promise<Rebuilt | null>
}

export interface RollupQuery {
  /** Null: all tenants together. */
  tenantId: string | null
  dimensions: readonly Dimension[]
  /** What has been due for so long is stuck. */
  stuckForMs: number
  /** The last so many seconds. */
  windowSeconds: number
  /** A time of the past in whole times of `finest` seconds, and how it is cut into a series; null: none is asked for. */
  range: { from: number; to: number; finest: number; step: number | null } | null
}

export interface RollupReading {
  /** The store's time, in milliseconds. */
  at: number
  numbers: RollupNumbers[]
}

/** What is known of one value of one dimension. */
export interface RollupNumbers {
  dimension: Dimension
  value: string
  /** What stands where now. */
  standing: RollupTally
  /** Of what is live: what is not due yet, and what has been due for too long. */
  scheduled: number
  stuck: number
  /** The second since which the oldest is due, which may be to come; null: nothing is live. */
  oldestDueSecond: number | null
  /** What happened in the last seconds, and in the range that was asked for. */
  window: RollupTally
  range: RollupTally
  /** What happened in each step of the range, by the second that it begins with. */
  series: ReadonlyMap<number, RollupTally>
}

export interface Rebuilt {
  notifications: number
  /** How many sums were wrong. */
  mended: number
}
