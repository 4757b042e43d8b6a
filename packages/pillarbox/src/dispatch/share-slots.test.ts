import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Channel } from '../model/channel.ts'
import { type BusyChannel, type ClaimableLane, shareSlots } from './share-slots.ts'

const NEVER = Number.NEGATIVE_INFINITY

/** Lanes as `name: calls under way`; those listed later were served later. */
function candidates(lanes: Record<string, number>, channel: Channel = 'sms'): ClaimableLane[] {
  return Object.entries(lanes).map(([accountId, inFlight], i) => ({ accountId, channel, inFlight, servedAt: i }))
}

/** The channels, when exactly these lanes are busy. */
function busyWith(...groups: ClaimableLane[][]): ReadonlyMap<Channel, BusyChannel> {
  const channels = new Map<Channel, { inFlight: number; lanes: Set<string> }>()
  for (const { accountId, channel, inFlight } of groups.flat()) {
    if (inFlight === 0) continue
    const busy = channels.get(channel) ?? { inFlight: 0, lanes: new Set() }
    busy.inFlight += inFlight
    channels.set(channel, { ...busy, lanes: busy.lanes.add(accountId) })
  }
  return channels
}

function share(lanes: ClaimableLane[], slots: number, limit = 1_000): Record<string, number> {
  return Object.fromEntries(shareSlots(lanes, slots, busyWith(lanes), limit))
}

describe('the slots of a channel', () => {
  it('are never all given to one lane: half stays free for whoever comes', () => {
    assert.deepEqual(share(candidates({ only: 0 }), 10), { only: 5 })
  })

  it('are shared evenly among the lanes that have work', () => {
    assert.deepEqual(share(candidates({ a: 0, b: 0, c: 0 }), 16), { a: 4, b: 4, c: 4 })
  })

  it('go to a lane only as far as it has fewer calls under way than its share', () => {
    assert.deepEqual(share(candidates({ hanging: 4, fresh: 1 }), 12), { fresh: 3 })
  })

  it('go to those served longest ago when there are fewer slots than lanes', () => {
    const lanes = candidates({ d: 0, c: 0, b: 0, a: 0 })

    assert.deepEqual(share(lanes, 2), { d: 1, c: 1 })
    assert.deepEqual(share(lanes.toReversed(), 2), { d: 1, c: 1 })
  })

  it('go first to lanes that were never served', () => {
    const newcomer: ClaimableLane = { accountId: 'z', channel: 'sms', inFlight: 0, servedAt: NEVER }

    assert.deepEqual(share([...candidates({ a: 0, b: 0 }), newcomer], 1), { z: 1 })
  })

  it('count lanes that are busy and have no more work, too', () => {
    const lanes = candidates({ working: 0 })
    const busy = busyWith(candidates({ busy1: 1, busy2: 1 }))

    assert.deepEqual(Object.fromEntries(shareSlots(lanes, 12, busy, 1_000)), { working: 3 })
  })

  it('are not given out beyond the limit of one claim', () => {
    assert.deepEqual(share(candidates({ a: 0, b: 0 }), 30, 5), { a: 3, b: 2 })
    assert.deepEqual(share(candidates({ a: 0, b: 0 }), 30, 0), {})
  })

  it('are there even if there is only one', () => {
    assert.deepEqual(share(candidates({ a: 0, b: 0 }), 1), { a: 1 })
    assert.deepEqual(share(candidates({ a: 1, b: 0 }), 1), {})
  })

  it('are no business of another channel: a bulkhead', () => {
    const sms = candidates({ flooded: 8, other: 8 }, 'sms')
    const email = candidates({ mail: 0 }, 'email')

    const shares = shareSlots([...sms, ...email], 16, busyWith(sms), 1_000)

    assert.deepEqual(Object.fromEntries(shares), { mail: 8 })
  })

  it('stay free for a newcomer while several hang that came one after the other (P8)', () => {
    const slots = 64
    const hanging: ClaimableLane[] = []
    for (const accountId of ['a', 'b', 'c', 'd', 'e']) {
      const newcomer: ClaimableLane = { accountId, channel: 'sms', inFlight: 0, servedAt: NEVER }
      hanging.push(newcomer)
      for (let round = 0; round < 10; round++) {
        const shares = shareSlots(hanging, slots, busyWith(hanging), 1_000)
        if (round === 0) assert.ok((shares.get(accountId) ?? 0) > 0, `${accountId} finds room`)
        for (const lane of hanging) lane.inFlight += shares.get(lane.accountId) ?? 0
      }
    }
  })
})

