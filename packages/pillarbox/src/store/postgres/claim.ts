import type { Claim, ClaimAnswer, ClaimRequest } from '../../dispatch/dispatch-store.ts'
import type { Channel } from '../../model/channel.ts'
import type { Content, NotificationPolicy, SealedContent } from '../../model/notification.ts'
import type { Address } from '../../model/recipient.ts'
import { plainArray } from './arrays.ts'
import type { LowWater } from './low-water.ts'
import type { Run } from './session.ts'

/** What `claimsOf` reads of the dispatch row `d` and the ledger row `n`, behind the time. */
export const CLAIM_COLUMNS = `
  d.token, d.notification_id, d.lane_id, d.attempt, d.spent, d.possible_duplicate, n.tenant_id, n.channel, n.recipient,
  n.content, n.event_type, n.entity_type, n.entity_id, n.locale, n.correlation_id, n.fallback,
  extract(epoch from n.expires_at)::float8 * 1000, n.policy`

/** The statement's time in milliseconds, which behind others in a transaction is later than that. */
export const NOW_MS = 'extract(epoch from statement_timestamp())::float8 * 1000'

/** As many nulls as there are `CLAIM_COLUMNS`. */
const NO_CLAIM = Array.from({ length: 18 }, () => 'null').join(', ')

/** As many as there are behind the lane. */
const NO_MORE = Array.from({ length: 15 }, () => 'null').join(', ')

/** A row of the time, if it is not that of the row before, and `CLAIM_COLUMNS`. */
export type ClaimRow = [
  nowMs: number | null,
  token: number,
  notificationId: string | null,
  laneId: string,
  attempt: number,
  spent: number,
  possibleDuplicate: boolean,
  tenantId: string,
  channel: Channel,
  to: string,
  content: string,
  eventType: string | null,
  entityType: string | null,
  entityId: string | null,
  locale: string | null,
  correlationId: string | null,
  fallback: string | null,
  expiresAt: number | null,
  policy: string | null,
]

/** Claims of rows; one without a notification only tells the time. */
export function claimsOf(rows: readonly ClaimRow[]): Claim[] {
  const claims: Claim[] = []
  let claimedAt = 0
  for (const row of rows) {
    if (row[0] !== null) claimedAt = Math.trunc(row[0])
    const notificationId = row[2]
    if (notificationId === null) continue
    const [entityType, entityId, expiresAt] = [row[12], row[13], row[17]]
    claims.push({
      notificationId,
      laneId: row[3],
      token: row[1],
      attempt: row[4],
      spent: row[5],
      possibleDuplicate: row[6],
      tenantId: row[7],
      channel: row[8],
      to: JSON.parse(row[9]) as Address,
      content: JSON.parse(row[10]) as Content | SealedContent,
      policy: row[18] === null ? null : (JSON.parse(row[18]) as NotificationPolicy),
      eventType: row[11],
      entity: entityType === null || entityId === null ? null : { type: entityType, id: entityId },
      locale: row[14],
      correlationId: row[15],
      fallback: row[16] === null ? [] : (JSON.parse(row[16]) as Channel[]),
      expiresAt: expiresAt === null ? null : Math.trunc(expiresAt),
      claimedAt,
    })
  }
  return claims
}

/**
 * `me` is locked so that a rescuer, which deletes the worker's row before it looks for the worker's claims, either
 * leaves us alone until this claim is committed or makes us find no row. No row: fenced, and nothing else happens.
 * `due` is materialized because, inlined, the planner may run the limited subquery again and lock more than asked.
 * It names the place of each row, which cannot move while we hold its lock, to save the update a second index descent.
 * The update touches no indexed column, so it is heap-only while the page has room.
 * The first row of the answer is `me`: there even when there was nothing to claim, and the only one to tell the time.
 * The last ones tell each lane's oldest row, for the low-water mark.
 */
