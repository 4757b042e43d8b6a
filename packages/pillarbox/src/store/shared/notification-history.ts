import type { AttemptView, AuditView } from '../../model/notification.ts'
import type { ActsAbout, EventAct } from '../../plan/event-store.ts'
import { uuidOrNull } from './fields.ts'
import { listBy, nounOf } from './noun.ts'
import { givenIds, givenRows, rows, type Script } from './script.ts'
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

const AUDIT_VIEW = {
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
} as const
const AUDITS = nounOf<StoredAudit>('audit', AUDIT_VIEW)
const ACTS = nounOf<StoredAudit & { subject: string | null }>('audit', {
  ...AUDIT_VIEW,
  subject: 'text',
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
  const merged = [...attempts.flatMap(attemptAudits), ...others.map(auditView)]
  // What came of attempt 1 stands before attempt 2, whatever the clocks of worker and store made of it: an attempt's
  // time is the worker's account of its call, a transition's is the store's. The sort is stable, attempts come first.
  return merged.sort((a, b) => (a.attempt ?? 0) - (b.attempt ?? 0))
}

function auditView<T extends StoredAudit>({ fromStatus, toStatus, ...audit }: T) {
  return { ...audit, from: fromStatus, to: toStatus }
}

const MOST_ACTS = 500

/** What is about an event or its schedules, and what people and replays did to its notifications. */
export function* actsAbout(tenantId: string, { eventId, scheduleIds, notificationIds }: ActsAbout): Script<EventAct[]> {
  const subjects = [`event:${eventId}`, ...scheduleIds.map((id) => `schedule:${id}`)]
  const about = yield* rows(
    `select a.id, ${ACTS.columnsOf('a')} from :g join pillarbox.audit a on a.tenant_id = :tenantId and a.subject = g.subject
      where a.subject is not null order by a.id desc limit :limit`,
    {
      tenantId,
      limit: MOST_ACTS,
      g: givenRows(
        { subject: 'text' },
        subjects.map((subject) => ({ subject })),
      ),
    },
  )
  const done = yield* rows(
    `select a.id, ${ACTS.columnsOf('a')} from :g join pillarbox.audit a on a.notification_id = g.id
      where a.tenant_id = :tenantId and a.action in ('retry', 'discard', 'cancel', 'park', 'restore')
        and (a.actor <> 'system' or a.from_status = 'skipped') order by a.id desc limit :limit`,
    { tenantId, limit: MOST_ACTS, g: givenIds(notificationIds.flatMap((id) => uuidOrNull(id) ?? [])) },
  )
  return [...about, ...done]
    .toSorted((a, b) => Number(a['id']) - Number(b['id']))
    .slice(-MOST_ACTS)
    .map((found) => auditView(ACTS.of(found)))
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
