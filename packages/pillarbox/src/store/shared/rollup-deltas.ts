import type { Completion } from '../../dispatch/dispatch-store.ts'
import type { Channel } from '../../model/channel.ts'
import {
  bucketBetween,
  isDeliveredWhenSent,
  type RollupGroup,
  type RollupMove,
  type RollupStatus,
  rollupStatus,
  secondOf,
} from '../../model/rollup.ts'
import { booleanOf, textOrNull } from './fields.ts'
import { type Dialect, givenRows, instantOf, type Row, row, rows, type Script } from './script.ts'
import { type CompletionChanges, wholeMs } from './transitions.ts'

/**
 * Deltas: what the moves of a transaction add to the sums, written by that transaction. Who folds them into the sums, and
 * reads both together, is in `rollups.ts`. A move is told once, by whoever makes it: a claim moves nothing, for what is
 * being sent is as live as what waits.
 */

/** What `groupOf` reads of a ledger row `n`. */
export const GROUP_COLUMNS = 'n.tenant_id, n.channel, n.account_id, n.site, n.event_type'

export function groupOf(found: Row): RollupGroup {
  return {
    tenantId: String(found['tenant_id']),
    channel: found['channel'] as Channel,
    accountId: textOrNull(found['account_id']),
    site: textOrNull(found['site']),
    eventType: textOrNull(found['event_type']),
  }
}

/** The second of the transaction. */
export function* secondNow(dialect: Dialect): Script<number> {
  const found = yield* row(`select ${dialect.now} as now`)
  return secondOf(instantOf(found?.['now']))
}

/** One notification's move, of which nothing else is to be said. */
export function plainMove(
  move: Pick<RollupMove, 'group' | 'from' | 'to' | 'atSecond'> & Partial<RollupMove>,
): RollupMove {
  return { dueSecond: null, latency: null, isDelivered: false, isByAccount: false, count: 1, ...move }
}

/** How a notification is counted before or after a move. */
export interface CountedStanding {
  group: RollupGroup
  status: RollupStatus
  /** Of what is live. */
  dueSecond: number | null
}

/** One notification's move: in two halves where it is of another group, or due at another time, from then on. */
export function movesBetween(before: CountedStanding, after: CountedStanding, atSecond: number): RollupMove[] {
  const isSameGroup = JSON.stringify(before.group) === JSON.stringify(after.group)
  const isLive = before.status === 'live' && after.status === 'live'
  if (isSameGroup && !isLive) {
    if (before.status === after.status) return []
    const dueSecond = before.dueSecond ?? after.dueSecond
    return [plainMove({ group: before.group, from: before.status, to: after.status, atSecond, dueSecond })]
  }
  return [
    plainMove({ group: before.group, from: before.status, to: 'moved', atSecond, dueSecond: before.dueSecond }),
    plainMove({ group: after.group, from: 'moved', to: after.status, atSecond, dueSecond: after.dueSecond }),
  ]
}

/** What a message that was simply accepted adds; `now` is the store's time in milliseconds. */
export function sentMove({ counted, provider, ageMs, durationMs }: Completion, now: number): RollupMove {
  const sentMs = now - wholeMs(ageMs) + wholeMs(durationMs)
  return {
    group: counted,
    from: 'live',
    to: 'sent',
    atSecond: secondOf(sentMs),
    dueSecond: secondOf(counted.visibleAt),
    latency: bucketBetween(counted.wantedAt, sentMs),
    isDelivered: isDeliveredWhenSent(provider),
    isByAccount: true,
    count: 1,
  }
}

/** What any other result adds, once its token was found to be the row's. */
export function completionMoves(changes: CompletionChanges, now: number): RollupMove[] {
  const { counted, accountId, moveTo, waitMs, to, outcome, ageMs, durationMs } = changes
  const dueSecond = secondOf(counted.visibleAt)
  if (waitMs !== null) {
    const live = { group: { ...groupOnly(counted), accountId }, status: 'live', dueSecond } as const
    const group = { ...live.group, accountId: moveTo?.accountId ?? accountId }
    const after = { ...live, group, dueSecond: secondOf(now + waitMs) }
    return movesBetween(live, after, secondOf(now))
  }
  if (to === 'sent' && outcome === 'accepted') return [sentMove(changes, now)]
  const atSecond = secondOf(outcome === null ? now : now - ageMs + durationMs)
  const isByAccount = outcome !== null
  return [plainMove({ group: counted, from: 'live', to: rollupStatus(to), atSecond, dueSecond, isByAccount })]
}

