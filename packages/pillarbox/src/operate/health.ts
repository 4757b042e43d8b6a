import type { LaneView } from '../dispatch/lane-store.ts'
import { isResting } from '../dispatch/lane-store.ts'
import type { WorkerView } from '../dispatch/worker-store.ts'
import { CHANNELS } from '../model/channel.ts'
import { isPillarboxError } from '../model/errors.ts'
import type { Clock, Logger } from '../model/ports.ts'
import { answeredWithin } from '../runtime/answered-within.ts'
import { createTimedCache } from '../runtime/timed-cache.ts'
import { redactForLog } from '../security/redact.ts'
import type { Store } from '../store/store.ts'
import { type StoreTrouble, troubleIn } from '../store/trouble.ts'
import type { SinkStore } from './audit-store.ts'
import { readStoreClock, type StoreClockReading, stepBetween } from './store-clock.ts'

export const HEALTH_CODES = [
  'disk_full',
  'read_only',
  'forbidden',
  'unreachable',
  'clock_stepped',
  'clocks_apart',
  'no_worker',
  'worker_silent',
  'channel_without_worker',
  'backlog',
  'breaker_open',
  'account_paused',
  'audit_sink',
] as const

/** Something that is not well: in words, with what to do about it. */
export interface HealthReason {
  code: (typeof HEALTH_CODES)[number]
  message: string
}

export interface Health {
  /** `down`: nothing can be taken in; `degraded`: something is not sent, or not in time. */
  status: 'ok' | 'degraded' | 'down'
  /** `unwritable`: it answers, and takes nothing. */
  database: 'up' | 'unwritable' | 'down'
  workers: (Pick<WorkerView, 'id' | 'silentForMs' | 'inFlight'> & { isAlive: boolean })[]
  /** Age of the oldest notification or event that is due and waits; null when nothing does. */
  oldestDueMs: number | null
  openBreakers: string[]
  pausedAccounts: string[]
  /** Empty while all is well. */
  reasons: HealthReason[]
}

export interface HealthWatch {
  /** How the whole is doing, as of at most half a second ago. */
  whole(): Promise<Health>
  /** Why requests cannot be taken, in words; null where they can. */
  unready(): Promise<string | null>
}

export interface HealthDeps {
  store: Pick<Store, 'now' | 'schema' | 'workers' | 'lanes' | 'notifications' | 'instance'> & {
    audit: { sink: Pick<SinkStore, 'trouble'> }
  }
  clock: Clock
  logger: Logger
  config: { workerTtlMs: number; stuckAfterMs: number }
}

/** Anybody may ask, so the database is asked at most so often. */
const MAX_AGE_MS = 500
/** And written to at most so often, while that goes well. */
const TOUCH_EVERY_MS = 5_000
/** A database that takes longer is as good as none. */
const PATIENCE_MS = 5_000
/** Times that differ by less are made up for by waiting. */
const CLOCK_TOLERANCE_MS = 2_000
/** Clocks of machines that nobody sets drift by less. */
const DRIFT = 0.001
/** As long as what a step has done may still be felt. */
const STEP_SHOWN_MS = 600_000

