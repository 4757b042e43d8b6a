import type { InboxStore } from '../../channels/in_app/inbox-store.ts'
import type { InboxChange, InboxMessage } from '../../model/inbox.ts'
import type { Page, PageOf } from '../../model/page.ts'
import { decodeCursor, invalidCursor, pageOf } from './cursor.ts'
import { storableText, textOrNull, uuidOrNull } from './fields.ts'
import { mergeReceipts } from './merge-receipts.ts'
import { parameters } from './parameters.ts'
import {
  type Dialect,
  instantOf,
  instantOrNull,
  type Row,
  row,
  rows,
  type Script,
  type ScriptRunner,
  type Value,
} from './script.ts'

export function sharedInbox({ dialect, read, write }: ScriptRunner): InboxStore {
  const of = (tenantId: string, userId: string): Inbox => ({ tenantId, userId: storableText(userId) })
  return {
    put: (message) => write(() => putMessages(dialect, [message])),
    find: (tenantId, userId, id) => read(() => findMessage(of(tenantId, userId), id)),
    list: (tenantId, userId, filter, page) => read(() => listMessages(of(tenantId, userId), filter, page)),
    since: (tenantId, userId, after, limit) => read(() => changesSince(of(tenantId, userId), after, limit)),
    revisions: (inboxes) => (inboxes.length === 0 ? Promise.resolve([]) : read(() => revisionsOf(dialect, inboxes))),
    countUnread: (tenantId, userId) => read(() => countUnread(of(tenantId, userId))),
    mark: (tenantId, userId, mark, ids) => write(() => markMessages(dialect, of(tenantId, userId), mark, ids)),
    remove: (tenantId, userId, id) => write(() => removeMessage(dialect, of(tenantId, userId), id)),
    settleOwed: (after, limit) => write(() => settleOwed(dialect, after, limit)),
  }
}

/** Whose inbox it is. */
interface Inbox {
  tenantId: string
  userId: string
}

export type NewInboxMessage = Parameters<InboxStore['put']>[0]

/** Messages that one transaction marks: each brings a receipt with several statements. */
const MOST_MARKED = 200

const COLUMNS = 'id, tenant_id, user_id, sealed, arrival, revision, created_at, seen_at, read_at'

function changeOf(found: Row): InboxChange {
  return {
    id: String(found['id']),
    tenantId: String(found['tenant_id']),
    userId: String(found['user_id']),
    sealed: textOrNull(found['sealed']),
    arrival: Number(found['arrival']),
    revision: Number(found['revision']),
    createdAt: instantOf(found['created_at']),
    seenAt: instantOrNull(found['seen_at']),
    readAt: instantOrNull(found['read_at']),
  }
}

/** Of a row that is not removed, which has its words. */
function messageOf(found: Row): InboxMessage {
  return { ...changeOf(found), sealed: String(found['sealed']) }
}

/** Any number at once, each with a number of its inbox. Those that are there already stay as they are. */
export function* putMessages(dialect: Dialect, messages: readonly NewInboxMessage[]): Script<void> {
  const given = new Map(messages.map((message) => [message.id.toLowerCase(), message]))
  const known = yield* knownAmong(dialect, [...given.keys()])
  for (const id of known) given.delete(id)
  if (given.size === 0) return
  const byInbox = Map.groupBy(given.values(), inboxKey)
  const revisions = yield* advance(
    dialect,
    [...byInbox.values()].flatMap(([first, ...more]) => (first ? [{ ...first, count: 1 + more.length }] : [])),
  )
  const arrived = [...byInbox].flatMap(([key, group]) =>
    group.map(({ id, tenantId, userId, sealed }, i) => ({
      id,
      tenant_id: tenantId,
      user_id: storableText(userId),
      sealed,
      arrival: (revisions.get(key) ?? 0) - group.length + 1 + i,
    })),
  )
  const { add, values } = parameters()
  const columns = { id: 'uuid', tenant_id: 'text', user_id: 'text', sealed: 'text', arrival: 'bigint' } as const
  yield {
    text: `insert into pillarbox.inbox_messages (id, tenant_id, user_id, sealed, arrival, revision, created_at)
      select g.id, g.tenant_id, g.user_id, g.sealed, g.arrival, g.arrival, ${dialect.now}
      from ${dialect.table('g', columns, arrived, add)} where true on conflict (id) do nothing`,
    values,
  }
}

