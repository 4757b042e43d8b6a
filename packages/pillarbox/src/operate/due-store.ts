export interface DueStore {
  /**
   * Makes due what is due at once and lies in the future of the store's clock, which happens only when that was set back:
   * new events and callbacks, those that were replayed, notifications that wait for nothing. What waits for a time, or
   * for its next attempt, is left alone. A worker whose last beat lies in the future is counted from now on. Changes
   * `limit` rows of each kind at most, and answers how many rows of work it changed: fewer than `limit` when none is left.
   */
  bringForward(limit: number): Promise<number>
  /**
   * Moves a tenant's test clock on, or back to the real time where `advanceMs` is null, and with it what waits: schedules,
   * and notifications that are due later or expire. Their times stay real ones. Audited. `waiting`: nothing was moved,
   * because more than `most` wait; `tooFar`: because it would be more than `longestMs` ahead. Null: no such tenant.
   */
  moveTestClock(request: TestClockMove): Promise<TestClockMoved | { waiting: number } | { tooFar: true } | null>
}

export interface TestClockMove {
  tenantId: string
  advanceMs: number | null
  actor: string
  most: number
  longestMs: number
}

export interface TestClockMoved {
  /** How far it is ahead of the real time now. */
  aheadMs: number
  schedules: number
  notifications: number
}
