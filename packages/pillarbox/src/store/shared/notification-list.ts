import type { ListedNotification } from '../../model/notification.ts'
import type { Page, PageOf } from '../../model/page.ts'
import type { NotificationFilter } from '../../plan/notification-store.ts'
import { encodeCursor, pageOf } from './cursor.ts'
import { uuidOrNull } from './fields.ts'
import { type ListSource, sourcesOf } from './notification-sources.ts'
import { LISTED_COLUMNS, listedOf, VIEW_JOINS } from './notification-view.ts'
import { conditionsOf, uuidOfCursor, whereAll } from './noun.ts'
import { firstIdOf, storeTime } from './purge-rules.ts'
import { hasMessageId } from './receipts.ts'
import { type Dialect, row, rows, type Script } from './script.ts'

/**
 * Newest first by id. Each status asked for is read from the table whose rows are that status, in id order and no
 * further than one page, so that a page of parked rows costs the same however long the history is. Where no index has just
 * what is asked for, a page ends after so many rows that were looked at, with as many as were found, and says where to go on.
 */
export function* listNotifications(
  dialect: Dialect,
  filter: NotificationFilter,
  page: Page,
): Script<PageOf<ListedNotification>> {
  const selection = yield* selectionOf(dialect, filter, page, { isWindowed: true })
  if (!selection) return { items: [], nextCursor: null }
  const found = yield* rows(
    `select ${LISTED_COLUMNS} from ${selection.from} cross join pillarbox.notifications n ${VIEW_JOINS}
      where n.id = page.id order by n.id desc limit :limit`,
    selection.values,
  )
  const { items, nextCursor } = pageOf(found.map(listedOf), page.limit, (notification) => [notification.id])
  const { end } = selection.values
  return { items, nextCursor: nextCursor ?? (end === null ? null : encodeCursor([end])) }
}

/**
 * The ids of what a filter finds, as a table called `page` to be selected from with these values. It has one row more
 * than a page of each source, so whoever reads it sorts and limits it anew. Null: nothing can be found. `isWindowed`: no
 * further than one page may look, which is then `end`.
 */
export function* selectionOf(
  dialect: Dialect,
  filter: NotificationFilter,
  page: Page,
  { isWindowed = false } = {},
): Script<{ from: string; values: ReturnType<typeof boundValues> & { end: string | null } } | null> {
  const wanted = withIds(yield* withEntity(filter))
  if (!wanted) return null
  const sources = yield* sourcesOf(dialect, wanted)
  if (sources.length === 0) return null
  const values = boundValues(wanted, page, {
    now: wanted.staleForMs === undefined ? 0 : yield* storeTime(dialect),
    recentId: wanted.q === undefined ? 0 : (yield* dialect.lastAuditId()) - RECENT_ATTEMPTS,
  })
  const end = isWindowed ? yield* endOf(sources, values, page) : null
  const where = conditions(dialect, values)
  const branches = sources.map((source, i) => {
    const { from, key, order = `${key} desc` } = source
    const further = [
      ...behind(source, page),
      ...between(source, values),
      ...(end === null ? [] : (source.downTo ?? [`${key} >= :end`])),
    ]
    const all = whereAll([...source.conditions, ...where, ...further])
    return `select id from (select n.id from ${from} ${all} order by ${order} limit :limit) source_${i}`
  })
  return { from: `(${branches.join(' union all ')}) page`, values: { ...values, end } }
}

function behind({ key, behind: own }: ListSource, page: Page): string[] {
  return page.cursor === undefined ? [] : (own ?? [`${key} < :before`])
}

/** A notification's id begins with the time it was made at, so that a time is a range of ids. */
function between({ key, between: own }: ListSource, filter: NotificationFilter): string[] {
  return conditionsOf(filter, own ?? { from: `${key} >= :fromId`, to: `${key} < :toId` })
}

