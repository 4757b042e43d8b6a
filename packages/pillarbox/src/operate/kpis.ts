import { PillarboxError } from '../model/errors.ts'
import { quantileMs } from '../model/latency.ts'
import {
  CREATED,
  type Dimension,
  histogramOf,
  LATENCIES,
  type Latency,
  type RollupTally,
  secondOf,
  startOf,
  WIDTHS,
} from '../model/rollup.ts'
import type { Store } from '../store/store.ts'
import type { RollupNumbers, RollupQuery } from './rollup-store.ts'

/** What operators steer by, told from sums that are kept, so that it costs the same however much there is. */

export interface KpiRequest {
  /** Null: all tenants together. */
  tenantId: string | null
  by?: KpiDimension
  /** Milliseconds since 1970. A range is asked for by any of these three. */
  from?: number
  to?: number
  stepMs?: number
}

export type KpiDimension = Exclude<Dimension, 'total'>

export interface Kpis {
  /** As of when. */
  at: number
  /** The range that was counted, in whole minutes or hours; null: none was asked for. */
  range: { from: number; to: number } | null
  total: KpiNumbers
  groups: (KpiNumbers & { value: string | null })[] | null
}

/** Null: not known, because what is there has not been counted yet. */
export interface KpiNumbers {
  queueDepth: number | null
  scheduledDepth: number | null
  stuckCount: number | null
  parkedCount: number | null
  uncertainCount: number | null
  skippedCount: number | null
  sentLastInterval: number | null
  deliveredLastInterval: number | null
  skippedLastInterval: number | null
  parkedLastInterval: number | null
  failedLastInterval: number | null
  /** Null also where nothing is due. */
  oldestPendingAgeSeconds: number | null
  /** Of the range, or else of the last interval. */
  latency: Record<Latency, Percentiles>
  /** What happened in the range. */
  counts: KpiCounts | null
  series: KpiStep[] | null
}

/** In milliseconds; null where nothing was measured. */
export type Percentiles = Record<'p50' | 'p95' | 'p99', number | null>

/** What a notification can come to, and how many were made at all. */
export const KPI_COUNTS = [
  CREATED,
  'sent',
  'delivered',
  'read',
  'skipped',
  'parked',
  'uncertain',
  'failed',
  'cancelled',
  'discarded',
] as const
export type KpiCounts = Record<(typeof KPI_COUNTS)[number], number> & { sentPerSecond: number }

export interface KpiStep {
  at: number
  counts: KpiCounts
  latency: Record<Latency, Percentiles>
}

export interface KpiDeps {
  store: Pick<Store, 'rollups' | 'notifications' | 'now'>
  config: { stuckAfterMs: number; kpiWindowMs: number }
}

export async function readKpis({ store, config }: KpiDeps, request: KpiRequest): Promise<Kpis> {
  const { tenantId, by } = request
  const range = rangeOf(request, await store.now())
  if (by && range?.step) await refuseTooMany(store, request, by, (range.to - range.from) / range.step)
  const reading = await store.rollups.read({
    tenantId,
    dimensions: by ? ['total', by] : ['total'],
    stuckForMs: config.stuckAfterMs,
    windowSeconds: Math.max(1, Math.round(config.kpiWindowMs / 1_000)),
    range,
  })
  const at = reading?.at ?? (await store.now())
  const numbersOf = (numbers: RollupNumbers): KpiNumbers => kpiNumbers(numbers, at, range)
  const total = reading && numbersOf(reading.numbers.find(({ dimension }) => dimension === 'total') ?? NOTHING)
  const groups = (reading?.numbers ?? []).filter(({ dimension }) => dimension === by).filter(hasSomething)
  return {
    at,
    range: range && { from: range.from * 1_000, to: range.to * 1_000 },
    total: total ? await withHealth(store, request, total) : UNKNOWN,
    groups: by
      ? groups
          .toSorted((a, b) => (a.value < b.value ? -1 : 1))
          .map((numbers) => ({ value: numbers.value === '' ? null : numbers.value, ...numbersOf(numbers) }))
      : null,
  }
}

/** What waits to be planned is not a notification yet, and is not told by tenant; `/health` says the same. */
async function withHealth(store: KpiDeps['store'], { tenantId }: KpiRequest, total: KpiNumbers): Promise<KpiNumbers> {
  if (tenantId !== null) return total
  const waitsMs = await store.notifications.oldestDueMs()
  if (waitsMs === null) return total
  const age = Math.max(Math.floor(waitsMs / 1_000), total.oldestPendingAgeSeconds ?? 0)
  return { ...total, oldestPendingAgeSeconds: age }
}

const NOTHING: RollupNumbers = {
  dimension: 'total',
  value: '',
  standing: {},
  scheduled: 0,
  stuck: 0,
  oldestDueSecond: null,
  window: {},
  range: {},
  series: new Map(),
}

const NO_PERCENTILES: Percentiles = { p50: null, p95: null, p99: null }

const UNKNOWN: KpiNumbers = {
  queueDepth: null,
  scheduledDepth: null,
  stuckCount: null,
  parkedCount: null,
  uncertainCount: null,
  skippedCount: null,
  sentLastInterval: null,
  deliveredLastInterval: null,
  skippedLastInterval: null,
  parkedLastInterval: null,
  failedLastInterval: null,
  oldestPendingAgeSeconds: null,
  latency: { eventToSent: NO_PERCENTILES, sentToDelivered: NO_PERCENTILES },
  counts: null,
  series: null,
}

/** Values that were seen once and have nothing any more need no line. */
function hasSomething({ standing, window, range }: RollupNumbers): boolean {
  return [standing, window, range].some((tally) => Object.values(tally).some((count) => count > 0))
}

