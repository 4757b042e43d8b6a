import type { ListedNotification, NotificationStatus } from '../../model/notification.ts'
import { isLive } from '../../model/notification.ts'
import type { Page, PageOf } from '../../model/page.ts'
import { PROVIDERS_WITH_RECEIPTS } from '../../model/receipt.ts'
import type { NotificationFilter } from '../../plan/notification-store.ts'
import { pageOf } from './cursor.ts'
import { uuidOrNull } from './fields.ts'
import { IS_RETRYING, LISTED_COLUMNS, listedOf, VIEW_JOINS } from './notification-view.ts'
import { conditionsOf, uuidOfCursor, whereAll } from './noun.ts'
import { firstIdOf } from './purge-rules.ts'
import { type Dialect, row, rows, type Script } from './script.ts'

/**
 * Newest first by id. Each status asked for is read from the table whose rows are that status, in id order and no
 * further than one page, so that a page of parked rows costs the same however long the history is.
 */
export function* listNotifications(
  dialect: Dialect,
  filter: NotificationFilter,
  page: Page,
): Script<PageOf<ListedNotification>> {
  const selection = yield* selectionOf(dialect, filter, page)
  if (!selection) return { items: [], nextCursor: null }
  const found = yield* rows(
    `select ${LISTED_COLUMNS} from ${selection.from} cross join ${LEDGER} ${VIEW_JOINS}
      where n.id = page.id order by n.id desc limit :limit`,
    selection.values,
  )
  return pageOf(found.map(listedOf), page.limit, (notification) => [notification.id])
}

/**
 * The ids of what a filter finds, as a table called `page` to be selected from with these values. It has one row more
 * than a page of each status, so whoever reads it sorts and limits it anew. Null: nothing can be found.
 */
export function* selectionOf(
  dialect: Dialect,
  filter: NotificationFilter,
  page: Page,
): Script<{ from: string; values: object } | null> {
  const values = valuesOf(yield* withEntity(filter), page)
  const sources = values && statusSources(dialect, filter)
  if (!values || !sources?.length) return null
  const where = conditions(dialect, values)
  const branches = sources.map(({ from, key, conditions: own }, i) => {
    const all = [...own, ...where, ...(page.cursor === undefined ? [] : [`${key} < :before`])]
    const order = isOfFew(values) ? dialect.sorted(key) : key
    return `select id from (select n.id from ${from} ${whereAll(all)} order by ${order} desc limit :limit) source_${i}`
  })
  return { from: `(${branches.join(' union all ')}) page`, values }
}

/** Whether an index finds the few rows there can be: they are then sorted, rather than looked for in the whole history. */
function isOfFew({ entityId, contactId, q }: NotificationFilter): boolean {
  return entityId !== undefined || contactId !== undefined || q !== undefined
}

/** What the statement's names stand for; null when nothing can match, because an id is asked for that is none. */
function valuesOf(filter: NotificationFilter, page: Page) {
  const ids: Pick<NotificationFilter, 'accountId' | 'contactId' | 'conversationId'> = {}
  for (const field of ['accountId', 'contactId', 'conversationId'] as const) {
    if (filter[field] === undefined) continue
    const id = uuidOrNull(filter[field])
    if (id === null) return null
    ids[field] = id
  }
  return {
    ...filter,
    ...ids,
    stuckMs: -(filter.stuckForMs ?? 0),
    staleMs: -(filter.staleForMs ?? 0),
    qId: uuidOrNull(filter.q ?? ''),
    before: page.cursor === undefined ? null : uuidOfCursor(page.cursor),
    fromId: firstIdOf((filter.from ?? 0) - CLOCKS_APART_MS),
    toId: firstIdOf((filter.to ?? 0) + CLOCKS_APART_MS),
    limit: page.limit + 1,
  }
}

/** The ledger has no index by event, but one by entity, and the notifications of an event bear its entity. */
function* withEntity(filter: NotificationFilter): Script<NotificationFilter> {
  const { tenantId, eventId } = filter
  if (tenantId === undefined || eventId === undefined) return filter
  const event = yield* row(
    'select entity_type, entity_id from pillarbox.events where tenant_id = :tenantId and id = :eventId',
    filter,
  )
  if (!event) return filter
  return { entityType: String(event['entity_type']), entityId: String(event['entity_id']), ...filter }
}

