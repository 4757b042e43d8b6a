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
  since(laneId: string): string
  /** The marks of all lanes, for a look at many; none where the whole lane is due to be looked at. */
  marks(): { laneIds: string[]; since: string[] }
  /** The oldest row a claim of this lane found. */
  saw(laneId: string, visibleAtMs: number): void
}

const WHOLE_LANE_EVERY_MS = 1_000
/** Transactions that were begun before the mark and are committed after it. */
const SLACK_MS = 500
const FROM_THE_BEGINNING = '-infinity'

export function createLowWater(clock: Clock): LowWater {
  const lanes = new Map<string, { lookedAt: number; oldestMs: number | null }>()
  function since(laneId: string): string {
    const lane = lanes.get(laneId)
    const now = clock.monotonic()
    if (lane && lane.oldestMs !== null && now - lane.lookedAt < WHOLE_LANE_EVERY_MS)
      return new Date(lane.oldestMs - SLACK_MS).toISOString()
    lanes.set(laneId, { lookedAt: now, oldestMs: lane?.oldestMs ?? null })
    return FROM_THE_BEGINNING
  }

  return {
    since,
    marks() {
      const laneIds = [...lanes.keys()]
      return { laneIds, since: laneIds.map(since) }
    },
    saw(laneId, visibleAtMs) {
      const lane = lanes.get(laneId)
      if (lane) lane.oldestMs = visibleAtMs
    },
  }
}
