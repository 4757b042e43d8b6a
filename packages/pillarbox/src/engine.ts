import type { ProviderRegistry } from './channels/channel.ts'
import type { AttemptDeps } from './dispatch/attempt.ts'
import { createCompleter } from './dispatch/completer.ts'
import { createCustody } from './dispatch/custody.ts'
import { createDispatcher, type DispatchSettings } from './dispatch/dispatcher.ts'
import { createHeartbeat } from './dispatch/heartbeat.ts'
import { createLaneGuard } from './dispatch/lane-guard.ts'
import { listTargets } from './dispatch/list-targets.ts'
import { runRescuer } from './dispatch/rescuer.ts'
import { meterResults } from './dispatch/result-meter.ts'
import { createSuppressionBook } from './dispatch/suppressions.ts'
import type { GaugeReading } from './model/meters.ts'
import { type NotificationView, skippedByChain } from './model/notification.ts'
import {
  type Clock,
  type IdSource,
  type Logger,
  type Meters,
  noMeters,
  noTracing,
  type Random,
  type Tracing,
} from './model/ports.ts'
import { type AuditSink, runAuditFeeder } from './operate/audit-sink.ts'
import { runPrinter } from './operate/causes.ts'
import { runAuditChainer } from './operate/chain-audit.ts'
import { runClockWatch } from './operate/clock-watch.ts'
import { runExpirer } from './operate/expire.ts'
import { runOwedReceipts } from './operate/owed-receipts.ts'
import { runParkedRetries } from './operate/parked-retries.ts'
import { type PurgerDeps, runPurger, type SandboxRows } from './operate/purge.ts'
import { runRollUp } from './operate/roll-up.ts'
import { runOperations, runPreviewDropper } from './operate/run-operations.ts'
import { runStaleScan, runStuckScan, type ScanSettings } from './operate/scans.ts'
import { runScrubber } from './operate/scrub.ts'
import { createContextBook } from './plan/context-book.ts'
import { createCrashGuard, type ProcessTable } from './plan/crash-guard.ts'
import { createEventBook } from './plan/event-book.ts'
import { nextInChain } from './plan/next-in-chain.ts'
import { createPeopleBook } from './plan/people.ts'
import type { PlannerSelf } from './plan/plan-store.ts'
import { createPlanner } from './plan/planner.ts'
import { replan } from './plan/replan.ts'
import type { ResolveHook } from './plan/resolve-hook.ts'
import { createRewrite } from './plan/rewrite.ts'
import { createSkipReport } from './plan/skip-report.ts'
import { createReceiptApplier } from './receipts/apply.ts'
import type { ReceiptSource } from './receipts/receipt-source.ts'
import { createHub, type Hub } from './runtime/hub.ts'
import type { WakeTopic } from './runtime/wake-store.ts'
import type { PayloadSeal } from './security/payload-seal.ts'
import type { Store } from './store/store.ts'
import { createAccountBook, type OpenSecrets } from './tenant/account-book.ts'
import { createTenantSnapshots, type TenantSnapshots } from './tenant/snapshots.ts'
import type { Untrusted } from './untrusted/untrusted.ts'

/**
 * One worker: the loops that turn events into notifications, notifications into provider calls, and what vendors call back
 * with into receipts, with everything they touch injected. The server runs it on real parts, the simulation on its own.
 */
export interface Engine {
  readonly hub: Hub
  /** What this worker has under way. */
  gauges(): GaugeReading[]
  /** Registers the worker and starts the loops; waits for the store as long as `stop` has not been called. */
  start(): Promise<void>
  /**
   * Claims nothing more, lets calls under way end within the grace, writes their results, gives the rest back and
   * leaves. What cannot be written in time is rescued by another worker.
   */
  stop(): Promise<void>
}

export interface EngineDeps {
  store: Store
  /** Of the whole process, where more than this worker is in it; its own otherwise. */
  snapshots?: TenantSnapshots
  registry: ProviderRegistry
  /** By the name that callbacks are kept under. */
  receiptSources: ReadonlyMap<string, Pick<ReceiptSource, 'parse'>>
  /** Where whatever a stranger wrote is worked on. */
  untrusted: Untrusted
  openSecrets: OpenSecrets
  /** Secret payload fields and the contents made from them. */
  payloadSeal: PayloadSeal
  /** The host's, in embedded use: asked when an event is due. */
  resolve?: ResolveHook | null
  /** What the sandbox's vendor took, where it is kept by this process. */
  sandbox?: SandboxRows
  /** Null: rows that end the process are not looked for. */
  processes: ProcessTable | null
  scrub(text: string, secrets?: Iterable<string>): string
  /** Where the audit is copied to; null: nowhere. */
  auditSink?: AuditSink | null
  clock: Clock
  random: Random
  ids: IdSource
  logger: Logger
  /** Left out: nobody reads what is counted. */
  meters?: Meters
  /** Left out: nobody records traces. */
  tracing?: Tracing
  settings: EngineSettings
}

