import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify'
import type { ReadyCatalogues } from '../catalogue/ready.ts'
import type { Registry } from '../channels/registry.ts'
import type { MessageFilter, SandboxMessage, SandboxVendor } from '../channels/sandbox/vendor.ts'
import type { EventIntake } from '../intake/events.ts'
import type { NotificationIntake } from '../intake/notifications.ts'
import type { Clock, IdSource, Logger, Tracing } from '../model/ports.ts'
import type { Replan } from '../operate/act.ts'
import type { SandboxRows } from '../operate/purge.ts'
import type { Resend } from '../operate/resend.ts'
import type { Rewrite } from '../plan/rewrite.ts'
import type { SkipReport } from '../plan/skip-report.ts'
import type { ReceiptSource } from '../receipts/receipt-source.ts'
import type { ReceivingAccounts } from '../receipts/receiving-accounts.ts'
import type { Refusals } from '../receipts/refusals.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { WakeTopic } from '../runtime/wake-store.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'
import type { Reach } from '../security/reach.ts'
import type { Seal } from '../security/seal.ts'
import type { TokenSeal } from '../security/token-seal.ts'
import type { UserTokens } from '../security/user-token.ts'
import type { Store } from '../store/store.ts'
import type { TenantSnapshots } from '../tenant/snapshots.ts'
import type { Untrusted } from '../untrusted/untrusted.ts'
import type { Authentication } from './auth.ts'
import type { TrustedProxies } from './client-address.ts'
import type { ConsoleFiles } from './console-pages.ts'
import type { InboxFeed } from './inbox-feed.ts'

/** A Fastify app whose handlers are typed by their routes' schemas. */
export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>

/** What the HTTP side needs of the rest. */
export interface AppDeps {
  store: Store
  ids: IdSource
  clock: Clock
  logger: Logger
  registry: Registry
  seal: Seal
  snapshots: TenantSnapshots
  /** Wakes the loops; a hint, never waited for. */
  nudge: (topic: WakeTopic) => void
  /** Calls back in the next turn of the event loop, after everything that has come in meanwhile. */
  nextTurn: (run: () => void) => void
  replan: Replan
  rewrite: Rewrite
  resend: Resend
  /** Tells of what is skipped, and counts it. */
  skips: SkipReport
  /** What is counted and measured in this process. */
  metrics: Metrics
  tracing: Tracing
  /** Where whatever a stranger wrote is worked on. */
  untrusted: Untrusted
  /** Secret payload fields and the contents made from them. */
  payloadSeal: PayloadSeal
  readyMade: ReadyCatalogues
  /** Every vendor that calls back, by the last part of its webhook's path. */
  receiptSources: ReadonlyMap<string, ReceiptSource>
  /** Why a host that an account names would not be dialled, for a warning when it is saved. */
  reach?: Reach
  /** Tells streams of what happens in inboxes. */
  inboxFeed: InboxFeed
  /** Reads what the sandbox providers took; absent where there is no sandbox. */
  sandbox?: SandboxReader
  /** One of those messages. */
  sandboxMessage?: SandboxVendor['get']
  /** The same messages, to be removed or changed. */
  sandboxRows?: SandboxRows & Pick<SandboxVendor, 'walk' | 'replace' | 'compact'>
  /** Device tokens, and the marks of what was erased. */
  tokens: TokenSeal
  /** The built console, where there is one. */
  console?: ConsoleFiles | null
  config: HttpConfig
  version: string
}

export type SandboxReader = (filter: MessageFilter & { limit: number; before?: string }) => SandboxMessage[]

