import type { DispatchStore, DueLane } from '../../dispatch/dispatch-store.ts'
import type { BreakerState } from '../../dispatch/lane-store.ts'
import type { Channel } from '../../model/channel.ts'
import { IS_RETRYING } from '../shared/notification-view.ts'
import { plainArray, storable } from './arrays.ts'
import { claim, orphans, release } from './claim.ts'
import { complete } from './complete.ts'
import type { LowWater } from './low-water.ts'
import type { Run, Session } from './session.ts'

/** Which connection does what; see `open.ts`. */
export interface DispatchSessions {
  claims: Session
  completions: Session
  /** For what is not part of the hot path. */
  admin: Session
}

export function openDispatch({ claims, completions, admin }: DispatchSessions, lowWater: LowWater): DispatchStore {
  return {
    dueLanes: (channels, limit) => dueLanes(claims.run, lowWater, channels, limit),
    claim: (workerId, lanes) => claim(claims.run, lowWater, { workerId, lanes }),
    complete: (workerId, given) => complete(completions, workerId, given),
    release: (workerId, given) => release(completions.run, workerId, given),
    // In turn with the claims, so that none of them is still on its way when this looks.
    orphans: (workerId, held) => claims.transaction((run) => orphans(run, workerId, held)),
    stopLane: (laneId, reason, error, actor, limit) => stopLane(admin.run, { laneId, reason, error, actor, limit }),
  }
}

// ── due lanes ────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * A skip scan: one index descent per lane that has rows at all, however many rows it has. `for each lane the first row
 * that is due and free` walks over at most the claimed rows of that lane.
 * A paused account has a hold that ends now and then; a suspended one is named whatever held it, for its rows make no
 * calls.
 */
const DUE_LANES = `
  with recursive lane (id) as (
    (select lane_id from pillarbox.dispatch order by lane_id limit 1)
    union all
    select (select d.lane_id from pillarbox.dispatch d where d.lane_id > lane.id order by d.lane_id limit 1)
    from lane where lane.id is not null
  )
  select lane.id as "laneId", account.channel, coalesce(state.breaker, 'closed') as breaker
  from lane
  join pillarbox.accounts account on account.id = lane.id
  left join pillarbox.lanes state on state.account_id = lane.id
  left join unnest($3::uuid[], $4::timestamptz[]) as mark (lane_id, since) on mark.lane_id = lane.id
  cross join lateral (
    select d.visible_at from pillarbox.dispatch d
    where d.lane_id = lane.id and d.visible_at >= coalesce(mark.since, '-infinity') and d.visible_at <= now()
      and d.token is null
    order by d.visible_at, d.notification_id limit 1
  ) first
  where (account.status = 'suspended' or state.hold_until is null or state.hold_until <= now())
    and ($1::text[] is null or account.channel = any ($1::text[]))
  order by first.visible_at, lane.id
  limit $2`

async function dueLanes(
  run: Run,
  lowWater: LowWater,
  channels: readonly Channel[] | null,
  limit: number,
): Promise<DueLane[]> {
  const { laneIds, since } = lowWater.marks()
  return run<{ laneId: string; channel: Channel; breaker: BreakerState }>({
    name: 'due_lanes',
    text: DUE_LANES,
    values: [channels === null ? null : plainArray(channels), limit, plainArray(laneIds), plainArray(since)],
  })
}

// ── stop ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What is claimed is left to its worker: it looks at the account before it sends. */
const STOP_LANE = `
  with waiting as materialized (
    select d.notification_id from pillarbox.dispatch d
    where d.lane_id = $1 and d.token is null
    order by d.visible_at, d.notification_id limit $5
    for update skip locked
  ), stopped as (
    delete from pillarbox.dispatch d using waiting join pillarbox.notifications n on n.id = waiting.notification_id
    where d.notification_id = waiting.notification_id
    returning d.notification_id, n.tenant_id, d.spent, d.attempt, d.possible_duplicate, ${IS_RETRYING} as is_retrying
  ), settled as (
    insert into pillarbox.settled
      (notification_id, tenant_id, status, reason, last_error, spent, attempt, possible_duplicate)
    select notification_id, tenant_id, 'parked', $2, $3, spent, attempt, possible_duplicate from stopped
  ), audited as (
    insert into pillarbox.audit (tenant_id, actor, action, notification_id, attempt, from_status, to_status, reason)
    select tenant_id, $4, 'park', notification_id, attempt, case when is_retrying then 'retrying' else 'queued' end,
      'parked', $2
    from stopped
  )
  select count(*) as stopped from stopped`

async function stopLane(
  run: Run,
  {
    laneId,
    reason,
    error,
    actor,
    limit,
  }: { laneId: string; reason: string; error: string; actor: string; limit: number },
): Promise<number> {
  const [row] = await run<{ stopped: number }>({
    name: 'stop_lane',
    text: STOP_LANE,
    values: [laneId, reason, storable(error), actor, limit],
  })
  return row?.stopped ?? 0
}