export interface EngineSettings extends DispatchSettings {
  host: string
  pid: number
  version: string
  workerTtlMs: number
  /** How often to look for dead workers. */
  rescueEveryMs: number
  /** How often to remove secrets that are no longer needed. */
  scrubEveryMs: number
  /** How often to look for operations. */
  operateEveryMs: number
  /** How often to chain what is on record. */
  chainEveryMs: number
  /** How long what is over is kept, and how often what is past that is removed; null: nothing ever is. */
  retention: { keepMs: number; purgeEveryMs: number } | null
  /** What is looked for in everything by itself; null: nothing is. */
  scans: ScanSettings | null
  shutdownGraceMs: number
  planRows: number
  /** Default: the planner's. */
  planRetryDelaysMs?: readonly number[]
  flushMs: number
  flushRows: number
  flushers: number
  /** How old what was read of tenants, catalogue and accounts may be. */
  configMaxAgeMs: number
  /** How long a paused account's rows wait before somebody looks whether another account can take them over. */
  pausedHoldMs: number
}

/** How often a worker asks whether a purge or a scan is due: one small statement. */
const LOOK_WHETHER_DUE_MS = 30_000

export function createEngine(deps: EngineDeps): Engine {
  const { store, registry, untrusted, openSecrets, payloadSeal: sealing, resolve = null, settings } = deps
  const { clock, random, ids, logger } = deps
  const { meters = noMeters, tracing = noTracing } = deps
  const ports = { clock, random, ids, logger, meters, tracing }
  const { configMaxAgeMs: maxAgeMs, pollMaxMs, workerTtlMs: ttlMs } = settings
  const hub = createHub(clock, store.wake)
  const snapshots = deps.snapshots ?? createTenantSnapshots(store, clock, maxAgeMs)

  const skips = createSkipReport({ logger, meters })

  // Planning: events become notifications.
  const contexts = createContextBook(store, snapshots)
  const events = createEventBook({ store, contexts, sealing, resolve, clock })
  const suppressions = createSuppressionBook({ suppressions: store.suppressions, ...ports, maxAgeMs })
  const chains = { store, events, suppressions, untrusted, sealing, clock, ids }
  const { processes } = deps
  const selfIn = ({ space, boot }: ProcessTable): PlannerSelf => {
    const { host, pid } = settings
    return { id: heartbeat.id(), host, pid, space, boot }
  }
  const planner = createPlanner({
    store,
    contexts,
    suppressions,
    untrusted,
    sealing,
    resolve,
    hub,
    skips,
    guard:
      processes &&
      createCrashGuard({
        plan: store.plan,
        self: () => selfIn(processes),
        isRunning: processes.isRunning,
        ttlMs,
        logger,
        meters,
      }),
    ...ports,
    settings: {
      batchRows: settings.planRows,
      pollMaxMs,
      ...(settings.planRetryDelaysMs && { retryDelaysMs: settings.planRetryDelaysMs }),
    },
  })

  // Dispatch: notifications become provider calls.
  const accounts = createAccountBook({
    accounts: store.accounts,
    lanes: store.lanes,
    snapshots,
    registry,
    openSecrets,
    ...ports,
    maxAgeMs,
  })
  const heartbeat = createHeartbeat({
    store,
    ...ports,
    self: { host: settings.host, pid: settings.pid, version: settings.version, channels: settings.channels },
    ttlMs,
    callMs: callBudgetMs(settings),
    inFlight: () => dispatcher.inFlight(),
  })
  const completer = createCompleter({
    dispatch: store.dispatch,
    workerId: heartbeat.id,
    ...ports,
    flushMs: settings.flushMs,
    flushRows: settings.flushRows,
    flushers: settings.flushers,
    onDue: (lanes) => hub.nudge('dispatch', lanes),
    onWritten: (completions) => {
      meterResults(meters, completions)
      for (const each of completions) skips.note(skippedByChain(each))
    },
    onFenced: ({ notificationId, correlationId }) => {
      meters.count('late_results', {})
      logger.warn({ notificationId, correlationId }, 'a result came after its claim had been taken over')
    },
  })
  const custody = createCustody({ store, heartbeat, clock, logger })
  const guard = createLaneGuard({ store, clock, logger, meters, pausedHoldMs: settings.pausedHoldMs })
  const attempt: AttemptDeps = {
    registry,
    ...ports,
    mayStart: heartbeat.mayStart,
    holdMs: guard.holdMs,
    saw: guard.saw,
    isBreakerOpen: guard.isOpen,
    standIn: accounts.standIn,
    earlierCalls: store.notifications.attempts,
    fallBack: (claim, chain) => nextInChain(chains, claim, chain),
    scrub: deps.scrub,
    openContent: sealing.openContent,
    listTargets: (tenantId, list, channel) => listTargets(store.lists, tenantId, list, channel),
    suppressions,
  }
  const calling = { store, accounts, attempt, completer, custody, heartbeat, ...ports }
  const dispatcher = createDispatcher({ ...calling, guard, hub, settings })

  // Receipts: what vendors call back with.
  const receipts = createReceiptApplier({
    store,
    sources: deps.receiptSources,
    accounts,
    fallBack: ({ tenantId, id, fallback }) => nextInChain(chains, { tenantId, notificationId: id }, fallback),
    hub,
    skips,
    ...ports,
    settings: { pollMaxMs, leaseMs: 4 * ttlMs },
  })

  // Operations: what somebody does to very many notifications by hand.
  const people = createPeopleBook({ people: store.people, clock, ids })
  const planning = { store, events, people, untrusted, sealing, skips, clock, ids }
  const operating = {
    store,
    snapshots,
    replan: (notification: NotificationView) => replan(planning, notification),
    rewrite: createRewrite(planning),
    skips,
    nudge: (topic: WakeTopic) => hub.nudge(topic),
    ...ports,
    everyMs: settings.operateEveryMs,
  }

  const stopping = new AbortController()
  const abortCalls = new AbortController()
  const leaving = new AbortController()
  let loops: Promise<void>[] = []
  let beating: Promise<void> = Promise.resolve()
  let started: Promise<void> = Promise.resolve()

  async function start(): Promise<void> {
    await register()
    const { signal } = stopping
    const chore = { store, ...ports, everyMs: settings.scrubEveryMs }
    beating = heartbeat.run(leaving.signal)
    loops = [
      planner.run(signal),
      dispatcher.run(signal, abortCalls.signal),
      receipts.run(signal),
      runRescuer({ ...calling, ttlMs, everyMs: settings.rescueEveryMs }, signal),
      runScrubber(chore, signal),
      runOwedReceipts(chore, signal),
      runExpirer(chore, signal),
      runClockWatch(chore, signal),
      runPrinter(chore, signal),
      runOperations(operating, signal),
      runPreviewDropper(chore, signal),
      runAuditChainer({ ...chore, everyMs: settings.chainEveryMs }, signal),
      runRollUp(chore, signal),
      ...(settings.retention ? [runPurger(purging(settings.retention), signal)] : []),
      ...(settings.scans ? scanning(settings.scans, signal) : []),
    ]
    const { auditSink: sink = null } = deps
    if (sink) loops.push(runAuditFeeder({ ...chore, sink, scrub: deps.scrub }, signal))
  }

  function purging({ keepMs, purgeEveryMs }: NonNullable<EngineSettings['retention']>): PurgerDeps {
    const { sandbox } = deps
    return {
      store,
      ...(sandbox && { sandbox }),
      ...ports,
      everyMs: LOOK_WHETHER_DUE_MS,
      retentionMs: keepMs,
      purgeEveryMs,
    }
  }

  function scanning(of: ScanSettings, signal: AbortSignal): Promise<void>[] {
    const turn = { store, ...ports, meters, everyMs: LOOK_WHETHER_DUE_MS }
    const scans = { ...turn, settings: of }
    return [
      runStuckScan(scans, signal),
      runStaleScan(scans, signal),
      runParkedRetries({ ...operating, ...turn }, signal),
    ]
  }

  /** Waits for a store that is not there yet, asking ever less often. */
  async function register(): Promise<void> {
    for (let pauseMs = 100; !stopping.signal.aborted; pauseMs = Math.min(5_000, pauseMs * 2)) {
      try {
        return await heartbeat.register()
      } catch (error) {
        logger.warn({ error: String(error) }, 'the store cannot be reached; trying again')
        await clock.sleep(pauseMs, stopping.signal)
      }
    }
  }

  async function stop(): Promise<void> {
    stopping.abort()
    const allEnded = new AbortController()
    const graceOver = new AbortController()
    const grace = runGrace(allEnded.signal, graceOver)
    // A registration under way is waited for, so that it is not left behind.
    await Promise.race([started.then(() => Promise.all(loops)), aborted(graceOver.signal)])
    await completer.drain(graceOver.signal)
    allEnded.abort()
    await grace
    hub.close()
    await signOff()
  }

  /** Calls may end by themselves, then are told to end, and then get as long as a call that ignores its deadline. */
  async function runGrace(allEnded: AbortSignal, over: AbortController): Promise<void> {
    await clock.sleep(settings.shutdownGraceMs, allEnded)
    abortCalls.abort()
    await clock.sleep(settings.callGraceMs, allEnded)
    over.abort()
  }

  /** A store that no longer answers must not keep the process from ending. */
  async function signOff(): Promise<void> {
    leaving.abort()
    const signedOff = new AbortController()
    const removal = beating
      .then(heartbeat.remove)
      .catch((error: unknown) =>
        logger.warn({ error: String(error) }, 'could not sign off; another worker will notice'),
      )
      .then(() => signedOff.abort())
    await Promise.race([removal, clock.sleep(settings.callGraceMs, signedOff.signal)])
  }

  return {
    hub,
    gauges: () => [
      { name: 'calls_in_flight', labels: {}, value: dispatcher.inFlight() },
      { name: 'results_unwritten', labels: {}, value: completer.backlog() },
    ],
    start() {
      started = start()
      return started
    },
    stop,
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

/** What one call needs of the lease: its deadline, the grace after it, and the flush of its result. */
export function callBudgetMs(settings: Pick<EngineSettings, 'callTimeoutMs' | 'callGraceMs' | 'flushMs'>): number {
  return settings.callTimeoutMs + settings.callGraceMs + settings.flushMs
}