/** The limits of the HTTP side, each with its default. */
export const DEFAULT_HTTP_CONFIG = {
  /** What vendors reach us at, for the addresses of webhooks; null: where the server listens. */
  publicUrl: null as string | null,
  /** Whose word is taken on which address a request came from. */
  trustedProxies: [] as TrustedProxies,
  /** Largest body of most routes, in bytes. */
  bodyLimitBytes: 1_048_576,
  /** Largest body where a body is a list, or a catalogue, in bytes. */
  batchBodyLimitBytes: 4_194_304,
  /** Requests answered at the same time; more are turned away with 503. */
  maxInFlight: 1_000,
  /** Of those, over one connection: a client that does not wait for answers gets 503 beyond it. */
  maxInFlightPerConnection: 32,
  /** Requests to paths that need no key, answered at the same time, beside those with a key; more are turned away with 503. */
  maxPublicInFlight: 400,
  /** Of those, from one address; more are turned away with 429. */
  maxPublicInFlightPerSource: 100,
  /** How long a client may take to send the body to a path that needs no key. */
  publicBodyTimeoutMs: 5_000,
  /** How many whose key is not known yet, or who are turned away, have their turn at a time. */
  turnstile: { perTurn: 4, mostRefusals: 1_000 },
  /** How many lists are read at a time, how many wait for it, and how long there is none while something is taken in. */
  listTurns: { most: 4, mostPerKey: 2, mostWaitingPerKey: 32, mostWaiting: 256, restFactor: 3, mostRestMs: 250 },
  /** How long a client may take to send a request. */
  requestTimeoutMs: 30_000,
  /** How long a client may take to send the headers. */
  headersTimeoutMs: 10_000,
  /** How long a connection may stay silent in the middle of something. */
  connectionTimeoutMs: 60_000,
  /** How long an idle connection is kept for another request. */
  keepAliveTimeoutMs: 65_000,
  /** How long an answer may take. */
  handlerTimeoutMs: 30_000,
  /** Origins whose pages may call the inbox; `*`: any. */
  inboxOrigins: [] as readonly string[],
  /** Origins whose pages may show an entity's panel in a frame; `*`: any. */
  consoleFrames: [] as readonly string[],
  /**
   * Streams of inboxes open at the same time; more are turned away with 503. One tenant alone has four fifths of them,
   * then it is turned away with 429.
   */
  maxInboxStreams: 1_000,
  /** Of one user; more are turned away with 429. */
  maxInboxStreamsPerUser: 8,
  /** A stream with nothing to say says so this often, before anybody on the way takes it for dead. */
  streamBeatMs: 15_000,
  /** Streams of the console open at the same time, and of one key. */
  maxConsoleStreams: 200,
  maxConsoleStreamsPerKey: 40,
  /** A client of a stream that takes nothing for so long is let go. */
  slowReaderMs: 10_000,
  /** How long a key's record is believed: a revocation acts everywhere within this time. */
  keyCacheMs: 2_000,
  /** Requests with unknown keys, per source and per beginning of the key, and forged callbacks. */
  failedKeysPerSecond: 100,
  /** How many of them at once. */
  failedKeysBurst: 1_000,
  /** Callbacks kept for the same accounts, per second; more get 429. Of a large one every 16 KiB count as one. */
  callbacksPerSecond: 500,
  /** How many of them at once. */
  callbacksBurst: 10_000,
  /** A waiting notification is shown as stuck after this. */
  stuckAfterMs: 600_000,
  /** A sent notification without a receipt is shown as stale after this. */
  staleAfterMs: 86_400_000,
  /** What "in the last interval" means among the numbers. */
  kpiWindowMs: 60_000,
  /** How long a tenant that says nothing about it keeps what is over. */
  retentionMs: 365 * 86_400_000,
  /** A worker silent for longer is shown as dead. */
  workerTtlMs: 30_000,
}
export type HttpConfig = typeof DEFAULT_HTTP_CONFIG

/** What the routes share: the dependencies and the stages made from them. */
export interface Context extends AppDeps {
  authentication: Authentication
  userTokens: UserTokens
  events: EventIntake
  notifications: NotificationIntake
  receivers: ReceivingAccounts
  refusals: Refusals
}
