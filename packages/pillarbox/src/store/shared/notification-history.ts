import type { AttemptView, AuditView } from '../../model/notification.ts'
import { uuidOrNull } from './fields.ts'
import { listBy, nounOf } from './noun.ts'
import { rows, type Script } from './script.ts'
import { RESULT_VERBS } from './transitions.ts'

const ATTEMPT_VIEW = {
  number: 'number',
  outcome: 'text',
  late: 'boolean',
  code: 'text',
  error: 'text',
  provider: 'text',
  providerMessageId: 'text',
  accountId: 'uuid',
  answer: 'text',
  refused: 'json',
  startedAt: 'instant',
  durationMs: 'number',
  workerId: 'text',
} as const
const ATTEMPT_VIEWS = nounOf<AttemptView>('attempts', ATTEMPT_VIEW)

type Attempt = AttemptView & { notificationId: string; toStatus: keyof typeof RESULT_VERBS; reason: string | null }
const ATTEMPTS = nounOf<Attempt>('attempts', {
  ...ATTEMPT_VIEW,
  notificationId: 'uuid',
  toStatus: 'text',
  reason: 'text',
})

type StoredAudit = Omit<AuditView, 'from' | 'to'> & { fromStatus: string | null; toStatus: string | null }

const AUDITS = nounOf<StoredAudit>('audit', {
  at: 'instant',
  actor: 'text',
  action: 'text',
  notificationId: 'uuid',
  attempt: 'number',
  durationMs: 'number',
  fromStatus: 'text',
  toStatus: 'text',
  reason: 'text',
  note: 'text',
  operationId: 'uuid',
})

export function* listAttempts(notificationId: string): Script<AttemptView[]> {
  const found = yield* rows(
    `select ${ATTEMPT_VIEWS.columns} from pillarbox.attempts where notification_id = :id order by number, late`,
    { id: uuidOrNull(notificationId) },
  )
  return found.map(ATTEMPT_VIEWS.of)
}

/** An attempt is its own audit row, and that of the transition it caused; the audit table has all the others. */
export function* auditOf(notificationId: string): Script<AuditView[]> {
  const attempts = yield* listBy(ATTEMPTS, { notificationId }, 'number, late')
  const others = yield* listBy(AUDITS, { notificationId }, 'id')
  const merged = [
    ...attempts.flatMap(attemptAudits),
    ...others.map(({ fromStatus, toStatus, ...audit }) => ({ ...audit, from: fromStatus, to: toStatus })),
  ]
  // What came of attempt 1 stands before attempt 2, whatever the clocks of worker and store made of it: an attempt's
  // time is the worker's account of its call, a transition's is the store's. The sort is stable, attempts come first.
  return merged.sort((a, b) => (a.attempt ?? 0) - (b.attempt ?? 0))
}

function attemptAudits({ notificationId, number, startedAt, durationMs, ...made }: Attempt): AuditView[] {
  const byHand = { note: null, operationId: null }
  const common = { at: startedAt + durationMs, actor: 'system', notificationId, attempt: number, durationMs, ...byHand }
  // A late result is on record as a call that was made; it moved nothing.
  const call = { ...common, action: 'attempt', from: null, to: null, reason: made.late ? 'late' : null }
  if (made.late) return [call]
  const { toStatus: to, reason } = made
  return [call, { ...common, action: RESULT_VERBS[to], from: 'sending', to, reason }]
}
