import type { LaneStore } from '../../dispatch/lane-store.ts'
import { plainArray, storable } from './arrays.ts'
import type { Run, Session } from './session.ts'

/** What all workers must agree on about an account. Each answer is exact across processes: the row is locked. */
export function openLanes({ run }: Session): Omit<LaneStore, 'list'> {
  return {
    take: (requests) => take(run, requests),
    giveBack: async (laneId, count, pace) => {
      await run({ name: 'give_back', text: GIVE_BACK, values: [laneId, count, pace.burst] })
    },
    hold: async (laneId, ms, reason) => {
      await run({ name: 'hold_lane', text: HOLD, values: [laneId, ms, storable(reason)] })
    },
    openBreaker: async (laneId, resetAfterMs, error) => {
      await run({ name: 'open_breaker', text: OPEN_BREAKER, values: [laneId, resetAfterMs, storable(error)] })
    },
    probe: async (laneId, leaseMs) =>
      (await run({ name: 'probe_lane', text: PROBE, values: [laneId, leaseMs] })).length === 1,
    closeBreaker: async (laneId) => {
      await run({ name: 'close_breaker', text: CLOSE_BREAKER, values: [laneId] })
    },
  }
}

type Requests = Parameters<LaneStore['take']>[0]
type Granted = Awaited<ReturnType<LaneStore['take']>>

/**
 * A bucket without a level is full. Time never runs backwards in it: a call that waited for the row has an earlier
 * now() than the one that held it, so the later of the two refill times stays, and no interval is credited twice.
 */
const TAKE = `
  with given as materialized (
    select lane_id, want, rate, greatest(burst, 1) as burst
    from unnest($1::uuid[], $2::int[], $3::float8[], $4::float8[]) as g (lane_id, want, rate, burst)
  ), locked as materialized (
    select account_id, tokens, refilled_at from pillarbox.lanes
    where account_id = any ($1::uuid[])
    order by account_id
    for no key update
  ), filled as materialized (
    select given.*, least(burst, coalesce(tokens, burst) +
      coalesce(rate * greatest(0, extract(epoch from now() - refilled_at)::float8), 0)) as level
    from locked join given on given.lane_id = locked.account_id
  ), granted as materialized (
    -- The hair's breadth keeps sums of fractions such as ten times 0.1 from falling short of a whole token.
    select *, least(want, floor(level + 1e-9))::int as count from filled
  )
  update pillarbox.lanes l
  set tokens = greatest(0, granted.level - granted.count), refilled_at = greatest(l.refilled_at, now())
  from granted
  where l.account_id = granted.lane_id
  returning l.account_id as "laneId", granted.count as granted,
    case when l.tokens >= 1 then 0
      when granted.rate > 0 then least(ceil((1 - l.tokens) / granted.rate * 1000), 3600000)
      else 3600000 end::int as "waitMs"`

/** A lane's row is made when it is first needed; an account that is gone gets none. */
const MAKE_LANES = `
  insert into pillarbox.lanes (account_id)
  select id from pillarbox.accounts where id = any ($1::uuid[]) order by id
  on conflict do nothing`

async function take(run: Run, requests: Requests): Promise<Granted> {
  if (requests.length === 0) return []
  const values = [
    plainArray(requests.map(({ laneId }) => laneId)),
    plainArray(requests.map(({ want }) => want)),
    plainArray(requests.map(({ pace }) => pace.perSecond)),
    plainArray(requests.map(({ pace }) => pace.burst)),
  ]
  const granted = await run<Granted[number]>({ name: 'take_tokens', text: TAKE, values })
  const known = new Set(granted.map(({ laneId }) => laneId))
  const missing = requests.filter(({ laneId }) => !known.has(laneId))
  if (missing.length === 0) return granted
  const made = await run({
    name: 'make_lanes',
    text: `${MAKE_LANES} returning account_id`,
    values: [plainArray(missing.map(({ laneId }) => laneId))],
  })
  if (made.length === 0)
    return [...granted, ...missing.map(({ laneId }) => ({ laneId, granted: 0, waitMs: GONE_WAIT_MS }))]
  return [...granted, ...(await take(run, missing))]
}

/** An account that is gone has nothing to give; whoever asks again will have noticed by then. */
const GONE_WAIT_MS = 1_000

const GIVE_BACK = `
  update pillarbox.lanes set tokens = least(greatest($3::float8, 1), tokens + $2::float8)
  where account_id = $1`

const HOLD = `
  insert into pillarbox.lanes as l (account_id, hold_until, hold_reason)
  select id, now() + $2::float8 * interval '1 millisecond', $3 from pillarbox.accounts where id = $1
  on conflict (account_id) do update set hold_until = excluded.hold_until, hold_reason = excluded.hold_reason
  where l.hold_until is null or l.hold_until < excluded.hold_until`

/**
 * A longer hold in place stays, for it was asked for by the provider; the lease of a probe that failed does not.
 */
const OPEN_BREAKER = `
  insert into pillarbox.lanes as l (account_id, breaker, hold_until, hold_reason)
  select id, 'open', now() + $2::float8 * interval '1 millisecond', $3 from pillarbox.accounts where id = $1
  on conflict (account_id) do update
  set breaker = 'open', hold_reason = excluded.hold_reason,
    hold_until = case when l.breaker = 'half_open' then excluded.hold_until
      else greatest(l.hold_until, excluded.hold_until) end`

/** The hold of a half-open breaker is its probe's lease: once over, the probe is taken for lost and another may go. */
const PROBE = `
  update pillarbox.lanes
  set breaker = 'half_open', hold_until = now() + $2::float8 * interval '1 millisecond'
  where account_id = $1 and breaker <> 'closed' and (hold_until is null or hold_until <= now())
  returning account_id`

const CLOSE_BREAKER = `
  update pillarbox.lanes set breaker = 'closed', hold_until = null, hold_reason = null
  where account_id = $1 and (breaker <> 'closed' or hold_until is not null)`
