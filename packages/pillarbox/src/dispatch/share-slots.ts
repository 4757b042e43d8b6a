import type { Channel } from '../model/channel.ts'

/** A lane that may be claimed from, as the lanes' book has it before a claim round. */
export interface ClaimableLane {
  accountId: string
  channel: Channel
  /** Calls of this lane under way in this process. */
  inFlight: number
  /** When this process last claimed from it; never: −∞. */
  servedAt: number
}

/** The calls of one channel that are under way in this process, and the lanes they belong to. */
export interface BusyChannel {
  inFlight: number
  lanes: ReadonlySet<string>
}

/**
 * Shares the free send slots of each channel among the lanes that have work, those served longest ago first.
 *
 * A lane never holds more than slots ÷ (busy lanes + 1), and the last eighth of the slots is only for lanes with nothing
 * under way, one each. So a newcomer finds room even while several lanes hang that came one after the other: a flooded
 * or hanging account delays another by at most one claim round.
 */
export function shareSlots(
  candidates: readonly ClaimableLane[],
  slotsPerChannel: number,
  busy: ReadonlyMap<Channel, BusyChannel>,
  limit: number,
): Map<string, number> {
  const shares = new Map<string, number>()
  const ordered = [...candidates].sort((a, b) => a.servedAt - b.servedAt || (a.accountId < b.accountId ? -1 : 1))
  let left = limit
  for (const channel of new Set(ordered.map((candidate) => candidate.channel))) {
    const lanes = ordered.filter((candidate) => candidate.channel === channel)
    const now = busy.get(channel)
    const active = new Set([...(now?.lanes ?? []), ...lanes.map((lane) => lane.accountId)])
    const cap = Math.max(1, Math.floor(slotsPerChannel / (active.size + 1)))
    let free = slotsPerChannel - (now?.inFlight ?? 0)
    let open = lanes.map((lane) => ({ ...lane, room: cap - lane.inFlight })).filter((lane) => lane.room > 0)
    const give = (lane: { accountId: string; room: number }, count: number): void => {
      shares.set(lane.accountId, (shares.get(lane.accountId) ?? 0) + count)
      lane.room -= count
      free -= count
      left -= count
    }
    for (const lane of open) if (lane.inFlight === 0 && free > 0 && left > 0) give(lane, 1)
    free -= Math.floor(slotsPerChannel / 8)
    open = open.filter((lane) => lane.room > 0)
    while (free > 0 && left > 0 && open.length > 0) {
      const each = Math.max(1, Math.floor(Math.min(free, left) / open.length))
      for (const lane of open) {
        if (free <= 0 || left <= 0) break
        give(lane, Math.min(each, lane.room, free, left))
      }
      open = open.filter((lane) => lane.room > 0)
    }
  }
  return shares
}
