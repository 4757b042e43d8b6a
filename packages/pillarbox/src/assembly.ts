import { hostname } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { readyCatalogues } from './catalogue/ready.ts'
import type { Outbound } from './channels/outbound.ts'
import type { createRegistry } from './channels/registry.ts'
import type { SandboxVendor } from './channels/sandbox/vendor.ts'
import type { Config } from './config/config.ts'
import { createEngine, type Engine, type EngineSettings } from './engine.ts'
import { buildApp } from './http/app.ts'
import { readConsoleFiles } from './http/console-files.ts'
import { DEFAULT_HTTP_CONFIG } from './http/context.ts'
import type { InboxFeed } from './http/inbox-feed.ts'
import type { Clock, IdSource, Logger, Meters, Random, Tracing } from './model/ports.ts'
import type { AuditSink } from './operate/audit-sink.ts'
import { createResend } from './operate/resend.ts'
import { createContextBook } from './plan/context-book.ts'
import { createEventBook } from './plan/event-book.ts'
import { createPeopleBook } from './plan/people.ts'
import { replan } from './plan/replan.ts'
import type { ResolveHook } from './plan/resolve-hook.ts'
import { createRewrite } from './plan/rewrite.ts'
import { createSkipReport } from './plan/skip-report.ts'
import type { ReceiptSource } from './receipts/receipt-source.ts'
import { sandboxReceipts } from './receipts/sandbox.ts'
import { createHub } from './runtime/hub.ts'
import type { Metrics } from './runtime/metrics.ts'
import { isRunning, pidSpace } from './runtime/system.ts'
import { openAccountSecrets } from './security/account-secrets.ts'
import type { PayloadSeal } from './security/payload-seal.ts'
import { createReach } from './security/reach.ts'
import { redact } from './security/redact.ts'
import type { Seal } from './security/seal.ts'
import type { TokenSeal } from './security/token-seal.ts'
import type { Store } from './store/store.ts'
import { createTenantSnapshots, type TenantSnapshots } from './tenant/snapshots.ts'
import type { Untrusted } from './untrusted/untrusted.ts'
import { VERSION } from './version.ts'

/** How old what was read of tenants, catalogue and accounts may be: a change made elsewhere is felt within this time. */
export const CONFIG_MAX_AGE_MS = 1_000

/** Where the built console is: in what is published beside this file, in a workspace where it was built. */
const CONSOLE_FOLDERS = ['./console/', '../../console/dist/'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
)

/** The parts of a process that its engine and its API are put together from. */
export interface Assembly {
  config: Config
  /** To where whoever runs the server says. */
  ownOutbound: Outbound
  logger: Logger
  metrics: Metrics
  meters: Meters
  tracing: Tracing
  clock: Clock
  random: Random
  ids: IdSource
  seal: Seal
  payloadSeal: PayloadSeal
  tokens: TokenSeal
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

/** The worker's loops over those parts. */
export function assembleEngine(parts: Assembly): Engine {
  const { config, logger, clock, random, ids, seal, payloadSeal, resolve, store, registry, receiptSources } = parts
  return createEngine({
    store,
    snapshots: parts.snapshots,
    registry,
    // No webhook leads to it: the API keeps what it reads.
    receiptSources: new Map([...receiptSources, ['sandbox', sandboxReceipts]]),
    untrusted: parts.untrusted,
    openSecrets: (account) => openAccountSecrets(seal, account),
    payloadSeal,
    resolve,
    sandbox: parts.vendor,
    processes: { space: pidSpace(), boot: ids(), isRunning },
    scrub: redact,
    auditSink: parts.auditSink,
    clock,
    random,
    ids,
    logger,
    meters: parts.meters,
    tracing: parts.tracing,
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
    retention: { keepMs: config.retentionMs, purgeEveryMs: config.purgeEveryMs },
    scans: {
      stuckEveryMs: config.stuckScanEveryMs,
      stuckAfterMs: config.stuckAfterMs,
      staleAfterMs: config.staleAfterMs,
    },
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

/** The API over those parts; it shares the hub of the engine that runs beside it. */
export async function assembleApp(parts: Assembly, engine: Engine | null): Promise<FastifyInstance> {
  const { config, logger, clock, ids, seal, payloadSeal, resolve, store, vendor, registry, receiptSources, untrusted } =
    parts
  const hub = engine?.hub ?? createHub(clock, store.wake)
  const { nudge } = hub
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
    tokens: parts.tokens,
    untrusted,
    nudge,
    nextTurn: setImmediate,
    replan: (notification) => replan(planning, notification),
    rewrite: createRewrite(planning),
    resend: createResend({ ...planning, logger, nudge }),
    skips: planning.skips,
    metrics: parts.metrics,
    tracing: parts.tracing,
    readyMade: readyCatalogues,
    receiptSources,
    inboxFeed: parts.inboxFeed,
    reach: createReach({ clock, allowPrivate: config.allowPrivateEndpoints }),
    sandbox: (filter) => vendor.list(filter),
    sandboxMessage: (tenantId, id) => vendor.get(tenantId, id),
    sandboxRows: vendor,
    config: {
      ...DEFAULT_HTTP_CONFIG,
      publicUrl: config.publicUrl,
      trustedProxies: config.trustedProxies,
      inboxOrigins: config.inboxOrigins,
      consoleFrames: config.consoleFrames,
      stuckAfterMs: config.stuckAfterMs,
      staleAfterMs: config.staleAfterMs,
      kpiWindowMs: config.kpiWindowMs,
      retentionMs: config.retentionMs,
      workerTtlMs: config.workerTtlMs,
    },
    console: await readConsoleFiles(CONSOLE_FOLDERS),
    version: VERSION,
  })
}