function groupOnly({ tenantId, channel, accountId, site, eventType }: RollupGroup): RollupGroup {
  return { tenantId, channel, accountId, site, eventType }
}

/**
 * For whoever removes notifications from the ledger: what that takes from the numbers of what is there. What has happened
 * to them stays counted. Each is told with the group and the status it had, in the transaction that removes them.
 */
export function* forgetNotifications(
  atSecond: number,
  gone: readonly { group: RollupGroup; status: Exclude<RollupStatus, 'live'>; count: number }[],
): Script<void> {
  yield* writeMoves(
    gone.map(({ group, status, count }) => plainMove({ group, from: status, to: 'gone', atSecond, count })),
  )
}

/** Moves that are alike in everything become one, so that a batch is a few rows. */
export function mergedMoves(moves: readonly RollupMove[]): RollupMove[] {
  if (moves.length < 2) return [...moves]
  const merged = new Map<string, RollupMove>()
  for (const move of moves) {
    const { group, from, to, atSecond, dueSecond, latency, isDelivered, isByAccount, count } = move
    const { tenantId, channel, accountId, site, eventType } = group
    const what = `${from} ${to} ${atSecond} ${dueSecond} ${latency} ${isDelivered} ${isByAccount}`
    const key = `${what} ${tenantId} ${channel} ${accountId} ${site}\0${eventType}`
    const known = merged.get(key)
    if (known) known.count += count
    else merged.set(key, { ...move })
  }
  return [...merged.values()]
}

const DELTA = {
  place: 'bigint',
  at_second: 'bigint',
  tenant_id: 'text',
  channel: 'text',
  account_id: 'uuid',
  site: 'text',
  event_type: 'text',
  from_status: 'text',
  to_status: 'text',
  due_second: 'bigint',
  latency: 'bigint',
  is_delivered: 'boolean',
  is_by_account: 'boolean',
  count: 'bigint',
} as const

/** The columns of a delta as they are written, in the order of `deltaValues`. */
export const DELTA_COLUMNS = Object.keys(DELTA).filter((column) => column !== 'place')

export function deltaValues({ group, ...move }: RollupMove): (string | number | null)[] {
  return [
    move.atSecond,
    group.tenantId,
    group.channel,
    group.accountId,
    group.site,
    group.eventType,
    move.from,
    move.to,
    move.dueSecond,
    move.latency,
    Number(move.isDelivered),
    Number(move.isByAccount),
    move.count,
  ]
}

/** Writes what moved, in the transaction of the script that moves it. */
export function* writeMoves(moves: readonly RollupMove[]): Script<void> {
  if (moves.length === 0) return
  const given = mergedMoves(moves).map(({ group, ...move }, place) => ({
    place,
    at_second: move.atSecond,
    tenant_id: group.tenantId,
    channel: group.channel,
    account_id: group.accountId,
    site: group.site,
    event_type: group.eventType,
    from_status: move.from,
    to_status: move.to,
    due_second: move.dueSecond,
    latency: move.latency,
    is_delivered: move.isDelivered,
    is_by_account: move.isByAccount,
    count: move.count,
  }))
  const columns = DELTA_COLUMNS.join(', ')
  const selected = DELTA_COLUMNS.map((column) => `g.${column}`).join(', ')
  yield* rows(
    `insert into pillarbox.rollup_deltas (${columns}) select ${selected} from :g where true order by g.place`,
    { g: givenRows(DELTA, given) },
  )
}

/** The delta of a row of `rollup_deltas`. */
export function moveOf(found: Row): RollupMove {
  const number = (column: string): number | null => (found[column] === null ? null : Number(found[column]))
  return {
    group: groupOf(found),
    from: found['from_status'] as RollupMove['from'],
    to: found['to_status'] as RollupMove['to'],
    atSecond: Number(found['at_second']),
    dueSecond: number('due_second'),
    latency: number('latency'),
    isDelivered: booleanOf(found['is_delivered']),
    isByAccount: booleanOf(found['is_by_account']),
    count: Number(found['count']),
  }
}
