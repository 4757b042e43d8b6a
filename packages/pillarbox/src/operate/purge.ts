import { purgeOf, SYSTEM } from '../model/audit.ts'
import { parseDuration } from '../model/duration.ts'
import { isPassing, PillarboxError } from '../model/errors.ts'
import { everyRow } from '../model/page.ts'
import type { Clock, IdSource, Logger } from '../model/ports.ts'
import type { Tenant } from '../model/tenant.ts'
import { type ChoreDeps, runChore } from '../runtime/chore.ts'
import type { Store } from '../store/store.ts'
import {
  COMMON_STEPS,
  PURGED_NOUNS,
  type Purged,
  type PurgedNoun,
  type PurgeStretch,
  TENANT_STEPS,
} from './retention-store.ts'

/** The sandbox keeps what its vendor took in a file of its own, where the process has one. */
export interface SandboxRows {
  /** Removes, or with `isDryRun` counts, at most `limit` messages of the tenant that are older than `before`. */
  purge(request: { tenantId: string; before: number; limit: number; isDryRun: boolean }): number
}

export interface PurgeDeps {
  store: Pick<Store, 'retention' | 'tenants' | 'now' | 'audit'>
  sandbox?: SandboxRows
  clock: Clock
  ids: IdSource
  /** How long a tenant keeps what is over, unless it says otherwise itself. */
  retentionMs: number
}

export interface PurgeRequest {
  /** Null: by each tenant's own retention. */
  olderThanMs: number | null
  /** Null: every tenant. */
  tenantId: string | null
  isDryRun: boolean
  /** Whom the audit names. */
  actor: string
  /** How much of the time may be spent on it; the rest belongs to others. */
  share: number
  /** Where an earlier one was stopped; without it, from the beginning. */
  from?: PurgePlace | null
  /** Ends between two batches. */
  stop: AbortSignal
  onProgress?: (counts: PurgeCounts) => void
  /** A tenant whose rows cannot be removed keeps no other's; without this, it ends the purge. */
  onFault?: (tenantId: string, error: unknown) => void
}

/** How far a purge is: at a step through a tenant's rows or, with no tenant, through those of all at once. */
export interface PurgePlace {
  tenantId: string | null
  step: (typeof PURGE_STEPS)[number]
  after: string | null
}

/** In the order in which they are taken. */
export const PURGE_STEPS = [...TENANT_STEPS, 'sandbox', ...COMMON_STEPS] as const

export type PurgeCounts = Record<PurgedNoun | 'sandboxMessages', number>

export interface PurgeReport {
  counts: PurgeCounts
  /** False: it was stopped, or lost its turn, before everything was looked at. */
  isDone: boolean
  /** Where to go on; null: there is nothing left to look at. */
  next: PurgePlace | null
}

/** A purger that says nothing for so long is taken for dead. */
const LEASE_MS = 60_000
const KEEP_EVERY_MS = 10_000

/** How long a batch is to take, and how many rows it may have: it is as large as the last ones allow. */
const BATCH = { first: 100, least: 10, most: 1_000, aimMs: 20 }
/** However long a batch took, the next one begins after this. */
const MAX_PAUSE_MS = 2_000

/** How many rows the next batch looks at. */
export function nextBatch(rows: number, tookMs: number): number {
  const wanted = tookMs > 2 * BATCH.aimMs ? rows / 2 : tookMs < BATCH.aimMs ? rows * 2 : rows
  return Math.min(BATCH.most, Math.max(BATCH.least, Math.round(wanted)))
}

/** A tenant's retention in milliseconds. One that cannot be read is none: nothing is removed by mistake. */
export function retentionOf(tenant: Tenant | null, defaultMs: number): number {
  const stored = tenant?.settings['retention']
  if (stored === undefined) return defaultMs
  return (typeof stored === 'string' ? parseDuration(stored) : null) ?? Number.POSITIVE_INFINITY
}

/**
 * Removes what is over and older than its retention, tenant after tenant and a small batch at a time. It may be broken off
 * anywhere: the next purge begins anew, or from where this one was, and finds what is left.
 */
