import type { ProviderRegistry } from './channels/channel.ts'
import { createAccountBook, type OpenSecrets } from './dispatch/account-book.ts'
import type { AttemptDeps } from './dispatch/attempt.ts'
import { createCompleter } from './dispatch/completer.ts'
import { createCustody } from './dispatch/custody.ts'
import { createDispatcher, type DispatchSettings } from './dispatch/dispatcher.ts'
import { createHeartbeat } from './dispatch/heartbeat.ts'
import { createLaneGuard } from './dispatch/lane-guard.ts'
import { listTargets } from './dispatch/list-targets.ts'
import { runRescuer } from './dispatch/rescuer.ts'
import { createSuppressionBook } from './dispatch/suppressions.ts'
import type { Clock, IdSource, Logger, Random } from './model/ports.ts'
import { runOwedReceipts } from './operate/owed-receipts.ts'
import { runScrubber } from './operate/scrub.ts'
import { createContextBook } from './plan/context-book.ts'
import { createEventBook } from './plan/event-book.ts'
import { nextInChain } from './plan/next-in-chain.ts'
import { createPlanner } from './plan/planner.ts'
import type { ResolveHook } from './plan/resolve-hook.ts'
import { createReceiptApplier } from './receipts/apply.ts'
import type { ReceiptSource } from './receipts/receipt-source.ts'
import type { Renderer } from './render/render.ts'
import { createHub, type Hub } from './runtime/hub.ts'
import type { PayloadSeal } from './security/payload-seal.ts'
import type { Store } from './store/store.ts'

/**
 * One worker: the loops that turn events into notifications, notifications into provider calls, and what vendors call back
 * with into receipts, with everything they touch injected. The server runs it on real parts, the simulation on its own.
 */
export interface Engine {
  readonly hub: Hub
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
  registry: ProviderRegistry
  /** By the name that callbacks are kept under. */
  receiptSources: ReadonlyMap<string, Pick<ReceiptSource, 'parse'>>
  renderer: Renderer
  openSecrets: OpenSecrets
  /** Secret payload fields and the contents made from them. */
  payloadSeal: PayloadSeal
  /** The host's, in embedded use: asked when an event is due. */
  resolve?: ResolveHook | null
  scrub(text: string, secrets?: Iterable<string>): string
  clock: Clock
  random: Random
  ids: IdSource
  logger: Logger
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
  shutdownGraceMs: number
  planRows: number
  flushMs: number
  flushRows: number
  flushers: number
  /** How old what was read of tenants, catalogue and accounts may be. */
  configMaxAgeMs: number
  /** How long a paused account's rows wait before somebody looks whether another account can take them over. */
  pausedHoldMs: number
}

