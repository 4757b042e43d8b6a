import type { DatabaseSync } from 'node:sqlite'
import type { EngineSettings } from '../../packages/pillarbox/src/engine.ts'
import type { Payload } from './payload.ts'
import type { ProviderName, VendorAddress } from './vendor.ts'

/** What every measured engine, and every raw reference, implements. */
export interface Peer {
  /** For latency, producer and consumer share one process: there is no wake-up across processes. */
  inProcess?: boolean
  /** Calls `finished` itself after each committed completion; the others are probed from outside. */
  reportsFinished?: boolean
  /** Settings on top of the entry's for the low-latency cases. */
  latency?: Settings
  /** A fresh, empty store. */
  create(store: string, settings: Settings): Promise<void>
  /** Writes finished and future rows; answers what it wrote. */
  seed(store: string, rows: { finished: number; future: number }, settings: Settings): Promise<string>
  /** Vacuum, analyze, checkpoint: what is done before a timed part. */
  settle(store: string, settings: Settings): Promise<void>
  probe(store: string, settings: Settings): Promise<Probe>
  producer(store: string, connections: number, settings: Settings): Promise<Producer>
  /** Puts rows that are ready to be sent into the store. Default: the producer's `bulk`, 1,000 at a time. */
  preload?(store: string, count: number, settings: Settings): Promise<void>
  /** Makes contacts of the recipients of the first `count` payloads. */
  acquaint?(store: string, count: number): Promise<void>
  consumer(store: string, handler: Handler, settings: Settings, finished: (count: number) => void): Promise<Consumer>
  /** What turns events into messages, by itself. */
  planning?: Planning
  /** Sending by way of a provider to its vendor's loopback server. */
  sending?: Sending
}

/** Where messages go. */
export interface Destination {
  provider: ProviderName
  address: VendorAddress
}

export interface Sending {
  /** Those it can send by. */
  providers: readonly ProviderName[]
  /** Puts messages that are ready to be sent into an empty store, and the account they are sent with. */
  preload(store: string, destination: Destination, count: number): Promise<void>
  /** Sends `count` messages; `finished` hears of those that are over: answered, and recorded where that is its business. */
  sender(
    store: string,
    destination: Destination,
    count: number,
    settings: Settings,
    finished: (count: number) => void,
  ): Promise<Consumer>
}

/**
 * bare: one recipient who makes no contact, one channel, words without placeholders. full: two recipients on two channels
 * each, four variables and a date; each recipient is a new contact, or one that exists.
 */
export const PLAN_VARIANTS = ['bare', 'full-new', 'full-known'] as const
export type PlanVariant = (typeof PLAN_VARIANTS)[number]
export const NOTIFICATIONS_PER_EVENT = { bare: 1, 'full-new': 4, 'full-known': 4 } as const satisfies Record<
  PlanVariant,
  number
>

export interface Planning {
  /** Puts events into an empty store, and whatever has to exist before they are planned. */
  publish(store: string, variant: PlanVariant, events: number): Promise<void>
  /** Plans and does nothing else; `planned` hears of each committed batch. */
  planner(
    store: string,
    settings: Settings,
    planned: (events: number, notifications: number) => void,
  ): Promise<Consumer>
  /** Whether every event is planned, and nothing failed or was stopped. */
  isComplete(store: string): Promise<boolean>
}

export interface Probe {
  /** Is any due work not finished? */
  pending(): Promise<boolean>
  close(): Promise<void>
}

export interface Producer {
  /** Resolves after the commit. */
  one(payload: Payload): Promise<unknown>
  bulk(payloads: readonly Payload[]): Promise<unknown>
  close(): Promise<void>
}

export interface Consumer {
  start(): Promise<void>
  stop(): Promise<void>
}

/** Called with the payload's number: the message has been handed over. */
export type Handler = (i: number) => Promise<void>

export interface Settings {
  /** raw-pg: connections of the consumer, and rows per claim. */
  connections?: number
  batch?: number
  /** raw-pg: NOTIFY in the insert, LISTEN in the consumer. */
  listen?: boolean
  /** raw-pg: begin, insert, commit instead of one statement. */
  transaction?: boolean
  /** sqlite */
  synchronous?: 'FULL' | 'NORMAL'
  /** pg-boss */
  batchSize?: number
  localConcurrency?: number
  notify?: boolean
  /** graphile-worker */
  concurrentJobs?: number
  localQueue?: number
  completeDelayMs?: number
  /** BullMQ */
  concurrency?: number
  appendfsync?: 'everysec' | 'always'
  /** Pillarbox: what stands around the publish. */
  publish?: 'transaction' | 'prepared' | 'autocommit' | 'direct'
  nudge?: boolean
  /** Pillarbox, latency: the recipients are contacts already. */
  isKnown?: boolean
  engine?: Partial<EngineSettings>
  /** On top of everything for the low-latency cases. */
  latency?: Settings
  /** In one process: what the consumer lends the producer. */
  shared?: Shared
}

export interface Shared {
  database?: DatabaseSync
  ping?: () => void
  insert?: (payloads: readonly Payload[]) => Promise<unknown>
}
