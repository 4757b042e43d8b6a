import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { runAlerting } from './alerting.ts'
import { type Assembly, assembleApp, assembleEngine, CONFIG_MAX_AGE_MS } from './assembly.ts'
import { allProviders, type ProviderDeps } from './channels/all.ts'
import type { Provider } from './channels/channel.ts'
import { createRegistry } from './channels/registry.ts'
import { sandboxProvider } from './channels/sandbox/provider.ts'
import { createSandboxVendor } from './channels/sandbox/vendor.ts'
import type { Config } from './config/config.ts'
import { readOtherKeys } from './config/key-files.ts'
import { masterKeyPath, readMasterKey } from './config/master-key.ts'
import { checkMasterKey, ensureDataDir, loadKeyring, openPrivately, refusalOf } from './config/setup.ts'
import type { Engine } from './engine.ts'
import { createInboxFeed } from './http/inbox-feed.ts'
import { buildMetricsServer } from './http/metrics-server.ts'
import { isPillarboxError } from './model/errors.ts'
import type { Clock, Logger } from './model/ports.ts'
import type { AuditSink } from './operate/audit-sink.ts'
import { fileSink, webhookSink } from './operate/audit-sinks.ts'
import { ensureDemo } from './operate/demo-tenant.ts'
import { createGauges } from './operate/gauges.ts'
import { createKeyWatch, type KeyWatch } from './operate/key-watch.ts'
import { ensureOpsKey, putOpsKey } from './operate/ops-keys.ts'
import { ensureOpsTenant } from './operate/ops-tenant.ts'
import { warnOfOtherProcesses } from './operate/other-processes.ts'
import { runClearTokenSealer } from './operate/seal-clear-tokens.ts'
import { offerOpsLink } from './operate/sessions.ts'
import type { SignedEndpoint } from './operate/signed-post.ts'
import type { ResolveHook } from './plan/resolve-hook.ts'
import { createReceiptSources } from './receipts/sources.ts'
import { createIdSource } from './runtime/ids.ts'
import { createMetrics } from './runtime/metrics.ts'
import { isRunning, platformMetrics, systemClock, systemRandom } from './runtime/system.ts'
import { createTracing } from './runtime/tracing.ts'
import { createDial } from './security/dial.ts'
import type { Keyring } from './security/keyring.ts'
import { createOutbound } from './security/outbound.ts'
import { createPayloadSeal } from './security/payload-seal.ts'
import { createSeal } from './security/seal.ts'
import { sandboxWithSealedTokens, withSealedTokens } from './security/seal-tokens.ts'
import { createTokenSeal, loadTokenKey } from './security/token-seal.ts'
import { openPostgres } from './store/postgres/open.ts'
import { REPORT_LIMIT_MS } from './store/shared/report.ts'
import { openSqlite } from './store/sqlite/open.ts'
import type { Store } from './store/store.ts'
import { createTenantSnapshots } from './tenant/snapshots.ts'
import { createPool } from './untrusted/pool.ts'
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
  /** Whoever starts it is looking, and wants to be let in at the console. */
  offersLink?: boolean
}

export interface Started {
  /** Where the API listens; null without one. */
  url: string | null
  /** Where metrics are answered without a key; null where nowhere. */
  metricsUrl: string | null
  /** The ops key and its id, only where this start made it. */
  newOpsKey: { id: string; key: string } | null
  /** The tenant to try things out with, if there is one. */
  demoTenantId: string | null
  /** An address at which whoever opens it first is signed in at the console, where one was asked for. */
  consoleLink: string | null
}

/** How often a process says that it runs. */
const ANNOUNCE_EVERY_MS = 10_000

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** What a provider is given to work with. */
export type OwnProviderDeps = Pick<ProviderDeps, 'outbound' | 'dial' | 'clock'>

export interface Overrides {
  logger?: Logger
  /** Asked when an event is due, where the application runs Pillarbox within itself. */
  resolve?: ResolveHook
  /** Providers of the application's own, beside those that Pillarbox brings. */
  providers?: (deps: OwnProviderDeps) => readonly Provider[]
  /** Instead of the machine's, with a store in a file: for a demonstration that lived through last week. */
  clock?: Clock
}

/**
 * The composition root: the only place that knows every stage, and, with `runtime/system.ts`, the only one that knows the real
 * clock and chance.
 */
