import type { StoredEvent } from '../../model/event.ts'
import { IS_RETRYING } from '../shared/notification-view.ts'
import type { Ending } from '../shared/plan-changes.ts'
import { stopBy } from '../shared/transitions.ts'
import { plainArray, textArray } from './arrays.ts'
import { INSERT_DELTAS, secondIn } from './rollup-deltas.ts'
import type { Query } from './session.ts'

/** What stands for an entity because of earlier events, found and ended in one round trip as `stopBy` says. */

const GIVEN = `
  given as materialized (
    select tenant_id, entity_type, entity_id, event_type, reason, error, to_status, action, actor,
      to_timestamp(at_ms / 1000) as at
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
        $10::float8[])
      as g (tenant_id, entity_type, entity_id, event_type, reason, error, to_status, action, actor, at_ms)
  )`

function givenValues(endings: readonly Ending[]): string[] {
  const stops = endings.map(stopBy)
  return [
    textArray(endings.map(({ tenantId }) => tenantId)),
    textArray(endings.map(({ entity }) => entity.type)),
    textArray(endings.map(({ entity }) => entity.id)),
    textArray(endings.map(({ eventType }) => eventType)),
    plainArray(stops.map(({ reason }) => reason)),
    textArray(stops.map(({ error }) => error)),
    plainArray(stops.map(({ to }) => to)),
    plainArray(stops.map(({ action }) => action)),
    plainArray(stops.map(({ actor }) => actor)),
    plainArray(endings.map(({ at }) => at)),
  ]
}

/**
 * Other planners may be at work on earlier events whose schedules and notifications are not there yet: they are waited
 * for. Only what is under way elsewhere is still pending and older than what this planner took, so the scan is short.
 * One that nobody has taken stays locked instead, is planned after the commit, and then finds that it was cancelled.
 */
const AWAIT_OTHERS = `
  with others as materialized (
    select e.ctid from pillarbox.events e
    where e.status = 'pending' and e.next_attempt_at <= to_timestamp($1::float8 / 1000)
      and ((e.tenant_id, e.entity_type, e.entity_id, e.type)
        in (select * from unnest($2::text[], $3::text[], $4::text[], $5::text[]))) is true
    order by e.next_attempt_at
    for share
  )
  select from others having count(*) < 0` // Looks at all of them, and answers none.

/** To be run before anything else of the batch: a planner that waits should hold as few locks as possible. */
export function awaitOthers(endings: readonly Ending[], taken: readonly StoredEvent[]): Query {
  const [tenantIds, entityTypes, entityIds, eventTypes] = givenValues(endings)
  // The database's times are finer than ours.
  const untilMs = taken.reduce((latest, { nextAttemptAt }) => Math.max(latest, nextAttemptAt), 0) + 1
  return {
    name: 'await_planners',
    text: AWAIT_OTHERS,
    values: [untilMs, tenantIds, entityTypes, entityIds, eventTypes],
  }
}

/**
 * Locked in the order of their ids, so that two planners wait for each other instead of deadlocking. One that is being
 * planned elsewhere is waited for: what became of it, the next statement sees.
 */
const CANCEL_SCHEDULES = `
  with ${GIVEN}, standing as materialized (
    select s.id, s.tenant_id, s.status, given.reason, given.error, given.to_status, given.action, given.actor
    from given join pillarbox.schedules s on s.tenant_id = given.tenant_id and s.entity_type = given.entity_type
      and s.entity_id = given.entity_id and s.event_type = given.event_type
    join pillarbox.events e on e.tenant_id = s.tenant_id and e.id = s.event_id
    where s.status in ('pending', 'awaiting_approval') and date_trunc('milliseconds', e.created_at) <= given.at
    order by s.id
    for no key update of s
  ), ended as (
    update pillarbox.schedules s set status = standing.to_status, next_attempt_at = null, last_error = standing.error
    from standing
    where s.id = standing.id
  )
  insert into pillarbox.audit (tenant_id, actor, action, subject, from_status, to_status, reason)
  select tenant_id, actor, action, 'schedule:' || id, status, to_status, reason from standing`

/**
 * What is claimed is left to its worker. A claim under way is waited for rather than skipped: if it came to nothing, the
 * row would be sent after all. Claims wait for nobody, and results lock rows in the same order. The lateral subquery
 * keeps the planner from starting with the work table.
 */
const CANCEL_NOTIFICATIONS = `
  with ${GIVEN}, concerned as materialized (
    select n.id, n.tenant_id, n.channel, n.account_id, n.site, n.event_type, given.reason, given.error, given.to_status,
      given.action, given.actor
    from given join pillarbox.notifications n on n.tenant_id = given.tenant_id and n.entity_type = given.entity_type
      and n.entity_id = given.entity_id and n.event_type = given.event_type
    left join pillarbox.events e on e.tenant_id = n.tenant_id and e.id = n.event_id
    where date_trunc('milliseconds', coalesce(e.created_at, n.created_at)) <= given.at
    order by n.id
  ), waiting as materialized (
    select concerned.*
    from concerned cross join lateral (
      select d.notification_id from pillarbox.dispatch d
      where d.notification_id = concerned.id and d.token is null
      for update
    ) free
  ), stopped as (
    delete from pillarbox.dispatch d using waiting
    where d.notification_id = waiting.id
    returning waiting.*, d.spent, d.attempt, d.possible_duplicate, d.visible_at, ${IS_RETRYING} as is_retrying
  ), settled as (
    insert into pillarbox.settled
      (notification_id, tenant_id, status, reason, last_error, spent, attempt, possible_duplicate)
    select id, tenant_id, to_status, reason, error, spent, attempt, possible_duplicate from stopped
  ), audited as (
    insert into pillarbox.audit (tenant_id, actor, action, notification_id, attempt, from_status, to_status, reason)
    select tenant_id, actor, action, id, attempt, case when is_retrying then 'retrying' else 'queued' end,
      to_status, reason
    from stopped
  ), counted as (
    ${INSERT_DELTAS}
    select ${secondIn('now()')}, tenant_id, channel, account_id, site, event_type, 'live', to_status,
      ${secondIn('visible_at')}, null, false, false, count(*)
    from stopped
    group by tenant_id, channel, account_id, site, event_type, to_status, 9
  )
  insert into pillarbox.cancellations as c (tenant_id, entity_type, entity_id, event_type, at)
  select tenant_id, entity_type, entity_id, event_type, at from given order by 1, 2, 3, 4
  on conflict (tenant_id, entity_type, entity_id, event_type) do update set at = greatest(c.at, excluded.at)`

/** Puts an end to all of it. Each entity and event type may be named once. */
export function cancel(endings: readonly Ending[]): Query[] {
  if (endings.length === 0) return []
  const schedules = { name: 'cancel_schedules', text: CANCEL_SCHEDULES, values: givenValues(endings) }
  const cancelled = endings.filter(({ reason }) => reason === 'cancelled_by_event')
  if (cancelled.length === 0) return [schedules]
  return [schedules, { name: 'cancel_notifications', text: CANCEL_NOTIFICATIONS, values: givenValues(cancelled) }]
}