function* knownAmong(dialect: Dialect, ids: readonly string[]): Script<string[]> {
  const { add, values } = parameters()
  const given = idsTable(dialect, ids, add)
  const found = yield* rows(
    `select m.id from ${given} cross join pillarbox.inbox_messages m where m.id = g.given_id`,
    values,
  )
  return found.map(({ id }) => String(id))
}

/** A tenant's id has no space, so no two pairs give one key. */
function inboxKey({ tenantId, userId }: Inbox): string {
  return `${tenantId} ${storableText(userId)}`
}

/**
 * Each inbox's revision after `count` further changes, by its key. Whoever asks has these inboxes alone until the
 * transaction ends. In one order everywhere: two who change the same inboxes then wait for each other and do not deadlock.
 */
function* advance(dialect: Dialect, changed: readonly (Inbox & { count: number })[]): Script<Map<string, number>> {
  const { add, values } = parameters()
  const given = dialect.table(
    'g',
    { tenant_id: 'text', user_id: 'text', count: 'bigint' },
    changed.map(({ tenantId, userId, count }) => ({ tenant_id: tenantId, user_id: storableText(userId), count })),
    add,
  )
  const found = yield* rows(
    `insert into pillarbox.inboxes as i (tenant_id, user_id, revision)
      select g.tenant_id, g.user_id, g.count from ${given} where true order by g.tenant_id, g.user_id
      on conflict (tenant_id, user_id) do update set revision = i.revision + excluded.revision
      returning tenant_id, user_id, revision`,
    values,
  )
  return byKey(found)
}

function byKey(inboxes: readonly Row[]): Map<string, number> {
  return new Map(
    inboxes.map((inbox) => [
      inboxKey({ tenantId: String(inbox['tenant_id']), userId: String(inbox['user_id']) }),
      Number(inbox['revision']),
    ]),
  )
}

function* advanceOne(dialect: Dialect, inbox: Inbox, count: number): Script<number> {
  const revisions = yield* advance(dialect, [{ ...inbox, count }])
  return revisions.get(inboxKey(inbox)) ?? 0
}

function* findMessage({ tenantId, userId }: Inbox, id: string): Script<InboxMessage | null> {
  const messageId = uuidOrNull(id)
  if (messageId === null) return null
  const found = yield* row(
    `select ${COLUMNS} from pillarbox.inbox_messages
      where tenant_id = $1 and user_id = $2 and id = $3 and removed_at is null`,
    [tenantId, userId, messageId],
  )
  return found && messageOf(found)
}

/** In the order in which they came, which a retry may have made another than that of their ids. */
function* listMessages(
  { tenantId, userId }: Inbox,
  { isUnread }: { isUnread?: boolean },
  page: Page,
): Script<PageOf<InboxMessage>> {
  const { add, values } = parameters()
  const where = [`tenant_id = ${add(tenantId)}`, `user_id = ${add(userId)}`, 'removed_at is null']
  if (isUnread !== undefined) where.push(isUnread ? 'read_at is null' : 'read_at is not null')
  if (page.cursor !== undefined) {
    const [before = ''] = decodeCursor(page.cursor, 1)
    if (!/^\d{1,15}$/.test(before)) throw invalidCursor()
    where.push(`arrival < ${add(Number(before))}`)
  }
  const found = yield* rows(
    `select ${COLUMNS} from pillarbox.inbox_messages where ${where.join(' and ')}
      order by arrival desc limit ${add(page.limit + 1)}`,
    values,
  )
  return pageOf(found.map(messageOf), page.limit, ({ arrival }) => [String(arrival)])
}

