import { hash } from 'node:crypto'
import type { OutcomeKind } from './outcome.ts'

/** Who acts where nobody does: the loops, planning, what vendors report. */
export const SYSTEM = 'system'
/** Who acts where somebody uses the command line on the database itself. */
export const CLI = 'cli'

/** What is on record about one attempt, transition, act or change of configuration, as people read it. */
export interface AuditEntry {
  /** In the order in which entries were written; the call of an attempt stands before what came of it. */
  id: string
  /** Null: it belongs to no tenant. */
  tenantId: string | null
  at: number
  /** `system`, `key:<name>`, `console:<name>`, `site:<name>` or `cli`. */
  actor: string
  /** A verb of the states or of a change: `attempt`, `send`, `park`, `retry`, `create`, `update`, … */
  action: string
  notificationId: string | null
  /** What it is about where that is no notification, e.g. `account:<id>`. */
  subject: string | null
  attempt: number | null
  durationMs: number | null
  from: string | null
  to: string | null
  reason: string | null
  /** Why somebody did it, in their own words. */
  note: string | null
  /** The operation that it was part of. */
  operationId: string | null
  /** What of it was changed, as it stood before and after; secrets never. */
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
  /** The caller's own ids of the notification. The first is the notification's where none was given. */
  correlationId: string | null
  executionId: string | null
  parentExecutionId: string | null
}

/** A row of the audit table: a transition without an attempt, an act or a change. */
export interface AuditedAct
  extends Omit<AuditEntry, 'id' | 'durationMs' | 'correlationId' | 'executionId' | 'parentExecutionId'> {
  kind: 'act'
  id: number
  /** With note, before and after it makes the digest that is chained; null where there are none, or they were erased. */
  salt: string | null
  /** What the digest was, where they were erased. */
  digest: string | null
}

/** An attempt, which is the record of its call and of the transition that the call caused. */
export interface AuditedAttempt {
  kind: 'attempt'
  id: number
  tenantId: string
  notificationId: string
  number: number
  /** Its claim had been taken over: a call that was made, and moved nothing. */
  late: boolean
  outcome: OutcomeKind
  toStatus: 'sent' | 'retrying' | 'parked' | 'uncertain' | 'failed' | 'cancelled'
  possibleDuplicate: boolean
  durationMs: number
  startedAt: number
  token: number
  workerId: string
  provider: string
  accountId: string | null
  code: string | null
  reason: string | null
}

export type AuditedRow = AuditedAct | AuditedAttempt

/** A stretch of a tenant's audit, with the hash that chains it to the one before. */
export interface AuditLink {
  /** Empty: what belongs to no tenant. */
  tenantId: string
  /** From 1, without gaps. */
  number: number
  /** It has the tenant's rows with higher numbers than this … */
  fromId: number
  /** … up to this. */
  toId: number
  firstAt: number
  lastAt: number
  rowCount: number
  /** For each row its number, its time and its hash. */
  leaves: string
  hash: string
}

/** Where the chain of a tenant ends. */
export type AuditHead = Pick<AuditLink, 'tenantId' | 'number' | 'toId' | 'hash'>

/** What stands for note, before and after in a row's hash; null where there are none. */
export function digestOf({ note, before, after, salt, digest }: AuditedAct): string | null {
  if (note === null && before === null && after === null) return digest
  return hash('sha256', JSON.stringify([salt, note, before, after]))
}

/**
 * What retention leaves on record when it has removed what is older than `before`, with how much that was. Whoever removes rows
 * of the audit, or attempts, writes it in the same transaction: without it they are taken for deleted by hand.
 */
export function purgeOf(before: number, removed: Record<string, unknown>) {
  return { action: 'purge', subject: 'audit', reason: new Date(before).toISOString(), after: removed }
}
