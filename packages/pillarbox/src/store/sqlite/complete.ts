import type { Completion } from '../../dispatch/dispatch-store.ts'
import type { RollupMove } from '../../model/rollup.ts'
import { jsonText } from '../shared/fields.ts'
import { completionMoves, sentMove } from '../shared/rollup-deltas.ts'
import { writeSettled } from '../shared/settle.ts'
import { type CompletionChanges, completionChanges, isSent, lateChanges, wholeMs } from '../shared/transitions.ts'
import { insertAudit } from './audit.ts'
import type { Connection } from './connection.ts'
import { gather, insertGathered } from './marks.ts'
import { insertNotification, insertNotifications } from './notifications.ts'
import { insertMoves } from './rollup-deltas.ts'
import { dialect, runScript } from './scripts.ts'

/** Attempts and audit rows are numbered in one order: these numbers are taken from those of the audit. */
const TAKE_AUDIT_IDS = `update sqlite_sequence set seq = seq + $1 where name = 'pillarbox_audit' returning seq`

/** Who made a call, and the number under which the audit has it. */
interface Origin {
  workerId: string
  auditId: number
}

/** A row that is no longer this claim's has another token, and stays as it is. */
const END = 'delete from pillarbox.dispatch where notification_id = $1 and token = $2'
const WAIT = `update pillarbox.dispatch set token = null, worker_id = null, claimed_at = null, in_doubt = 0, visible_at = $3,
  spent = $4, possible_duplicate = $5, last_error = $6, lane_id = coalesce($7, lane_id)
  where notification_id = $1 and token = $2`

/** Writes results; see `complete` in dispatch/dispatch-store.ts. */
export function complete(
  connection: Connection,
  now: number,
  workerId: string,
  completions: readonly Completion[],
): { fenced: string[]; lanes: string[] } {
  const fenced: string[] = []
  const lanes = new Set<string>()
  const taken = connection.prepare(TAKE_AUDIT_IDS).get(completions.length)
  let auditId = Number(taken?.['seq'] ?? 0) - completions.length
  const moves: RollupMove[] = []
  for (const completion of completions) {
    auditId += 1
    const { notificationId, token } = completion
    if (isSent(completion)) {
      if (connection.prepare(END).run(notificationId, token).changes === 1) {
        insertSentAttempt(connection, now, { workerId, auditId }, completion)
        moves.push(sentMove(completion, now))
      } else if (writeLate(connection, now, { workerId, auditId }, completion)) fenced.push(notificationId)
      continue
    }
    const changes = completionChanges(completion)
    if (leaveSending(connection, now, changes)) {
      insertAttempt(connection, now, { workerId, auditId }, changes, 'timely')
      moves.push(...completionMoves(changes, now))
      for (const lane of applyChanges(connection, now, changes)) lanes.add(lane)
    } else if (writeLate(connection, now, { workerId, auditId }, completion)) fenced.push(notificationId)
  }
  insertMoves(connection, moves)
  return { fenced, lanes: [...lanes] }
}

/** Compares the token; false: the row is no longer this claim's, and nothing was changed. */
function leaveSending(connection: Connection, now: number, changes: CompletionChanges): boolean {
  const { notificationId, token, waitMs, spent, possibleDuplicate, error, moveTo } = changes
  const left =
    waitMs === null
      ? connection.prepare(END).run(notificationId, token)
      : connection
          .prepare(WAIT)
          .run(notificationId, token, now + waitMs, spent, Number(possibleDuplicate), error, moveTo?.accountId ?? null)
  return left.changes === 1
}

const WRITTEN =
  'select 1 from pillarbox.attempts where notification_id = $1 and number = $2 and late = 0 and token = $3'

/** False: a repeat of a result that was committed before, its answer lost. The same claim's attempt is there already. */
function writeLate(connection: Connection, now: number, origin: Origin, completion: Completion): boolean {
  const { notificationId, attempt, token } = completion
  if (connection.prepare(WRITTEN).get(notificationId, attempt, token) !== undefined) return false
  insertAttempt(connection, now, origin, lateChanges(completion), 'late')
  return true
}

