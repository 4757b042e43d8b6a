import type { EventStatus, ListedEvent, StoredEvent } from '../../model/event.ts'
import type { Page, PageOf } from '../../model/page.ts'
import type { StoredSchedule } from '../../model/schedule.ts'
import type { EventFilter, EventStore } from '../../plan/event-store.ts'
import { writeAudit } from './audit.ts'
import { decodeCursor, encodeCursor, invalidCursor, pageOf } from './cursor.ts'
import { entityOrNull } from './fields.ts'
import { actsAbout } from './notification-history.ts'
import { countByEvent } from './notification-view.ts'
import { conditionsOf, nounOf, whereAll } from './noun.ts'
import { type Dialect, type Row, row, rows, type Script, type ScriptRunner } from './script.ts'

/** Reading events and replaying them. */
export function sharedEvents({ dialect, read, report, write }: ScriptRunner): Omit<EventStore, 'insert'> {
  return {
    find: (tenantId, id) => read(() => findEvent(tenantId, id)),
    list: (filter, page) => report(() => listEvents(dialect, filter, page)),
    acts: (tenantId, about) => read(() => actsAbout(tenantId, about)),
    counts: (tenantId, events) => report(() => countByEvent(tenantId, events)),
    replay: (tenantId, id, actor) => write(() => replayEvent(dialect, tenantId, id, actor)),
  }
}

const LISTED_KINDS = {
  id: 'text',
  tenantId: 'text',
  type: 'text',
  entity: 'entity',
  occurredAt: 'instant',
  dueAt: 'instant',
  correlationId: 'text',
  traceparent: 'text',
  topic: 'text',
  locale: 'text',
  schemaVersion: 'number',
  publishedBy: 'text',
  derivedFrom: 'text',
  status: 'text',
  attemptCount: 'number',
  nextAttemptAt: 'instant',
  lastError: 'text',
  createdAt: 'instant',
  publishedAt: 'instant',
} as const

const LISTED_EVENTS = nounOf<ListedEvent>('events', LISTED_KINDS)
const EVENTS = nounOf<StoredEvent>('events', {
  ...LISTED_KINDS,
  payload: 'json',
  recipients: 'json',
  channels: 'json',
  conversation: 'json',
})

/** The columns `eventOf` reads, of a table or alias named `e`. */
export const EVENT_COLUMNS = EVENTS.columnsOf('e')

export function eventOf(found: Row): StoredEvent {
  const event = EVENTS.of(found)
  // A host may have written anything as JSON.
  if (event.conversation) event.conversation = entityOrNull(event.conversation.type, event.conversation.id)
  return withCorrelation(event)
}

function withCorrelation<T extends ListedEvent>(event: T): T {
  // Whoever gave it no other finds all that came of it by its id.
  event.correlationId ??= event.id
  return event
}

const SCHEDULE_KINDS = {
  id: 'uuid',
  tenantId: 'text',
  eventId: 'text',
  eventType: 'text',
  entity: 'entity',
  dueAt: 'instant',
  status: 'text',
  attemptCount: 'number',
  lastError: 'text',
  createdAt: 'instant',
  completedAt: 'instant',
  progress: 'json',
  approvedBy: 'text',
  approvedAt: 'instant',
  isReplayed: 'boolean',
} as const

export const SCHEDULES = nounOf<StoredSchedule>('schedules', SCHEDULE_KINDS)
const SCHEDULES_BESIDE_EVENTS = nounOf<StoredSchedule>('schedules', SCHEDULE_KINDS, 'schedule_')

/** The columns `scheduleOf` reads, of a schedule `s`; named apart from those of its event, which may stand beside them. */
export const SCHEDULE_COLUMNS = SCHEDULES_BESIDE_EVENTS.columnsOf('s')

export const scheduleOf = SCHEDULES_BESIDE_EVENTS.of

