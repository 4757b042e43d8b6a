import { CHANNELS } from '../../model/channel.ts'
import { isLive, type NotificationStatus } from '../../model/notification.ts'
import { PROVIDERS_WITH_RECEIPTS } from '../../model/receipt.ts'
import type { NotificationFilter } from '../../plan/notification-store.ts'
import { IS_RETRYING } from './notification-view.ts'
import { conditionsOf } from './noun.ts'
import { type Dialect, rows, type Script } from './script.ts'

/** Where some rows of a list are read from, in the order of their ids, the newest first. */
export interface ListSource {
  from: string
  conditions: string[]
  /** The ledger's id as the driving table names it, so that its own index gives the order. */
  key: string
  /** Behind `order by`; by the key alone where it is not said. */
  order?: string
  /** What a page that goes on behind `:before` asks for. */
  behind?: string[]
  /** What a page that looks no further than `:end` asks for. */
  downTo?: string[]
  /** What a time asks for, where it is not simply a range of the key. */
  between?: { from: string; to: string }
  /**
   * Where a condition leaves rows out that the driving index has, how far one page may look: so many entries of these rows,
   * of which the column is an id or the beginning of ids. Null: the driving index has only what is asked for, or little.
   */
  window: { from: string; where: string[]; column: string; entries: number } | null
}

/** So many rows are looked at for one page, whatever the filter leaves of them. */
const WINDOW = 10_000
/** As many marks may stand for. */
const MARKS_WINDOW = 1_000

const LEDGER = 'pillarbox.notifications n'
// `cross join` only fixes the order for SQLite's planner; with its condition in the where clause it is an inner join.
const LIVE = 'pillarbox.dispatch d cross join pillarbox.notifications n'
const SETTLED = 'pillarbox.settled s cross join pillarbox.notifications n'

const LIVE_CONDITIONS = {
  queued: `d.token is null and not ${IS_RETRYING}`,
  retrying: `d.token is null and ${IS_RETRYING}`,
  sending: 'd.token is not null',
} as const

const LIVE_STATUSES = ['queued', 'retrying', 'sending'] as const satisfies NotificationStatus[]

/** Only these have a reason. */
const STOPPED = [
  'parked',
  'uncertain',
  'failed',
  'discarded',
  'cancelled',
  'skipped',
] as const satisfies NotificationStatus[]

/** What each status asked for is read from: the table whose rows are that status. */
export function* sourcesOf(dialect: Dialect, filter: NotificationFilter): Script<ListSource[]> {
  const statuses = wantedStatuses(filter)
  if (statuses === null) return yield* ledgerSources(dialect, filter, null)
  const sources: ListSource[] = []
  for (const status of statuses)
    if (isLive(status)) sources.push(liveSource(dialect, filter, status))
    else if (status === 'sent') sources.push(...(yield* ledgerSources(dialect, filter, isSent(dialect, filter))))
    else sources.push(...settledSources(dialect, filter, status))
  return sources
}

/** Whether an index finds the few rows there can be: they are then sorted, rather than looked for in the whole history. */
function isOfFew({ entityId, contactId, conversationId, q, possibleDuplicate }: NotificationFilter): boolean {
  const few = [entityId, contactId, conversationId, q]
  return few.some((each) => each !== undefined) || possibleDuplicate === true
}

/** Null: any status. */
function wantedStatuses(filter: NotificationFilter): NotificationStatus[] | null {
  const limits: (readonly NotificationStatus[])[] = []
  if (filter.status?.length) limits.push([...new Set(filter.status)])
  if (filter.reason !== undefined || filter.fingerprint !== undefined) limits.push(STOPPED)
  if (filter.stuckForMs !== undefined) limits.push(LIVE_STATUSES)
  if (filter.staleForMs !== undefined) limits.push(['sent'])
  const [first, ...others] = limits
  return first ? first.filter((status) => others.every((limit) => limit.includes(status))) : null
}

// ── what still needs work, and what came to rest ─────────────────────────────────────────────────────────────────

function liveSource(dialect: Dialect, filter: NotificationFilter, status: keyof typeof LIVE_CONDITIONS): ListSource {
  const stuck = `d.visible_at < ${dialect.plus(dialect.now, ':stuckMs')}`
  const conditions = [
    'n.id = d.notification_id',
    LIVE_CONDITIONS[status],
    ...conditionsOf(filter, { stuckForMs: stuck }),
  ]
  return { from: LIVE, key: 'd.notification_id', conditions, window: null }
}

