import type {
  Claim,
  ClaimAnswer,
  ClaimRequest,
  Completion,
  DispatchStore,
  DueLane,
} from '../../dispatch/dispatch-store.ts'
import type { BreakerState } from '../../dispatch/lane-store.ts'
import type { Channel } from '../../model/channel.ts'
import type { Content, NotificationPolicy, SealedContent } from '../../model/notification.ts'
import type { Address } from '../../model/recipient.ts'
import { moveReason } from '../shared/audit.ts'
import { isSent } from '../shared/completions.ts'
import { entityOrNull, jsonText } from '../shared/fields.ts'
import { IS_RETRYING } from '../shared/notification-view.ts'
import type { Row } from '../shared/script.ts'
import { insertAudit } from './audit.ts'
import type { Connection } from './connection.ts'
import { insertNotification } from './notifications.ts'
import type { Connections } from './scripts.ts'
import { untilFree } from './until-free.ts'

export function sqliteDispatch({ connection, reader, writer, clock }: Connections): DispatchStore {
  return {
    dueLanes: (channels, limit) => untilFree(clock, () => dueLanes(reader, clock.now(), channels, limit)),
    claim: (workerId, lanes) => writer.write((now) => claim(connection, now, { workerId, lanes })),
    complete: (workerId, completions) => writer.write((now) => complete(connection, now, workerId, completions)),
    release: (workerId, claims) =>
      writer.write(() => {
        const release = connection.prepare(RELEASE)
        for (const { notificationId, token } of claims) release.run(notificationId, token, workerId)
      }),
    orphans: (workerId, held) => writer.write((now) => orphans(connection, now, workerId, held)),
    stopLane: (laneId, reason, error, actor, limit) =>
      writer.write((now) => stopLane(connection, now, { laneId, reason, error, actor, limit })),
  }
}

// ── due lanes ────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * A skip scan of the claim index: one descent per lane with waiting rows, however many rows it has. A paused account has a
 * hold that ends now and then; a suspended one is named whatever held it, because its rows make no calls.
 */
const DUE_LANES = `
  with recursive lane (id) as (
    select min(lane_id) from pillarbox.dispatch where token is null
    union all
    select (select min(d.lane_id) from pillarbox.dispatch d where d.token is null and d.lane_id > lane.id)
    from lane where lane.id is not null
  ), waiting as materialized (
    select lane.id,
      (select min(d.visible_at) from pillarbox.dispatch d where d.token is null and d.lane_id = lane.id) as visible_at
    from lane where lane.id is not null
  )
  select w.id, a.channel, coalesce(l.breaker, 'closed') as breaker
  from waiting w join pillarbox.accounts a on a.id = w.id left join pillarbox.lanes l on l.account_id = w.id
  where w.visible_at <= $1 and (a.status = 'suspended' or l.hold_until is null or l.hold_until <= $1)
    and ($2 is null or a.channel in (select value from json_each($2)))
  order by w.visible_at, w.id limit $3`

function dueLanes(reader: Connection, now: number, channels: readonly Channel[] | null, limit: number): DueLane[] {
  const found = reader.prepare(DUE_LANES).all(now, channels === null ? null : JSON.stringify(channels), limit)
  return found.map((lane) => ({
    laneId: String(lane['id']),
    channel: String(lane['channel']) as Channel,
    breaker: String(lane['breaker']) as BreakerState,
  }))
}

// ── claim ────────────────────────────────────────────────────────────────────────────────────────────────────────

const WORKER = 'select 1 from pillarbox.workers where id = $1'
const LANE = 'select breaker, hold_until from pillarbox.lanes where account_id = $1'
const TAKE_TOKENS = 'update pillarbox.claim_tokens set value = value + $1 returning value'

/** What `claimOf` reads, in the order of `ClaimRow`. */
const CLAIM_COLUMNS = `d.notification_id, d.attempt, d.lane_id, d.spent, d.possible_duplicate, n.tenant_id, n.channel,
  n.recipient, n.content, n.event_type, n.entity_type, n.entity_id, n.locale, n.correlation_id, n.fallback, n.expires_at,
  n.policy`

/** The order is the claim index's; the cross join keeps the planner from starting with the ledger. */
const DUE = `select ${CLAIM_COLUMNS} from pillarbox.dispatch d cross join pillarbox.notifications n
  where d.lane_id = $1 and d.visible_at <= $2 and d.token is null and n.id = d.notification_id
  order by d.visible_at, d.notification_id limit $3`

const TAKE = `update pillarbox.dispatch set token = $2, worker_id = $3, claimed_at = $4, attempt = attempt + 1
  where notification_id = $1`

