import type { Destination, Settings } from './peer.ts'
import type { PeerName } from './registry.ts'
import type { ProviderName, VendorAddress } from './vendor.ts'

/** What one measured process is told to do; it travels as JSON on the command line. */
export interface Task {
  role: Role
  peer: PeerName
  store: string
  settings: Settings
  /** Payloads in all, callers at once, payloads per call, pause between two calls. */
  count: number
  connections: number
  batch: number
  gapMs: number
  /** Enqueueing stops after this. */
  maxMs: number
  /** Count statements: costs a little, so not in samples whose time matters. */
  countStatements: boolean
  /** vendor: whose server to be. send: where to. */
  vendor?: ProviderName
  destination?: Destination
}

export const ROLES = [
  'enqueue',
  'bulk',
  'drain',
  'plan',
  'send',
  'vendor',
  'produce',
  'work',
  'produce-and-work',
] as const
export type Role = (typeof ROLES)[number]

export interface Memory {
  rssMb: number
  peakMb: number
}

/** What the process says: `ready`, then counts while it drains, plans or sends, then one report. */
export type Message =
  | { type: 'ready'; address?: VendorAddress }
  | { type: 'count'; handled: number; finished: number; first: number }
  | ({ type: 'report' } & Report)

export interface Report extends Memory {
  /** enqueue, bulk */
  ms?: number
  count?: number
  /** enqueue, bulk, drain, plan, send, vendor */
  cpuMs?: number
  /** drain, plan, vendor: messages, events that were planned, or messages that were taken */
  handled?: number
  statements?: number
  /** latency: when the call began, when its commit was answered, when the handler ran; by number. */
  sent?: number[]
  acked?: number[]
  times?: (number | null)[]
}
