import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { readyCatalogues } from './catalogue/ready.ts'
import { allProviders, type ProviderDeps } from './channels/all.ts'
import type { Provider } from './channels/channel.ts'
import { createRegistry } from './channels/registry.ts'
import { sandboxProvider } from './channels/sandbox/provider.ts'
import { createSandboxVendor, type SandboxVendor } from './channels/sandbox/vendor.ts'
import type { Config } from './config/config.ts'
import { readOtherKeys } from './config/key-files.ts'
import { masterKeyPath, readMasterKey } from './config/master-key.ts'
import { checkMasterKey, ensureDataDir, loadKeyring, openPrivately, refusalOf } from './config/setup.ts'
import { createEngine, type Engine, type EngineSettings } from './engine.ts'
import { buildApp } from './http/app.ts'
import { DEFAULT_HTTP_CONFIG } from './http/context.ts'
import { createInboxFeed, type InboxFeed } from './http/inbox-feed.ts'
import { isPillarboxError } from './model/errors.ts'
import { type Clock, type IdSource, type Logger, type Meters, noMeters, type Random } from './model/ports.ts'
import type { AuditSink } from './operate/audit-sink.ts'
import { fileSink, type WebhookSinkDeps, webhookSink } from './operate/audit-sinks.ts'
import { ensureDemo } from './operate/demo-tenant.ts'
import { createKeyWatch, type KeyWatch } from './operate/key-watch.ts'
import { ensureOpsKey, putOpsKey } from './operate/ops-keys.ts'
import { warnOfOtherProcesses } from './operate/other-processes.ts'
import { createResend } from './operate/resend.ts'
import { runClearTokenSealer } from './operate/seal-clear-tokens.ts'
import { createContextBook } from './plan/context-book.ts'
import { createEventBook } from './plan/event-book.ts'
import { createPeopleBook } from './plan/people.ts'
import { replan } from './plan/replan.ts'
import type { ResolveHook } from './plan/resolve-hook.ts'
import { createRewrite } from './plan/rewrite.ts'
import { createSkipReport } from './plan/skip-report.ts'
import type { ReceiptSource } from './receipts/receipt-source.ts'
import { createReceiptSources } from './receipts/sources.ts'
import { createHub } from './runtime/hub.ts'
import { createIdSource } from './runtime/ids.ts'
import { isRunning, pidSpace, systemClock, systemRandom } from './runtime/system.ts'
import type { WakeTopic } from './runtime/wake-store.ts'
import { openAccountSecrets } from './security/account-secrets.ts'
import { createDial } from './security/dial.ts'
import type { Keyring } from './security/keyring.ts'
import { createOutbound } from './security/outbound.ts'
import { createPayloadSeal, type PayloadSeal } from './security/payload-seal.ts'
import { createReach } from './security/reach.ts'
import { redact } from './security/redact.ts'
import { createSeal, type Seal } from './security/seal.ts'
import { sandboxWithSealedTokens, withSealedTokens } from './security/seal-tokens.ts'
import { createTokenSeal, loadTokenKey } from './security/token-seal.ts'
import { openPostgres } from './store/postgres/open.ts'
import { openSqlite } from './store/sqlite/open.ts'
import type { Store } from './store/store.ts'
import { createTenantSnapshots, type TenantSnapshots } from './tenant/snapshots.ts'
import { createPool } from './untrusted/pool.ts'
import type { Untrusted } from './untrusted/untrusted.ts'
import { VERSION } from './version.ts'

/** A whole Pillarbox in this process: the API, a worker, or both. */
export interface Pillarbox {
  start(parts: Parts): Promise<Started>
  /**
   * Ends within the grace: no new work, what is under way finishes, the rest goes back. May be called while `start` is
   * still waiting for the database, and more than once.
   */
  stop(): Promise<void>
}

export interface Parts {
  api: boolean
  worker: boolean
}

export interface Started {
  /** Where the API listens; null without one. */
  url: string | null
  /** The ops key and its id, only where this start made it. */
  newOpsKey: { id: string; key: string } | null
  /** The tenant to try things out with, if there is one. */
  demoTenantId: string | null
}

/** How often a process says that it runs. */
const ANNOUNCE_EVERY_MS = 10_000

