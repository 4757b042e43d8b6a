import { hash } from 'node:crypto'
import {
  type AuditedAct,
  type AuditedAttempt,
  type AuditedRow,
  type AuditHead,
  type AuditLink,
  digestOf,
} from '../model/audit.ts'
import type { UnchainedStretch } from './audit-store.ts'

/**
 * How a tenant's audit is chained. Each row has a hash of its facts; a link holds those of a stretch, and a hash over them and
 * over the link before. Whoever changes, removes, inserts or swaps rows by hand would have to make every later link anew,
 * and then its head is not the one that was noted elsewhere.
 *
 * Words in which a person may be named (note, before, after) are hashed as a digest with a salt. Erasing words and salt and
 * keeping the digest leaves the chain as it was, and nothing by which the words could be guessed.
 */
export interface Leaf {
  id: number
  at: number
  /** The first half of the row's SHA-256, in hex. */
  hash: string
}

const HASH_BYTES = 16
const LEAF_BYTES = 8 + 8 + HASH_BYTES

export function leafOf(row: AuditedRow): Leaf {
  const facts = row.kind === 'act' ? factsOfAct(row) : factsOfAttempt(row)
  return { id: row.id, at: timeOf(row), hash: hash('sha256', JSON.stringify(facts)).slice(0, 2 * HASH_BYTES) }
}

function factsOfAct(act: AuditedAct): unknown[] {
  const { id, tenantId, at, actor, action, notificationId, subject, attempt, from, to, reason, operationId } = act
  const what = [notificationId, subject, attempt, from, to, reason, operationId]
  return ['act', id, tenantId, at, actor, action, ...what, digestOf(act)]
}

function factsOfAttempt(attempt: AuditedAttempt): unknown[] {
  const { id, tenantId, notificationId, number, late, outcome, toStatus, possibleDuplicate } = attempt
  const { durationMs, startedAt, token, workerId, provider, accountId, code, reason } = attempt
  const call = [durationMs, startedAt, token, workerId, provider, accountId, code, reason]
  return ['attempt', id, tenantId, notificationId, number, late, outcome, toStatus, possibleDuplicate, ...call]
}

/** When it was over. */
function timeOf(row: AuditedRow): number {
  return row.kind === 'act' ? row.at : row.startedAt + row.durationMs
}

/** The link that follows a chain's head. */
export function linkOf({ tenantId, head, rows, upTo }: UnchainedStretch): AuditLink {
  const leaves = rows.map(leafOf)
  const times = leaves.map(({ at }) => at)
  const link = {
    tenantId,
    number: (head?.number ?? 0) + 1,
    fromId: head?.toId ?? 0,
    toId: upTo,
    firstAt: Math.min(...times),
    lastAt: Math.max(...times),
    rowCount: rows.length,
    leaves: encodeLeaves(leaves),
  }
  return { ...link, hash: hashOf(head, link) }
}

/** The hash that a link has where it follows `before`. */
export function hashOf(before: Pick<AuditHead, 'hash'> | null, link: Omit<AuditLink, 'hash'>): string {
  const { tenantId, number, fromId, toId, firstAt, lastAt, rowCount, leaves } = link
  return hash(
    'sha256',
    JSON.stringify([before?.hash ?? '', tenantId, number, fromId, toId, firstAt, lastAt, rowCount, leaves]),
  )
}

function encodeLeaves(leaves: readonly Leaf[]): string {
  const bytes = Buffer.alloc(leaves.length * LEAF_BYTES)
  for (const [i, leaf] of leaves.entries()) {
    bytes.writeBigInt64BE(BigInt(leaf.id), i * LEAF_BYTES)
    bytes.writeBigInt64BE(BigInt(leaf.at), i * LEAF_BYTES + 8)
    bytes.write(leaf.hash, i * LEAF_BYTES + 16, 'hex')
  }
  return bytes.toString('base64')
}

export function decodeLeaves(text: string): Leaf[] {
  const bytes = Buffer.from(text, 'base64')
  return Array.from({ length: Math.floor(bytes.length / LEAF_BYTES) }, (_, i) => {
    const place = i * LEAF_BYTES
    return {
      id: Number(bytes.readBigInt64BE(place)),
      at: Number(bytes.readBigInt64BE(place + 8)),
      hash: bytes.toString('hex', place + 16, place + LEAF_BYTES),
    }
  })
}