describe('whoever asks', () => {
  const channel = fc.constantFrom<Channel>('sms', 'email', 'push')
  const lanes = fc
    .array(
      fc.record({ channel, inFlight: fc.nat({ max: 12 }), servedAt: fc.oneof(fc.constant(NEVER), fc.nat({ max: 5 })) }),
      { maxLength: 20 },
    )
    .map((all) => all.map((lane, i): ClaimableLane => ({ accountId: `lane-${i}`, ...lane })))
  const others = fc
    .array(fc.record({ channel, inFlight: fc.nat({ max: 3 }) }), { maxLength: 5 })
    .map((all) => all.map((lane, i): ClaimableLane => ({ accountId: `other-${i}`, servedAt: 0, ...lane })))
  const situation = fc
    .record({ lanes, others, slots: fc.integer({ min: 1, max: 100 }), limit: fc.nat({ max: 120 }) })
    .map((given) => ({ ...given, busy: busyWith(given.lanes, given.others) }))
  type Situation = typeof situation extends fc.Arbitrary<infer T> ? T : never

  const always = (name: string, check: (given: Situation, shares: Map<string, number>) => void): void => {
    it(name, () =>
      fc.assert(
        fc.property(situation, (given) => check(given, shareSlots(given.lanes, given.slots, given.busy, given.limit))),
      ),
    )
  }
  const given = (shares: Map<string, number>, among: readonly ClaimableLane[]): number =>
    among.reduce((sum, { accountId }) => sum + (shares.get(accountId) ?? 0), 0)
  const onChannel = (all: readonly ClaimableLane[], wanted: Channel) => all.filter((lane) => lane.channel === wanted)

  always('never gets more than the free slots of the channel or the limit', ({ lanes, slots, limit, busy }, shares) => {
    assert.ok(given(shares, lanes) <= limit)
    for (const each of ['sms', 'email', 'push'] as const)
      assert.ok(given(shares, onChannel(lanes, each)) <= Math.max(0, slots - (busy.get(each)?.inFlight ?? 0)))
  })

  always('never holds more than slots ÷ (busy lanes + 1)', ({ lanes, slots, busy }, shares) => {
    for (const lane of lanes) {
      const added = shares.get(lane.accountId) ?? 0
      const active = new Set([
        ...(busy.get(lane.channel)?.lanes ?? []),
        ...onChannel(lanes, lane.channel).map((l) => l.accountId),
      ])
      const cap = Math.max(1, Math.floor(slots / (active.size + 1)))
      assert.ok(added === 0 || lane.inFlight + added <= cap)
    }
  })

  always('gets whole slots, and nothing is said of lanes that get none', (_given, shares) => {
    for (const count of shares.values()) assert.ok(Number.isInteger(count) && count > 0)
  })

  always('gets at least one if it has nothing under way and there is a slot for each such lane', (at, shares) => {
    const newcomers = at.lanes.filter(({ inFlight }) => inFlight === 0)
    if (at.limit < at.slots * 3) return
    for (const each of ['sms', 'email', 'push'] as const) {
      const idle = onChannel(newcomers, each)
      if (idle.length <= at.slots - (at.busy.get(each)?.inFlight ?? 0))
        for (const { accountId } of idle) assert.ok((shares.get(accountId) ?? 0) >= 1)
    }
  })

  always('is passed over only for lanes served longer ago, among those with nothing under way', (at, shares) => {
    for (const each of ['sms', 'email', 'push'] as const) {
      const idle = onChannel(at.lanes, each).filter(({ inFlight }) => inFlight === 0)
      const passedOver = idle.filter(({ accountId }) => !shares.has(accountId))
      const served = idle.filter(({ accountId }) => shares.has(accountId))
      for (const waiting of passedOver) for (const other of served) assert.ok(other.servedAt <= waiting.servedAt)
    }
  })

  always('gets the same in whatever order the lanes are named', ({ lanes, slots, limit, busy }, shares) => {
    const again = shareSlots(lanes.toReversed(), slots, busy, Number.MAX_SAFE_INTEGER)
    const once = shareSlots(lanes, slots, busy, Number.MAX_SAFE_INTEGER)
    assert.deepEqual(Object.fromEntries(again), Object.fromEntries(once))
    assert.ok(shares.size <= once.size || limit === 0)
  })

  it('finds room as a newcomer, whatever hangs before it, as long as fewer than an eighth of the slots hang (P8)', () => {
    const arrivals = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 15 })
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 128 }),
        arrivals,
        fc.integer({ min: 1, max: 40 }),
        (slots, rounds, limit) => {
          const hanging: ClaimableLane[] = []
          let time = 0
          for (const [i, count] of rounds.slice(0, Math.max(2, Math.floor(slots / 8))).entries()) {
            const newcomer: ClaimableLane = { accountId: `lane-${i}`, channel: 'sms', inFlight: 0, servedAt: NEVER }
            hanging.push(newcomer)
            for (let round = 0; round < count; round++) {
              const shares = shareSlots(hanging, slots, busyWith(hanging), limit)
              for (const lane of hanging) {
                const given = shares.get(lane.accountId) ?? 0
                lane.inFlight += given
                if (given > 0) lane.servedAt = ++time
              }
            }
            assert.ok(newcomer.inFlight > 0, `lane ${i} of ${slots} slots finds no room`)
          }
        },
      ),
    )
  })
})