function settledSources(dialect: Dialect, filter: NotificationFilter, status: NotificationStatus): ListSource[] {
  const { tenantId, fingerprint, reason } = filter
  // The index of causes knows nothing of the status, and that of the status nothing of causes.
  const ofStatus = `${fingerprint === undefined ? 's.status' : dialect.unindexed('s.status')} = '${status}'`
  const own = [
    ofStatus,
    // The settled row has the tenant too, and its index begins with it.
    ...conditionsOf(filter, { tenantId: 's.tenant_id = :tenantId', fingerprint: 's.fingerprint = :fingerprint' }),
  ]
  const covered = [...(tenantId === undefined ? [] : ['status', 'tenantId', 'reason', 'fingerprint']), 'from', 'to']
  return reasonConditions(reason, status).map((reasons) => ({
    from: SETTLED,
    key: 's.notification_id',
    conditions: ['n.id = s.notification_id', ...own, ...reasons],
    window:
      isOfFew(filter) || hasOnly(filter, covered)
        ? null
        : {
            from: 'pillarbox.settled s',
            where: tenantId === undefined ? [] : [...own, ...reasons],
            column: 's.notification_id',
            entries: WINDOW,
          },
  }))
}

/** `fallback_triggered` stands for all channels, each of which is looked up. */
function reasonConditions(reason: string | undefined, status: NotificationStatus): string[][] {
  if (reason === undefined) return [[]]
  if (reason !== 'fallback_triggered') return [['s.reason = :reason']]
  if (status !== 'failed') return []
  return ['', ...CHANNELS.map((channel) => `:${channel}`)].map((end) => [`s.reason = 'fallback_triggered${end}'`])
}

// ── the ledger ───────────────────────────────────────────────────────────────────────────────────────────────────

/** `own`: what else is asked of each row; null: nothing. */
function* ledgerSources(
  dialect: Dialect,
  filter: NotificationFilter,
  own: SentConditions | null,
): Script<ListSource[]> {
  if (filter.tenantId === undefined || isOfFew(filter)) return [wholeLedger(dialect, filter, own)]
  if (dialect.engine === 'sqlite') return [markedSource(dialect, filter, own) ?? wholeLedger(dialect, filter, own)]
  return yield* indexedSources(dialect, filter, own)
}

interface SentConditions {
  conditions: string[]
  /** No newer id can be among them. */
  before: string | null
}

function wholeLedger(dialect: Dialect, filter: NotificationFilter, own: SentConditions | null): ListSource {
  const { conditions, before } = own ?? { conditions: [], before: null }
  const newest = before === null ? [] : [before]
  const source = { from: LEDGER, key: 'n.id', conditions: [...conditions, ...newest] }
  if (isOfFew(filter)) return { ...source, order: `${dialect.unindexed('n.id')} desc`, window: null }
  const covered = ['tenantId', 'from', 'to', ...(own === null ? ['status'] : [])]
  if (own === null && hasOnly(filter, covered)) return { ...source, window: null }
  const where = [...conditionsOf(filter, { tenantId: 'n.tenant_id = :tenantId' }), ...newest]
  return { ...source, window: { from: LEDGER, where, column: 'n.id', entries: WINDOW } }
}

/** What is marked on SQLite, by the kind of mark, that which narrows a list most first. */
const MARKED = { site: 'site', eventType: 'event_type', accountId: 'account', channel: 'channel' } as const

/** In the slots that are marked; see `sqlite/marks.ts`. Null: nothing is asked for that is marked. */
function markedSource(dialect: Dialect, filter: NotificationFilter, own: SentConditions | null): ListSource | null {
  const field = (Object.keys(MARKED) as (keyof typeof MARKED)[]).find((each) => filter[each] !== undefined)
  if (field === undefined) return null
  const marks = ['m.tenant_id = :tenantId', `m.kind = '${MARKED[field]}'`, `m.value = :${field}`]
  const { conditions, before } = own ?? { conditions: [], before: null }
  const newest = before === null ? [] : ['m.slot <= substr(:staleId, 1, 12)']
  const covered = ['tenantId', 'from', 'to', field]
  return {
    from: 'pillarbox.notification_marks m cross join pillarbox.notifications n',
    key: 'n.id',
    order: 'm.slot desc, n.id desc',
    conditions: [...marks, ...newest, `n.id >= m.slot`, `n.id < m.slot || 'g'`, ...conditions],
    behind: ['m.slot <= substr(:before, 1, 12)', `${dialect.unindexed('n.id')} < :before`],
    downTo: ['m.slot >= substr(:end, 1, 12)', `${dialect.unindexed('n.id')} >= :end`],
    between: { from: 'm.slot >= substr(:fromId, 1, 12)', to: 'm.slot <= substr(:toId, 1, 12)' },
    window:
      own === null && hasOnly(filter, covered)
        ? null
        : {
            from: 'pillarbox.notification_marks m',
            where: [...marks, ...newest],
            column: 'm.slot',
            entries: MARKS_WINDOW,
          },
  }
}