/** Looks at everything that keeps events from being taken in or notifications from being sent. */
export function createHealthWatch({ store, clock, logger, config }: HealthDeps): HealthWatch {
  const seeStep = createStepWatch(clock)
  const inTime = <T>(work: Promise<T>): Promise<T> => answeredWithin(clock, PATIENCE_MS, work)
  const touched = createTimedCache({
    clock,
    maxAgeMs: TOUCH_EVERY_MS,
    read: async () => {
      await inTime(store.instance.touch())
      return true
    },
  })
  const whole = createTimedCache({ clock, maxAgeMs: MAX_AGE_MS, read: look })
  const unready = createTimedCache({ clock, maxAgeMs: MAX_AGE_MS, read: lookWhetherReady })

  async function look(): Promise<Health> {
    try {
      const [{ reading, apartMs }, workers, lanes, oldestDueMs, sinkTrouble] = await inTime(
        Promise.all([
          askTime(),
          store.workers.list(),
          store.lanes.list(null),
          store.notifications.oldestDueMs(),
          store.audit.sink.trouble(),
        ]),
      )
      const unwritable = await touched.get('').then(() => null, reasonIn)
      const facts = { workers, lanes, oldestDueMs, apartMs, steppedMs: seeStep(reading), sinkTrouble }
      const reasons = [...(unwritable ? [unwritable] : []), ...reasonsIn(facts, config)]
      return {
        status: unwritable ? 'down' : reasons.length > 0 ? 'degraded' : 'ok',
        database: unwritable ? 'unwritable' : 'up',
        workers: workers.map((worker) => ({ ...worker, isAlive: isAlive(worker, config) })),
        oldestDueMs,
        ...stoppedIn(lanes),
        reasons,
      }
    } catch (error) {
      const nothing = { workers: [], oldestDueMs: null, openBreakers: [], pausedAccounts: [] }
      return { status: 'down', database: 'down', ...nothing, reasons: [reasonIn(error)] }
    }
  }

  async function askTime(): Promise<{ reading: StoreClockReading; apartMs: number }> {
    const before = clock.now()
    const reading = await readStoreClock(store, clock)
    const after = clock.now()
    const { storeTime } = reading
    return { reading, apartMs: Math.min(storeTime - before, 0) || Math.max(storeTime - after, 0) }
  }

  async function lookWhetherReady(): Promise<{ reason: string | null }> {
    try {
      const { found, wanted } = await inTime(store.schema())
      if (found !== wanted) return { reason: wrongSchema(found, wanted) }
      await touched.get('')
      return { reason: null }
    } catch (error) {
      return { reason: reasonIn(error).message }
    }
  }

  function reasonIn(error: unknown): HealthReason {
    const code = troubleIn(error)
    if (!isPillarboxError(error, 'store_unavailable') && code === 'unreachable')
      logger.error({ error: redactForLog(String(error)) }, 'health check failed')
    return { code, message: TROUBLE[code] }
  }

  return {
    whole: () => whole.get(''),
    unready: async () => (await unready.get('')).reason,
  }
}

/** What keeps notifications from being sent, or from being sent in time, leaving clocks aside. Writes nothing. */
export async function workTroubles(store: HealthDeps['store'], config: HealthDeps['config']): Promise<HealthReason[]> {
  const [workers, lanes, oldestDueMs, sinkTrouble] = await Promise.all([
    store.workers.list(),
    store.lanes.list(null),
    store.notifications.oldestDueMs(),
    store.audit.sink.trouble(),
  ])
  return reasonsIn({ workers, lanes, oldestDueMs, apartMs: 0, steppedMs: null, sinkTrouble }, config)
}

const TROUBLE: Readonly<Record<StoreTrouble, string>> = {
  disk_full: 'The disk of the database is full: nothing can be taken in or sent. Make room on it.',
  read_only:
    'The database only lets itself be read: it is a standby, or was set read-only. Let DATABASE_URL lead to the primary, or make the database, or SQLite’s file, writable.',
  forbidden:
    'The database’s user may not write. Let DATABASE_URL name the user that ran "pillarbox migrate", or give this one the same rights.',
  unreachable: 'The database cannot be reached, or does not answer in time. See that it runs where DATABASE_URL says.',
}

function wrongSchema(found: number, wanted: number): string {
  return `The database has schema version ${found}; this version needs ${wanted}. Run "pillarbox migrate", or the version of Pillarbox that made it.`
}

interface HealthFacts {
  workers: readonly WorkerView[]
  lanes: readonly LaneView[]
  oldestDueMs: number | null
  /** By how much the store's clock is ahead of ours. */
  apartMs: number
  /** By how much the store's clock was set lately; null: not at all. */
  steppedMs: number | null
  /** For how long the audit's external sink could not be fed; null: it can, or there is none. */
  sinkTrouble: { sinceMs: number } | null
}