function* findEvent(tenantId: string, id: string): Script<StoredEvent | null> {
  const found = yield* row(
    `select ${EVENT_COLUMNS} from pillarbox.events e where e.tenant_id = :tenantId and e.id = :id`,
    { tenantId, id },
  )
  return found && eventOf(found)
}

/** So many are looked at for one page, whatever the filter leaves of them. */
const WINDOW = 10_000

/**
 * Newest first. Those that wait and those that are planned are read each by their own index, no further than one page. The
 * cursor names the last event itself: its time is finer in PostgreSQL than a cursor could say. Where no index has just what
 * is asked for, a page ends after so many that were looked at, and says where to go on.
 */
export function* listEvents(dialect: Dialect, filter: EventFilter, page: Page): Script<PageOf<ListedEvent>> {
  const where = conditionsOf(filter, {
    tenantId: 'e.tenant_id = :tenantId',
    type: 'e.type = :type',
    entityType: 'e.entity_type = :entityType',
    entityId: 'e.entity_id = :entityId',
    publishedBy: 'e.published_by = :publishedBy',
    derivedFrom: 'e.derived_from = :derivedFrom',
    from: `e.created_at >= ${dialect.instant(':from')}`,
    to: `e.created_at < ${dialect.instant(':to')}`,
  })
  const last = page.cursor === undefined ? null : decodeCursor(page.cursor, 2)
  const [lastTenant = '', lastId = ''] = last ?? []
  const values = { ...filter, lastTenant, lastId, limit: page.limit + 1 }
  const isOfAll = filter.tenantId === undefined
  if (last) {
    // One of another tenant's events would tell that it is there, and when it came.
    if (!isOfAll && lastTenant !== filter.tenantId) throw invalidCursor()
    // An event that is gone marks no place: better to say so than to end the list early.
    const isThere = 'select 1 from pillarbox.events e where e.tenant_id = :lastTenant and e.id = :lastId'
    if ((yield* row(isThere, values)) === null) throw invalidCursor()
    where.push(...beside('<', isOfAll, 'last'))
  }
  const end = yield* endOf(dialect, filter, values, last !== null)
  if (end) where.push(...beside('>=', isOfAll, 'end'))
  const branches = statusConditions(filter.status).map((status, i) => {
    const source = isOfAll ? ofAllTenants(dialect, status, where) : ofOneTenant(dialect, filter, [status, ...where])
    return `select tenant_id, id, created_at from (${source}) source_${i}`
  })
  // No more than a page is looked up: of many tenants the heads are many.
  const newest = `select e.tenant_id, e.id from (${branches.join(' union all ')}) e ${ORDERS.all}`
  const found = yield* rows(
    `select ${LISTED_EVENTS.columnsOf('e')} from (${newest}) page
      cross join pillarbox.events e where e.tenant_id = page.tenant_id and e.id = page.id ${ORDERS[isOfAll ? 'all' : 'one']}`,
    { ...values, endTenant: end?.tenantId, endId: end?.id },
  )
  const { items, nextCursor } = pageOf(
    found.map((each) => withCorrelation(LISTED_EVENTS.of(each))),
    page.limit,
    (event) => [event.tenantId, event.id],
  )
  return { items, nextCursor: nextCursor ?? (end && encodeCursor([end.tenantId, end.id])) }
}

/** Of one tenant in the order of its index, which begins with the tenant. */
const ORDERS = {
  one: 'order by e.created_at desc, e.id desc limit :limit',
  all: 'order by e.created_at desc, e.tenant_id desc, e.id desc limit :limit',
} as const

/** Before, or not before, the event that the statement names so. */
function beside(than: '<' | '>=', isOfAll: boolean, name: 'last' | 'end'): string[] {
  const at = `(select c.created_at from pillarbox.events c where c.tenant_id = :${name}Tenant and c.id = :${name}Id)`
  if (!isOfAll) return [`(e.created_at, e.id) ${than} (${at}, :${name}Id)`]
  // The first is what an index knows.
  const reach = than === '<' ? '<=' : '>='
  return [
    `e.created_at ${reach} ${at}`,
    `(e.created_at, e.tenant_id, e.id) ${than} (${at}, :${name}Tenant, :${name}Id)`,
  ]
}

