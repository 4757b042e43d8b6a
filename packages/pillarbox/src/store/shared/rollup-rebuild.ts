import type { NotificationStatus } from '../../model/notification.ts'
import type { OutcomeKind } from '../../model/outcome.ts'
import {
  addTally,
  bucketBetween,
  isDeliveredBy,
  isDeliveredWhenSent,
  KEPT_SECONDS,
  type RollupGroup,
  type RollupMove,
  type RollupStatus,
  type RollupTally,
  rollupStatus,
  secondOf,
} from '../../model/rollup.ts'
import type { Rebuilt, RollupStore } from '../../operate/rollup-store.ts'
import { textOrNull } from './fields.ts'
import { GROUP_COLUMNS, groupOf, moveOf, plainMove } from './rollup-deltas.ts'
import { applyChanges, KEY_COLUMNS, readAllValues, SumChanges, sumKeyOf } from './rollup-sums.ts'
import { type Dialect, instantOf, jsonOf, type Row, row, rows, type Script, type ScriptRunner } from './script.ts'
import { ACT_REASONS } from './transitions.ts'

/**
 * Counting everything anew while everybody goes on. In one snapshot of the database the rows are counted, and the sums and
 * deltas read; what the sums are wrong by is their difference. Since sums add up in any order, that difference may be added
 * later, whatever was folded meanwhile. Nothing is changed before that: a rebuild that dies leaves everything as it was.
 *
 * Two at once would mend the same mistake twice: `rebuild_token` says whose turn it is, and is compared at the end.
 */

/** Runs a script that only reads in one snapshot; between two of its statements others get their turn, and `between` runs. */
export type Snapshot = <T>(script: () => Script<T>, between: () => Promise<void>) => Promise<T>

/** A rebuild that has not been heard of for so long is taken for dead. */
const LEASE_MS = 300_000
/** How many statements a rebuild makes before it says again that it lives. */
const RENEW_EVERY = 50
const CHUNK_ROWS = 2_000

export function rebuilder({ dialect, write, change }: ScriptRunner, snapshot: Snapshot): RollupStore['rebuild'] {
  const until = dialect.plus(dialect.now, ':leaseMs')
  return async (token, onProgress): Promise<Rebuilt | null> => {
    const begun = await change(
      `update pillarbox.rollup_state set rebuild_token = :token, rebuild_until = ${until}
        where rebuild_until is null or rebuild_until <= ${dialect.now} returning is_counted`,
      { token, leaseMs: LEASE_MS },
    )
    if (begun.length === 0) return null
    let statements = 0
    const between = async (): Promise<void> => {
      statements += 1
      if (statements % RENEW_EVERY !== 0) return
      await change(`update pillarbox.rollup_state set rebuild_until = ${until} where rebuild_token = :token`, {
        token,
        leaseMs: LEASE_MS,
      })
    }
    const { notifications, changes } = await snapshot(() => findMistakes(dialect, onProgress), between)
    const mended = await write(() => mend(dialect, token, changes))
    return mended === null ? null : { notifications, mended }
  }
}

function* mend(dialect: Dialect, token: string, changes: SumChanges): Script<number | null> {
  const state = yield* row(`select rebuild_token from pillarbox.rollup_state s ${dialect.lock('s')}`)
  if (state?.['rebuild_token'] !== token) return null
  for (const [name, { tally }] of changes.counts) if (Object.keys(tally).length === 0) changes.counts.delete(name)
  for (const [name, { count }] of changes.due) if (count === 0) changes.due.delete(name)
  yield* applyChanges(changes)
  yield* rows('update pillarbox.rollup_state set is_counted = true, rebuild_token = null, rebuild_until = null')
  return changes.counts.size + changes.due.size
}