/** How old what was read of tenants, catalogue and accounts may be: a change made elsewhere is felt within this time. */
const CONFIG_MAX_AGE_MS = 1_000

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** What a provider is given to work with. */
export type OwnProviderDeps = Pick<ProviderDeps, 'outbound' | 'dial' | 'clock'>

export interface Overrides {
  logger?: Logger
  meters?: Meters
  /** Asked when an event is due, where the application runs Pillarbox within itself. */
  resolve?: ResolveHook
  /** Providers of the application's own, beside those that Pillarbox brings. */
  providers?: (deps: OwnProviderDeps) => readonly Provider[]
}

/**
 * The composition root: the only place that knows every stage, and, with `runtime/system.ts`, the only one that knows the real
 * clock and chance.
 */
export async function createPillarbox(config: Config, overrides: Overrides = {}): Promise<Pillarbox> {
  const logger = overrides.logger ?? silent
  const resolve = overrides.resolve ?? null
  const clock = systemClock
  const random = systemRandom()
  const ids = createIdSource(clock, random)
  ensureDataDir(config.dataDir)
  const ring = await loadKeyring(config, { randomBytes, newId: ids })
  const seal = createSeal(ring)
  const tokens = createTokenSeal()
  const payloadSeal = createPayloadSeal(ring, tokens)
  const store = withSealedTokens(await openStore(config, logger), tokens)
  const inboxFeed = createInboxFeed({ inbox: store.inbox, wake: store.wake, clock, logger })
  const sandbox = join(config.dataDir, 'sandbox.db')
  const vendor = sandboxWithSealedTokens(
    await openPrivately('The sandbox inbox', sandbox, () => createSandboxVendor({ path: sandbox, clock })),
    tokens,
  )
  const { allowPrivateEndpoints: allowPrivate } = config
  const outbound = createOutbound({ clock, allowPrivate })
  // Whoever runs the server names the sink, which often is inside its network; no tenant can.
  const sinkOutbound = createOutbound({ clock, allowPrivate: true })
  const dial = createDial({ clock, allowPrivate })
  const inbox: ProviderDeps['inbox'] = {
    seal: seal.seal,
    async put(message) {
      await store.inbox.put(message)
      inboxFeed.changed(message)
    },
  }
  const providers = [sandboxProvider(vendor, { clock, random }), ...allProviders({ outbound, dial, clock, inbox })]
  providers.push(...(overrides.providers?.({ outbound, dial, clock }) ?? []))
  const registry = createRegistry(providers)
  const receiptSources = createReceiptSources({ outbound, clock, certHosts: config.snsCertHosts })
  const snapshots = createTenantSnapshots(store, clock, CONFIG_MAX_AGE_MS)
  const untrusted = createPool({ clock, logger, size: 2 })
  const parts: Assembly = {
    config,
    logger,
    meters: overrides.meters ?? noMeters,
    clock,
    random,
    ids,
    seal,
    payloadSeal,
    resolve,
    store,
    snapshots,
    vendor,
    registry,
    receiptSources,
    inboxFeed,
    untrusted,
    auditSink: auditSinkOf(config, { outbound: sinkOutbound, clock }),
  }

  const stopping = new AbortController()
  const leaving = new AbortController()
  let keyWatch: KeyWatch | null = null
  let watching: Promise<void> | null = null
  let sealingTokens: Promise<void> | null = null
  let engine: Engine | null = null
  let app: FastifyInstance | null = null
  let starting: Promise<unknown> = Promise.resolve()
  let stopped: Promise<void> | null = null

  async function start({ api, worker }: Parts): Promise<Started> {
    const started: Started = { url: null, newOpsKey: null, demoTenantId: null }
    const report = await untilReachable(parts, stopping.signal, () => store.migrate())
    if (report && report.from !== report.to) logger.info({ ...report, engine: store.engine }, 'schema migrated')
    if (stopping.signal.aborted) return started
    const part = api && worker ? 'start' : api ? 'api' : 'worker'
    const self = { id: ids(), host: hostname(), pid: process.pid, part }
    await warnOfOtherProcesses({ store, self, isRunning, silentAfterMs: 3 * ANNOUNCE_EVERY_MS, logger })
    keyWatch = createKeyWatch({
      store,
      ring,
      readKeys: async () => {
        const master = config.masterKey ?? (await readMasterKey(masterKeyPath(config.dataDir)))
        return [...(master ? [master] : []), ...(await readOtherKeys(config))]
      },
      clock,
      logger,
      self,
      lookEveryMs: 1_000,
      announceEveryMs: ANNOUNCE_EVERY_MS,
    })
    await keyWatch.announce()
    await settleMasterKey(parts, ring)
    tokens.use(await loadTokenKey(store, ring, randomBytes))
    vendor.sealTokens(tokens.seal)
    watching = keyWatch.run(leaving.signal)
    if (api) {
      if (config.opsKey !== null) await putOpsKey(parts, config.opsKey)
      started.demoTenantId = config.demo ? await ensureDemo(parts) : null
    }
    const assembled = worker ? assembleEngine(parts) : null
    if (api && !stopping.signal.aborted) {
      app = await assembleApp(parts, assembled)
      started.url = await app.listen({ host: config.host, port: config.port })
      // Only now is it sure that somebody will hear of it: a start that fails makes no key.
      started.newOpsKey = await ensureOpsKey(parts)
    }
    // The loops start last: building the API keeps the thread for half a second of processor time, and as long would a
    // planning transaction that was begun before stay open, and the worker's heartbeat be late.
    if (assembled && !stopping.signal.aborted) {
      engine = assembled
      await engine.start()
      const chore = { store, tokens, payloadSeal, clock, random, logger, everyMs: 2_000 }
      sealingTokens = runClearTokenSealer(chore, stopping.signal)
    }
    return started
  }

  async function stop(): Promise<void> {
    stopping.abort()
    // A worker that still waits for the database is told to stop waiting; then the start ends by itself.
    const early = engine?.stop()
    await starting.catch(() => {})
    // The API first: what it still answers for is committed, and nothing new comes in. Then the loops.
    await Promise.all([app?.close(), early ?? engine?.stop(), sealingTokens])
    // Until now something may have been sealed.
    leaving.abort()
    await watching
    await keyWatch?.leave().catch(() => {})
    for (const provider of providers) provider.close?.()
    await untrusted.close()
    await inboxFeed.close()
    outbound.close()
    sinkOutbound.close()
    vendor.close()
    await store.close()
  }

  return {
    start(wanted) {
      const begun = start(wanted)
      starting = begun
      return begun
    },
    stop: () => (stopped ??= stop()),
  }
}

