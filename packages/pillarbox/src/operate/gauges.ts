import type { LaneView } from '../dispatch/lane-store.ts'
import { isResting } from '../dispatch/lane-store.ts'
import type { WorkerView } from '../dispatch/worker-store.ts'
import { ACCOUNT_STATUSES } from '../model/account.ts'
import { CHANNELS } from '../model/channel.ts'
import { errorText } from '../model/errors.ts'
import type { GaugeName, GaugeReading } from '../model/meters.ts'
import type { Clock, Logger } from '../model/ports.ts'
import { answeredWithin } from '../runtime/answered-within.ts'
import type { Store } from '../store/store.ts'
import { type KpiNumbers, type Kpis, readKpis } from './kpis.ts'

export interface GaugeDeps {
  store: Pick<Store, 'rollups' | 'notifications' | 'now' | 'workers' | 'lanes' | 'sites' | 'load'>
  clock: Clock
  logger: Logger
  config: { stuckAfterMs: number; kpiWindowMs: number; workerTtlMs: number; alertSiteSilentMs: number }
}

/** However often and by however many Prometheus asks, the database is asked at most so often. */
const MAX_AGE_MS = 5_000
/** Prometheus gives up after ten seconds; whoever asks is told that the database does not answer well before. */
const PATIENCE_MS = 3_000

/**
 * How the whole installation is doing, told from the sums that are kept and a few small lists. Never rejects: where the
 * database does not answer, that is what is told.
 */
export function createGauges(deps: GaugeDeps): () => Promise<GaugeReading[]> {
  const { store, clock, logger } = deps
  let last: { readings: GaugeReading[]; at: number } | null = null
  /** One at a time: a database that is slow is not asked again before it has answered. */
  let underWay: Promise<GaugeReading[]> | null = null

  async function look(): Promise<GaugeReading[]> {
    const askedAt = clock.monotonic()
    await store.now()
    const roundTripMs = clock.monotonic() - askedAt
    const [kpis, workers, lanes, sites] = await Promise.all([
      readKpis(deps, { tenantId: null, by: 'channel' }),
      store.workers.list(),
      store.lanes.list(null),
      store.sites.list(null),
    ])
    const readings = [
      gauge('store_up', 1),
      gauge('store_round_trip_seconds', roundTripMs / 1_000),
      ...ofKpis(kpis),
      ...ofWorkers(workers, deps.config.workerTtlMs),
      ...ofAccounts(lanes),
      ...ofSites(sites, deps.config.alertSiteSilentMs),
    ]
    last = { readings, at: clock.monotonic() }
    return readings
  }

  async function current(): Promise<GaugeReading[]> {
    if (last && clock.monotonic() - last.at < MAX_AGE_MS) return last.readings
    underWay ??= look().finally(() => {
      underWay = null
    })
    try {
      return await answeredWithin(clock, PATIENCE_MS, underWay)
    } catch (error) {
      logger.warn({ error: errorText(error) }, 'metrics are told without those of the database')
      return [gauge('store_up', 0)]
    }
  }

  return async () => [
    ...(await current()),
    ...[...store.load()].map(([role, calls]) => gauge('store_calls', calls, { role })),
  ]
}

function gauge(name: GaugeName, value: number, labels: GaugeReading['labels'] = {}): GaugeReading {
  return { name, labels, value }
}

const DEPTHS = {
  queue_depth: 'queueDepth',
  scheduled_depth: 'scheduledDepth',
  stuck_notifications: 'stuckCount',
  parked_notifications: 'parkedCount',
  uncertain_notifications: 'uncertainCount',
} as const satisfies Partial<Record<GaugeName, keyof KpiNumbers>>

/** Nothing where what is there has not been counted yet. */
function ofKpis({ total, groups }: Kpis): GaugeReading[] {
  if (total.queueDepth === null) return []
  const byChannel = new Map((groups ?? []).map(({ value, ...numbers }) => [value, numbers]))
  const depths = Object.entries(DEPTHS) as [keyof typeof DEPTHS, (typeof DEPTHS)[keyof typeof DEPTHS]][]
  return [
    gauge('oldest_pending_age_seconds', total.oldestPendingAgeSeconds ?? 0),
    ...depths.flatMap(([name, field]) =>
      CHANNELS.map((channel) => gauge(name, byChannel.get(channel)?.[field] ?? 0, { channel })),
    ),
  ]
}

function ofWorkers(workers: readonly WorkerView[], ttlMs: number): GaugeReading[] {
  const alive = workers.filter(({ silentForMs }) => silentForMs <= ttlMs).length
  return [gauge('workers', alive, { state: 'alive' }), gauge('workers', workers.length - alive, { state: 'silent' })]
}

/** Those with a buffer: the others say nothing while they have nothing to say. */
function ofSites(
  sites: readonly { incarnation: string | null; backlog: number; silentForMs: number }[],
  silentMs: number,
): GaugeReading[] {
  const own = sites.filter(({ incarnation }) => incarnation !== null)
  const silent = own.filter(({ silentForMs }) => silentForMs > silentMs).length
  return [
    gauge('sites', own.length - silent, { state: 'heard' }),
    gauge('sites', silent, { state: 'silent' }),
    gauge(
      'site_backlog',
      own.reduce((sum, { backlog }) => sum + backlog, 0),
    ),
  ]
}

function ofAccounts(lanes: readonly LaneView[]): GaugeReading[] {
  return CHANNELS.flatMap((channel) => {
    const own = lanes.filter((lane) => lane.channel === channel)
    const open = own.filter(isResting).length
    return [
      gauge('breakers_open', open, { channel }),
      ...ACCOUNT_STATUSES.map((status) =>
        gauge('accounts', own.filter((lane) => lane.status === status).length, { channel, status }),
      ),
    ]
  })
}