export function createEngine(deps: EngineDeps): Engine {
  const { store, renderer, clock, random, ids, logger, settings } = deps
  const hub = createHub(clock, store.wake)
  const contexts = createContextBook(store, clock, settings.configMaxAgeMs)
  const resolve = deps.resolve ?? null
  const sealing = deps.payloadSeal
  const events = createEventBook({ store, contexts, sealing, resolve, clock })
  const accounts = createAccountBook({
    accounts: store.accounts,
    lanes: store.lanes,
    registry: deps.registry,
    openSecrets: deps.openSecrets,
    clock,
    logger,
    maxAgeMs: settings.configMaxAgeMs,
  })
  const heartbeat = createHeartbeat({
    store,
    clock,
    ids,
    logger,
    self: { host: settings.host, pid: settings.pid, version: settings.version, channels: settings.channels },
    ttlMs: settings.workerTtlMs,
    callMs: callBudgetMs(settings),
    inFlight: () => dispatcher.inFlight(),
  })
  const completer = createCompleter({
    dispatch: store.dispatch,
    workerId: heartbeat.id,
    clock,
    logger,
    flushMs: settings.flushMs,
    flushRows: settings.flushRows,
    flushers: settings.flushers,
    onDue: (lanes) => hub.nudge('dispatch', lanes),
    onFenced: (notificationIds) =>
      logger.warn({ notificationIds }, 'results came after their claims had been taken over'),
  })
  const custody = createCustody({ store, heartbeat, clock, logger })
  const guard = createLaneGuard({ store, clock, logger, pausedHoldMs: settings.pausedHoldMs })
  const chains = { store, events, renderer, sealing, clock, ids }
  const attempt: AttemptDeps = {
    registry: deps.registry,
    clock,
    logger,
    random,
    mayStart: heartbeat.mayStart,
    holdMs: guard.holdMs,
    saw: guard.saw,
    isBreakerOpen: guard.isOpen,
    standIn: accounts.standIn,
    fallBack: (claim, chain) => nextInChain(chains, claim, chain),
    scrub: deps.scrub,
    openContent: deps.payloadSeal.openContent,
    listTargets: (tenantId, list, channel) => listTargets(store.lists, tenantId, list, channel),
    suppressions: createSuppressionBook({
      suppressions: store.suppressions,
      clock,
      ids,
      logger,
      maxAgeMs: settings.configMaxAgeMs,
    }),
  }
  const dispatcher = createDispatcher({
    store,
    accounts,
    attempt,
    completer,
    custody,
    heartbeat,
    guard,
    hub,
    clock,
    random,
    logger,
    settings,
  })

  const planner = createPlanner({
    store,
    contexts,
    renderer,
    sealing,
    resolve,
    hub,
    clock,
    random,
    ids,
    logger,
    settings: { batchRows: settings.planRows, pollMaxMs: settings.pollMaxMs },
  })

  const receipts = createReceiptApplier({
    store,
    sources: deps.receiptSources,
    accounts,
    fallBack: ({ tenantId, id, fallback }) => nextInChain(chains, { tenantId, notificationId: id }, fallback),
    hub,
    clock,
    random,
    ids,
    logger,
    settings: { pollMaxMs: settings.pollMaxMs, leaseMs: 4 * settings.workerTtlMs },
  })

  const stopping = new AbortController()
  const abortCalls = new AbortController()
  const left = new AbortController()
  let loops: Promise<void>[] = []
  let beating: Promise<void> = Promise.resolve()
  let started: Promise<void> = Promise.resolve()

  async function start(): Promise<void> {
    for (let pauseMs = 100; !stopping.signal.aborted; pauseMs = Math.min(5_000, pauseMs * 2)) {
      try {
        await heartbeat.register()
        break
      } catch (error) {
        logger.warn({ error: String(error) }, 'the store cannot be reached; trying again')
        await clock.sleep(pauseMs, stopping.signal)
      }
    }
    const { signal } = stopping
    beating = heartbeat.run(left.signal)
    loops = [
      planner.run(signal),
      dispatcher.run(signal, abortCalls.signal),
      receipts.run(signal),
      runRescuer(
        {
          store,
          accounts,
          attempt,
          completer,
          custody,
          heartbeat,
          clock,
          random,
          logger,
          ttlMs: settings.workerTtlMs,
          everyMs: settings.rescueEveryMs,
        },
        signal,
      ),
      runScrubber({ store, clock, random, logger, everyMs: settings.scrubEveryMs }, signal),
      runOwedReceipts({ store, clock, random, logger, everyMs: settings.scrubEveryMs }, signal),
    ]
  }

  return {
    hub,
    start() {
      started = start()
      return started
    },
    async stop() {
      stopping.abort()
      const graceOver = new AbortController()
      const ended = new AbortController()
      const grace = clock.sleep(settings.shutdownGraceMs, ended.signal).then(() => {
        abortCalls.abort()
        // Calls told to end get as long as a call that ignores its deadline.
        return clock.sleep(settings.callGraceMs, ended.signal).then(() => graceOver.abort())
      })
      const over = new Promise<void>((resolve) =>
        graceOver.signal.addEventListener('abort', () => resolve(), { once: true }),
      )
      // A registration under way is waited for, so that it is not left behind.
      await Promise.race([started.then(() => Promise.all(loops)), over])
      await completer.drain(graceOver.signal)
      ended.abort()
      left.abort()
      await grace
      hub.close()
      const signedOff = new AbortController()
      const signOff = beating
        .then(heartbeat.remove)
        .catch((error: unknown) =>
          logger.warn({ error: String(error) }, 'could not sign off; another worker will notice'),
        )
        .then(() => signedOff.abort())
      // A store that no longer answers must not keep the process from ending.
      await Promise.race([signOff, clock.sleep(settings.callGraceMs, signedOff.signal)])
    },
  }
}

/** What one call needs of the lease: its deadline, the grace after it, and the flush of its result. */
export function callBudgetMs(settings: Pick<EngineSettings, 'callTimeoutMs' | 'callGraceMs' | 'flushMs'>): number {
  return settings.callTimeoutMs + settings.callGraceMs + settings.flushMs
}
