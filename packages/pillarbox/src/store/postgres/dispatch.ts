import type { DispatchStore, DueLane } from '../../dispatch/dispatch-store.ts'
import type { Channel } from '../../model/channel.ts'
import { orphans } from '../shared/claims.ts'
import { expirer } from '../shared/expire.ts'
import { stopLane } from '../shared/settle.ts'
import { plainArray } from './arrays.ts'
import { claim, release } from './claim.ts'
import { complete } from './complete.ts'
import type { LowWater } from './low-water.ts'
import { scriptRunner } from './scripts.ts'
import type { Run, Session } from './session.ts'

/** Which connection does what; see `open.ts`. */
export interface DispatchSessions {
  claims: Session
  completions: Session
  /** For what is not part of the hot path. */
  admin: Session
}

export function openDispatch({ claims, completions, admin }: DispatchSessions, lowWater: LowWater): DispatchStore {
  const scripts = scriptRunner(admin)
  const { dialect, write } = scripts
  // In turn with the claims, so that none of them is still on its way when this looks.
  const inTurn = scriptRunner(claims)
  return {
    dueLanes: (channels, limit) => dueLanes(claims.run, lowWater, channels, limit),
    claim: (workerId, lanes) => claim(claims.run, lowWater, { workerId, lanes }),
    complete: (workerId, given) => complete(completions, workerId, given),
    release: (workerId, given) => release(completions.run, workerId, given),
    orphans: (workerId, held) => inTurn.write(() => orphans(dialect, workerId, held)),
    expire: expirer(scripts),
    stopLane: (accountId, reason, error, actor, limit) =>
      write(() => stopLane(dialect, { accountId, reason, error, actor, limit })),
  }
}

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
  select lane.id as "accountId", account.channel, coalesce(state.breaker, 'closed') as breaker
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
  const { accountIds, since } = lowWater.marks()
  return run<DueLane>({
    name: 'due_lanes',
    text: DUE_LANES,
    values: [channels === null ? null : plainArray(channels), limit, plainArray(accountIds), plainArray(since)],
  })
}