async function purge(deps: PurgeDeps, purger: string, request: PurgeRequest): Promise<PurgeReport> {
  const { store } = deps
  const { tenantId: only, olderThanMs, from = null } = request
  const walk = createWalk(deps, purger, request)
  const now = await store.now()
  const instantOf = (tenant: Tenant | null): number => now - (olderThanMs ?? retentionOf(tenant, deps.retentionMs))
  const isBehindTenants = from !== null && from.tenantId === null
  const first = isBehindTenants ? null : (only ?? from?.tenantId ?? (await store.retention.nextTenant('')))
  for (let id = first; id !== null && walk.mayEnter({ tenantId: id, step: PURGE_STEPS[0] }); ) {
    const before = instantOf(await store.tenants.find(id))
    try {
      if (before > 0) await purgeTenant(deps, walk, { ...request, tenantId: id, before })
    } catch (error) {
      if (!request.onFault || isPassing(error)) throw error
      request.onFault(id, error)
    }
    id = only === null ? await store.retention.nextTenant(id) : null
  }
  if (walk.mayEnter({ tenantId: null, step: COMMON_STEPS[0] })) {
    const common = await commonInstants(deps, only, instantOf)
    for (const step of COMMON_STEPS)
      await walk.through({ tenantId: null, step }, (stretch) =>
        store.retention.purgeCommon(step, { ...stretch, ...common }),
      )
  }
  return { counts: walk.counts, isDone: walk.stoppedAt() === null, next: walk.stoppedAt() }
}

/** Before when a row of each tenant is old; one that is nobody's, or whose tenant is not known, goes by the default. */
async function commonInstants(
  { store }: PurgeDeps,
  only: string | null,
  instantOf: (tenant: Tenant | null) => number,
): Promise<{ before(tenantId: string | null): number; latest: number }> {
  if (only !== null) {
    const latest = instantOf(await store.tenants.find(only))
    return { before: (tenantId) => (tenantId === only ? latest : Number.NEGATIVE_INFINITY), latest }
  }
  const byDefault = instantOf(null)
  const before = new Map<string | null, number>()
  let latest = byDefault
  for await (const tenant of everyRow((page) => store.tenants.list(page))) {
    const instant = instantOf(tenant)
    before.set(tenant.id, instant)
    latest = Math.max(latest, instant)
  }
  return { before: (tenantId) => before.get(tenantId) ?? byDefault, latest }
}

async function purgeTenant(
  { store, sandbox }: PurgeDeps,
  walk: PurgeWalk,
  {
    tenantId,
    before,
    actor,
    isDryRun: isCounting,
  }: Omit<PurgeRequest, 'tenantId'> & { tenantId: string; before: number },
): Promise<void> {
  const whose = { tenantId, before }
  const removed: Partial<PurgeCounts> = {}
  for (const step of TENANT_STEPS)
    await walk.through({ tenantId, step }, async (stretch) => {
      const done = await store.retention.purge(step, { ...stretch, ...whose })
      for (const [noun, count] of Object.entries(done.counts))
        if (count > 0) removed[noun as PurgedNoun] = (removed[noun as PurgedNoun] ?? 0) + count
      return done
    })
  if (!isCounting && Object.keys(removed).length > 0)
    await store.audit.record({ tenantId, actor, ...purgeOf(before, removed) })
  if (!sandbox) return
  await walk.through({ tenantId, step: 'sandbox' }, async ({ isDryRun, limit: most }) => {
    const limit = isDryRun ? Number.MAX_SAFE_INTEGER : most
    const gone = sandbox.purge({ ...whose, limit, isDryRun })
    return { counts: { sandboxMessages: gone }, looked: gone, next: gone === limit ? '' : null }
  })
}

/** One purge on its way: what it has counted, and how fast it may go. */
interface PurgeWalk {
  readonly counts: PurgeCounts
  /** False once it was stopped, or another purger has its turn: then this is where to go on, unless it was earlier. */
  mayEnter(place: Omit<PurgePlace, 'after'>): boolean
  /** One batch after the other, with pauses that leave the rest of the time to others. What an earlier walk did is left out. */
  through(place: Omit<PurgePlace, 'after'>, work: (stretch: PurgeStretch) => Promise<WalkedBatch>): Promise<void>
  /** Where it could not go on; null: it could everywhere. */
  stoppedAt(): PurgePlace | null
}

type WalkedBatch = Pick<Purged, 'looked' | 'next'> & { counts: Partial<PurgeCounts> }