function reasonsIn(facts: HealthFacts, config: HealthDeps['config']): HealthReason[] {
  const { workers, lanes, oldestDueMs, apartMs, steppedMs, sinkTrouble } = facts
  const reasons: HealthReason[] = []
  const say = (code: HealthReason['code'], message: string): void => void reasons.push({ code, message })
  if (steppedMs !== null)
    say(
      'clock_stepped',
      `The database’s clock was set ${steppedMs < 0 ? 'back' : 'forward'} by ${seconds(steppedMs)}, or its machine slept: what waits for a time is early or late by as much. Let a time service keep it.`,
    )
  if (Math.abs(apartMs) > CLOCK_TOLERANCE_MS)
    say(
      'clocks_apart',
      `The database’s clock is ${seconds(apartMs)} ${apartMs < 0 ? 'behind' : 'ahead of'} this machine’s. Let a time service keep both.`,
    )
  const alive = workers.filter((worker) => isAlive(worker, config))
  const silent = workers.filter((worker) => !isAlive(worker, config))
  if (alive.length === 0)
    say('no_worker', 'No worker is alive: nothing is sent. Start one with "pillarbox start" or "pillarbox worker".')
  else if (silent.length > 0)
    say(
      'worker_silent',
      `Of ${workers.length} workers ${silent.length} said nothing for longer than the worker TTL: killed, hanging, or cut off from the database. The others take over what they held; start them again if they are missed.`,
    )
  const unserved = CHANNELS.filter(
    (channel) =>
      lanes.some((lane) => lane.channel === channel && lane.status === 'active') &&
      !alive.some(({ channels }) => channels === null || channels.includes(channel)),
  )
  if (alive.length > 0 && unserved.length > 0)
    say(
      'channel_without_worker',
      `There are accounts for ${unserved.join(', ')}, and no live worker that sends there. Name the channels in PILLARBOX_CHANNELS of a worker, or start one without it.`,
    )
  if (oldestDueMs !== null && oldestDueMs > config.stuckAfterMs)
    say(
      'backlog',
      `Something has been due for ${seconds(oldestDueMs)} and is not worked on. GET /api/notifications?stuck=true and /ops/outbox?status=pending show what; start more workers, or mend the accounts it waits for.`,
    )
  const { openBreakers, pausedAccounts } = stoppedIn(lanes)
  if (openBreakers.length > 0)
    say(
      'breaker_open',
      `The breaker of ${counted(openBreakers)} is open, after failures in a row. Sending is tried again by itself; GET /api/channel-accounts says what went wrong.`,
    )
  if (pausedAccounts.length > 0)
    say(
      'account_paused',
      `The vendor refused the credentials of ${counted(pausedAccounts)}. Correct them with PATCH /api/channel-accounts/{id}; notifications wait until then.`,
    )
  if (sinkTrouble)
    say(
      'audit_sink',
      `The audit has not reached its sink for ${seconds(sinkTrouble.sinceMs)}; nothing is lost, and it is delivered when it can be. The workers’ logs say what is in the way; see PILLARBOX_AUDIT_SINK.`,
    )
  return reasons
}

function stoppedIn(lanes: readonly LaneView[]): Pick<Health, 'openBreakers' | 'pausedAccounts'> {
  const idsOf = (some: readonly LaneView[]): string[] => some.map(({ accountId }) => accountId)
  return {
    openBreakers: idsOf(lanes.filter(isResting)),
    pausedAccounts: idsOf(lanes.filter(({ status }) => status === 'paused')),
  }
}

function isAlive({ silentForMs }: WorkerView, { workerTtlMs }: HealthDeps['config']): boolean {
  return silentForMs <= workerTtlMs
}

/** Answers by how much the store's clock was set within the last minutes. */
function createStepWatch(clock: Clock): (reading: StoreClockReading) => number | null {
  let last: { reading: StoreClockReading; at: number } | null = null
  let step: { ms: number; at: number } | null = null
  return (reading) => {
    const at = clock.monotonic()
    const ms = last === null ? 0 : stepBetween(last.reading, reading)
    const tolerance = CLOCK_TOLERANCE_MS + DRIFT * (at - (last?.at ?? at))
    if (Math.abs(ms) > tolerance) step = { ms, at }
    if (step !== null && at - step.at > STEP_SHOWN_MS) step = null
    last = { reading, at }
    return step?.ms ?? null
  }
}

function seconds(ms: number): string {
  return `${Math.round(Math.abs(ms) / 1_000)} s`
}

function counted(ids: readonly string[]): string {
  return ids.length === 1 ? 'one account' : `${ids.length} accounts`
}