/** An accepted message of which there is nothing else to say: most of all attempts, so they bind the fewest values. */
const SENT_ATTEMPT = `insert into pillarbox.attempts (notification_id, number, possible_duplicate, duration_ms, started_at,
  token, worker_id, provider, provider_message_id, account_id, answer, tenant_id, audit_id, late, outcome, to_status)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 0, 'accepted', 'sent')`

function insertSentAttempt(connection: Connection, now: number, { workerId, auditId }: Origin, c: Completion): void {
  const [duplicate, startedAt] = [Number(c.possibleDuplicate), now - wholeMs(c.ageMs)]
  const { notificationId, attempt, token, provider, providerMessageId } = c
  connection
    .prepare(SENT_ATTEMPT)
    .run(
      notificationId,
      attempt,
      duplicate,
      wholeMs(c.durationMs),
      startedAt,
      token,
      workerId,
      provider,
      providerMessageId,
      c.accountId,
      c.answer,
      c.tenantId,
      auditId,
    )
}

const ATTEMPT = `insert into pillarbox.attempts (notification_id, number, late, outcome, to_status, possible_duplicate,
    duration_ms, started_at, token, worker_id, provider, provider_message_id, account_id, answer, code, error, reason,
    resolved_targets, refused, tenant_id, audit_id)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`

function insertAttempt(
  connection: Connection,
  now: number,
  { workerId, auditId }: Origin,
  c: CompletionChanges,
  when: 'timely' | 'late',
): void {
  if (c.outcome === null) return
  // One late attempt is enough.
  connection
    .prepare(when === 'late' ? `${ATTEMPT} on conflict do nothing` : ATTEMPT)
    .run(
      c.notificationId,
      c.attempt,
      Number(when === 'late'),
      c.outcome,
      c.to,
      Number(c.possibleDuplicate),
      c.durationMs,
      now - c.ageMs,
      c.token,
      workerId,
      c.provider,
      c.providerMessageId,
      c.accountId,
      c.answer,
      c.code,
      c.error,
      c.reason,
      jsonText(c.resolvedTargets),
      jsonText(c.refused),
      c.tenantId,
      auditId,
    )
}

const CHANGE_ACCOUNT = 'update pillarbox.notifications set account_id = $2, provider = $3 where id = $1'
const END_CHAIN = 'update pillarbox.notifications set fallback = null where id = $1'
const LINK_FALLBACK = 'update pillarbox.notifications set fallback_to = $2 where id = $1'

/** What a result changes beside the dispatch row and the attempt; answers the lanes that got work. */
function applyChanges(connection: Connection, now: number, changes: CompletionChanges): string[] {
  const { notificationId, tenantId, attempt, spent, possibleDuplicate, reason, moveTo, next, skipped, dueLane } =
    changes
  const { settledAs: status, auditedAs: action, error: lastError, to, code, fingerprint } = changes
  const rest = { notificationId, tenantId, attempt, reason }
  if (status !== null)
    runScript(
      connection,
      writeSettled(dialect, [{ ...rest, status, lastError, spent, possibleDuplicate, code, fingerprint }]),
    )
  if (action !== null) insertAudit(connection, { ...rest, actor: 'system', action, from: 'sending', to })
  if (moveTo) {
    connection.prepare(CHANGE_ACCOUNT).run(notificationId, moveTo.accountId, moveTo.provider)
    insertAudit(connection, { ...rest, actor: 'system', action: 'move', reason: changes.moveReason })
  }
  if (skipped.length > 0) connection.prepare(END_CHAIN).run(notificationId)
  insertNotifications(connection, skipped, now)
  const lanes = dueLane === null ? [] : [dueLane]
  if (next === null) return lanes
  const gathered = gather()
  const taker = insertNotification(connection, next, now, gathered)
  insertGathered(connection, gathered)
  insertNotifications(connection, next.passedOver ?? [], now)
  connection.prepare(LINK_FALLBACK).run(notificationId, taker.id)
  return taker.lane === null ? lanes : [...lanes, taker.lane]
}