function kpiNumbers(numbers: RollupNumbers, at: number, range: RollupQuery['range']): KpiNumbers {
  const { standing, window } = numbers
  const live = standing['live'] ?? 0
  // A clock that was set back makes what was due lie in the future again; nothing is less than none.
  const scheduledDepth = Math.min(live, Math.max(0, numbers.scheduled))
  const queueDepth = live - scheduledDepth
  const isDue = queueDepth > 0 && numbers.oldestDueSecond !== null
  const age = isDue ? secondOf(at) - (numbers.oldestDueSecond ?? 0) : -1
  return {
    queueDepth,
    scheduledDepth,
    stuckCount: Math.min(queueDepth, Math.max(0, numbers.stuck)),
    parkedCount: standing['parked'] ?? 0,
    uncertainCount: standing['uncertain'] ?? 0,
    skippedCount: standing['skipped'] ?? 0,
    sentLastInterval: window['sent'] ?? 0,
    deliveredLastInterval: window['delivered'] ?? 0,
    skippedLastInterval: window['skipped'] ?? 0,
    parkedLastInterval: window['parked'] ?? 0,
    failedLastInterval: window['failed'] ?? 0,
    oldestPendingAgeSeconds: age >= 0 ? age : null,
    latency: latencyOf(range ? numbers.range : window),
    counts: range && countsOf(numbers.range, range.to - range.from),
    series: range && seriesOf(numbers, range),
  }
}

function latencyOf(tally: RollupTally): Record<Latency, Percentiles> {
  const entries = LATENCIES.map((latency) => {
    const histogram = histogramOf(tally, latency)
    const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => quantileMs(histogram, share))
    return [latency, { p50, p95, p99 }]
  })
  return Object.fromEntries(entries) as Record<Latency, Percentiles>
}

function countsOf(tally: RollupTally, seconds: number): KpiCounts {
  const counts = Object.fromEntries(KPI_COUNTS.map((name) => [name, tally[name] ?? 0])) as KpiCounts
  return { ...counts, sentPerSecond: Math.round((counts.sent / seconds) * 1_000) / 1_000 }
}

/** Every step, also where nothing happened: a chart has no holes. */
function seriesOf({ series }: RollupNumbers, range: NonNullable<RollupQuery['range']>): KpiStep[] | null {
  const { from, to, step } = range
  if (step === null) return null
  return Array.from({ length: Math.ceil((to - from) / step) }, (_, i) => {
    const tally = series.get(from + i * step) ?? {}
    return { at: (from + i * step) * 1_000, counts: countsOf(tally, step), latency: latencyOf(tally) }
  })
}

const DAY_MS = 86_400_000
const LONGEST_DAYS = 90
const DEFAULT_RANGE_MS = 3_600_000
const MOST_STEPS = 1_000
/** A series of each value: so many numbers in all. */
const MOST_POINTS = 20_000
/** Minutes are kept a little longer. */
const MINUTES_FOR_MS = 2 * DAY_MS

function rangeOf({ from, to, stepMs }: KpiRequest, now: number): RollupQuery['range'] {
  if (from === undefined && to === undefined && stepMs === undefined) return null
  const end = to ?? now
  const begin = from ?? end - Math.max(DEFAULT_RANGE_MS, stepMs ?? 0)
  if (begin >= end) throw refused('from', 'must be before to')
  if (end - begin > LONGEST_DAYS * DAY_MS) throw refused('from', `must be at most ${LONGEST_DAYS} days before to`)
  if (begin < now - LONGEST_DAYS * DAY_MS - DEFAULT_RANGE_MS)
    throw refused('from', `must be at most ${LONGEST_DAYS} days ago: what happened before is not kept`)
  if (begin > now) throw refused('from', 'must not be in the future')
  const hasMinutes = begin >= now - MINUTES_FOR_MS
  const finest = stepMs === undefined ? (hasMinutes ? 60 : 3_600) : widthOfStep(stepMs, hasMinutes)
  const first = startOf(secondOf(begin), finest)
  const step = stepMs === undefined ? null : stepMs / 1_000
  const last = first + Math.ceil((secondOf(Math.min(end, now)) + 1 - first) / (step ?? finest)) * (step ?? finest)
  if (step !== null && (last - first) / step > MOST_STEPS)
    throw refused('step', `makes more than ${MOST_STEPS} steps of this range: take a longer one`)
  return { from: first, to: last, finest, step }
}

function widthOfStep(stepMs: number, hasMinutes: boolean): number {
  const width = WIDTHS.findLast((each) => each > 1 && stepMs % (each * 1_000) === 0)
  if (width === undefined || stepMs < 60_000) throw refused('step', 'must be whole minutes, such as PT5M, PT1H or P1D')
  if (width < 3_600 && !hasMinutes)
    throw refused(
      'step',
      'must be whole hours for a range that begins more than two days ago: minutes are kept for two days',
    )
  return width
}

async function refuseTooMany(
  store: KpiDeps['store'],
  { tenantId }: KpiRequest,
  by: KpiDimension,
  steps: number,
): Promise<void> {
  const values = await store.rollups.countValues(tenantId, by)
  if (values * steps <= MOST_POINTS) return
  const most = Math.floor(MOST_POINTS / values)
  throw refused('step', `makes too much of ${values} values by ${by}: take at most ${most} steps`)
}

function refused(path: string, message: string): PillarboxError {
  return new PillarboxError('invalid_query', `The range cannot be counted: ${path} ${message}.`, {
    errors: [{ path, message }],
  })
}
