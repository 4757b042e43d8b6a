import type { LaneStore } from '../../dispatch/lane-store.ts'
import type { Pace } from '../../model/account.ts'
import type { Connection } from './connection.ts'
import type { Connections } from './scripts.ts'

export function sqliteLanes({ connection, writer }: Connections): Omit<LaneStore, 'list'> {
  const changes = (text: string, ...values: (string | number | null)[]): number =>
    Number(connection.prepare(text).run(...values).changes)
  return {
    take: (requests) =>
      writer.write((now) =>
        requests.map(({ laneId, want, pace }) => ({ laneId, ...takeTokens(connection, now, laneId, want, pace) })),
      ),
    giveBack: (laneId, count, pace) =>
      writer.write(() => {
        changes(GIVE_BACK, laneId, count, pace.burst)
      }),
    hold: (laneId, ms, reason) =>
      writer.write((now) => {
        changes(HOLD, laneId, now + Math.round(ms), reason)
      }),
    openBreaker: (laneId, resetAfterMs, error) =>
      writer.write((now) => {
        changes(OPEN, laneId, now + Math.round(resetAfterMs), error)
      }),
    probe: (laneId, leaseMs) => writer.write((now) => changes(PROBE, laneId, now + Math.round(leaseMs), now) === 1),
    closeBreaker: (laneId) =>
      writer.write(() => {
        changes(CLOSE, laneId)
      }),
  }
}

/** Null tokens: a bucket nobody has taken from is full, and stays so. */
const GIVE_BACK =
  'update pillarbox.lanes set tokens = min($3, tokens + $2) where account_id = $1 and tokens is not null'

const HOLD = `update pillarbox.lanes set hold_until = $2, hold_reason = $3
  where account_id = $1 and (hold_until is null or hold_until < $2)`

/** A longer hold in place keeps its end and its reason. In \`set\`, the columns are as they were before. */
const OPEN = `update pillarbox.lanes set breaker = 'open', hold_until = max(coalesce(hold_until, 0), $2),
  hold_reason = case when coalesce(hold_until, 0) > $2 then hold_reason else $3 end where account_id = $1`

/** Also when an earlier probe never reported. */
const PROBE = `update pillarbox.lanes set breaker = 'half_open', hold_until = $2
  where account_id = $1 and breaker <> 'closed' and (hold_until is null or hold_until <= $3)`

const CLOSE = `update pillarbox.lanes set breaker = 'closed', hold_until = null, hold_reason = null where account_id = $1`

const BUCKET = 'select tokens, refilled_at from pillarbox.lanes where account_id = $1'
const REFILL = 'update pillarbox.lanes set tokens = $2, refilled_at = $3 where account_id = $1'

/** What a bucket that fills too slowly to say answers as its wait. */
const MAX_WAIT_MS = 3_600_000

function takeTokens(
  connection: Connection,
  now: number,
  laneId: string,
  want: number,
  { perSecond, burst }: Pace,
): { granted: number; waitMs: number } {
  const bucket = connection.prepare(BUCKET).get(laneId)
  if (!bucket) return { granted: 0, waitMs: MAX_WAIT_MS }
  // A clock set back refills nothing, and must not stop the refilling until it has caught up: hence `now` is stored.
  const elapsedMs = Math.max(0, now - Number(bucket['refilled_at'] ?? now))
  const kept = bucket['tokens'] === null ? burst : Number(bucket['tokens'])
  const tokens = Math.min(burst, kept + (elapsedMs * perSecond) / 1_000)
  const granted = Math.max(0, Math.min(Math.floor(want), Math.floor(tokens)))
  connection.prepare(REFILL).run(laneId, tokens - granted, now)
  if (granted >= want) return { granted, waitMs: 0 }
  const waitMs = Math.ceil(((1 - (tokens - granted)) * 1_000) / perSecond)
  return { granted, waitMs: Math.min(MAX_WAIT_MS, waitMs) }
}
