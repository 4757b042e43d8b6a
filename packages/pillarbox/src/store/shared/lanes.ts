import type { LaneStore, LaneView } from '../../dispatch/lane-store.ts'
import type { Pace } from '../../model/account.ts'
import { nounOf } from './noun.ts'
import {
  type Dialect,
  givenIds,
  givenRows,
  instantOf,
  instantOrNull,
  rows,
  type Script,
  type ScriptRunner,
} from './script.ts'

/** What all workers must agree on about an account. Each answer is exact across processes: the lane's row is locked. */
export function sharedLanes({ dialect, read, write, change }: ScriptRunner): LaneStore {
  const after = (ms: string): string => dialect.plus(dialect.now, ms)
  const isOver = `(hold_until is null or hold_until <= ${dialect.now})`
  const changeLane = async (text: string, values: { accountId: string; [name: string]: string | number }) =>
    (await change(`update pillarbox.lanes set ${text} returning account_id`, values)).length === 1
  return {
    take: async (requests) => (requests.length === 0 ? [] : write(() => takeTokens(dialect, requests))),
    // A bucket that nobody has taken from has no level: it is full, and stays so.
    giveBack: async (accountId, count, pace) => {
      await changeLane(
        `tokens = case when tokens + :count > :burst then :burst else tokens + :count end where account_id = :accountId`,
        { accountId, count, burst: Math.max(1, pace.burst) },
      )
    },
    hold: async (accountId, ms, reason) => {
      await changeLane(
        `hold_until = ${after(':ms')}, hold_reason = :reason
          where account_id = :accountId and (hold_until is null or hold_until < ${after(':ms')})`,
        { accountId, ms: Math.round(ms), reason },
      )
    },
    // A longer hold in place keeps its end and its reason, for the provider asked for it; the lease of a probe that
    // failed does not. In `set`, the columns are as they were before.
    openBreaker: async (accountId, ms, error) => {
      const isLonger = `breaker <> 'half_open' and hold_until > ${after(':ms')}`
      await changeLane(
        `breaker = 'open', hold_until = case when ${isLonger} then hold_until else ${after(':ms')} end,
          hold_reason = case when ${isLonger} then hold_reason else :error end where account_id = :accountId`,
        { accountId, ms: Math.round(ms), error },
      )
    },
    // The hold of a half-open breaker is its probe's lease: once over, the probe is taken for lost and another may go.
    probe: (accountId, ms) =>
      changeLane(
        `breaker = 'half_open', hold_until = ${after(':ms')}
          where account_id = :accountId and breaker <> 'closed' and ${isOver}`,
        { accountId, ms: Math.round(ms) },
      ),
    closeBreaker: async (accountId) => {
      await changeLane(
        `breaker = 'closed', hold_until = null, hold_reason = null
          where account_id = :accountId and (breaker <> 'closed' or hold_until is not null)`,
        { accountId },
      )
    },
    list: (tenantId) => read(() => listLanes(dialect, tenantId)),
  }
}

/** A lane's bucket; without a level it is full. */
export interface Bucket {
  tokens: number | null
  refilledAt: number | null
}

/** What a bucket that fills too slowly to say answers as its wait. */
const MAX_WAIT_MS = 3_600_000

/** The hair's breadth keeps sums of fractions such as ten times 0.1 from falling short of a whole token. */
const HAIR = 1e-9

/** Of two calls that wait for each other the later may have begun first: their times differ by no more than this. */
const MAX_DISORDER_MS = 60_000

/**
 * Takes up to `want` tokens. No interval is credited twice: a call that waited for the row has an earlier time than the
 * one that held it, so the later refill time stays. A clock that was set back must not stop the refilling until it has
 * caught up: then its time is taken.
 */
