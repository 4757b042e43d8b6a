import type { Claim, ClaimAnswer, ClaimRequest } from '../../dispatch/dispatch-store.ts'
import { CLAIM_COLUMNS, CLAIM_FIELDS, type ClaimRow, claimOf } from '../shared/claims.ts'
import { plainArray } from './arrays.ts'
import type { LowWater } from './low-water.ts'
import type { Run } from './session.ts'

const NO_CLAIM = CLAIM_FIELDS.map((field) => `null as ${field}`).join(', ')
const ONLY_LANE = CLAIM_FIELDS.map((field) => (field === 'lane_id' ? field : 'null')).join(', ')

/**
 * `me` is locked so that a rescuer, which deletes the worker's row before it looks for the worker's claims, either
 * leaves us alone until this claim is committed or makes us find no row. No row: fenced, and nothing else happens.
 * `due` is materialized because, inlined, the planner may run the limited subquery again and lock more than asked.
 * `due` names the place of each row, which cannot move while we hold its lock: the update needs no second index descent.
 * The update touches no indexed column, so it is heap-only while the page has room.
 * The first row of the answer is `me`: there even when there was nothing to claim, and the only one to tell the time.
 * The last ones tell each lane's oldest row, for the low-water mark.
 */
const CLAIM = `
  with me as materialized (
    select id from pillarbox.workers where id = $1 for key share
  ), open as materialized (
    select given.lane_id, given.want, given.since, given.chained
    from me cross join unnest($2::uuid[], $3::int[], $4::boolean[], $5::timestamptz[], $6::boolean[])
      as given (lane_id, want, probe, since, chained)
    left join pillarbox.lanes state on state.account_id = given.lane_id
    where given.probe or state.account_id is null
      or (state.breaker = 'closed' and (state.hold_until is null or state.hold_until <= now()))
  ), due as materialized (
    select free.id, free.place, free.visible_at, open.lane_id
    from open cross join lateral (
      select d.notification_id as id, d.ctid as place, d.visible_at from pillarbox.dispatch d
      where d.lane_id = open.lane_id and d.visible_at >= open.since and d.visible_at <= now() and d.token is null
        and (not open.chained or (not d.possible_duplicate
          and (select n.fallback is not null from pillarbox.notifications n where n.id = d.notification_id)))
      order by d.visible_at, d.notification_id
      limit open.want
      for no key update skip locked
    ) free
  ), claimed as (
    update pillarbox.dispatch d
    set token = nextval('pillarbox.claim_tokens'), worker_id = $1, claimed_at = statement_timestamp(), attempt = d.attempt + 1
    from due join pillarbox.notifications n on n.id = due.id
    where d.ctid = due.place
    returning ${CLAIM_COLUMNS}
  )
  select extract(epoch from statement_timestamp())::float8 * 1000 as now_ms, null::float8 as oldest_ms, ${NO_CLAIM} from me
  union all
  select null, null, claimed.* from claimed
  union all
  select null, extract(epoch from min(visible_at))::float8 * 1000, ${ONLY_LANE} from due group by lane_id`

/** The worker's row, a claim, or a lane with its oldest row. */
type AnsweredRow =
  | { notification_id: null; lane_id: null; now_ms: number }
  | { notification_id: null; lane_id: string; oldest_ms: number }
  | ClaimRow

/** Claims due rows of each lane; see `claim` in dispatch/dispatch-store.ts. */
export async function claim(run: Run, lowWater: LowWater, request: ClaimRequest): Promise<ClaimAnswer> {
  const { workerId, lanes } = request
  const rows = await run<AnsweredRow>({
    name: 'claim',
    text: CLAIM,
    values: [
      workerId,
      plainArray(lanes.map((lane) => lane.accountId)),
      plainArray(lanes.map((lane) => lane.limit)),
      plainArray(lanes.map((lane) => lane.probe === true)),
      plainArray(lanes.map((lane) => lowWater.since(lane.accountId))),
      plainArray(lanes.map((lane) => lane.chained === true)),
    ],
  })
  if (rows.length === 0) return { fenced: true }
  const claims: Claim[] = []
  // The oldest of them is not the oldest of their lane.
  const chained = new Set(lanes.flatMap((lane) => (lane.chained ? [lane.accountId] : [])))
  let claimedAt = 0
  for (const row of rows)
    if (row.notification_id !== null) claims.push(claimOf(row, claimedAt))
    else if (row.lane_id === null) claimedAt = Math.trunc(row.now_ms)
    else if (!chained.has(row.lane_id)) lowWater.saw(row.lane_id, row.oldest_ms)
  return { fenced: false, claims }
}

/** `visible_at` was never changed by the claim, so the row is back in its old place. One in doubt may have been sent. */
const RELEASE = `
  update pillarbox.dispatch d
  set token = null, worker_id = null, claimed_at = null, attempt = d.attempt - 1
  from unnest($2::uuid[], $3::bigint[]) as given (id, token)
  where d.notification_id = given.id and d.token = given.token and d.worker_id = $1 and not d.in_doubt`

/** Gives unsent claims back; see `release` in dispatch/dispatch-store.ts. One that was taken over stays: it is not known to be unsent. */
export async function release(
  run: Run,
  workerId: string,
  claims: readonly { notificationId: string; token: number }[],
): Promise<void> {
  if (claims.length === 0) return
  const sorted = claims.toSorted((a, b) => (a.notificationId < b.notificationId ? -1 : 1))
  await run({
    name: 'release',
    text: RELEASE,
    values: [
      workerId,
      plainArray(sorted.map((each) => each.notificationId)),
      plainArray(sorted.map((each) => each.token)),
    ],
  })
}
