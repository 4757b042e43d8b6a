import type { Channel } from './channel.ts'
import { latencyBucket } from './latency.ts'
import type { NotificationStatus, SettledStatus } from './notification.ts'
import { sendsReceipts } from './receipt.ts'

/**
 * What is counted of notifications, so that nobody has to count the ledger. Everything here adds up: a *move* of some
 * notifications is a change of sums, sums of changes may be added in any order, and what stands somewhere now is what has
 * come there less what has left.
 */

/** Who a notification belongs to and where it goes: what numbers are told by. */
export interface RollupGroup {
  tenantId: string
  channel: Channel
  accountId: string | null
  site: string | null
  eventType: string | null
}

/** Where a notification stands, as far as it is counted: what waits or is being sent is `live`. */
export type RollupStatus = 'live' | SettledStatus

export function rollupStatus(status: NotificationStatus): RollupStatus {
  return status === 'queued' || status === 'retrying' || status === 'sending' ? 'live' : status
}

/**
 * Some notifications of one group that moved together. `new`: they were not there before. `gone`: they are there no more.
 * `moved`: the other half of it is told by another move, because they are of another group, or due at another time, from
 * now on.
 */
export interface RollupMove {
  group: RollupGroup
  from: RollupStatus | 'new' | 'moved'
  to: RollupStatus | 'gone' | 'moved'
  /** The second, since 1970, in which they moved. */
  atSecond: number
  /** Of what is or was `live`: the second in which it is due. */
  dueSecond: number | null
  /** Of what was sent: the bucket of how long that took; of what was delivered: how long after it had been sent. */
  latency: number | null
  /** They count as delivered by this. */
  isDelivered: boolean
  /**
   * A call through the account led to this. What happens otherwise, in planning or by hand, is no account's doing: it is
   * counted for none. (The account may be another one later, and a count of the ledger could not tell which it was.)
   */
  isByAccount: boolean
  count: number
}

/** Whether an acceptance by this provider is all that will be heard, and so counts as the delivery. */
export function isDeliveredWhenSent(provider: string | null): boolean {
  return !sendsReceipts(provider)
}

/** Whether a receipt that moves a notification so tells of its delivery. */
export function isDeliveredBy(provider: string | null, from: RollupStatus, to: RollupStatus): boolean {
  return sendsReceipts(provider) && isArrived(to) && !isArrived(from)
}

function isArrived(status: RollupStatus): boolean {
  return status === 'delivered' || status === 'read'
}

/** Sums by name. Those of a time are what came to a status then; those of `EVER`, what stands there now. */
export type RollupTally = Record<string, number>

/** What of a time is counted beside the statuses that notifications came to. */
export const CREATED = 'created'

/** Percentiles are told of these, each in sums of its own for every bucket, such as `eventToSent.17`. */
export const LATENCIES = ['eventToSent', 'sentToDelivered'] as const
export type Latency = (typeof LATENCIES)[number]

/** The group that what happened is counted for. */
export function happenedTo({ group, isByAccount }: RollupMove): RollupGroup {
  return isByAccount ? group : { ...group, accountId: null }
}

/** What a move adds to the sums of its time. */
export function talliedMove({ from, to, latency, isDelivered, count }: RollupMove): RollupTally {
  const tally: RollupTally = {}
  if (from === 'new') tally[CREATED] = count
  // What was delivered without a receipt has not come to that status, and what a receipt told of counts once.
  if (from !== 'moved' && to !== from && to !== 'live' && to !== 'gone' && to !== 'moved' && to !== 'delivered')
    tally[to] = count
  if (isDelivered) tally['delivered'] = count
  if (latency !== null) tally[`${to === 'sent' ? 'eventToSent' : 'sentToDelivered'}.${latency}`] = count
  return tally
}

/** What a move adds to what stands where. */
export function talliedStanding({ from, to, count }: RollupMove): RollupTally {
  const tally: RollupTally = {}
  if (from !== 'new' && from !== 'moved') tally[from] = -count
  if (to !== 'gone' && to !== 'moved') tally[to] = (tally[to] ?? 0) + count
  return tally
}

/** What a move adds to the number of notifications that are due in its `dueSecond`. */
export function dueChange({ from, to, dueSecond, count }: RollupMove): number {
  if (dueSecond === null) return 0
  return (to === 'live' ? count : 0) - (from === 'live' ? count : 0)
}

