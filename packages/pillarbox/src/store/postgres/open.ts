import type { Clock, Logger } from '../../model/ports.ts'
import { sharedEvents } from '../shared/events.ts'
import { sharedInbox } from '../shared/inbox.ts'
import { sharedNotifications } from '../shared/notifications.ts'
import { sharedParts } from '../shared/parts.ts'
import { sharedPersonal } from '../shared/personal.ts'
import { sharedPlan } from '../shared/plan.ts'
import { sharedPlanningNotes } from '../shared/planning-notes.ts'
import { sharedReceipts } from '../shared/receipts.ts'
import { REPORT_LIMIT_MS } from '../shared/report.ts'
import { sharedRollups } from '../shared/rollups.ts'
import { sharedSites } from '../shared/sites.ts'
import type { Store } from '../store.ts'
import { openDispatch } from './dispatch.ts'
import { openEvents } from './events.ts'
import { openInboxPut } from './inbox.ts'
import { createLowWater } from './low-water.ts'
import { migrate, schemaVersions } from './migrate.ts'
import { openNotifications } from './notifications.ts'
import { openPlan } from './plan.ts'
import { createPoolingProbe } from './pooling.ts'
import { receiptParts } from './receipts.ts'
import { scriptRunner } from './scripts.ts'
import { newClient, openSession, openSessions, type SessionOptions } from './session.ts'
import { openSites } from './sites.ts'
import { snapshotOf } from './snapshot.ts'
import { openWake } from './wake.ts'

export interface PostgresOptions {
  /** `postgres://…`, as the driver `pg` takes it. */
  url: string
  clock: Clock
  logger: Logger
  /** Connections for reading and for what people do by hand. Default: 4. */
  poolSize?: number
  /** After this long the server gives a statement up. Default: 30 000. */
  statementTimeoutMs?: number
  /** The same for what may take long, such as lists. Default: 20 000. */
  reportLimitMs?: number
}

const POOL_SIZE = 4
const STATEMENT_TIMEOUT_MS = 30_000
/** A list that takes long delays other lists at most, and no look at a key. */
const REPORT_SESSIONS = 3
/** A beat that is answered later than this is of little use: better another one, over a connection that works. */
const BEAT_TIMEOUT_MS = 5_000
/** A migration may rewrite a large table, or wait for another process that does. */
const MIGRATION_TIMEOUT_MS = 3_600_000

/**
 * The hot statements join a handful of arrays with tables by key: always a nested loop of index lookups. The planner
 * would guess otherwise from a work table's statistics, taken when it was empty, and plan anew for every array length.
 */
const BY_KEY = [
  'plan_cache_mode = force_generic_plan',
  'enable_seqscan = off',
  'enable_hashjoin = off',
  'enable_mergejoin = off',
]

/** A batch is the head of an index. Without this setting the planner may read and sort the whole backlog for it. */
const IN_ORDER = 'enable_bitmapscan = off'

/**
 * Planning does not wait for the disk (docs/decisions/0008). What it wrote is there before any call is made, because the
 * claim waits and the log is written in order; what a crash takes away before that is planned again from its event. What it brings
 * back of removed rows is removed again.
 */
const WITHOUT_DISK = 'synchronous_commit = off'

/** A batch that is being planned has its own: two that are rendered and written in turns, and one of slow tenants. */
const PLANNING_SESSIONS = 3

/**
 * A store on PostgreSQL. Connects when it is first asked something, and lives through restarts of the server: calls made
 * while it is away reject with `store_unavailable`, later ones succeed.
 *
 * Few connections, one role each, made when first needed, so that a slow report never delays a claim or a heartbeat.
 */
export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const { logger, poolSize = POOL_SIZE } = options
  const session = (role: string, settings: readonly string[] = []): SessionOptions => ({
    url: options.url,
    role,
    clock: options.clock,
    logger,
    statementTimeoutMs: options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS,
    prepare: probe,
    settings,
  })
  const probe = createPoolingProbe({ newClient: () => newClient(session('probe'), () => {}), logger })
  const admin = openSessions(poolSize, session('admin'))
  const reportLimitMs = Math.min(options.reportLimitMs ?? REPORT_LIMIT_MS, session('report').statementTimeoutMs)
  const report = openSessions(REPORT_SESSIONS, { ...session('report'), statementTimeoutMs: reportLimitMs })
  const intake = openSession(session('intake', BY_KEY))
  const planning = openSessions(PLANNING_SESSIONS, {
    ...session('plan', [...BY_KEY, IN_ORDER, WITHOUT_DISK]),
    pipeline: true,
  })
  const people = openSession(session('people', [...BY_KEY, IN_ORDER, WITHOUT_DISK]))
  const claims = openSession(session('claim', BY_KEY))
  const completions = openSessions(2, session('complete', BY_KEY))
  const control = openSession(session('control'))
  const applying = openSessions(2, session('receipts', [...BY_KEY, IN_ORDER]))
  const inbox = openSession(session('inbox', BY_KEY))
  const retention = openSession(session('retention', [...BY_KEY, IN_ORDER, WITHOUT_DISK]))
  const beat = session('beat')
  const beats = openSession({ ...beat, statementTimeoutMs: Math.min(BEAT_TIMEOUT_MS, beat.statementTimeoutMs) })
  const wake = openWake(session('wake'))
  const sessions = {
    admin,
    report,
    intake,
    plan: planning,
    people,
    claim: claims,
    complete: completions,
    control,
    receipts: applying,
    inbox,
    retention,
    beat: beats,
  }
  const lowWater = createLowWater(options.clock)
  const scripts = scriptRunner(admin, { reports: { session: report, limitMs: reportLimitMs } })
  const plannersScripts = scriptRunner(people, { prepares: true })
  const now = async (): Promise<number> => {
    const [row] = await admin.run<{ ms: number }>({ text: 'select extract(epoch from now())::float8 * 1000 as ms' })
    return Math.trunc(row?.ms ?? Number.NaN)
  }

  return {
    engine: 'postgres',
    migrate: async () => {
      const migrating = openSession({ ...session('migrate'), statementTimeoutMs: MIGRATION_TIMEOUT_MS })
      try {
        return await migrate(migrating, logger)
      } finally {
        await migrating.close()
      }
    },
    schema: () => schemaVersions(admin),
    now,
    load: () => new Map(Object.entries(sessions).map(([role, session]) => [role, session.load])),
    ...sharedParts({
      admin: scripts,
      planning: plannersScripts,
      dispatching: scriptRunner(claims),
      control: scriptRunner(control, { prepares: true }),
      beats: scriptRunner(beats, { prepares: true }),
      retention: scriptRunner(retention),
    }),
    events: { ...sharedEvents(scripts), ...openEvents(intake) },
    plan: {
      ...sharedPlan(scripts),
      ...sharedPlanningNotes(plannersScripts),
      ...openPlan(planning, wake),
    },
    notifications: { ...sharedNotifications(scripts), ...openNotifications(intake, admin) },
    dispatch: openDispatch({ claims, completions, admin }, lowWater),
    receipts: sharedReceipts(scripts, receiptParts(applying)),
    inbox: { ...sharedInbox(scripts), ...openInboxPut(inbox) },
    rollups: sharedRollups(scripts, snapshotOf(admin, scripts)),
    sites: { ...sharedSites(scripts), ...openSites(intake) },
    personal: sharedPersonal(scripts, async () => 'by_itself'),
    wake,
    close: async () => {
      await Promise.all([...Object.values(sessions), wake].map((each) => each.close()))
    },
  }
}