function* findMistakes(
  dialect: Dialect,
  onProgress: (counted: number) => void,
): Script<{ notifications: number; changes: SumChanges }> {
  const now = yield* row(`select ${dialect.now} as now`)
  const second = secondOf(instantOf(now?.['now']))
  const keptFrom = new Map([...KEPT_SECONDS].map(([width, kept]) => [width, second - kept]))
  const changes = new SumChanges(yield* readAllValues(), keptFrom)
  const notifications = yield* countAll(changes, onProgress)
  yield* takeAwayCounts(changes)
  yield* takeAwayDue(changes)
  for (const delta of yield* rows('select * from pillarbox.rollup_deltas')) {
    const move = moveOf(delta)
    changes.addMove({ ...move, count: -move.count })
  }
  return { notifications, changes }
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000'

function* countAll(changes: SumChanges, onProgress: (counted: number) => void): Script<number> {
  let counted = 0
  for (let after = FIRST_ID; ; ) {
    const ledger = yield* rows(
      `select n.id, ${GROUP_COLUMNS}, n.provider, n.created_at, coalesce(n.wanted_at, n.created_at) as wanted_at,
          d.notification_id as live, d.visible_at, s.status as settled_status
        from pillarbox.notifications n left join pillarbox.dispatch d on d.notification_id = n.id
          left join pillarbox.settled s on s.notification_id = n.id
        where n.id > :after order by n.id limit :limit`,
      { after, limit: CHUNK_ROWS },
    )
    if (ledger.length === 0) return counted
    const last = String(ledger.at(-1)?.['id'])
    const history = yield* readHistory(after, last)
    for (const found of ledger) countOne(changes, found, history(String(found['id'])))
    counted += ledger.length
    onProgress(counted)
    after = last
  }
}

/** What is on record of one notification. */
interface NotificationHistory {
  attempts: readonly Row[]
  audits: readonly Row[]
}

function* readHistory(after: string, last: string): Script<(id: string) => NotificationHistory> {
  const between = 'notification_id > :after and notification_id <= :last'
  const attempts = yield* rows(
    `select notification_id, number, outcome, to_status, started_at, duration_ms, account_id, provider
      from pillarbox.attempts where ${between} and not late`,
    { after, last },
  )
  const audits = yield* rows(
    `select notification_id, at, reason, attempt, from_status, to_status from pillarbox.audit
      where ${between} and from_status is not null and to_status is not null order by id`,
    { after, last },
  )
  const attemptsOf = Map.groupBy(attempts, ({ notification_id: id }) => String(id))
  const auditsOf = Map.groupBy(audits, ({ notification_id: id }) => String(id))
  return (id) => ({ attempts: attemptsOf.get(id) ?? [], audits: auditsOf.get(id) ?? [] })
}

/** Where it stands, and what has happened to it, as the moves would have told. */
function countOne(changes: SumChanges, ledger: Row, history: NotificationHistory): void {
  const group = groupOf(ledger)
  const isLive = ledger['live'] !== null
  const status = isLive ? 'live' : ((ledger['settled_status'] ?? 'sent') as RollupStatus)
  changes.addStanding(group, { [status]: 1 })
  if (isLive) changes.addDueAt(group, secondOf(instantOf(ledger['visible_at'])), 1)
  for (const move of pastMoves(group, status, ledger, history)) changes.addHappened(move)
}

function pastMoves(
  group: RollupGroup,
  status: RollupStatus,
  ledger: Row,
  { attempts, audits }: NotificationHistory,
): RollupMove[] {
  const results = attempts
    .filter((attempt) => attempt['to_status'] !== 'retrying')
    .map((attempt) => resultMove(group, ledger, attempt))
  const steps = audits.map((audit) => auditedMove(group, ledger, audit, attempts))
  const moves = [...results, ...steps].filter(({ from, to }) => from !== to)
  const born = bornAs(status, moves)
  const atSecond = secondOf(instantOf(ledger['created_at']))
  return [plainMove({ group, from: 'new', to: born, atSecond, dueSecond: born === 'live' ? atSecond : null }), ...moves]
}

/** It was born where it has left more often than it has come to, or is still there. */
function bornAs(status: RollupStatus, moves: readonly RollupMove[]): RollupStatus {
  const left: RollupTally = { [status]: 1 }
  for (const { from, to } of moves) {
    addTally(left, { [from]: 1 })
    addTally(left, { [to]: -1 })
  }
  return (['skipped', 'parked'] as const).find((each) => (left[each] ?? 0) > 0) ?? 'live'
}

function resultMove(group: RollupGroup, ledger: Row, attempt: Row): RollupMove {
  const to = attempt['to_status'] as RollupStatus
  const endedMs = endOf(attempt)
  const isAccepted = to === 'sent' && (attempt['outcome'] as OutcomeKind) === 'accepted'
  return plainMove({
    group: throughAccountOf(group, attempt),
    from: 'live',
    to,
    atSecond: secondOf(endedMs),
    latency: isAccepted ? bucketBetween(instantOf(ledger['wanted_at']), endedMs) : null,
    isDelivered: to === 'sent' && isDeliveredWhenSent(textOrNull(attempt['provider'])),
    isByAccount: true,
  })
}

function endOf(attempt: Row): number {
  return instantOf(attempt['started_at']) + Number(attempt['duration_ms'])
}

/** What is delivered has no reason, nor has what is retried, which is live. */
const BY_HAND = new Set<unknown>(Object.values({ ...ACT_REASONS, correct: 'corrected_by_operator' }).filter(Boolean))

function auditedMove(group: RollupGroup, ledger: Row, audit: Row, attempts: readonly Row[]): RollupMove {
  const [from, to] = [audit['from_status'], audit['to_status']].map((status) =>
    rollupStatus(status as NotificationStatus),
  ) as [RollupStatus, RollupStatus]
  const at = instantOf(audit['at'])
  const step = { from, to, atSecond: secondOf(at) }
  // Where neither a worker nor an operator moved it, a receipt did.
  const isByHand = BY_HAND.has(audit['reason'])
  if (isByHand || from === 'live' || to === 'live') return plainMove({ group, ...step })
  const attempt = attempts.find(({ number }) => Number(number) === Number(audit['attempt']))
  const isDelivered = isDeliveredBy(textOrNull((attempt ?? ledger)['provider']), from, to)
  const isTimed = isDelivered && from === 'sent' && attempt?.['outcome'] === 'accepted'
  const latency = isTimed ? bucketBetween(endOf(attempt), at) : null
  return plainMove({ group: throughAccountOf(group, attempt), ...step, latency, isDelivered, isByAccount: true })
}

/** Attempts of before it was recorded have no account. */
function throughAccountOf(group: RollupGroup, attempt: Row | undefined): RollupGroup {
  return { ...group, accountId: textOrNull(attempt?.['account_id']) ?? group.accountId }
}

function* takeAwayCounts(changes: SumChanges): Script<void> {
  yield* eachRow('rollup_counts', 'counts', (found) => {
    const key = sumKeyOf(found)
    if (!changes.isKept(key)) return
    const tally = Object.entries(jsonOf<RollupTally>(found['counts'])).map(([name, count]) => [name, -count] as const)
    changes.addCounts(key, Object.fromEntries(tally))
  })
}

function* takeAwayDue(changes: SumChanges): Script<void> {
  yield* eachRow('rollup_due', 'count', (found) => changes.addDue(sumKeyOf(found), -Number(found['count'])))
}

/** Every row of a table of sums, page by page: there may be very many. */
function* eachRow(table: string, column: string, take: (found: Row) => void): Script<void> {
  const first = { width: -1, scope: '', dimension: '', value: '', at_second: 0 }
  for (let after: Row = first; ; ) {
    const found = yield* rows(
      `select ${KEY_COLUMNS}, ${column} from pillarbox.${table}
        where (${KEY_COLUMNS}) > (:width, :scope, :dimension, :value, :at_second)
        order by ${KEY_COLUMNS} limit :limit`,
      { ...after, limit: CHUNK_ROWS },
    )
    for (const each of found) take(each)
    const last = found.at(-1)
    if (!last || found.length < CHUNK_ROWS) return
    after = last
  }
}
