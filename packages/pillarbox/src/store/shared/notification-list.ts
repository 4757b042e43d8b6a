import type { NotificationStatus, NotificationView } from '../../model/notification.ts'
import { isLive } from '../../model/notification.ts'
import type { Page, PageOf } from '../../model/page.ts'
import type { NotificationFilter } from '../../plan/notification-store.ts'
import { decodeCursor, invalidCursor, pageOf } from './cursor.ts'
import { uuidOrNull } from './fields.ts'
import { IS_RETRYING, VIEW_COLUMNS, VIEW_JOINS, viewOf } from './notification-view.ts'
import { type Parameters, parameters } from './parameters.ts'
import { type Dialect, row, rows, type Script } from './script.ts'

/**
 * Newest first by id. Each status asked for is read from the table whose rows are that status, in id order and no
 * further than one page, so that a page of parked rows costs the same however long the history is.
 */
export function* listNotifications(
  dialect: Dialect,
  filter: NotificationFilter,
  page: Page,
): Script<PageOf<NotificationView>> {
  const given = parameters()
  const where = conditions(dialect, yield* withEntity(filter), given)
  const sources = where && statusSources(dialect, filter, given)
  if (!where || !sources?.length) return { items: [], nextCursor: null }

  const limit = given.add(page.limit + 1)
  const before = page.cursor === undefined ? null : given.add(cursorId(page.cursor))
  const branches = sources.map(({ from, key, conditions: own }, i) => {
    const all = [...own, ...where, ...(before === null ? [] : [`${key} < ${before}`])]
    return `select id from (select n.id from ${from} ${all.length ? `where ${all.join(' and ')}` : ''}
      order by ${key} desc limit ${limit}) source_${i}`
  })
  const found = yield* rows(
    `select ${VIEW_COLUMNS} from (${branches.join(' union all ')}) page
      join pillarbox.notifications n on n.id = page.id ${VIEW_JOINS}
      order by n.id desc limit ${limit}`,
    given.values,
  )
  return pageOf(found.map(viewOf), page.limit, (notification) => [notification.id])
}

/** The ledger has no index by event, but one by entity, and the notifications of an event bear its entity. */
function* withEntity(filter: NotificationFilter): Script<NotificationFilter> {
  const { tenantId, eventId } = filter
  if (tenantId === undefined || eventId === undefined) return filter
  const event = yield* row('select entity_type, entity_id from pillarbox.events where tenant_id = $1 and id = $2', [
    tenantId,
    eventId,
  ])
  if (!event) return filter
  return { entityType: String(event['entity_type']), entityId: String(event['entity_id']), ...filter }
}