/** Below which id one page looks no further; null: it looks at everything. */
function* endOf(
  sources: readonly ListSource[],
  values: object & NotificationFilter,
  page: Page,
): Script<string | null> {
  const windows = sources.filter(({ window }) => window !== null).length
  let end: string | null = null
  for (const source of sources) {
    if (source.window === null) continue
    const { from, where, column, entries } = source.window
    const isSlot = column === 'm.slot'
    const started =
      page.cursor === undefined ? [] : [isSlot ? 'm.slot <= substr(:before, 1, 12)' : `${column} < :before`]
    const own = source.between ?? { from: `${column} >= :fromId`, to: `${column} < :toId` }
    const found = yield* row(
      `select ${column} as id from ${from} ${whereAll([...where, ...started, ...conditionsOf(values, own)])}
        order by ${column} desc limit 1 offset :entries`,
      { ...values, entries: Math.ceil(entries / windows) },
    )
    if (!found) continue
    const id = isSlot ? `${String(found['id'])}${FIRST_OF_SLOT}` : String(found['id'])
    if (end === null || id > end) end = id
  }
  return end
}

const FIRST_OF_SLOT = '0-0000-0000-000000000000'

/** What the statement's names stand for. */
function boundValues(filter: NotificationFilter, page: Page, { now, recentId }: { now: number; recentId: number }) {
  const { stuckForMs = 0, staleForMs = 0, from = 0, to = 0, q = '' } = filter
  return {
    ...filter,
    stuckMs: -stuckForMs,
    staleMs: -staleForMs,
    staleId: firstIdOf(now - staleForMs + CLOCKS_APART_MS),
    qId: uuidOrNull(q) ?? uuidOrNull(/^<(.{36})@/.exec(q)?.[1] ?? ''),
    recentId,
    before: page.cursor === undefined ? null : uuidOfCursor(page.cursor),
    fromId: firstIdOf(from - CLOCKS_APART_MS),
    toId: firstIdOf(to + CLOCKS_APART_MS),
    limit: page.limit + 1,
  }
}

/** Null: an id is asked for that is none. */
function withIds(filter: NotificationFilter): NotificationFilter | null {
  const ids: Pick<NotificationFilter, 'accountId' | 'contactId' | 'conversationId'> = {}
  for (const field of ['accountId', 'contactId', 'conversationId'] as const) {
    if (filter[field] === undefined) continue
    const id = uuidOrNull(filter[field])
    if (id === null) return null
    ids[field] = id
  }
  return { ...filter, ...ids }
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
    from: `n.created_at >= ${dialect.instant(':from')}`,
    to: `n.created_at < ${dialect.instant(':to')}`,
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

/** Among so many newest numbers of the audit a message of the sandbox, or of a provider of one's own, is found by its id. */
const RECENT_ATTEMPTS = 5_000

/** One indexed look-up for each thing the text may be, instead of a scan that compares them all. */
function exactly({ tenantId, qId, sealedToken }: NotificationFilter & { qId: string | null }): string {
  const isOfTenant = tenantId !== undefined
  // The index begins with the tenant.
  const inTenant = isOfTenant ? '= :tenantId' : 'in (select t.id from pillarbox.tenants t)'
  return [
    `select m.id from pillarbox.notifications m where m.idempotency_key = :q and m.tenant_id ${inTenant}`,
    'select m.id from pillarbox.notifications m where m.address = :q',
    ...(sealedToken === undefined ? [] : ['select m.id from pillarbox.notifications m where m.address = :sealedToken']),
    `select x.notification_id from pillarbox.attempts x where ${hasMessageId('x')} and x.provider_message_id = :q`,
    `select x.notification_id from pillarbox.tenants t cross join pillarbox.attempts x where x.tenant_id = t.id
      and x.audit_id > :recentId and x.provider_message_id = :q ${isOfTenant ? 'and t.id = :tenantId' : ''}`,
    ...(qId === null ? [] : ['select m.id from pillarbox.notifications m where m.id = :qId']),
  ].join(' union all ')
}