type ClaimRow = [
  notificationId: string,
  attempt: number,
  laneId: string,
  spent: number,
  possibleDuplicate: number,
  tenantId: string,
  channel: Channel,
  recipient: string,
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

function claim(connection: Connection, now: number, { workerId, lanes }: ClaimRequest): ClaimAnswer {
  if (!isRegistered(connection, workerId)) return { fenced: true }
  const claims: Claim[] = []
  const due = connection.prepareArrays(DUE)
  const take = connection.prepare(TAKE)
  for (const { laneId, limit, probe } of lanes) {
    if (limit <= 0 || (!probe && !isOpen(connection, laneId, now))) continue
    const found = due.all(laneId, now, limit) as unknown as ClaimRow[]
    if (found.length === 0) continue
    let token = firstToken(connection, found.length)
    for (const row of found) {
      take.run(row[0], token, workerId, now)
      claims.push(claimOf(row, row[1] + 1, token++, now))
    }
  }
  return { fenced: false, claims }
}

export function isRegistered(connection: Connection, workerId: string): boolean {
  return connection.prepare(WORKER).get(workerId) !== undefined
}

function isOpen(connection: Connection, laneId: string, now: number): boolean {
  const lane = connection.prepare(LANE).get(laneId)
  if (!lane) return true
  return lane['breaker'] === 'closed' && (lane['hold_until'] === null || Number(lane['hold_until']) <= now)
}

/** The first of `count` tokens in a row that nobody had before. */
function firstToken(connection: Connection, count: number): number {
  return Number(connection.prepare(TAKE_TOKENS).get(count)?.['value']) - count + 1
}

/** The row's own attempt number is that before the claim, or, taken over, that of the call in doubt. */
function claimOf(row: ClaimRow, attempt: number, token: number, claimedAt: number): Claim {
  const fallback = row[14]
  return {
    notificationId: row[0],
    laneId: row[2],
    token,
    attempt,
    spent: row[3],
    possibleDuplicate: row[4] === 1,
    tenantId: row[5],
    channel: row[6],
    to: JSON.parse(row[7]) as Address,
    content: JSON.parse(row[8]) as Content | SealedContent,
    policy: row[16] === null ? null : (JSON.parse(row[16]) as NotificationPolicy),
    eventType: row[9],
    entity: entityOrNull(row[10], row[11]),
    locale: row[12],
    correlationId: row[13],
    fallback: fallback === null ? [] : (JSON.parse(fallback) as Channel[]),
    expiresAt: row[15],
    claimedAt,
  }
}

/** Claims whose workers are gone. Reads the whole table: asked only when a worker has departed. */
const ABANDONED = `select ${CLAIM_COLUMNS} from pillarbox.dispatch d cross join pillarbox.notifications n
  where d.token is not null and n.id = d.notification_id
    and not exists (select 1 from pillarbox.workers w where w.id = d.worker_id)
  order by d.claimed_at, d.notification_id limit $1`

/** Gives the claims of workers that are gone a new token and this worker. Nobody knows whether their calls were made. */
export function takeOverAbandoned(connection: Connection, now: number, workerId: string, limit: number): Claim[] {
  const found = connection.prepareArrays(ABANDONED).all(limit) as unknown as ClaimRow[]
  return putInDoubt(connection, now, workerId, found)
}

const TAKE_OVER = `update pillarbox.dispatch set token = $2, worker_id = $3, claimed_at = $4, in_doubt = 1
  where notification_id = $1`

/** The attempt they were claimed for stays the same. */
function putInDoubt(connection: Connection, now: number, workerId: string, found: readonly ClaimRow[]): Claim[] {
  if (found.length === 0) return []
  let token = firstToken(connection, found.length)
  const take = connection.prepare(TAKE_OVER)
  return found.map((row) => {
    take.run(row[0], token, workerId, now)
    return claimOf(row, row[1], token++, now)
  })
}

// ── what goes back unsent ────────────────────────────────────────────────────────────────────────────────────────

/** Never one in doubt: its call may have been made, so it is only settled, by this worker or by the next rescuer. */
const RELEASE = `update pillarbox.dispatch set token = null, worker_id = null, claimed_at = null, attempt = attempt - 1
  where notification_id = $1 and token = $2 and worker_id = $3 and in_doubt = 0`

const HELD_BY = `from pillarbox.dispatch d cross join pillarbox.notifications n
  where d.token is not null and d.worker_id = $1 and n.id = d.notification_id
    and d.token not in (select value from json_each($2))`

const LOST_CLAIMS = `select d.notification_id, d.token ${HELD_BY} and d.in_doubt = 0`
const LOST_TAKE_OVERS = `select ${CLAIM_COLUMNS} ${HELD_BY} and d.in_doubt = 1 order by d.claimed_at, d.notification_id`

function orphans(connection: Connection, now: number, workerId: string, held: readonly number[]): Claim[] {
  const tokens = JSON.stringify(held)
  const lost = connection.prepare(LOST_CLAIMS).all(workerId, tokens) as { notification_id: string; token: number }[]
  const release = connection.prepare(RELEASE)
  for (const { notification_id, token } of lost) release.run(notification_id, token, workerId)
  const inDoubt = connection.prepareArrays(LOST_TAKE_OVERS).all(workerId, tokens) as unknown as ClaimRow[]
  return putInDoubt(connection, now, workerId, inDoubt)
}

// ── complete ─────────────────────────────────────────────────────────────────────────────────────────────────────

const DELETE = 'delete from pillarbox.dispatch where notification_id = $1 and token = $2'

const RETRY = `update pillarbox.dispatch set token = null, worker_id = null, claimed_at = null, in_doubt = 0, visible_at = $3,
  spent = $4, possible_duplicate = $5, last_error = $6 where notification_id = $1 and token = $2`

const TENANT = 'select tenant_id from pillarbox.notifications where id = $1'

const SETTLE = `insert into pillarbox.settled
  (notification_id, tenant_id, status, reason, last_error, spent, attempt, possible_duplicate, settled_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

/** What every attempt has; its values are `$1` to `$9`. */
const ATTEMPT_COLUMNS =
  'notification_id, number, possible_duplicate, duration_ms, started_at, token, worker_id, provider, provider_message_id'
/** An accepted message of which there is nothing else to say: most of all attempts, so they bind the fewest values. */
const SENT_ATTEMPT = `insert into pillarbox.attempts (${ATTEMPT_COLUMNS}, late, outcome, to_status)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, 'accepted', 'sent')`
const insertAttemptAs = (late: 0 | 1): string => `insert into pillarbox.attempts
  (${ATTEMPT_COLUMNS}, late, outcome, to_status, code, error, reason, resolved_targets)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, ${late}, $10, $11, $12, $13, $14, $15)`
const ATTEMPT = insertAttemptAs(0)
/** Never flagged, and once is enough: it changes nothing about the notification. */
const LATE_ATTEMPT = `${insertAttemptAs(1)} on conflict do nothing`

const LINK_FALLBACK = 'update pillarbox.notifications set fallback_to = $2 where id = $1'

const VERBS = {
  sent: 'send',
  retrying: 'retry',
  parked: 'park',
  uncertain: 'hold',
  failed: 'fail',
  cancelled: 'cancel',
} as const satisfies Record<Completion['to'], string>

function complete(
  connection: Connection,
  now: number,
  workerId: string,
  completions: readonly Completion[],
): { fenced: string[]; lanes: string[] } {
  const fenced: string[] = []
  const lanes = new Set<string>()
  for (const completion of completions) {
    if (!leaveSending(connection, now, completion)) {
      if (isWritten(connection, completion)) continue
      fenced.push(completion.notificationId)
      insertAttempt(connection, now, workerId, completion, 'late')
      continue
    }
    insertAttempt(connection, now, workerId, completion, 'timely')
    if (completion.to !== 'sent' && completion.to !== 'retrying') settle(connection, now, completion)
    if (completion.to === 'retrying' && completion.delayMs <= 0)
      lanes.add(completion.moveTo?.accountId ?? completion.laneId)
    if (completion.outcome === null) auditTransition(connection, completion)
    if (completion.to === 'retrying' && completion.moveTo) move(connection, completion, completion.moveTo)
    if (completion.next === null) continue
    const next = insertNotification(connection, completion.next, now)
    connection.prepare(LINK_FALLBACK).run(completion.notificationId, next.id)
    if (next.lane !== null) lanes.add(next.lane)
  }
  return { fenced, lanes: [...lanes] }
}

const WRITTEN =
  'select 1 from pillarbox.attempts where notification_id = $1 and number = $2 and late = 0 and token = $3'

/** A repeat of a result that was committed before, its answer lost: the same claim's attempt is there already. */
function isWritten(connection: Connection, c: Completion): boolean {
  return connection.prepare(WRITTEN).get(c.notificationId, c.attempt, c.token) !== undefined
}

/** Compares the token; false: the row is no longer this claim's, and nothing was changed. */
function leaveSending(connection: Connection, now: number, c: Completion): boolean {
  if (c.to !== 'retrying') return connection.prepare(DELETE).run(c.notificationId, c.token).changes === 1
  const visibleAt = now + Math.max(0, Math.round(c.delayMs))
  const duplicate = Number(c.possibleDuplicate)
  return connection.prepare(RETRY).run(c.notificationId, c.token, visibleAt, c.spent, duplicate, c.error).changes === 1
}

function insertAttempt(
  connection: Connection,
  now: number,
  workerId: string,
  c: Completion,
  when: 'timely' | 'late',
): void {
  if (c.outcome === null) return
  const values = [
    c.notificationId,
    c.attempt,
    Number(when === 'timely' && c.possibleDuplicate),
    Math.round(c.durationMs),
    now - Math.round(c.ageMs),
    c.token,
    workerId,
    c.provider,
    c.providerMessageId,
  ] as const
  if (when === 'timely' && isSent(c)) connection.prepare(SENT_ATTEMPT).run(...values)
  else
    connection
      .prepare(when === 'late' ? LATE_ATTEMPT : ATTEMPT)
      .run(...values, c.outcome, c.to, c.code, c.error, c.reason, jsonText(c.resolvedTargets))
}

function settle(connection: Connection, now: number, c: Completion): void {
  const tenantId = tenantOf(connection, c.notificationId)
  connection
    .prepare(SETTLE)
    .run(c.notificationId, tenantId, c.to, c.reason, c.error, c.spent, c.attempt, Number(c.possibleDuplicate), now)
}

function auditTransition(connection: Connection, c: Completion): void {
  insertAudit(connection, {
    tenantId: tenantOf(connection, c.notificationId),
    actor: 'system',
    action: VERBS[c.to],
    notificationId: c.notificationId,
    attempt: c.attempt,
    from: 'sending',
    to: c.to,
    reason: c.reason,
  })
}

const CHANGE_LANE = 'update pillarbox.dispatch set lane_id = $2 where notification_id = $1'
const CHANGE_ACCOUNT = 'update pillarbox.notifications set account_id = $2, provider = $3 where id = $1'

/** From now on another account's, in the ledger too. */
function move(connection: Connection, c: Completion, to: NonNullable<Completion['moveTo']>): void {
  connection.prepare(CHANGE_LANE).run(c.notificationId, to.accountId)
  connection.prepare(CHANGE_ACCOUNT).run(c.notificationId, to.accountId, to.provider)
  insertAudit(connection, {
    tenantId: tenantOf(connection, c.notificationId),
    actor: 'system',
    action: 'move',
    notificationId: c.notificationId,
    attempt: c.attempt,
    reason: moveReason(c.laneId, to.accountId),
  })
}

function tenantOf(connection: Connection, notificationId: string): string {
  return String(connection.prepare(TENANT).get(notificationId)?.['tenant_id'])
}

// ── stop a lane ──────────────────────────────────────────────────────────────────────────────────────────────────

/** What `stopWaiting` reads of a row that waits. */
export const WAITING_COLUMNS = `d.notification_id, d.attempt, d.spent, d.possible_duplicate, n.tenant_id,
  ${IS_RETRYING} as is_retrying`

const WAITING = `select ${WAITING_COLUMNS}
  from pillarbox.dispatch d cross join pillarbox.notifications n
  where d.lane_id = $1 and d.token is null and n.id = d.notification_id
  order by d.visible_at, d.notification_id limit $2`

function stopLane(
  connection: Connection,
  now: number,
  { laneId, limit, ...stop }: { laneId: string; reason: string; error: string; actor: string; limit: number },
): number {
  const found = connection.prepare(WAITING).all(laneId, limit)
  stopWaiting(connection, now, found, { ...stop, to: 'parked', action: 'park' })
  return found.length
}

const STOP = 'delete from pillarbox.dispatch where notification_id = $1'

/** Takes rows that nobody has claimed out of the work table, on record. They have `WAITING_COLUMNS`. */
export function stopWaiting(
  connection: Connection,
  now: number,
  found: readonly Row[],
  stop: { to: 'parked' | 'cancelled'; action: 'park' | 'cancel'; reason: string; error: string; actor: string },
): void {
  const { to, action, reason, error, actor } = stop
  for (const row of found) {
    const notificationId = String(row['notification_id'])
    const tenantId = String(row['tenant_id'])
    const attempt = Number(row['attempt'])
    const duplicate = Number(row['possible_duplicate'])
    connection.prepare(STOP).run(notificationId)
    connection
      .prepare(SETTLE)
      .run(notificationId, tenantId, to, reason, error, Number(row['spent']), attempt, duplicate, now)
    insertAudit(connection, {
      tenantId,
      actor,
      action,
      notificationId,
      attempt,
      from: row['is_retrying'] === 1 ? 'retrying' : 'queued',
      to,
      reason,
    })
  }
}