function* changesSince({ tenantId, userId }: Inbox, after: number, limit: number): Script<InboxChange[]> {
  const found = yield* rows(
    `select ${COLUMNS} from pillarbox.inbox_messages
      where tenant_id = $1 and user_id = $2 and revision > $3 order by revision limit $4`,
    [tenantId, userId, after, limit],
  )
  return found.map(changeOf)
}

function* revisionsOf(dialect: Dialect, inboxes: readonly Inbox[]): Script<number[]> {
  const { add, values } = parameters()
  const given = dialect.table(
    'g',
    { given_tenant: 'text', given_user: 'text' },
    inboxes.map(({ tenantId, userId }) => ({ given_tenant: tenantId, given_user: storableText(userId) })),
    add,
  )
  const found = yield* rows(
    `select i.tenant_id, i.user_id, i.revision from ${given} cross join pillarbox.inboxes i
      where i.tenant_id = g.given_tenant and i.user_id = g.given_user`,
    values,
  )
  const known = byKey(found)
  return inboxes.map((inbox) => known.get(inboxKey(inbox)) ?? 0)
}

function* countUnread({ tenantId, userId }: Inbox): Script<number> {
  const found = yield* row(
    `select count(*) as unread from pillarbox.inbox_messages
      where tenant_id = $1 and user_id = $2 and read_at is null and removed_at is null`,
    [tenantId, userId],
  )
  return Number(found?.['unread'])
}

/** What a mark says of the notification. */
const WORD = { seen: 'delivered', read: 'read' } as const
type Word = (typeof WORD)[keyof typeof WORD]

function* markMessages(
  dialect: Dialect,
  inbox: Inbox,
  mark: 'seen' | 'read',
  ids: readonly string[] | 'oldest',
): Script<string[]> {
  const revision = yield* lockInbox(dialect, inbox)
  if (revision === null) return []
  const marked = yield* unmarked(dialect, inbox, mark, ids)
  if (marked.length === 0) return []
  const { add, values } = parameters()
  // Being seen is nothing that anybody else needs to hear of.
  const last = mark === 'read' ? yield* advanceOne(dialect, inbox, marked.length) : 0
  const given = dialect.table(
    'g',
    { given_id: 'uuid', given_revision: 'bigint' },
    marked.map((id, i) => ({ given_id: id, given_revision: last - marked.length + 1 + i })),
    add,
  )
  const changes =
    mark === 'read'
      ? `read_at = ${dialect.now}, seen_at = coalesce(seen_at, ${dialect.now}), revision = g.given_revision`
      : `seen_at = ${dialect.now}`
  yield {
    text: `update pillarbox.inbox_messages as m set ${changes} from ${given} where m.id = g.given_id`,
    values,
  }
  const at = yield* storeNow(dialect)
  const { tenantId } = inbox
  const owed = yield* tellNotifications(
    dialect,
    WORD[mark],
    marked.map((id) => ({ id, tenantId, at })),
  )
  yield* owe(dialect, owed, WORD[mark])
  return marked
}

/** Null where nothing ever came. Whoever asks has the inbox alone until the transaction ends. */
function* lockInbox(dialect: Dialect, { tenantId, userId }: Inbox): Script<number | null> {
  const found = yield* row(
    `select i.revision from pillarbox.inboxes i where i.tenant_id = $1 and i.user_id = $2 ${dialect.lock('i')}`,
    [tenantId, userId],
  )
  return found && Number(found['revision'])
}

