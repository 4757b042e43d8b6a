import type { Channel } from '../../model/channel.ts'
import type { EventRef, PlanStore, ScheduleRef, StandingNotification, StandingRequest } from '../../plan/plan-store.ts'
import { writeAudit } from './audit.ts'
import { uuidOrNull } from './fields.ts'
import { IS_RETRYING, statusOf } from './notification-view.ts'
import { parameters } from './parameters.ts'
import { type Dialect, givenRows, instantOrNull, row, rows, type Script, type ScriptRunner } from './script.ts'

/** The most payload that one batch of events may bring into a process, unless a single event has more. */
export const TAKE_BYTES = 16 * 1_024 * 1_024

/** What becomes of an event or a schedule whose planning was refused, and what was cancelled before it was planned. */
export function sharedPlan({
  dialect,
  read,
  write,
}: ScriptRunner): Pick<PlanStore, 'deferEvent' | 'deferSchedule' | 'cancelledAt' | 'standing'> {
  return {
    cancelledAt: async (requests) => (requests.length === 0 ? [] : read(() => cancelledAt(dialect, requests))),
    standing: async (requests) => (requests.length === 0 ? [] : read(() => standing(requests))),
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

/** The ledger has no index by event, but one by entity. */
function* standing(requests: readonly StandingRequest[]): Script<StandingNotification[][]> {
  const all: StandingNotification[][] = []
  for (const { tenantId, eventId, entity, places } of requests) {
    const found = yield* rows(
      `select n.id, n.place, n.channel, d.notification_id as live, d.token, ${IS_RETRYING} as is_retrying,
          s.status as settled_status
        from :g join pillarbox.notifications n on n.place = g.place
        left join pillarbox.dispatch d on d.notification_id = n.id
        left join pillarbox.settled s on s.notification_id = n.id
        where n.tenant_id = :tenantId and n.entity_type = :entityType and n.entity_id = :entityId
          and n.event_id = :eventId`,
      {
        tenantId,
        eventId,
        entityType: entity.type,
        entityId: entity.id,
        g: givenRows(
          { place: 'text' },
          places.map((place) => ({ place })),
        ),
      },
    )
    all.push(
      found.map((row) => {
        const channel = String(row['channel']) as Channel
        return { id: String(row['id']), place: String(row['place']), channel, status: statusOf(row) }
      }),
    )
  }
  return all
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
    `update pillarbox.${kind}s set attempt_count = attempt_count + 1, last_error = $3, crashes = 0, ${change}
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