export async function createPillarbox(config: Config, overrides: Overrides = {}): Promise<Pillarbox> {
  const logger = overrides.logger ?? silent
  const resolve = overrides.resolve ?? null
  const clock = overrides.clock ?? systemClock
  const random = systemRandom()
  const ids = createIdSource(clock, random)
  ensureDataDir(config.dataDir)
  const ring = await loadKeyring(config, { randomBytes, newId: ids })
  const seal = createSeal(ring)
  const tokens = createTokenSeal()
  const payloadSeal = createPayloadSeal(ring, tokens)
  const store = withSealedTokens(await openStore(config, logger, clock), tokens)
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
  const metrics = createMetrics(platformMetrics())
  metrics.addGauges(createGauges({ store, clock, logger, config }))
  const { meters } = metrics
  // Its processes take real time, whatever the clock says.
  const untrusted = createPool({ clock: systemClock, logger, meters, size: 2 })
  const parts: Assembly = {
    config,
    ownOutbound: sinkOutbound,
    logger,
    metrics,
    meters,
    tracing: createTracing(VERSION),
    clock,
    random,
    ids,
    seal,
    payloadSeal,
    tokens,
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
  let alerting: Promise<void> | null = null
  let engine: Engine | null = null
  let app: FastifyInstance | null = null
  let metricsServer: FastifyInstance | null = null
  let starting: Promise<unknown> = Promise.resolve()
  let stopped: Promise<void> | null = null

  async function start({ api, worker, offersLink = false }: Parts): Promise<Started> {
    const started: Started = {
      url: null,
      metricsUrl: null,
      newOpsKey: null,
      demoTenantId: null,
      consoleLink: null,
    }
    const report = await untilReachable(parts, stopping.signal, () => store.migrate())
    if (report && report.from !== report.to) logger.info({ ...report, engine: store.engine }, 'schema migrated')
    if (stopping.signal.aborted) return started
    const part = api && worker ? 'start' : api ? 'api' : 'worker'
    const build = { name: 'build_info' as const, labels: { version: VERSION, engine: store.engine, part }, value: 1 }
    metrics.addGauges(async () => [build, ...(engine?.gauges() ?? [])])
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
    if (config.alertTo.length > 0) await ensureOpsTenant(parts)
    const assembled = worker ? assembleEngine(parts) : null
    if (config.metricsPort !== null && !stopping.signal.aborted) {
      metricsServer = buildMetricsServer(metrics)
      started.metricsUrl = await metricsServer.listen({ host: config.host, port: config.metricsPort })
    }
    if (api && !stopping.signal.aborted) {
      app = await assembleApp(parts, assembled)
      started.url = await app.listen({ host: config.host, port: config.port })
      // Only now is it sure that somebody will hear of it: a start that fails makes no key.
      started.newOpsKey = await ensureOpsKey(parts)
      const link = offersLink ? await offerOpsLink(parts, clock.now()) : null
      started.consoleLink = link && `${config.publicUrl ?? started.url}${link}`
    }
    // The loops start last: building the API keeps the thread for half a second of processor time, and as long would a
    // planning transaction that was begun before stay open, and the worker's heartbeat be late.
    if (assembled && !stopping.signal.aborted) {
      engine = assembled
      await engine.start()
      const chore = { store, tokens, payloadSeal, clock, random, logger, everyMs: 2_000 }
      sealingTokens = runClearTokenSealer(chore, stopping.signal)
    }
    // Whatever the parts: where no worker lives, somebody has to notice.
    alerting = runAlerting(parts, () => engine?.hub.nudge('events'), stopping.signal)
    return started
  }

  /** A store that no longer answers must not keep the process from ending. */
  async function forAWhile(work: Promise<void> | null): Promise<void> {
    const ended = new AbortController()
    await Promise.race([work, clock.sleep(config.shutdownGraceMs, ended.signal)])
    ended.abort()
  }

  async function stop(): Promise<void> {
    stopping.abort()
    // A worker that still waits for the database is told to stop waiting; then the start ends by itself.
    const early = engine?.stop()
    await starting.catch(() => {})
    // The API first: what it still answers for is committed, and nothing new comes in. Then the loops.
    await Promise.all([app?.close(), early ?? engine?.stop(), sealingTokens, forAWhile(alerting)])
    await metricsServer?.close()
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
export function openStore(config: Config, logger: Logger, clock: Clock = systemClock): Promise<Store> {
  if (config.databaseUrl.startsWith('sqlite:')) {
    const path = config.databaseUrl.slice('sqlite:'.length)
    // The processes that read reports take real time: a clock that is handed in would end them early.
    const reportLimitMs = clock === systemClock ? REPORT_LIMIT_MS : null
    return openPrivately('The database', path, () =>
      openSqlite({ path, clock, logger, defer: setImmediate, watch: true, reportLimitMs }),
    )
  }
  return openPostgres({ url: config.databaseUrl, clock, logger, poolSize: config.databasePoolSize })
}

function auditSinkOf(
  { auditSink, auditSinkSecret }: Config,
  deps: Pick<SignedEndpoint, 'outbound' | 'clock'>,
): AuditSink | null {
  if (auditSink === null) return null
  if (auditSink.startsWith('file:')) return fileSink(auditSink.slice('file:'.length))
  return webhookSink({ ...deps, url: auditSink, secret: auditSinkSecret ?? '' })
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
