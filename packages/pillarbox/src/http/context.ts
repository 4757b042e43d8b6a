import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify'
import type { ReadyCatalogues } from '../catalogue/ready.ts'
import type { Registry } from '../channels/registry.ts'
import type { MessageFilter, SandboxMessage } from '../channels/sandbox/vendor.ts'
import type { AccountDirectory } from '../intake/accounts.ts'
import type { EventIntake } from '../intake/events.ts'
import type { NotificationIntake } from '../intake/notifications.ts'
import type { Clock, IdSource, Logger } from '../model/ports.ts'
import type { Replan } from '../operate/act.ts'
import type { Resend } from '../operate/resend.ts'
import type { ReceiptSource } from '../receipts/receipt-source.ts'
import type { ReceivingAccounts } from '../receipts/receiving-accounts.ts'
import type { Refusals } from '../receipts/refusals.ts'
import type { Renderer } from '../render/render.ts'
import type { WakeTopic } from '../runtime/wake-store.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'
import type { Reach } from '../security/reach.ts'
import type { Seal } from '../security/seal.ts'
import type { UserTokens } from '../security/user-token.ts'
import type { Store } from '../store/store.ts'
import type { Authentication } from './auth.ts'
import type { TrustedProxies } from './client-address.ts'
import type { InboxFeed } from './inbox-feed.ts'
import type { TurnLimits } from './list-turns.ts'

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
  /** Wakes the loops; a hint, never waited for. */
  nudge: (topic: WakeTopic) => void
  replan: Replan
  resend: Resend
  renderer: Renderer
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
  /** Age of the oldest notification or event that is due and waits; null when nothing does. */
  oldestPendingAgeSeconds?: () => Promise<number | null>
  config: HttpConfig
  version: string
}

export type SandboxReader = (filter: MessageFilter & { limit: number; before?: string }) => SandboxMessage[]

export interface HttpConfig {
  /** What vendors reach us at, for the addresses of webhooks. Default: null, where the server listens. */
  publicUrl: string | null
  /** Whose word is taken on which address a request came from. Default: nobody’s. */
  trustedProxies: TrustedProxies
  /** Largest body of most routes, in bytes. Default: 1 MiB. */
  bodyLimitBytes: number
  /** Largest body where a body is a list, or a catalogue, in bytes. Default: 4 MiB. */
  batchBodyLimitBytes: number
  /** Requests answered at the same time; more are turned away with 503. Default: 1,000. */
  maxInFlight: number
  /** Of those, over one connection: a client that does not wait for answers gets 503 beyond it. Default: 32. */
  maxInFlightPerConnection: number
  /** How many lists are read at a time, and how many wait for it. Default: 4, 2 of one key; 256 wait, 32 of one key. */
  listTurns: TurnLimits
  /** How long a client may take to send a request. Default: 30 s. */
  requestTimeoutMs: number
  /** How long a client may take to send the headers. Default: 10 s. */
  headersTimeoutMs: number
  /** How long a connection may stay silent in the middle of something. Default: 60 s. */
  connectionTimeoutMs: number
  /** How long an idle connection is kept for another request. Default: 65 s. */
  keepAliveTimeoutMs: number
  /** How long an answer may take. Default: 30 s. */
  handlerTimeoutMs: number
  /** Origins whose pages may call the inbox; `*`: any. Default: none. */
  inboxOrigins: readonly string[]
  /**
   * Streams of inboxes open at the same time; more are turned away with 503. One tenant alone has four fifths of them,
   * then it is turned away with 429. Default: 1,000.
   */
  maxInboxStreams: number
  /** Of one user; more are turned away with 429. Default: 8. */
  maxInboxStreamsPerUser: number
  /** A stream with nothing to say says so this often, before anybody on the way takes it for dead. Default: 15 s. */
  inboxBeatMs: number
  /** A client of a stream that takes nothing for so long is let go. Default: 10 s. */
  slowReaderMs: number
  /** How long a key's record is believed: a revocation acts everywhere within this time. Default: 2 s. */
  keyCacheMs: number
  /** Requests with unknown keys, per source and per beginning of the key, and forged callbacks. Default: 100 per second. */
  failedKeysPerSecond: number
  /** How many of them at once. Default: 1,000. */
  failedKeysBurst: number
  /**
   * Callbacks kept for the same accounts, per second; more are put off with 429. Of a large one every 16 KiB count as one.
   * Default: 500.
   */
  callbacksPerSecond: number
  /** How many of them at once. Default: 10,000. */
  callbacksBurst: number
  /** A waiting notification is shown as stuck after this. Default: 10 min. */
  stuckAfterMs: number
  /** A sent notification without a receipt is shown as stale after this. Default: 24 h. */
  staleAfterMs: number
  /** A worker silent for longer is shown as dead. Default: 30 s. */
  workerTtlMs: number
}

export const DEFAULT_HTTP_CONFIG: HttpConfig = {
  publicUrl: null,
  trustedProxies: [],
  bodyLimitBytes: 1_048_576,
  batchBodyLimitBytes: 4_194_304,
  maxInFlight: 1_000,
  maxInFlightPerConnection: 32,
  listTurns: { most: 4, mostPerKey: 2, mostWaitingPerKey: 32, mostWaiting: 256 },
  requestTimeoutMs: 30_000,
  headersTimeoutMs: 10_000,
  connectionTimeoutMs: 60_000,
  keepAliveTimeoutMs: 65_000,
  handlerTimeoutMs: 30_000,
  inboxOrigins: [],
  maxInboxStreams: 1_000,
  maxInboxStreamsPerUser: 8,
  inboxBeatMs: 15_000,
  slowReaderMs: 10_000,
  keyCacheMs: 2_000,
  failedKeysPerSecond: 100,
  failedKeysBurst: 1_000,
  callbacksPerSecond: 500,
  callbacksBurst: 10_000,
  stuckAfterMs: 600_000,
  staleAfterMs: 86_400_000,
  workerTtlMs: 30_000,
}

/** What the routes share: the dependencies and the stages made from them. */
export interface Context extends AppDeps {
  authentication: Authentication
  userTokens: UserTokens
  accounts: AccountDirectory
  events: EventIntake
  notifications: NotificationIntake
  receivers: ReceivingAccounts
  refusals: Refusals
}
