import type { ScheduleStatus } from '../../model/event.ts'
import { REASONS, type Reason } from '../../model/reason.ts'
import type { ScheduleFilter, ScheduleStore } from '../../operate/schedule-store.ts'
import { writeAudit } from './audit.ts'
import { SCHEDULES } from './events.ts'
import { conditionsOf, findBy, newestFirst } from './noun.ts'
import { type Dialect, givenList, rows, type Script, type ScriptRunner } from './script.ts'

export function sharedSchedules({ dialect, read, write }: ScriptRunner): ScheduleStore {
  return {
    find: (tenantId, id) => read(() => findBy(SCHEDULES, { tenantId, id })),
    list: (filter, page) =>
      read(() =>
        newestFirst(
          SCHEDULES,
          scheduleConditions(dialect, filter),
          { ...filter, status: givenList(filter.status ?? []) },
          page,
        ),
      ),
    act: (request) => write(() => act(dialect, request)),
  }
}

function scheduleConditions(dialect: Dialect, filter: ScheduleFilter): string[] {
  const where = conditionsOf(filter, {
    tenantId: 'tenant_id = :tenantId',
    eventId: 'event_id = :eventId',
    eventType: 'event_type = :eventType',
    entityType: 'entity_type = :entityType',
    entityId: 'entity_id = :entityId',
    dueFrom: `due_at >= ${dialect.instant(':dueFrom')}`,
    dueTo: `due_at < ${dialect.instant(':dueTo')}`,
  })
  if (!filter.status?.length) return where
  // Says in so many words what an index on the few unfinished ones asks for.
  if (!filter.status.includes('completed')) where.push(`status <> 'completed'`)
  return [...where, 'status in (:status)']
}

type ScheduleAct = Parameters<ScheduleStore['act']>[0]
type ScheduleActed = Awaited<ReturnType<ScheduleStore['act']>>

/** From where each action moves a schedule, to where, and the reason it is then on record with. */
const MOVES = {
  cancel: { from: ['pending', 'awaiting_approval'], to: 'cancelled', reason: 'cancelled_by_operator' },
  approve: { from: ['awaiting_approval'], to: 'pending', reason: null },
  reject: { from: ['awaiting_approval'], to: 'cancelled', reason: 'rejected_by_operator' },
  replay: { from: ['failed'], to: 'pending', reason: null },
  'send-now': { from: ['pending'], to: 'pending', reason: null },
} as const satisfies Record<
  ScheduleAct['action'],
  { from: readonly ScheduleStatus[]; to: ScheduleStatus; reason: Reason | null }
>

function* act(dialect: Dialect, { tenantId, id, action, actor, reason: words }: ScheduleAct): Script<ScheduleActed> {
  const schedule = yield* findBy(SCHEDULES, { tenantId, id }, { lockedBy: dialect })
  if (!schedule) return null
  const { status: from } = schedule
  const { to, reason, ...move } = MOVES[action]
  if (!move.from.some((status) => status === from)) return { moved: false, from }
  const changes = {
    approve: `next_attempt_at = due_at, approved_by = :actor, approved_at = ${dialect.now}`,
    replay: `next_attempt_at = ${dialect.now}, attempt_count = 0, crashes = 0, last_error = null, progress = null, is_replayed = true`,
    'send-now': `next_attempt_at = ${dialect.now}`,
    cancel: 'next_attempt_at = null, last_error = :error',
    reject: 'next_attempt_at = null, last_error = :error',
  }[action]
  const error = reason === null ? null : words || REASONS[reason]
  yield* rows(`update pillarbox.schedules set status = :to, ${changes} where id = :id`, {
    id: schedule.id,
    to,
    actor,
    error,
  })
  const subject = `schedule:${schedule.id}`
  yield* writeAudit(dialect, { tenantId, actor, action, subject, from, to, reason, note: words || null })
  return { moved: true, from }
}