const CLAIM = `
  with me as materialized (
    select id from pillarbox.workers where id = $1 for key share
  ), open as materialized (
    select given.lane_id, given.want, given.since
    from me cross join unnest($2::uuid[], $3::int[], $4::boolean[], $5::timestamptz[]) as given (lane_id, want, probe, since)
    left join pillarbox.lanes state on state.account_id = given.lane_id
    where given.probe or state.account_id is null
      or (state.breaker = 'closed' and (state.hold_until is null or state.hold_until <= now()))
  ), due as materialized (
    select free.id, free.place, free.visible_at, open.lane_id
    from open cross join lateral (
      select d.notification_id as id, d.ctid as place, d.visible_at from pillarbox.dispatch d
      where d.lane_id = open.lane_id and d.visible_at >= open.since and d.visible_at <= now() and d.token is null
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
  select ${NOW_MS}, ${NO_CLAIM} from me
  union all
  select null, claimed.* from claimed
  union all
  select extract(epoch from min(visible_at))::float8 * 1000, null, null, lane_id, ${NO_MORE} from due group by lane_id`

/** Claims due rows of each lane; see the contract. */
export async function claim(run: Run, lowWater: LowWater, request: ClaimRequest): Promise<ClaimAnswer> {
  const { workerId, lanes } = request
  const rows = await run<ClaimRow>({
    name: 'claim',
    text: CLAIM,
    values: [
      workerId,
      plainArray(lanes.map((lane) => lane.laneId)),
      plainArray(lanes.map((lane) => lane.limit)),
      plainArray(lanes.map((lane) => lane.probe === true)),
      plainArray(lanes.map((lane) => lowWater.since(lane.laneId))),
    ],
    rowMode: 'array',
  })
  if (rows.length === 0) return { fenced: true }
  while (isMark(rows.at(-1))) {
    const [oldestMs, , , laneId] = rows.pop() as ClaimRow
    lowWater.saw(laneId, oldestMs ?? 0)
  }
  return { fenced: false, claims: claimsOf(rows) }
}

/** Tells a lane's oldest row: it has a lane and no notification. */
function isMark(row: ClaimRow | undefined): boolean {
  return row !== undefined && row[2] === null && (row[3] as string | null) !== null
}

/** `visible_at` was never changed by the claim, so the row is back in its old place. One in doubt may have been sent. */
const RELEASE = `
  update pillarbox.dispatch d
  set token = null, worker_id = null, claimed_at = null, attempt = d.attempt - 1
  from unnest($2::uuid[], $3::bigint[]) as given (id, token)
  where d.notification_id = given.id and d.token = given.token and d.worker_id = $1 and not d.in_doubt`

/** Gives unsent claims back; see the contract. One that was taken over stays: it is not known to be unsent. */
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

const ORPHANS = `
  with me as materialized (
    select id from pillarbox.workers where id = $1 for key share
  ), lost as materialized (
    select d.notification_id, d.in_doubt from me cross join pillarbox.dispatch d
    where d.worker_id = $1 and d.token is not null and d.token <> all ($2::bigint[])
    order by d.notification_id
    for no key update of d
  ), returned as (
    update pillarbox.dispatch d
    set token = null, worker_id = null, claimed_at = null, attempt = d.attempt - 1
    from lost where d.notification_id = lost.notification_id and not lost.in_doubt
  )
  update pillarbox.dispatch d
  set token = nextval('pillarbox.claim_tokens'), claimed_at = now()
  from lost join pillarbox.notifications n on n.id = lost.notification_id
  where d.notification_id = lost.notification_id and lost.in_doubt
  returning ${NOW_MS}, ${CLAIM_COLUMNS}`

/** Finds what this worker holds without knowing it; see the contract. */
export async function orphans(run: Run, workerId: string, held: readonly number[]): Promise<Claim[]> {
  // No index knows the worker: reading the table once beats walking an index over all of it.
  await run({ text: 'set local enable_seqscan = on' })
  return claimsOf(await run<ClaimRow>({ text: ORPHANS, values: [workerId, plainArray(held)], rowMode: 'array' }))
}
