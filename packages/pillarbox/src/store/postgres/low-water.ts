// Only on PostgreSQL: SQLite leaves no dead entries in its indexes.

import type { Clock } from '../../model/ports.ts'

/**
 * Where the waiting rows of each lane begin, as far as this process has seen. What was sent leaves dead entries at the
 * head of the claim index until vacuum comes by, and a claim that starts at the very beginning walks over all of them:
 * after 80,000 messages it had become a third as fast. So a claim starts a little before the oldest row of the last one.
 *
 * Nothing depends on it: a row behind the mark (a late commit, a claim given back) is found by the next look at the
 * whole lane, once a second.
 */
export interface LowWater {
  /** From when on to look, as PostgreSQL reads it. */
  since(accountId: string): string
  /** The marks of all lanes, for a look at many; none when all are due to be looked at whole, once a second. */
  marks(): { accountIds: string[]; since: string[] }
  /** The oldest row a claim of this lane found. */
  saw(accountId: string, visibleAtMs: number): void
}

const WHOLE_LANE_EVERY_MS = 1_000
/** Transactions that were begun before the mark and are committed after it. */
const SLACK_MS = 500
const FROM_THE_BEGINNING = '-infinity'

export function createLowWater(clock: Clock): LowWater {
  const lanes = new Map<string, { lookedAt: number; oldestMs: number | null }>()
  let allLookedAt = Number.NEGATIVE_INFINITY
  const isDue = (lookedAt: number): boolean => clock.monotonic() - lookedAt >= WHOLE_LANE_EVERY_MS
  const mark = (oldestMs: number): string => new Date(oldestMs - SLACK_MS).toISOString()

  return {
    since(accountId) {
      const lane = lanes.get(accountId)
      if (lane && lane.oldestMs !== null && !isDue(lane.lookedAt)) return mark(lane.oldestMs)
      lanes.set(accountId, { lookedAt: clock.monotonic(), oldestMs: lane?.oldestMs ?? null })
      return FROM_THE_BEGINNING
    },
    // With a time of its own: a look at many lanes claims nothing, so it must not count as a claim's look at one.
    marks() {
      if (isDue(allLookedAt)) {
        allLookedAt = clock.monotonic()
        return { accountIds: [], since: [] }
      }
      const known = [...lanes].flatMap(([accountId, { oldestMs }]) =>
        oldestMs === null ? [] : [{ accountId, oldestMs }],
      )
      return { accountIds: known.map(({ accountId }) => accountId), since: known.map(({ oldestMs }) => mark(oldestMs)) }
    },
    saw(accountId, visibleAtMs) {
      const lane = lanes.get(accountId)
      if (lane) lane.oldestMs = visibleAtMs
    },
  }
}
