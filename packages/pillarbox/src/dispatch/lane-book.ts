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
  isDrained(accountId: string): void
  forgetDue(): void
  /** Those of `accountIds` that are idle. */
  idleAmong(accountIds: readonly string[]): string[]
  hasDue(): boolean
  /** Due lanes that are not paced. */
  ready(now: number): DueLane[]
  /** How many rows of each lane may be claimed now; none where it is not named. A lane without a share starves the process. */
  share(lanes: readonly DueLane[]): ReadonlyMap<string, number>
  /** The lane was claimed from, and gave `unused` rows fewer than were asked for. */
  wasServed(accountId: string, unused: number, now: number): void
  paceUntil(accountId: string, at: number): void
  /** Tokens were given back, so the bucket is not empty after all. */
  endPace(accountId: string): void
  /** How long until the next paced lane is ready; infinite where none is paced. */
  nextReadyMs(now: number): number
  stuckRows(accountId: string): number
  /** Of one claim from a paused account's lane, so many rows could not move. */
  foundStuck(accountId: string, rows: number): void
  callBegins(lane: { accountId: string; channel: Channel }): void
  callEnds(lane: { accountId: string; channel: Channel }): void
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
    isDue: (lane) => void due.set(lane.accountId, lane),
    isDrained: (accountId) => void due.delete(accountId),
    forgetDue: () => due.clear(),
    idleAmong: (accountIds) => accountIds.filter((accountId) => !due.has(accountId)),
    hasDue: () => due.size > 0,
    ready: (now) => [...due.values()].filter(({ accountId }) => (pacedUntil.get(accountId) ?? now) <= now),
    share(lanes) {
      const claimable = lanes.map(({ accountId, channel }) => ({
        accountId,
        channel,
        inFlight: inFlight.get(accountId) ?? 0,
        servedAt: servedAt.get(accountId) ?? Number.NEGATIVE_INFINITY,
      }))
      const shares = shareSlots(claimable, settings.slotsPerChannel, busy, settings.claimRows)
      if (shares.size < lanes.length) isStarved = true
      return shares
    },
    wasServed(accountId, unused, now) {
      servedAt.set(accountId, now)
      if (unused > 0) due.delete(accountId)
    },
    paceUntil: (accountId, at) => void pacedUntil.set(accountId, at),
    endPace: (accountId) => void pacedUntil.delete(accountId),
    nextReadyMs(now) {
      let ms = Number.POSITIVE_INFINITY
      for (const [accountId, at] of pacedUntil) {
        if (at <= now) pacedUntil.delete(accountId)
        else ms = Math.min(ms, at - now)
      }
      return ms
    },
    stuckRows: (accountId) => stuckRows.get(accountId) ?? 0,
    foundStuck(accountId, rows) {
      if (rows === 0) stuckRows.delete(accountId)
      // The most of any one claim, for claims of the same lane may overlap.
      else stuckRows.set(accountId, Math.max(rows, stuckRows.get(accountId) ?? 0))
    },
    callBegins({ accountId, channel }) {
      inFlight.set(accountId, (inFlight.get(accountId) ?? 0) + 1)
      const calls = busy.get(channel) ?? { inFlight: 0, lanes: new Set() }
      calls.inFlight++
      calls.lanes.add(accountId)
      busy.set(channel, calls)
    },
    callEnds({ accountId, channel }) {
      const left = (inFlight.get(accountId) ?? 1) - 1
      const calls = busy.get(channel)
      if (calls) calls.inFlight--
      if (left > 0) inFlight.set(accountId, left)
      else {
        inFlight.delete(accountId)
        calls?.lanes.delete(accountId)
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
