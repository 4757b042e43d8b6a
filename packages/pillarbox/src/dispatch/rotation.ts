import type { Channel } from '../model/channel.ts'

/** A lane that may be claimed from, as the dispatcher sees it before a claim round. */
export interface Candidate {
  laneId: string
  channel: Channel
  /** Calls of this lane under way in this process. */
  inFlight: number
  /** When this process last claimed from it; never: −∞. */
  servedAt: number
}

/**
 * Shares the free send slots of each channel among the lanes that have work, those served longest ago first.
 *
 * A lane never holds more than slots ÷ (busy lanes + 1), and the last eighth of the slots is only for lanes with nothing
 * under way, one each. So a newcomer finds room even while several lanes hang that came one after the other: a flooded
 * or hanging account delays another by at most one claim round.
 */
export function shareSlots(
  candidates: readonly Candidate[],
  slotsPerChannel: number,
  busy: ReadonlyMap<Channel, { inFlight: number; lanes: ReadonlySet<string> }>,
  limit: number,
): Map<string, number> {
  const shares = new Map<string, number>()
  const ordered = [...candidates].sort((a, b) => a.servedAt - b.servedAt || (a.laneId < b.laneId ? -1 : 1))
  let left = limit
  for (const channel of new Set(ordered.map((candidate) => candidate.channel))) {
    const lanes = ordered.filter((candidate) => candidate.channel === channel)
    const now = busy.get(channel)
    const active = new Set([...(now?.lanes ?? []), ...lanes.map((lane) => lane.laneId)])
    const cap = Math.max(1, Math.floor(slotsPerChannel / (active.size + 1)))
    let free = slotsPerChannel - (now?.inFlight ?? 0)
    let open = lanes.map((lane) => ({ ...lane, room: cap - lane.inFlight })).filter((lane) => lane.room > 0)
    const give = (lane: { laneId: string; room: number }, count: number): void => {
      shares.set(lane.laneId, (shares.get(lane.laneId) ?? 0) + count)
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

/** Provider calls under way in this process, by lane and by channel. */
export function createInFlight() {
  const lanes = new Map<string, number>()
  const channels = new Map<Channel, { inFlight: number; lanes: Set<string> }>()
  let total = 0
  return {
    add({ laneId, channel }: { laneId: string; channel: Channel }): void {
      total++
      lanes.set(laneId, (lanes.get(laneId) ?? 0) + 1)
      const busy = channels.get(channel) ?? { inFlight: 0, lanes: new Set() }
      busy.inFlight++
      busy.lanes.add(laneId)
      channels.set(channel, busy)
    },
    remove({ laneId, channel }: { laneId: string; channel: Channel }): void {
      total--
      const left = (lanes.get(laneId) ?? 1) - 1
      const busy = channels.get(channel)
      if (busy) busy.inFlight--
      if (left > 0) lanes.set(laneId, left)
      else {
        lanes.delete(laneId)
        busy?.lanes.delete(laneId)
      }
    },
    ofLane: (laneId: string): number => lanes.get(laneId) ?? 0,
    byChannel: (): ReadonlyMap<Channel, { inFlight: number; lanes: ReadonlySet<string> }> => channels,
    total: (): number => total,
  }
}