function createWalk({ store, clock }: PurgeDeps, purger: string, request: PurgeRequest): PurgeWalk {
  const { isDryRun, share, stop, from = null } = request
  const counts = Object.fromEntries([...PURGED_NOUNS, 'sandboxMessages'].map((noun) => [noun, 0])) as PurgeCounts
  let rows = BATCH.first
  let keptAt = clock.monotonic()
  let isOurs = true
  let stoppedAt: PurgePlace | null = null

  function mayGoOn(place: PurgePlace): boolean {
    if (!isOurs || stop.aborted) stoppedAt ??= place
    return stoppedAt === null
  }

  async function keepTurn(): Promise<void> {
    if (clock.monotonic() - keptAt < KEEP_EVERY_MS) return
    keptAt = clock.monotonic()
    isOurs = await store.retention.keep(purger, LEASE_MS)
  }

  return {
    counts,
    stoppedAt: () => stoppedAt,
    mayEnter: (place) => mayGoOn(from?.tenantId === place.tenantId ? from : { ...place, after: null }),
    async through(place, work) {
      const begin = placeFrom(from, place)
      if (begin === null) return
      for (let { after } = begin; mayGoOn({ ...place, after }); ) {
        const began = clock.monotonic()
        const limit = rows
        const done = await work({ after, limit, isDryRun })
        const tookMs = clock.monotonic() - began
        if (done.looked >= limit) rows = nextBatch(limit, tookMs)
        for (const [noun, count] of Object.entries(done.counts)) counts[noun as keyof PurgeCounts] += count
        request.onProgress?.(counts)
        const pauseMs = Math.min(MAX_PAUSE_MS, tookMs * (1 / share - 1))
        if (done.looked > 0 && pauseMs > 0) await clock.sleep(pauseMs, stop)
        await keepTurn()
        if (done.next === null) return
        after = done.next
      }
    },
  }
}

/** Where to begin with a step; null: an earlier walk, which came as far as `from`, has been through it. */
function placeFrom(from: PurgePlace | null, { tenantId, step }: Omit<PurgePlace, 'after'>): PurgePlace | null {
  if (from === null || from.tenantId !== tenantId) return { tenantId, step, after: null }
  if (from.step === step) return from
  return PURGE_STEPS.indexOf(step) < PURGE_STEPS.indexOf(from.step) ? null : { tenantId, step, after: null }
}

/** How long somebody who purges by hand waits for another purge to end. */
const WAIT_FOR_TURN_MS = 5_000

/** A purge that somebody asked for. Throws `purge_running` while another one is at work. */
export async function purgeByHand(deps: PurgeDeps, request: PurgeRequest): Promise<PurgeReport> {
  const { store, clock, ids } = deps
  if (request.tenantId !== null && !(await store.tenants.find(request.tenantId)))
    throw new PillarboxError('not_found', `There is no tenant "${request.tenantId}".`)
  const purger = ids()
  const since = clock.monotonic()
  while ((await store.retention.begin(purger, { leaseMs: LEASE_MS, everyMs: null })) !== 'begun') {
    if (request.stop.aborted || clock.monotonic() - since > WAIT_FOR_TURN_MS)
      throw new PillarboxError('purge_running', 'Another purge is under way: try again when it has ended.')
    await clock.sleep(100, request.stop)
  }
  try {
    const report = await purge(deps, purger, request)
    const { tenantId, actor, isDryRun } = request
    if (!isDryRun)
      await store.audit.record({ tenantId, actor, action: 'purge', subject: 'history', after: report.counts })
    return report
  } finally {
    // Whether the one that comes by itself is due is not changed by what somebody did by hand.
    await store.retention.end(purger, false)
  }
}

export interface PurgerDeps extends PurgeDeps, ChoreDeps {
  logger: Logger
  /** How long after a purge the next one is due; `everyMs` is only how often to look whether it is. */
  purgeEveryMs: number
}

/** The purge that comes by itself takes no more of the time than this. */
const BACKGROUND_SHARE = 0.1

/** Purges by each tenant's retention, once in `purgeEveryMs` for all workers together. */
export function runPurger(deps: PurgerDeps, stop: AbortSignal): Promise<void> {
  const { store, logger, ids, purgeEveryMs } = deps
  const work = async (): Promise<boolean> => {
    const purger = ids()
    if ((await store.retention.begin(purger, { leaseMs: LEASE_MS, everyMs: purgeEveryMs })) !== 'begun') return false
    const request: PurgeRequest = {
      olderThanMs: null,
      tenantId: null,
      isDryRun: false,
      actor: SYSTEM,
      share: BACKGROUND_SHARE,
      stop,
      onFault: (tenantId, error) =>
        logger.warn({ tenantId, error: String(error) }, 'what is past the tenant’s retention could not be removed'),
    }
    let report: PurgeReport | null = null
    try {
      report = await purge(deps, purger, request)
      const isAny = Object.values(report.counts).some((count) => count > 0)
      logger[isAny ? 'info' : 'debug'](
        { ...report.counts, isDone: report.isDone },
        isAny ? 'removed what is past its retention' : 'nothing is past its retention',
      )
    } finally {
      await store.retention.end(purger, report?.isDone === true)
    }
    return false
  }
  return runChore(deps, { work, trouble: 'what is past its retention could not be removed' }, stop)
}