/** The configured store as it is found: not migrated. */
export function openStore(config: Config, logger: Logger): Promise<Store> {
  if (config.databaseUrl.startsWith('sqlite:')) {
    const path = config.databaseUrl.slice('sqlite:'.length)
    return openPrivately('The database', path, () =>
      openSqlite({ path, clock: systemClock, logger, defer: setImmediate, watch: true }),
    )
  }
  return openPostgres({ url: config.databaseUrl, clock: systemClock, logger, poolSize: config.databasePoolSize })
}

function auditSinkOf(
  { auditSink, auditSinkSecret }: Config,
  deps: Pick<WebhookSinkDeps, 'outbound' | 'clock'>,
): AuditSink | null {
  if (auditSink === null) return null
  if (auditSink.startsWith('file:')) return fileSink(auditSink.slice('file:'.length))
  return webhookSink({ ...deps, url: auditSink, secret: auditSinkSecret ?? '' })
}

interface Assembly {
  config: Config
  logger: Logger
  meters: Meters
  clock: Clock
  random: Random
  ids: IdSource
  seal: Seal
  payloadSeal: PayloadSeal
  resolve: ResolveHook | null
  store: Store
  snapshots: TenantSnapshots
  vendor: SandboxVendor
  registry: ReturnType<typeof createRegistry>
  receiptSources: ReadonlyMap<string, ReceiptSource>
  inboxFeed: InboxFeed
  untrusted: Untrusted
  auditSink: AuditSink | null
}

function assembleEngine(parts: Assembly): Engine {
  const { config, logger, clock, random, ids, seal, payloadSeal, resolve, store, registry, receiptSources } = parts
  return createEngine({
    store,
    snapshots: parts.snapshots,
    registry,
    receiptSources,
    untrusted: parts.untrusted,
    openSecrets: (account) => openAccountSecrets(seal, account),
    payloadSeal,
    resolve,
    processes: { space: pidSpace(), boot: ids(), isRunning },
    scrub: redact,
    auditSink: parts.auditSink,
    clock,
    random,
    ids,
    logger,
    meters: parts.meters,
    settings: engineSettings(config),
  })
}

