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
    deferEvent: (ref, error, delayMs) => write(() => deferEvent(dialect, ref, error, delayMs)),
    deferSchedule: (ref, error, delayMs) => write(() => deferSchedule(dialect, ref, error, delayMs)),
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

/** Only a pending one moves. */
function* deferEvent(
  dialect: Dialect,
  { tenantId, id }: EventRef,
  error: string,
  delayMs: number | null,
): Script<void> {
  const wanted = `tenant_id = $1 and id = $2 and status = 'pending'`
  if (delayMs !== null) {
    yield {
      text: `update pillarbox.events set attempt_count = attempt_count + 1, last_error = $3,
        next_attempt_at = ${dialect.plus(dialect.now, '$4')} where ${wanted}`,
      values: [tenantId, id, error, Math.round(delayMs)],
    }
    return
  }
  const failed = yield* row(
    `update pillarbox.events set attempt_count = attempt_count + 1, last_error = $3, status = 'failed'
      where ${wanted} returning id`,
    [tenantId, id, error],
  )
  if (failed) yield* writeFailure(dialect, tenantId, `event:${id}`)
}

function* deferSchedule(
  dialect: Dialect,
  { tenantId, id }: ScheduleRef,
  error: string,
  delayMs: number | null,
): Script<void> {
  const scheduleId = uuidOrNull(id)
  if (scheduleId === null) return
  const wanted = `tenant_id = $1 and id = $2 and status = 'pending'`
  if (delayMs !== null) {
    yield {
      text: `update pillarbox.schedules set attempt_count = attempt_count + 1, last_error = $3,
        next_attempt_at = ${dialect.plus(dialect.now, '$4')} where ${wanted}`,
      values: [tenantId, scheduleId, error, Math.round(delayMs)],
    }
    return
  }
  const failed = yield* row(
    `update pillarbox.schedules set attempt_count = attempt_count + 1, last_error = $3, status = 'failed', next_attempt_at = null
      where ${wanted} returning id`,
    [tenantId, scheduleId, error],
  )
  if (failed) yield* writeFailure(dialect, tenantId, `schedule:${scheduleId}`)
}

function writeFailure(dialect: Dialect, tenantId: string, subject: string): Script<void> {
  return writeAudit(dialect, {
    tenantId,
    actor: 'system',
    action: 'fail',
    subject,
    from: 'pending',
    to: 'failed',
    reason: 'planning_failed',
  })
}
