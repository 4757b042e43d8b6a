import type { AttemptView, AuditView } from '../../model/notification.ts'
import type { OutcomeKind } from '../../model/outcome.ts'
import { booleanOf, numberOrNull, textOrNull, uuidOrNull } from './fields.ts'
import { instantOf, type Row, rows, type Script } from './script.ts'
import { RESULT_VERBS } from './transitions.ts'

export function* listAttempts(notificationId: string): Script<AttemptView[]> {
  return (yield* attemptRows(notificationId)).map((found) => ({
    number: Number(found['number']),
    outcome: String(found['outcome']) as OutcomeKind,
    late: booleanOf(found['late']),
    code: textOrNull(found['code']),
    error: textOrNull(found['error']),
    provider: String(found['provider']),
    providerMessageId: textOrNull(found['provider_message_id']),
    startedAt: instantOf(found['started_at']),
    durationMs: Number(found['duration_ms']),
    workerId: String(found['worker_id']),
  }))
}

/** An attempt is its own audit row, and that of the transition it caused; the audit table has all the others. */
export function* auditOf(notificationId: string): Script<AuditView[]> {
  const id = uuidOrNull(notificationId)
  if (id === null) return []
  const attempts = yield* attemptRows(id)
  const others = yield* rows(
    `select id, at, actor, action, attempt, duration_ms, from_status, to_status, reason from pillarbox.audit
      where notification_id = $1 order by id`,
    [id],
  )
  const merged = [
    ...attempts.flatMap((found) => attemptAudit(id, found)),
    ...others.map((found) => otherAudit(id, found)),
  ]
  // What came of attempt 1 stands before attempt 2, whatever the clocks of worker and store made of it: an attempt's
  // time is the worker's account of its call, a transition's is the store's. The sort is stable, attempts come first.
  return merged.sort((a, b) => (a.attempt ?? 0) - (b.attempt ?? 0))
}

function* attemptRows(notificationId: string): Script<Row[]> {
  const id = uuidOrNull(notificationId)
  if (id === null) return []
  return yield* rows(
    `select number, late, outcome, to_status, duration_ms, started_at, worker_id, provider, provider_message_id, code,
        error, reason
      from pillarbox.attempts where notification_id = $1 order by number, late`,
    [id],
  )
}

function attemptAudit(notificationId: string, found: Row): AuditView[] {
  const durationMs = Number(found['duration_ms'])
  const at = instantOf(found['started_at']) + durationMs
  const to = String(found['to_status']) as keyof typeof RESULT_VERBS
  const common = { at, actor: 'system', notificationId, attempt: Number(found['number']), durationMs }
  // A late result is on record as a call that was made; it moved nothing.
  if (booleanOf(found['late'])) return [{ ...common, action: 'attempt', from: null, to: null, reason: 'late' }]
  return [
    { ...common, action: 'attempt', from: null, to: null, reason: null },
    {
      ...common,
      action: RESULT_VERBS[to] ?? to,
      from: 'sending',
      to,
      reason: textOrNull(found['reason']),
    },
  ]
}

function otherAudit(notificationId: string, found: Row): AuditView {
  return {
    at: instantOf(found['at']),
    actor: String(found['actor']),
    action: String(found['action']),
    notificationId,
    attempt: numberOrNull(found['attempt']),
    durationMs: numberOrNull(found['duration_ms']),
    from: textOrNull(found['from_status']),
    to: textOrNull(found['to_status']),
    reason: textOrNull(found['reason']),
  }
}