/** A notification's id begins with the time at its maker, and the store has its own: so far may they be apart. */
const CLOCKS_APART_MS = 3_600_000

/** Where the rows of one status are read from. */
interface StatusSource {
  from: string
  /** The ledger's id as the driving table names it, so that its own index gives the order. */
  key: string
  conditions: string[]
}

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

function statusSources(dialect: Dialect, filter: NotificationFilter): StatusSource[] {
  const statuses = wantedStatuses(filter)
  if (statuses === null) return [{ from: LEDGER, key: 'n.id', conditions: [] }]
  return statuses.map((status) => {
    if (isLive(status)) {
      const stuck = `d.visible_at < ${dialect.plus(dialect.now, ':stuckMs')}`
      const own = ['n.id = d.notification_id', LIVE_CONDITIONS[status], ...conditionsOf(filter, { stuckForMs: stuck })]
      return { from: LIVE, key: 'd.notification_id', conditions: own }
    }
    if (status === 'sent') {
      const own = [
        'not exists (select 1 from pillarbox.dispatch d where d.notification_id = n.id)',
        `not exists (select 1 from pillarbox.settled s where s.notification_id = n.id and s.status <> 'sent')`,
        ...conditionsOf(filter, { staleForMs: isStale(dialect) }),
      ]
      return { from: LEDGER, key: 'n.id', conditions: own }
    }
    const own = [
      'n.id = s.notification_id',
      `s.status = '${status}'`,
      // The settled row has the tenant too, and its index begins with it. `fallback_triggered` stands for all channels.
      ...conditionsOf(filter, {
        tenantId: 's.tenant_id = :tenantId',
        reason: filter.reason === 'fallback_triggered' ? `s.reason like 'fallback_triggered%'` : 's.reason = :reason',
        fingerprint: 's.fingerprint = :fingerprint',
      }),
    ]
    return { from: SETTLED, key: 's.notification_id', conditions: own }
  })
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

/** What the ledger row itself must be. */
function conditions(dialect: Dialect, filter: NotificationFilter & { qId: string | null }): string[] {
  return conditionsOf(filter, {
    tenantId: 'n.tenant_id = :tenantId',
    channel: 'n.channel = :channel',
    eventId: 'n.event_id = :eventId',
    eventType: 'n.event_type = :eventType',
    entityType: 'n.entity_type = :entityType',
    entityId: 'n.entity_id = :entityId',
    site: 'n.site = :site',
    triggeredBy: 'n.triggered_by = :triggeredBy',
    from: `n.created_at >= ${dialect.instant(':from')} and n.id >= :fromId`,
    to: `n.created_at < ${dialect.instant(':to')} and n.id < :toId`,
    accountId: 'n.account_id = :accountId',
    contactId: 'n.contact_id = :contactId',
    conversationId: 'n.conversation_id = :conversationId',
    // The last attempt has the flag where the notification does; a partial index knows those that have one.
    possibleDuplicate: `n.id ${filter.possibleDuplicate ? '' : 'not '}in (select x.notification_id
      from pillarbox.attempts x where x.possible_duplicate and not x.late and x.number =
        (select max(y.number) from pillarbox.attempts y where y.notification_id = x.notification_id and not y.late))`,
    q: `n.id in (${exactly(filter)})`,
  })
}

/** One indexed look-up for each thing the text may be, instead of a scan that compares them all. */
function exactly({ tenantId, qId, sealedToken }: NotificationFilter & { qId: string | null }): string {
  const ofTenant = tenantId === undefined ? '' : 'and m.tenant_id = :tenantId'
  return [
    `select m.id from pillarbox.notifications m where m.idempotency_key = :q ${ofTenant}`,
    `select m.id from pillarbox.notifications m where m.address = :q ${ofTenant}`,
    ...(sealedToken === undefined
      ? []
      : [`select m.id from pillarbox.notifications m where m.address = :sealedToken ${ofTenant}`]),
    'select x.notification_id from pillarbox.attempts x where x.provider_message_id = :q',
    ...(qId === null ? [] : ['select m.id from pillarbox.notifications m where m.id = :qId']),
  ].join(' union all ')
}