function ofOneTenant(dialect: Dialect, { derivedFrom }: EventFilter, where: readonly string[]): string {
  const order =
    derivedFrom === undefined ? ORDERS.one : ORDERS.one.replace('e.created_at', dialect.unindexed('e.created_at'))
  return `select e.tenant_id, e.id, e.created_at from pillarbox.events e ${whereAll(where)} ${order}`
}

/**
 * SQLite has an index by time. PostgreSQL has none, for hosts would have to write it: the heads of all tenants' own are merged.
 * What waits is little, or waits for little.
 */
function ofAllTenants({ engine }: Dialect, status: string, where: readonly string[]): string {
  const all = 'select e.tenant_id, e.id, e.created_at from pillarbox.events e'
  if (engine === 'sqlite' || status === IS_PENDING) return `${all} ${whereAll([status, ...where])} ${ORDERS.all}`
  return `with recursive tenants as (
      select min(tenant_id) as id from pillarbox.events
      union all
      select (select min(e.tenant_id) from pillarbox.events e where e.tenant_id > t.id) from tenants t where t.id is not null
    )
    select own.tenant_id, own.id, own.created_at from tenants t cross join lateral (
      ${all} ${whereAll(['e.tenant_id = t.id', status, ...where])} ${ORDERS.one}
    ) own`
}

/** Behind which event one page looks no further; null: it looks at everything. */
function* endOf(
  dialect: Dialect,
  filter: EventFilter,
  values: object,
  isGoingOn: boolean,
): Script<{ tenantId: string; id: string } | null> {
  const { tenantId, type, entityType, entityId, publishedBy, derivedFrom, status } = filter
  if (entityId !== undefined || derivedFrom !== undefined || status === 'pending') return null
  const isOfAll = tenantId === undefined
  const isNarrowed = [type, entityType, publishedBy].some((each) => each !== undefined)
  if (isOfAll ? dialect.engine === 'postgres' || status === undefined : !isNarrowed) return null
  const where = [
    ...(isOfAll ? [] : [`e.status <> 'pending'`]),
    ...conditionsOf(filter, {
      tenantId: 'e.tenant_id = :tenantId',
      from: `e.created_at >= ${dialect.instant(':from')}`,
      to: `e.created_at < ${dialect.instant(':to')}`,
    }),
    ...(isGoingOn ? beside('<', isOfAll, 'last') : []),
  ]
  const found = yield* row(
    `select e.tenant_id, e.id from pillarbox.events e ${whereAll(where)} ${ORDERS[isOfAll ? 'all' : 'one']} offset ${WINDOW}`,
    { ...values, limit: 1 },
  )
  return found && { tenantId: String(found['tenant_id']), id: String(found['id']) }
}

const IS_PENDING = `e.status = 'pending'`

/** What the indexes of events ask for, in so many words: each is of those that wait, or of those that do not. */
function statusConditions(status: EventStatus | undefined): string[] {
  if (status === undefined) return [IS_PENDING, `e.status <> 'pending'`]
  return [status === 'pending' ? IS_PENDING : `e.status <> 'pending' and e.status = '${status}'`]
}

function* replayEvent(dialect: Dialect, tenantId: string, id: string, actor: string): Script<boolean> {
  const moved = yield* row(
    `update pillarbox.events set status = 'pending', attempt_count = 0, crashes = 0, next_attempt_at = ${dialect.now}, last_error = null
      where tenant_id = :tenantId and id = :id and status = 'failed' returning id`,
    { tenantId, id },
  )
  if (!moved) return false
  const subject = `event:${id}`
  yield* writeAudit(dialect, { tenantId, actor, action: 'replay', subject, from: 'failed', to: 'pending' })
  return true
}
