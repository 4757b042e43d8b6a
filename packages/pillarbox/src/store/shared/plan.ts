import type { EventRef, PlanStore, ScheduleRef } from '../store.ts'
import { writeAudit } from './audit.ts'
import { uuidOrNull } from './fields.ts'
import { type Dialect, row, type Script, type ScriptRunner } from './script.ts'

/** What becomes of an event or a schedule whose planning was refused. Only a pending one moves. */
export function sharedPlan({ dialect, write }: ScriptRunner): Pick<PlanStore, 'deferEvent' | 'deferSchedule'> {
  return {
    deferEvent: (ref, error, delayMs) => write(() => deferEvent(dialect, ref, error, delayMs)),
    deferSchedule: (ref, error, delayMs) => write(() => deferSchedule(dialect, ref, error, delayMs)),
  }
}

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
