import type { Claim } from '../../dispatch/dispatch-store.ts'
import type { Channel } from '../../model/channel.ts'
import type { Content, NotificationPolicy, SealedContent } from '../../model/notification.ts'
import type { Address } from '../../model/recipient.ts'
import { booleanOf, entityOrNull } from './fields.ts'
import {
  type Dialect,
  givenIds,
  givenRows,
  instantOf,
  instantOrNull,
  type Row,
  row,
  rows,
  type Script,
} from './script.ts'

/** A dispatch row, claimed, and of its ledger row what one provider call needs, as either engine answers it. */
export interface ClaimRow {
  notification_id: string
  lane_id: string
  token: number
  attempt: number
  spent: number
  possible_duplicate: boolean | number
  tenant_id: string
  channel: Channel
  recipient: string
  content: string
  policy: string | null
  event_type: string | null
  entity_type: string | null
  entity_id: string | null
  locale: string | null
  correlation_id: string | null
  fallback: string | null
  expires_at: Date | number | null
  overrides_suppression: boolean | number | null
  traceparent: string | null
  site: string | null
  wanted_at: Date | number
  visible_at: Date | number
}

const DISPATCH_FIELDS = ['notification_id', 'lane_id', 'token', 'attempt', 'spent', 'possible_duplicate'] as const
const LEDGER_FIELDS = [
  'tenant_id',
  'channel',
  'recipient',
  'content',
  'policy',
  'event_type',
  'entity_type',
  'entity_id',
  'locale',
  'correlation_id',
  'fallback',
  'expires_at',
  'overrides_suppression',
  'traceparent',
  'site',
] as const

export const CLAIM_FIELDS: readonly (keyof ClaimRow)[] = [
  ...DISPATCH_FIELDS,
  ...LEDGER_FIELDS,
  'wanted_at',
  'visible_at',
]

/** The columns of a `ClaimRow`, of the dispatch row `d` and the ledger row `n`. */
export const CLAIM_COLUMNS = [
  ...DISPATCH_FIELDS.map((field) => `d.${field}`),
  ...LEDGER_FIELDS.map((field) => `n.${field}`),
  'coalesce(n.wanted_at, n.created_at) as wanted_at',
  'd.visible_at',
].join(', ')

export function claimOf(row: ClaimRow, claimedAt: number): Claim {
  return {
    notificationId: row.notification_id,
    accountId: row.lane_id,
    token: row.token,
    attempt: row.attempt,
    spent: row.spent,
    possibleDuplicate: booleanOf(row.possible_duplicate),
    tenantId: row.tenant_id,
    channel: row.channel,
    to: JSON.parse(row.recipient) as Address,
    content: JSON.parse(row.content) as Content | SealedContent,
    policy: row.policy === null ? null : (JSON.parse(row.policy) as NotificationPolicy),
    eventType: row.event_type,
    entity: entityOrNull(row.entity_type, row.entity_id),
    locale: row.locale,
    correlationId: row.correlation_id,
    fallback: row.fallback === null ? [] : (JSON.parse(row.fallback) as Channel[]),
    expiresAt: instantOrNull(row.expires_at),
    overridesSuppression: booleanOf(row.overrides_suppression),
    traceparent: row.traceparent,
    site: row.site,
    wantedAt: instantOf(row.wanted_at),
    visibleAt: instantOf(row.visible_at),
    claimedAt,
  }
}

/** Whether the worker is registered. Until the transaction ends, no rescuer can declare the worker dead. */
export function* isRegistered(dialect: Dialect, workerId: string): Script<boolean> {
  const found = yield* row(`select w.id from pillarbox.workers w where w.id = :workerId ${dialect.keyShare('w')}`, {
    workerId,
  })
  return found !== null
}

/**
 * Finds what a worker holds without knowing it; see `orphans` of the contract. The token tells: what the worker knows of
 * it has named. No index knows the worker: reading the table once beats walking an index over all of it.
 */
export function* orphans(dialect: Dialect, workerId: string, held: readonly number[]): Script<Claim[]> {
  if (dialect.engine === 'postgres') yield* rows('set local enable_seqscan = on')
  if (!(yield* isRegistered(dialect, workerId))) return []
  const lost = yield* rows(
    `select d.in_doubt, ${CLAIM_COLUMNS} from pillarbox.dispatch d cross join pillarbox.notifications n
      where d.worker_id = :workerId and d.token is not null and d.token not in (select g.token from :g)
        and n.id = d.notification_id
      order by d.notification_id ${dialect.lock('d')}`,
    {
      workerId,
      g: givenRows(
        { token: 'bigint' },
        held.map((token) => ({ token })),
      ),
    },
  )
  const inDoubt = lost.filter((claim) => booleanOf(claim['in_doubt']))
  const unsent = lost.filter((claim) => !booleanOf(claim['in_doubt']))
  if (unsent.length > 0)
    yield* rows(
      `update pillarbox.dispatch set token = null, worker_id = null, claimed_at = null, attempt = attempt - 1
        where notification_id in (select g.id from :g)`,
      { g: givenIds(unsent.map((claim) => String(claim['notification_id']))) },
    )
  return yield* putInDoubt(dialect, workerId, inDoubt)
}

/**
 * Gives locked claims, whose calls may or may not have been made, a new token and this worker. The attempt they were
 * claimed for stays the same.
 */
export function* putInDoubt(dialect: Dialect, workerId: string, found: readonly Row[]): Script<Claim[]> {
  if (found.length === 0) return []
  const tokens = yield* dialect.newTokens(found.length)
  const claims = found.map((claim, i) => ({ ...claim, token: tokens[i] }) as unknown as ClaimRow)
  const taken = yield* row(
    `update pillarbox.dispatch as d set token = g.token, worker_id = :workerId, claimed_at = ${dialect.now}, in_doubt = true
      from :g where d.notification_id = g.id returning claimed_at`,
    {
      workerId,
      g: givenRows(
        { id: 'uuid', token: 'bigint' },
        claims.map(({ notification_id: id, token }) => ({ id, token })),
      ),
    },
  )
  return claims.map((claim) => claimOf(claim, instantOf(taken?.['claimed_at'])))
}
