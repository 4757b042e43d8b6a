export interface DueStore {
  /**
   * Makes due what is due at once and lies in the future of the store's clock, which happens only when that was set back:
   * new events and callbacks, those that were replayed, notifications that wait for nothing. What waits for a time, or
   * for its next attempt, is left alone. A worker whose last beat lies in the future is counted from now on. Changes
   * `limit` rows of each kind at most, and answers how many rows of work it changed: fewer than `limit` when none is left.
   */
  bringForward(limit: number): Promise<number>
}
