import type { AttemptView, AuditView } from '../../model/notification.ts'
import type { ActsAbout, EventAct } from '../../plan/event-store.ts'
import { ACT_ROWS, ATTEMPT_ROWS, entriesOf } from './audit-rows.ts'
import { uuidOrNull } from './fields.ts'
import { nounOf } from './noun.ts'
import { givenIds, givenRows, rows, type Script } from './script.ts'

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

export function* listAttempts(notificationId: string): Script<AttemptView[]> {
  const found = yield* rows(
    `select ${ATTEMPT_VIEWS.columns} from pillarbox.attempts where notification_id = :id order by number, late`,
    { id: uuidOrNull(notificationId) },
  )
  return found.map(ATTEMPT_VIEWS.of)
}

/** An attempt is its own audit row, and that of the transition it caused; the audit table has all the others. */
export function* auditOf(notificationId: string): Script<AuditView[]> {
  const id = uuidOrNull(notificationId)
  const merged: AuditView[] = []
  for (const { columns, table, id: number, of } of [ATTEMPT_ROWS, ACT_ROWS]) {
    const found = yield* rows(`select ${columns} from ${table} r where r.notification_id = :id order by ${number}`, {
      id,
    })
    merged.push(...found.map(of).flatMap(entriesOf))
  }
  // What came of attempt 1 stands before attempt 2, whatever the clocks of worker and store made of it: an attempt's
  // time is the worker's account of its call, a transition's is the store's. The sort is stable, attempts come first.
  return merged.sort((a, b) => (a.attempt ?? 0) - (b.attempt ?? 0))
}

const MOST_ACTS = 500

/** What is about an event or its schedules, and what people and replays did to its notifications. */
export function* actsAbout(tenantId: string, { eventId, scheduleIds, notificationIds }: ActsAbout): Script<EventAct[]> {
  const subjects = [`event:${eventId}`, ...scheduleIds.map((id) => `schedule:${id}`)]
  const about = yield* rows(
    `select ${ACT_ROWS.columns} from :g join pillarbox.audit r on r.tenant_id = :tenantId and r.subject = g.subject
      where r.subject is not null order by r.id desc limit :limit`,
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
    `select ${ACT_ROWS.columns} from :g join pillarbox.audit r on r.notification_id = g.id
      where r.tenant_id = :tenantId and r.action in ('retry', 'discard', 'cancel', 'park', 'restore')
        and (r.actor <> 'system' or r.from_status = 'skipped') order by r.id desc limit :limit`,
    { tenantId, limit: MOST_ACTS, g: givenIds(notificationIds.flatMap((id) => uuidOrNull(id) ?? [])) },
  )
  return [...about, ...done]
    .map(ACT_ROWS.of)
    .toSorted((a, b) => a.id - b.id)
    .slice(-MOST_ACTS)
    .flatMap(entriesOf)
}