/**
 * On PostgreSQL, by the index that narrows most. Asked for a range of one value and in its order, no other index will do: the
 * planner would go through the newest rows for a value that was frequent long ago.
 */
function* indexedSources(
  dialect: Dialect,
  filter: NotificationFilter,
  own: SentConditions | null,
): Script<ListSource[]> {
  const by = (column: string, value: string, also: string[], fields: string[]): ListSource => {
    const whole = wholeLedger(dialect, filter, own)
    const range = value === 'null' ? [`${column} is null`] : [`${column} between ${value} and ${value}`]
    const isCovered = own === null && hasOnly(filter, ['tenantId', 'from', 'to', ...fields])
    const where = [...(whole.window?.where ?? []), ...also, ...range]
    return {
      ...whole,
      conditions: [...whole.conditions, ...also, ...range],
      order: `${column} desc, n.id desc`,
      window: isCovered ? null : { from: LEDGER, where, column: 'n.id', entries: WINDOW },
    }
  }
  if (filter.site !== undefined) return [by('n.site', ':site', [], ['site'])]
  if (filter.eventType !== undefined) return [by('n.event_type', ':eventType', [], ['eventType'])]
  if (filter.accountId !== undefined)
    return CHANNELS.map((channel) => by('n.account_id', ':accountId', [`n.channel = '${channel}'`], ['accountId']))
  if (filter.channel === undefined) return [wholeLedger(dialect, filter, own)]
  const accounts = yield* rows(ACCOUNTS_OF_CHANNEL, filter)
  if (accounts.length > MOST_ACCOUNTS) return [wholeLedger(dialect, filter, own)]
  const values = ['null', ...accounts.map(({ id }) => `'${String(id)}'::uuid`)]
  return values.map((value) => by('n.account_id', value, ['n.channel = :channel'], ['channel']))
}

const NEXT_ACCOUNT = `select n.account_id from pillarbox.notifications n
  where n.tenant_id = :tenantId and n.channel = :channel and n.account_id`

/** With more the statement would be too long. */
const MOST_ACCOUNTS = 30

/** Those that the ledger knows, each found by one look at the index. */
const ACCOUNTS_OF_CHANNEL = `with recursive accounts as (
    select (${NEXT_ACCOUNT} is not null order by n.account_id limit 1) as id
    union all
    select (${NEXT_ACCOUNT} > a.id order by n.account_id limit 1) from accounts a where a.id is not null
  )
  select id from accounts where id is not null limit ${MOST_ACCOUNTS + 1}`

/** Whether nothing else narrows the list. */
function hasOnly(filter: NotificationFilter, fields: readonly string[]): boolean {
  return Object.entries(filter).every(
    ([field, value]) => value === undefined || fields.includes(field) || isOther(field),
  )
}

/** Values that a filter has beside what it asks for. */
function isOther(field: string): boolean {
  return !NARROWING.has(field)
}

const NARROWING = new Set<string>([
  'tenantId',
  'status',
  'channel',
  'eventId',
  'eventType',
  'entityType',
  'entityId',
  'contactId',
  'conversationId',
  'site',
  'accountId',
  'reason',
  'fingerprint',
  'possibleDuplicate',
  'triggeredBy',
  'stuckForMs',
  'staleForMs',
  'from',
  'to',
  'q',
] satisfies (keyof NotificationFilter)[])

function isSent(dialect: Dialect, filter: NotificationFilter): SentConditions {
  const isStaleAsked = filter.staleForMs !== undefined
  return {
    conditions: [
      'not exists (select 1 from pillarbox.dispatch d where d.notification_id = n.id)',
      `not exists (select 1 from pillarbox.settled s where s.notification_id = n.id and s.status <> 'sent')`,
      ...(isStaleAsked ? [isStale(dialect)] : []),
    ],
    before: isStaleAsked ? 'n.id < :staleId' : null,
  }
}

/** Of a provider that sends receipts, and none has said for so long what became of it. */
function isStale(dialect: Dialect): string {
  const providers = PROVIDERS_WITH_RECEIPTS.map((provider) => `'${provider}'`).join(', ')
  return `n.provider in (${providers}) and ${sentBefore(dialect.plus(dialect.now, ':staleMs'))}`
}

/** Since the call that was accepted, or since a receipt said that it was after all. */
function sentBefore(instant: string): string {
  return `(exists (select 1 from pillarbox.attempts x where x.notification_id = n.id and x.outcome = 'accepted'
      and x.started_at < ${instant})
    or exists (select 1 from pillarbox.settled s where s.notification_id = n.id and s.settled_at < ${instant}))`
}
