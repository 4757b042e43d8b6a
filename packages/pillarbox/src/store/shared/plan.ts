import type { EventRef, PlanStore, ScheduleRef } from '../../plan/plan-store.ts'
import { writeAudit } from './audit.ts'
import { uuidOrNull } from './fields.ts'
import { parameters } from './parameters.ts'
import { type Dialect, instantOrNull, row, rows, type Script, type ScriptRunner } from './script.ts'

/** The most payload that one batch of events may bring into a process, unless a single event has more. */
export const TAKE_BYTES = 16 * 1_024 * 1_024

/** What becomes of an event or a schedule whose planning was refused, and what was cancelled before it was planned. */
export function sharedPlan({
  dialect,
  read,
  write,
}: ScriptRunner): Pick<PlanStore, 'deferEvent' | 'deferSchedule' | 'cancelledAt'> {
  return {
    cancelledAt: async (requests) => (requests.length === 0 ? [] : read(() => cancelledAt(dialect, requests))),
    deferEvent: (ref, error, delayMs) => write(() => defer(dialect, 'event', ref, error, delayMs)),
    deferSchedule: (ref, error, delayMs) => write(() => defer(dialect, 'schedule', ref, error, delayMs)),
  }
}

/** Looked up one by one, by key, whatever the planner makes of a short list. */
function* cancelledAt(dialect: Dialect, requests: Parameters<PlanStore['cancelledAt']>[0]): Script<(number | null)[]> {
  const { add, values } = parameters()
  const given = dialect.table(
    'given',
    { place: 'bigint', tenant_id: 'text', entity_type: 'text', entity_id: 'text', event_type: 'text' },
    requests.map(({ tenantId, entity, eventType }, place) => {
      return { place, tenant_id: tenantId, entity_type: entity.type, entity_id: entity.id, event_type: eventType }
    }),
    add,
  )
  const found = yield* rows(
    `select (select c.at from pillarbox.cancellations c where c.tenant_id = given.tenant_id
        and c.entity_type = given.entity_type and c.entity_id = given.entity_id and c.event_type = given.event_type) as at
      from ${given} order by given.place`,
    values,
  )
  return found.map(({ at }) => instantOrNull(at))
}

/** Only a pending row moves. One that is given up has failed; only a schedule's next attempt may be null. */
function* defer(
  dialect: Dialect,
  kind: 'event' | 'schedule',
  { tenantId, id }: EventRef | ScheduleRef,
  error: string,
  delayMs: number | null,
): Script<void> {
  const rowId = kind === 'event' ? id : uuidOrNull(id)
  if (rowId === null) return
  const isGivenUp = delayMs === null
  const nextAttemptAt = kind === 'event' ? '' : ', next_attempt_at = null'
  const change = isGivenUp
    ? `status = 'failed'${nextAttemptAt}`
    : `next_attempt_at = ${dialect.plus(dialect.now, '$4')}`
  const moved = yield* row(
    `update pillarbox.${kind}s set attempt_count = attempt_count + 1, last_error = $3, ${change}
      where tenant_id = $1 and id = $2 and status = 'pending' returning id`,
    [tenantId, rowId, error, ...(isGivenUp ? [] : [Math.round(delayMs)])],
  )
  if (!moved || !isGivenUp) return
  yield* writeAudit(dialect, {
    tenantId,
    actor: 'system',
    action: 'fail',
    subject: `${kind}:${rowId}`,
    from: 'pending',
    to: 'failed',
    reason: 'planning_failed',
  })
}