/** Those of the inbox that do not have the mark yet, in the order in which they came. */
function* unmarked(
  dialect: Dialect,
  { tenantId, userId }: Inbox,
  mark: 'seen' | 'read',
  ids: readonly string[] | 'oldest',
): Script<string[]> {
  const { add, values } = parameters()
  const wanted = ids === 'oldest' ? null : [...new Set(ids.map(uuidOrNull))].filter((id) => id !== null)
  if (wanted?.length === 0) return []
  const given = wanted && idsTable(dialect, wanted, add)
  const found = yield* rows(
    `select m.id from ${given === null ? '' : `${given} cross join `}pillarbox.inbox_messages m
      where ${given === null ? '' : 'm.id = g.given_id and '}m.tenant_id = ${add(tenantId)} and m.user_id = ${add(userId)}
        and m.${mark}_at is null and m.removed_at is null
      order by m.arrival limit ${MOST_MARKED}`,
    values,
  )
  return found.map(({ id }) => String(id))
}

function* storeNow(dialect: Dialect): Script<number> {
  const found = yield* row(`select ${dialect.now} as now`)
  return instantOf(found?.['now'])
}

/** Receipts of our own about messages' notifications. Answers those that are still being sent and cannot take one yet. */
function* tellNotifications(
  dialect: Dialect,
  word: Word,
  told: readonly { id: string; tenantId: string; at: number }[],
): Script<string[]> {
  if (told.length === 0) return []
  const { answers } = yield* mergeReceipts(
    dialect,
    told.map(({ id, tenantId, at }) => ({
      tenantId,
      notificationId: id,
      provider: 'inbox',
      providerMessageId: id,
      kind: word,
      recipient: null,
      failure: null,
      at,
      next: null,
    })),
  )
  return told.filter((_, i) => answers[i] === 'waiting').map(({ id }) => id)
}

function* owe(dialect: Dialect, ids: readonly string[], word: Word): Script<void> {
  if (ids.length === 0) return
  const { add, values } = parameters()
  yield {
    text: `update pillarbox.inbox_messages as m set owed = '${word}' from ${idsTable(dialect, ids, add)}
      where m.id = g.given_id`,
    values,
  }
}

/** Unless something else is owed by now. */
function* acquit(dialect: Dialect, ids: readonly string[], word: Word): Script<void> {
  if (ids.length === 0) return
  const { add, values } = parameters()
  yield {
    text: `update pillarbox.inbox_messages as m set owed = null from ${idsTable(dialect, ids, add)}
      where m.id = g.given_id and m.owed = '${word}'`,
    values,
  }
}

function idsTable(dialect: Dialect, ids: readonly string[], add: (value: Value) => string): string {
  return dialect.table(
    'g',
    { given_id: 'uuid' },
    ids.map((id) => ({ given_id: id })),
    add,
  )
}

function* removeMessage(dialect: Dialect, inbox: Inbox, id: string): Script<boolean> {
  const messageId = uuidOrNull(id)
  if (messageId === null || (yield* lockInbox(dialect, inbox)) === null) return false
  const found = yield* findMessage(inbox, messageId)
  if (!found) return false
  yield {
    text: `update pillarbox.inbox_messages set sealed = null, removed_at = ${dialect.now}, revision = $2 where id = $1`,
    values: [messageId, yield* advanceOne(dialect, inbox, 1)],
  }
  return true
}

function* settleOwed(
  dialect: Dialect,
  after: string | null,
  limit: number,
): Script<{ settled: number; next: string | null }> {
  const { add, values } = parameters()
  const found = yield* rows(
    `select id, tenant_id, owed, seen_at, read_at from pillarbox.inbox_messages
      where owed is not null${after === null ? '' : ` and id > ${add(after)}`} order by id limit ${add(limit)}`,
    values,
  )
  let settled = 0
  for (const word of ['delivered', 'read'] as const) {
    const owed = found
      .filter((message) => message['owed'] === word)
      .map((message) => ({
        id: String(message['id']),
        tenantId: String(message['tenant_id']),
        at: instantOf(message[word === 'read' ? 'read_at' : 'seen_at']),
      }))
    const waiting = new Set(yield* tellNotifications(dialect, word, owed))
    const told = owed.map(({ id }) => id).filter((id) => !waiting.has(id))
    yield* acquit(dialect, told, word)
    settled += told.length
  }
  return { settled, next: found.length < limit ? null : String(found.at(-1)?.['id']) }
}