/** What the engine needs of the configuration, and what is not worth configuring. */
export function engineSettings(config: Config): EngineSettings {
  return {
    host: hostname(),
    pid: process.pid,
    version: VERSION,
    channels: config.channels,
    slotsPerChannel: config.concurrency,
    claimRows: config.claimBatch,
    callTimeoutMs: config.providerTimeoutMs,
    callGraceMs: config.callGraceMs,
    pollMaxMs: config.pollMaxMs,
    discoverEveryMs: 100,
    workerTtlMs: config.workerTtlMs,
    rescueEveryMs: Math.min(1_000, config.workerTtlMs / 4),
    scrubEveryMs: 2_000,
    operateEveryMs: 250,
    chainEveryMs: 10_000,
    shutdownGraceMs: config.shutdownGraceMs,
    planRows: config.planBatch,
    planRetryDelaysMs: config.planRetryDelaysMs,
    flushMs: config.flushMs,
    flushRows: 500,
    flushers: 2,
    configMaxAgeMs: CONFIG_MAX_AGE_MS,
    pausedHoldMs: 30_000,
  }
}

async function assembleApp(parts: Assembly, engine: Engine | null): Promise<FastifyInstance> {
  const { config, logger, clock, ids, seal, payloadSeal, resolve, store, vendor, registry, receiptSources } = parts
  const { untrusted } = parts
  const hub = engine?.hub ?? createHub(clock, store.wake)
  const nudge = (topic: WakeTopic): void => hub.nudge(topic)
  // Whoever retries or resends by hand has just mended something: nothing is remembered here.
  const contexts = createContextBook(store, createTenantSnapshots(store, clock, 0))
  const planning = {
    store,
    skips: createSkipReport(parts),
    events: createEventBook({ store, contexts, sealing: payloadSeal, resolve, clock, maxAgeMs: 0 }),
    people: createPeopleBook({ people: store.people, clock, ids }),
    untrusted,
    sealing: payloadSeal,
    clock,
    ids,
  }
  return buildApp({
    store,
    snapshots: parts.snapshots,
    ids,
    clock,
    logger,
    registry,
    seal,
    payloadSeal,
    untrusted,
    nudge,
    replan: (notification) => replan(planning, notification),
    rewrite: createRewrite(planning),
    resend: createResend({ ...planning, logger, nudge }),
    skips: planning.skips,
    readyMade: readyCatalogues,
    receiptSources,
    inboxFeed: parts.inboxFeed,
    reach: createReach({ clock, allowPrivate: config.allowPrivateEndpoints }),
    sandbox: (filter) => vendor.list(filter),
    config: {
      ...DEFAULT_HTTP_CONFIG,
      publicUrl: config.publicUrl,
      trustedProxies: config.trustedProxies,
      inboxOrigins: config.inboxOrigins,
      stuckAfterMs: config.stuckAfterMs,
      staleAfterMs: config.staleAfterMs,
      kpiWindowMs: config.kpiWindowMs,
      workerTtlMs: config.workerTtlMs,
    },
    version: VERSION,
  })
}

/** Seals under the key that the database names from now on, and says where that is not the one that was configured. */
async function settleMasterKey({ store, logger }: Assembly, ring: Keyring): Promise<void> {
  const configured = ring.currentId
  const { current, former } = await checkMasterKey(store, ring)
  if (former.length > 0)
    logger.warn({ current, former }, 'the master key is being changed: run "pillarbox keys rotate" to finish it')
  else if (current !== configured)
    logger.warn(
      { current, configured },
      'secrets are sealed under a former master key until "pillarbox keys rotate" runs',
    )
}

/** Waits for a database that is not up yet; any other trouble is the caller's to hear. */
async function untilReachable<T>(
  { clock, logger }: Assembly,
  stop: AbortSignal,
  work: () => Promise<T>,
): Promise<T | null> {
  for (let pauseMs = 100; !stop.aborted; pauseMs = Math.min(5_000, pauseMs * 2)) {
    try {
      return await work()
    } catch (error) {
      const refusal = refusalOf(error)
      if (refusal || !isPillarboxError(error, 'store_unavailable')) throw refusal ?? error
      logger.warn({ error: String(error) }, 'the database cannot be reached; trying again')
      await clock.sleep(pauseMs, stop)
    }
  }
  return null
}
