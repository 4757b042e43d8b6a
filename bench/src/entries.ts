import type { Settings } from './peer.ts'
import type { PeerName } from './registry.ts'

/** One row of the tables: an engine with the settings it is measured with, and the cases it takes part in. */
export interface Entry {
  id: string
  peer: PeerName
  settings: Settings
  cases: readonly Case[]
  /** For the measured processes only. */
  nodeFlags?: readonly string[]
}

/**
 * e1: enqueueing. e2: draining what is ready to be sent, with one process; e2x2: with two. e2e: events through planning
 * and rendering to sent. plan: events through planning to queued. providers: draining through real providers to vendors'
 * loopback servers. e3: latency. e4: drain and latency on grown tables. purge: drain while old rows are removed. cost:
 * statements and memory.
 */
export const CASES = ['e1', 'e2', 'e2x2', 'e2e', 'plan', 'providers', 'e3', 'e4', 'purge', 'cost'] as const
export type Case = (typeof CASES)[number]

/** What ratios are taken against, within one round. */
export const REFERENCE = 'raw-pg-c2'
export const SQLITE_REFERENCE = 'sqlite-full'
/** What providers are measured against: the vendor's own client in a loop. */
export const BARE = 'bare'

/** Room for whole claims of 500, as the raw reference takes them: one lane gets half of the slots. */
const LARGE_BATCHES = { slotsPerChannel: 2_000, claimRows: 500, planRows: 500 }

/** How the `pillarbox` command starts Node. */
const AS_SHIPPED = ['--max-semi-space-size=8']

export const ENTRIES: readonly Entry[] = [
  {
    id: REFERENCE,
    peer: 'raw-pg',
    settings: { connections: 2, batch: 500 },
    cases: ['e1', 'e2', 'e2x2', 'e3', 'e4', 'cost'],
  },
  {
    id: 'raw-pg-tx',
    peer: 'raw-pg',
    settings: { transaction: true, latency: { transaction: true } },
    cases: ['e1', 'e3'],
  },
  /** The least that keeps our promises. */
  { id: 'raw-pg-planned', peer: 'raw-pg-planned', settings: {}, cases: ['e3'] },
  { id: 'raw-pg-notify', peer: 'raw-pg', settings: { listen: true }, cases: ['e1'] },
  {
    id: 'pillarbox',
    peer: 'pillarbox',
    settings: { engine: LARGE_BATCHES },
    cases: ['e1', 'e2', 'e2x2', 'e2e', 'plan', 'e3', 'e4', 'purge', 'cost'],
    nodeFlags: AS_SHIPPED,
  },
  { id: 'pillarbox-prepared', peer: 'pillarbox', settings: { publish: 'prepared' }, cases: ['e1'] },
  { id: 'pillarbox-autocommit', peer: 'pillarbox', settings: { publish: 'autocommit' }, cases: ['e1', 'e3'] },
  { id: 'pillarbox-nudge', peer: 'pillarbox', settings: { nudge: true }, cases: ['e1'] },
  { id: 'pillarbox-direct', peer: 'pillarbox', settings: { publish: 'direct' }, cases: ['e3'] },
  { id: 'pillarbox-poll', peer: 'pillarbox', settings: { latency: { nudge: false } }, cases: ['e3'] },
  { id: 'pillarbox-strangers', peer: 'pillarbox', settings: { latency: { isKnown: false } }, cases: ['e3'] },
  {
    id: 'pillarbox-defaults',
    peer: 'pillarbox',
    settings: {},
    cases: ['e2', 'e2x2', 'e2e', 'providers', 'cost'],
    nodeFlags: AS_SHIPPED,
  },
  {
    id: 'pg-boss',
    peer: 'pg-boss',
    settings: { batchSize: 2_000, localConcurrency: 2 },
    cases: ['e1', 'e2', 'e2x2', 'e3', 'e4', 'cost'],
  },
  {
    id: 'graphile',
    peer: 'graphile',
    settings: { concurrentJobs: 50, localQueue: 2_000, completeDelayMs: 0 },
    cases: ['e1', 'e2', 'e2x2', 'e3', 'e4', 'cost'],
  },
  { id: 'bullmq', peer: 'bullmq', settings: { concurrency: 100 }, cases: ['e1', 'e2', 'e2x2', 'e3', 'e4'] },
  {
    id: 'bullmq-always',
    peer: 'bullmq',
    settings: { concurrency: 100, appendfsync: 'always' },
    cases: ['e1', 'e2', 'e3'],
  },
  {
    id: SQLITE_REFERENCE,
    peer: 'sqlite',
    settings: { synchronous: 'FULL', batch: 500 },
    cases: ['e1', 'e2', 'e3', 'e4', 'cost'],
  },
  {
    id: 'pillarbox-sqlite',
    peer: 'pillarbox-sqlite',
    settings: { engine: LARGE_BATCHES },
    cases: ['e1', 'e2', 'e2e', 'plan', 'e3', 'e4', 'purge', 'cost'],
    nodeFlags: AS_SHIPPED,
  },
  {
    id: 'pillarbox-sqlite-defaults',
    peer: 'pillarbox-sqlite',
    settings: {},
    cases: ['providers'],
    nodeFlags: AS_SHIPPED,
  },
  { id: BARE, peer: 'bare', settings: {}, cases: ['providers'], nodeFlags: AS_SHIPPED },
  { id: 'bare-http', peer: 'bare-http', settings: {}, cases: ['providers'], nodeFlags: AS_SHIPPED },
]