interface Source {
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
const STOPPED = ['parked', 'uncertain', 'failed', 'discarded', 'cancelled'] as const satisfies NotificationStatus[]

function statusSources(dialect: Dialect, filter: NotificationFilter, given: Parameters): Source[] {
  const statuses = wantedStatuses(filter)
  if (statuses === null) return [{ from: LEDGER, key: 'n.id', conditions: [] }]
  const reason = filter.reason === undefined ? null : reasonCondition(filter.reason, given)
  return statuses.map((status) => {
    if (isLive(status)) {
      const own = ['n.id = d.notification_id', LIVE_CONDITIONS[status]]
      if (filter.stuckForMs !== undefined)
        own.push(`d.visible_at < ${dialect.plus(dialect.now, given.add(-filter.stuckForMs))}`)
      return { from: LIVE, key: 'd.notification_id', conditions: own }
    }
    if (status === 'sent') {
      const own = [
        'not exists (select 1 from pillarbox.dispatch d where d.notification_id = n.id)',
        `not exists (select 1 from pillarbox.settled s where s.notification_id = n.id and s.status <> 'sent')`,
      ]
      if (filter.staleForMs !== undefined)
        own.push(sentBefore(dialect.plus(dialect.now, given.add(-filter.staleForMs))))
      return { from: LEDGER, key: 'n.id', conditions: own }
    }
    const own = ['n.id = s.notification_id', `s.status = ${given.add(status)}`]
    // The settled row has the tenant too, and its index begins with it.
    if (filter.tenantId !== undefined) own.push(`s.tenant_id = ${given.add(filter.tenantId)}`)
    if (reason !== null) own.push(reason)
    return { from: SETTLED, key: 's.notification_id', conditions: own }
  })
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
  if (filter.reason !== undefined) limits.push(STOPPED)
  if (filter.stuckForMs !== undefined) limits.push(LIVE_STATUSES)
  if (filter.staleForMs !== undefined) limits.push(['sent'])
  const [first, ...others] = limits
  return first ? first.filter((status) => others.every((limit) => limit.includes(status))) : null
}

/** `fallback_triggered` stands for all of its channels. */
function reasonCondition(reason: string, given: Parameters): string {
  if (reason === 'fallback_triggered') return `s.reason like 'fallback_triggered%'`
  return `s.reason = ${given.add(reason)}`
}

/** What the ledger row itself must be; null when nothing can match. */
function conditions(dialect: Dialect, filter: NotificationFilter, { add }: Parameters): string[] | null {
  const where: string[] = []
  if (filter.tenantId !== undefined) where.push(`n.tenant_id = ${add(filter.tenantId)}`)
  if (filter.channel !== undefined) where.push(`n.channel = ${add(filter.channel)}`)
  if (filter.eventId !== undefined) where.push(`n.event_id = ${add(filter.eventId)}`)
  if (filter.eventType !== undefined) where.push(`n.event_type = ${add(filter.eventType)}`)
  if (filter.entityType !== undefined) where.push(`n.entity_type = ${add(filter.entityType)}`)
  if (filter.entityId !== undefined) where.push(`n.entity_id = ${add(filter.entityId)}`)
  if (filter.site !== undefined) where.push(`n.site = ${add(filter.site)}`)
  if (filter.triggeredBy !== undefined) where.push(`n.triggered_by = ${add(filter.triggeredBy)}`)
  if (filter.from !== undefined) where.push(`n.created_at >= ${dialect.instant(add(filter.from))}`)
  if (filter.to !== undefined) where.push(`n.created_at < ${dialect.instant(add(filter.to))}`)
  for (const [column, wanted] of [
    ['account_id', filter.accountId],
    ['contact_id', filter.contactId],
    ['conversation_id', filter.conversationId],
  ] as const) {
    if (wanted === undefined) continue
    const id = uuidOrNull(wanted)
    if (id === null) return null
    where.push(`n.${column} = ${add(id)}`)
  }
  // The last attempt has the flag where the notification does; a partial index knows those that have one.
  if (filter.possibleDuplicate !== undefined)
    where.push(`n.id ${filter.possibleDuplicate ? '' : 'not '}in (select x.notification_id from pillarbox.attempts x
      where x.possible_duplicate and not x.late and x.number = (select max(y.number) from pillarbox.attempts y
        where y.notification_id = x.notification_id and not y.late))`)
  if (filter.q !== undefined) where.push(`n.id in (${exactly(filter.q, filter.tenantId, add)})`)
  return where
}

/** One indexed look-up for each thing the text may be, instead of a scan that compares them all. */
function exactly(q: string, tenantId: string | undefined, add: Parameters['add']): string {
  const text = add(q)
  const ofTenant = tenantId === undefined ? '' : `and m.tenant_id = ${add(tenantId)}`
  const lookUps = [
    `select m.id from pillarbox.notifications m where m.idempotency_key = ${text} ${ofTenant}`,
    `select m.id from pillarbox.notifications m where m.address = ${text} ${ofTenant}`,
    `select x.notification_id from pillarbox.attempts x where x.provider_message_id = ${text}`,
  ]
  const id = uuidOrNull(q)
  if (id !== null) lookUps.push(`select m.id from pillarbox.notifications m where m.id = ${add(id)}`)
  return lookUps.join(' union all ')
}

function cursorId(cursor: string): string {
  const id = uuidOrNull(decodeCursor(cursor, 1)[0] ?? '')
  if (id === null) throw invalidCursor()
  return id
}