export function drawTokens(
  { tokens, refilledAt }: Bucket,
  { want, pace, now }: { want: number; pace: Pace; now: number },
): { bucket: { tokens: number; refilledAt: number }; granted: number; waitMs: number } {
  const burst = Math.max(1, pace.burst)
  const since = refilledAt ?? now
  const level = Math.min(burst, (tokens ?? burst) + (Math.max(0, now - since) * pace.perSecond) / 1_000)
  const granted = Math.max(0, Math.min(Math.floor(want), Math.floor(level + HAIR)))
  const left = Math.max(0, level - granted)
  const refillMs = pace.perSecond > 0 ? Math.ceil(((1 - left) * 1_000) / pace.perSecond) : MAX_WAIT_MS
  return {
    bucket: { tokens: left, refilledAt: since - now > MAX_DISORDER_MS ? now : Math.max(since, now) },
    granted,
    waitMs: left >= 1 ? 0 : Math.min(MAX_WAIT_MS, refillMs),
  }
}

/** An account that is gone has no tokens; the worker that asks will have noticed the removal by then. */
const GONE_WAIT_MS = 1_000

type Requests = Parameters<LaneStore['take']>[0]

/** Buckets are locked in the order of their ids, so that two takers of the same lanes do not deadlock. */
function* takeTokens(dialect: Dialect, requests: Requests): Script<Awaited<ReturnType<LaneStore['take']>>> {
  const found = yield* rows(
    `select l.account_id, l.tokens, l.refilled_at, ${dialect.now} as now from pillarbox.lanes l
      where l.account_id in (select g.id from :g) order by l.account_id ${dialect.lock('l')}`,
    { g: givenIds(requests.map(({ accountId }) => accountId)) },
  )
  const lanes = new Map(found.map((lane) => [String(lane['account_id']), lane]))
  const drawn = requests.map(({ accountId, want, pace }) => {
    const lane = lanes.get(accountId)
    if (!lane) return { accountId, granted: 0, waitMs: GONE_WAIT_MS, bucket: null }
    const tokens = lane['tokens'] === null ? null : Number(lane['tokens'])
    const bucket = { tokens, refilledAt: instantOrNull(lane['refilled_at']) }
    return { accountId, ...drawTokens(bucket, { want, pace, now: instantOf(lane['now']) }) }
  })
  const buckets = drawn.flatMap(({ accountId, bucket }) =>
    bucket ? [{ account_id: accountId, tokens: bucket.tokens, refilled_ms: bucket.refilledAt }] : [],
  )
  if (buckets.length > 0)
    yield* rows(
      `update pillarbox.lanes as l set tokens = g.tokens, refilled_at = ${dialect.instant('g.refilled_ms')} from :g
        where l.account_id = g.account_id`,
      { g: givenRows({ account_id: 'uuid', tokens: 'float8', refilled_ms: 'bigint' }, buckets) },
    )
  return drawn.map(({ accountId, granted, waitMs }) => ({ accountId, granted, waitMs }))
}

const LANES = nounOf<Omit<LaneView, 'heldForMs'>>('lanes', {
  accountId: 'uuid',
  tenantId: 'text',
  channel: 'text',
  status: 'text',
  breaker: 'text',
  holdReason: 'text',
})

function* listLanes(dialect: Dialect, tenantId: string | null): Script<LaneView[]> {
  const found = yield* rows(
    `select l.account_id, a.tenant_id, a.channel, a.status, l.breaker, l.hold_until, l.hold_reason,
        ${dialect.now} as now
      from pillarbox.lanes l join pillarbox.accounts a on a.id = l.account_id and a.removed_at is null
      ${tenantId === null ? '' : 'where a.tenant_id = :tenantId'} order by l.account_id`,
    { tenantId },
  )
  return found.map((lane) => {
    const heldForMs = Math.max(0, (instantOrNull(lane['hold_until']) ?? 0) - instantOf(lane['now']))
    const view = LANES.of(lane)
    // A hold that is over leaves its reason behind until the lane is next used.
    return { ...view, heldForMs, holdReason: heldForMs > 0 ? view.holdReason : null }
  })
}
