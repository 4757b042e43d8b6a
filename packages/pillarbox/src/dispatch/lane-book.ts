import type { Channel } from '../model/channel.ts'
import type { DueLane } from './dispatch-store.ts'
import { shareSlots } from './share-slots.ts'

/**
 * The lanes' book: what one process remembers of each account between two claim rounds. It lives in memory only, asks nobody
 * and is never waited for; what all processes must agree on (hold, breaker, tokens) is in the store's `lanes`.
 *
 * A lane is *due* or *idle*:
 *
 *   idle ──`isDue`: a nudge named it, a look into the store found it, its account has just been paused──▶ due
 *   due ──`isDrained`: it gave less than was asked of it, its breaker is not closed, its rows cannot move──▶ idle
 *   all ──`forgetDue`: a round failed, so that nothing is sure──▶ idle
 *
 * Due only means "probably has work": a wrong guess costs one claim that finds nothing, or the wait for the next look. Only due
 * lanes are claimed from. Beside that, whether due or idle, a lane has
 *
 *   servedAt     when it was last claimed from; kept for ever, for the lanes served longest ago go first
 *   pacedUntil   set while its bucket is empty: it is not `ready` before then. Set by a grant of fewer tokens than were asked
 *                for, removed when tokens are given back or the time is over
 *   stuckRows    how many rows of its paused account were found that cannot move, the most of any one claim: the next claim
 *                looks past them. Removed once a claim finds none
 *   inFlight     its calls under way, from `callBegins` to `callEnds`
 *
 * and the process has
 *
 *   isStarved    in the last round there was work and no room for it: whoever frees a slot rings the dispatcher's bell. Decided
 *                anew by every round
 *   unsent       claims that went back unsent since the last `takeUnsent`: a round that claims no more than those is no reason
 *                to claim again at once
 */
export interface LaneBook {
  /** The lane probably has work. What is known of its breaker is replaced. */
  isDue(lane: DueLane): void
  isDrained(laneId: string): void
  forgetDue(): void
  /** Those of `laneIds` that are idle. */
  idleAmong(laneIds: readonly string[]): string[]
  hasDue(): boolean
  /** Due lanes that are not paced. */
  ready(now: number): DueLane[]
  /** How many rows of each lane may be claimed now; none where it is not named. A lane without a share starves the process. */
  share(lanes: readonly DueLane[]): ReadonlyMap<string, number>
  /** The lane was claimed from, and gave `unused` rows fewer than were asked for. */
  wasServed(laneId: string, unused: number, now: number): void
  paceUntil(laneId: string, at: number): void
  /** Tokens were given back, so the bucket is not empty after all. */
  endPace(laneId: string): void
  /** How long until the next paced lane is ready; infinite where none is paced. */
  nextReadyMs(now: number): number
  stuckRows(laneId: string): number
  /** Of one claim from a paused account's lane, so many rows could not move. */
  foundStuck(laneId: string, rows: number): void
  callBegins(lane: { laneId: string; channel: Channel }): void
  callEnds(lane: { laneId: string; channel: Channel }): void
  /** Calls under way, in all. */
  inFlight(): number
  wentBack(): void
  takeUnsent(): number
  /** A round begins. `isFull`: there is no room for any of its work. */
  beginRound(isFull: boolean): void
  isStarved(): boolean
}

export function createLaneBook(settings: { slotsPerChannel: number; claimRows: number }): LaneBook {
  const due = new Map<string, DueLane>()
  const servedAt = new Map<string, number>()
  const pacedUntil = new Map<string, number>()
  const stuckRows = new Map<string, number>()
  /** Without lanes that have no call under way. */
  const inFlight = new Map<string, number>()
  /** The sums of `inFlight` by channel, and which lanes they are made of. */
  const busy = new Map<Channel, { inFlight: number; lanes: Set<string> }>()
  let unsent = 0
  let isStarved = false

  return {
    isDue: (lane) => void due.set(lane.laneId, lane),
    isDrained: (laneId) => void due.delete(laneId),
    forgetDue: () => due.clear(),
    idleAmong: (laneIds) => laneIds.filter((laneId) => !due.has(laneId)),
    hasDue: () => due.size > 0,
    ready: (now) => [...due.values()].filter(({ laneId }) => (pacedUntil.get(laneId) ?? now) <= now),
    share(lanes) {
      const claimable = lanes.map(({ laneId, channel }) => ({
        laneId,
        channel,
        inFlight: inFlight.get(laneId) ?? 0,
        servedAt: servedAt.get(laneId) ?? Number.NEGATIVE_INFINITY,
      }))
      const shares = shareSlots(claimable, settings.slotsPerChannel, busy, settings.claimRows)
      if (shares.size < lanes.length) isStarved = true
      return shares
    },
    wasServed(laneId, unused, now) {
      servedAt.set(laneId, now)
      if (unused > 0) due.delete(laneId)
    },
    paceUntil: (laneId, at) => void pacedUntil.set(laneId, at),
    endPace: (laneId) => void pacedUntil.delete(laneId),
    nextReadyMs(now) {
      let ms = Number.POSITIVE_INFINITY
      for (const [laneId, at] of pacedUntil) {
        if (at <= now) pacedUntil.delete(laneId)
        else ms = Math.min(ms, at - now)
      }
      return ms
    },
    stuckRows: (laneId) => stuckRows.get(laneId) ?? 0,
    foundStuck(laneId, rows) {
      if (rows === 0) stuckRows.delete(laneId)
      // The most of any one claim, for claims of the same lane may overlap.
      else stuckRows.set(laneId, Math.max(rows, stuckRows.get(laneId) ?? 0))
    },
    callBegins({ laneId, channel }) {
      inFlight.set(laneId, (inFlight.get(laneId) ?? 0) + 1)
      const calls = busy.get(channel) ?? { inFlight: 0, lanes: new Set() }
      calls.inFlight++
      calls.lanes.add(laneId)
      busy.set(channel, calls)
    },
    callEnds({ laneId, channel }) {
      const left = (inFlight.get(laneId) ?? 1) - 1
      const calls = busy.get(channel)
      if (calls) calls.inFlight--
      if (left > 0) inFlight.set(laneId, left)
      else {
        inFlight.delete(laneId)
        calls?.lanes.delete(laneId)
      }
    },
    inFlight: () => [...busy.values()].reduce((sum, calls) => sum + calls.inFlight, 0),
    wentBack: () => void unsent++,
    takeUnsent() {
      const taken = unsent
      unsent = 0
      return taken
    },
    beginRound(isFull) {
      isStarved = isFull
    },
    isStarved: () => isStarved,
  }
}