export function addTally(sums: RollupTally, more: RollupTally): void {
  for (const [name, count] of Object.entries(more)) {
    const sum = (sums[name] ?? 0) + count
    if (sum === 0) delete sums[name]
    else sums[name] = sum
  }
}

/** The buckets of a latency that a tally holds. */
export function histogramOf(tally: RollupTally, latency: Latency): Map<number, number> {
  const histogram = new Map<number, number>()
  for (const [name, count] of Object.entries(tally))
    if (name.startsWith(`${latency}.`)) histogram.set(Number(name.slice(latency.length + 1)), count)
  return histogram
}

/** The bucket of the time from when a notification was wanted until it was sent, or from then until it was delivered. */
export function bucketBetween(fromMs: number, toMs: number): number {
  return latencyBucket(Math.floor(toMs) - Math.floor(fromMs))
}

export function secondOf(ms: number): number {
  return Math.floor(ms / 1_000)
}

/** By what numbers are split. `total`: not at all. */
export const DIMENSIONS = ['total', 'tenantId', 'channel', 'accountId', 'eventType', 'site'] as const
export type Dimension = (typeof DIMENSIONS)[number]

/** The scope of all tenants together. No tenant has an empty id. */
export const ALL_TENANTS = ''

/** How many values of one dimension are told apart in a scope; what comes later is counted as `OTHER_VALUE`. */
export const MOST_VALUES = 1_000

/** No site and no event type has such a name. */
export const OTHER_VALUE = '(other)'

/** One of the sums that a group belongs to. */
export interface Margin {
  scope: string
  dimension: Dimension
  /** Empty where the group has none. */
  value: string
}

/** All sums that a group belongs to: those of its tenant, and those of all tenants together. */
export function marginsOf(group: RollupGroup): Margin[] {
  const own = DIMENSIONS.filter((dimension) => dimension !== 'tenantId')
  return [
    ...own.map((dimension) => ({ scope: group.tenantId, dimension, value: valueIn(group, dimension) })),
    ...DIMENSIONS.map((dimension) => ({ scope: ALL_TENANTS, dimension, value: valueIn(group, dimension) })),
  ]
}

function valueIn(group: RollupGroup, dimension: Dimension): string {
  return dimension === 'total' ? '' : (group[dimension] ?? '')
}

/** Sums over all time: what stands where now. */
export const EVER = 0
const [SECOND, MINUTE, HOUR, DAY] = [1, 60, 3_600, 86_400] as const

/** The lengths, in seconds, of the times that are summed up, and for how many seconds each is kept. */
export const KEPT_SECONDS: ReadonlyMap<number, number> = new Map([
  [SECOND, 2 * HOUR],
  [MINUTE, 49 * HOUR],
  [HOUR, 93 * DAY],
  [DAY, 93 * DAY],
])
export const WIDTHS: readonly number[] = [...KEPT_SECONDS.keys()]

export function startOf(second: number, width: number): number {
  return width === EVER ? 0 : Math.floor(second / width) * width
}

/** A run of times of one length: from `from`, up to but without `to`. */
export interface Span {
  width: number
  from: number
  to: number
}

/**
 * The fewest times that make up everything from `from` up to but without `to`, at most some hundred whatever lies between.
 * `from` and `to` are multiples of `finest`.
 */
export function spansBetween(from: number, to: number, finest: number = SECOND): Span[] {
  const spans: Span[] = []
  const widths = WIDTHS.filter((width) => width >= finest).toReversed()
  for (let at = from; at < to; ) {
    const width = widths.find((each) => at % each === 0 && at + each <= to) ?? finest
    const last = spans.at(-1)
    if (last?.width === width) last.to = at + width
    else spans.push({ width, from: at, to: at + width })
    at += width
  }
  return spans
}

/** Everything before `second`. */
export function spansBefore(second: number): Span[] {
  const today = startOf(second, DAY)
  return [{ width: DAY, from: 0, to: today }, ...spansBetween(today, second)]
}

/** No calendar of ours goes further. */
const LAST_SECOND = 253_402_300_800

/** `second` and everything after it. */
export function spansFrom(second: number): Span[] {
  const tomorrow = startOf(second, DAY) + DAY
  return [...spansBetween(second, tomorrow), { width: DAY, from: tomorrow, to: LAST_SECOND }]
}
