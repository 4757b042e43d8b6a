import { type AuditEntry, type AuditedAct, type AuditedAttempt, type AuditedRow, SYSTEM } from '../../model/audit.ts'
import { nounOf } from './noun.ts'
import { givenIds, type Row, rows, type Script } from './script.ts'
import { RESULT_VERBS } from './transitions.ts'

/** The audit is two tables in one order: attempts, and all that no attempt tells. */

type StoredAct = Omit<AuditedAct, 'kind' | 'from' | 'to'> & { fromStatus: string | null; toStatus: string | null }

const ACTS = nounOf<StoredAct>('audit', {
  id: 'number',
  tenantId: 'text',
  at: 'instant',
  actor: 'text',
  action: 'text',
  notificationId: 'uuid',
  subject: 'text',
  attempt: 'number',
  fromStatus: 'text',
  toStatus: 'text',
  reason: 'text',
  note: 'text',
  operationId: 'uuid',
  before: 'json',
  after: 'json',
  salt: 'text',
  digest: 'text',
})

type StoredAttempt = Omit<AuditedAttempt, 'kind' | 'id'> & { auditId: number }

const ATTEMPTS = nounOf<StoredAttempt>('attempts', {
  auditId: 'number',
  tenantId: 'text',
  notificationId: 'uuid',
  number: 'number',
  late: 'boolean',
  outcome: 'text',
  toStatus: 'text',
  possibleDuplicate: 'boolean',
  durationMs: 'number',
  startedAt: 'instant',
  token: 'number',
  workerId: 'text',
  provider: 'text',
  accountId: 'uuid',
  code: 'text',
  reason: 'text',
})

/** Either table, in the words of a statement about rows of one kind. */
export interface AuditedTable {
  table: string
  columns: string
  id: string
  of(found: Row): AuditedRow
}

export const ACT_ROWS: AuditedTable = {
  table: 'pillarbox.audit',
  columns: ACTS.columnsOf('r'),
  id: 'r.id',
  of: (found) => {
    const { fromStatus, toStatus, ...act } = ACTS.of(found)
    return { kind: 'act', ...act, from: fromStatus, to: toStatus }
  },
}

export const ATTEMPT_ROWS: AuditedTable = {
  table: 'pillarbox.attempts',
  columns: ATTEMPTS.columnsOf('r'),
  id: 'r.audit_id',
  of: (found) => {
    const { auditId, ...attempt } = ATTEMPTS.of(found)
    return { kind: 'attempt', id: auditId, ...attempt }
  },
}

type EntryWithoutOrigin = Omit<AuditEntry, 'correlationId' | 'executionId' | 'parentExecutionId'>

/** What people read of a row, oldest first: an attempt is the entry of its call, and that of the transition it caused. */
export function entriesOf(row: AuditedRow): EntryWithoutOrigin[] {
  if (row.kind === 'act') {
    const { kind: _, salt: _salt, digest: _digest, ...act } = row
    return [{ ...act, id: String(row.id), durationMs: null }]
  }
  const { id, tenantId, notificationId, number, startedAt, durationMs, late, toStatus: to, reason } = row
  const nothing = { subject: null, note: null, operationId: null, before: null, after: null }
  const common = { tenantId, actor: SYSTEM, notificationId, attempt: number, ...nothing }
  const at = startedAt + durationMs
  const call = { ...common, id: `${id}-call`, at, action: 'attempt', durationMs, from: null, to: null }
  // A late result is on record as a call that was made; it moved nothing.
  if (late) return [{ ...call, reason: 'late' }]
  const outcome = { ...common, id: String(id), at, action: RESULT_VERBS[to], durationMs, from: 'sending', to, reason }
  return [{ ...call, reason: null }, outcome]
}

/** The entries with the callers' own ids of the notifications they are about. */
export function* withOrigins(entries: readonly EntryWithoutOrigin[]): Script<AuditEntry[]> {
  const ids = [...new Set(entries.flatMap(({ notificationId }) => notificationId ?? []))]
  const found =
    ids.length === 0
      ? []
      : yield* rows(
          `select n.id, n.correlation_id, n.execution_id, n.parent_execution_id
            from :g cross join pillarbox.notifications n where n.id = g.id`,
          { g: givenIds(ids) },
        )
  const origins = new Map(found.map((origin) => [String(origin['id']), origin]))
  return entries.map((entry) => {
    const origin = entry.notificationId === null ? undefined : origins.get(entry.notificationId)
    const { correlation_id, execution_id = null, parent_execution_id = null } = origin ?? {}
    return {
      ...entry,
      correlationId: (correlation_id ?? entry.notificationId) as string | null,
      executionId: execution_id as string | null,
      parentExecutionId: parent_execution_id as string | null,
    }
  })
}
