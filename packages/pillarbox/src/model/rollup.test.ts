import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  addTally,
  dueChange,
  isDeliveredBy,
  isDeliveredWhenSent,
  marginsOf,
  type RollupMove,
  type Span,
  spansBefore,
  spansBetween,
  spansFrom,
  talliedMove,
  talliedStanding,
} from './rollup.ts'

const GROUP = { tenantId: 'acme', channel: 'sms', accountId: 'a', site: null, eventType: 'trip.late' } as const
const move = (changes: Partial<RollupMove>): RollupMove => ({
  group: GROUP,
  from: 'live',
  to: 'sent',
  atSecond: 0,
  dueSecond: 0,
  latency: null,
  isDelivered: false,
  isByAccount: true,
  count: 2,
  ...changes,
})

describe('a move', () => {
  it('adds what came to a status, and takes it from where it stood', () => {
    assert.deepEqual(talliedMove(move({ latency: 17 })), { sent: 2, 'eventToSent.17': 2 })
    assert.deepEqual(talliedStanding(move({})), { live: -2, sent: 2 })
    assert.deepEqual(talliedMove(move({ from: 'new', to: 'skipped' })), { created: 2, skipped: 2 })
    assert.deepEqual(talliedStanding(move({ from: 'parked', to: 'gone' })), { parked: -2 })
    assert.deepEqual(talliedMove(move({ from: 'parked', to: 'gone' })), {})
  })

  it('adds nothing that happened where it is the half of one', () => {
    assert.deepEqual(talliedMove(move({ from: 'moved', to: 'live' })), {})
    assert.deepEqual(talliedMove(move({ from: 'live', to: 'moved' })), {})
  })

  it('changes what is due where something becomes live or ceases to be', () => {
    assert.equal(dueChange(move({ from: 'new', to: 'live' })), 2)
    assert.equal(dueChange(move({})), -2)
    assert.equal(dueChange(move({ from: 'sent', to: 'delivered', dueSecond: null })), 0)
  })

  it('counts a delivery once: when it is accepted where no receipt comes, else when the first receipt says so', () => {
    assert.deepEqual([isDeliveredWhenSent('smtp'), isDeliveredWhenSent('ses')], [true, false])
    assert.deepEqual([isDeliveredBy('ses', 'sent', 'delivered'), isDeliveredBy('ses', 'sent', 'read')], [true, true])
    assert.equal(isDeliveredBy('ses', 'delivered', 'read'), false)
    assert.equal(isDeliveredBy('smtp', 'sent', 'delivered'), false)
    assert.deepEqual(talliedMove(move({ isDelivered: true })), { sent: 2, delivered: 2 })
    const receipt = move({ from: 'sent', to: 'delivered', dueSecond: null, isDelivered: true, latency: 3 })
    assert.deepEqual(talliedMove(receipt), { delivered: 2, 'sentToDelivered.3': 2 })
  })
})

describe('a tally', () => {
  it('holds no sums that are nothing', () => {
    const sums = { sent: 2, parked: 1 }

    addTally(sums, { sent: -2, parked: 1, failed: 0 })

    assert.deepEqual(sums, { parked: 2 })
  })
})

describe('margins', () => {
  it('are those of the tenant and those of all, and only the latter tell tenants apart', () => {
    const margins = marginsOf(GROUP)

    assert.equal(margins.length, 11)
    assert.deepEqual(
      margins.filter(({ dimension }) => dimension === 'tenantId'),
      [{ scope: '', dimension: 'tenantId', value: 'acme' }],
    )
    assert.deepEqual(
      margins.filter(({ dimension }) => dimension === 'site').map(({ value }) => value),
      ['', ''],
    )
  })
})

describe('spans', () => {
  const length = (spans: readonly Span[]): number => spans.reduce((sum, { from, to }) => sum + to - from, 0)
  const times = (spans: readonly Span[]): number =>
    spans.reduce((sum, span) => sum + (span.to - span.from) / span.width, 0)

  it('make up a range without gaps or overlaps, of few times', () => {
    const seconds = fc.nat(8_000_000)
    fc.assert(
      fc.property(fc.nat(1_800_000_000), seconds, (from, more) => {
        const spans = spansBetween(from, from + more)

        assert.equal(length(spans), more)
        for (const [i, span] of spans.entries()) {
          assert.equal(span.from, i === 0 ? from : spans[i - 1]?.to)
          assert.ok(span.from % span.width === 0 && span.to % span.width === 0)
        }
        assert.ok(times(spans) <= 2 * (59 + 59 + 23) + 93)
      }),
    )
  })

  it('before and from a second meet there', () => {
    fc.assert(
      fc.property(fc.nat(1_800_000_000), (second) => {
        assert.equal(length(spansBefore(second)), second)
        assert.equal(spansFrom(second)[0]?.from, second)
      }),
    )
  })
})
