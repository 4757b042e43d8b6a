import type { InboxStore } from '../../channels/in_app/inbox-store.ts'
import type { InboxChange, InboxMessage } from '../../model/inbox.ts'
import type { Page, PageOf } from '../../model/page.ts'
import { decodeCursor, invalidCursor, pageOf } from './cursor.ts'
import { storableText, uuidOrNull } from './fields.ts'
import { mergeReceipts } from './merge-receipts.ts'
import { findBy, nounOf } from './noun.ts'
import {
  type Dialect,
  givenIds,
  givenRows,
  instantOf,
  type Row,
  row,
  rows,
  type Script,
  type ScriptRunner,
} from './script.ts'

/** A message as it now is; one that was removed has no words left. */
const MESSAGES = nounOf<InboxChange>('inbox_messages', {
  id: 'uuid',
  tenantId: 'text',
  userId: 'text',
  sealed: 'text',
  arrival: 'number',
  revision: 'number',
  createdAt: 'instant',
  seenAt: 'instant',
  readAt: 'instant',
})

const IS_THERE = { and: 'removed_at is null' }

export function sharedInbox({ dialect, read, write }: ScriptRunner): InboxStore {
  const of = (tenantId: string, userId: string): Inbox => ({ tenantId, userId: storableText(userId) })
  return {
    put: (message) => write(() => putMessages(dialect, [message])),
    find: (tenantId, userId, id) => read(() => findMessage(of(tenantId, userId), id)),
    list: (tenantId, userId, filter, page) => read(() => listMessages(of(tenantId, userId), filter, page)),
    since: (tenantId, userId, after, limit) => read(() => changesSince(of(tenantId, userId), after, limit)),
    revisions: (inboxes) => (inboxes.length === 0 ? Promise.resolve([]) : read(() => revisionsOf(inboxes))),
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

/** Of a message that is not removed, which has its words. */
function messageOf(change: InboxChange): InboxMessage {
  return { ...change, sealed: change.sealed ?? '' }
}

/** Puts any number of messages at once; each gets the next number of its inbox. One that is there stays as it is. */
export function* putMessages(dialect: Dialect, messages: readonly NewInboxMessage[]): Script<void> {
  const given = new Map(messages.map((message) => [message.id.toLowerCase(), message]))
  const known = yield* knownAmong([...given.keys()])
  for (const id of known) given.delete(id)
  if (given.size === 0) return
  const byInbox = Map.groupBy(given.values(), inboxKey)
  const revisions = yield* advance(
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
  const columns = { id: 'uuid', tenant_id: 'text', user_id: 'text', sealed: 'text', arrival: 'bigint' } as const
  yield* rows(
    `insert into pillarbox.inbox_messages (id, tenant_id, user_id, sealed, arrival, revision, created_at)
      select g.id, g.tenant_id, g.user_id, g.sealed, g.arrival, g.arrival, ${dialect.now} from :g where true
      on conflict (id) do nothing`,
    { g: givenRows(columns, arrived) },
  )
}

function* knownAmong(ids: readonly string[]): Script<string[]> {
  const found = yield* rows('select m.id from :g cross join pillarbox.inbox_messages m where m.id = g.id', {
    g: givenIds(ids),
  })
  return found.map(({ id }) => String(id))
}

/** A tenant's id has no space, so no two pairs give one key. */
function inboxKey({ tenantId, userId }: Inbox): string {
  return `${tenantId} ${storableText(userId)}`
}

/**
 * Each inbox's revision after `count` further changes, by its key. No other transaction changes these inboxes until the
 * transaction ends. In one order everywhere: two who change the same inboxes then wait for each other and do not deadlock.
 */
function* advance(changed: readonly (Inbox & { count: number })[]): Script<Map<string, number>> {
  const given = changed.map(({ count, ...inbox }) => ({ ...inboxRow(inbox), count }))
  const found = yield* rows(
    `insert into pillarbox.inboxes as i (tenant_id, user_id, revision)
      select g.tenant_id, g.user_id, g.count from :g where true order by g.tenant_id, g.user_id
      on conflict (tenant_id, user_id) do update set revision = i.revision + excluded.revision
      returning tenant_id, user_id, revision`,
    { g: givenRows({ ...INBOX, count: 'bigint' }, given) },
  )
  return byKey(found)
}

const INBOX = { tenant_id: 'text', user_id: 'text' } as const

function inboxRow({ tenantId, userId }: Inbox) {
  return { tenant_id: tenantId, user_id: storableText(userId) }
}

function byKey(inboxes: readonly Row[]): Map<string, number> {
  return new Map(
    inboxes.map((inbox) => [
      inboxKey({ tenantId: String(inbox['tenant_id']), userId: String(inbox['user_id']) }),
      Number(inbox['revision']),
    ]),
  )
}

function* advanceOne(inbox: Inbox, count: number): Script<number> {
  const revisions = yield* advance([{ ...inbox, count }])
  return revisions.get(inboxKey(inbox)) ?? 0
}

function* findMessage(inbox: Inbox, id: string): Script<InboxMessage | null> {
  const found = yield* findBy(MESSAGES, { ...inbox, id }, IS_THERE)
  return found && messageOf(found)
}

/** In the order in which they came, which a retry may have made another than that of their ids. */
function* listMessages(inbox: Inbox, { isUnread }: { isUnread?: boolean }, page: Page): Script<PageOf<InboxMessage>> {
  const where = ['tenant_id = :tenantId', 'user_id = :userId', 'removed_at is null']
  if (isUnread !== undefined) where.push(isUnread ? 'read_at is null' : 'read_at is not null')
  const [before = '0'] = page.cursor === undefined ? [] : decodeCursor(page.cursor, 1)
  if (!/^\d{1,15}$/.test(before)) throw invalidCursor()
  if (page.cursor !== undefined) where.push('arrival < :before')
  const found = yield* rows(
    `select ${MESSAGES.columns} from pillarbox.inbox_messages where ${where.join(' and ')}
      order by arrival desc limit :limit`,
    { ...inbox, before: Number(before), limit: page.limit + 1 },
  )
  return pageOf(
    found.map((each) => messageOf(MESSAGES.of(each))),
    page.limit,
    ({ arrival }) => [String(arrival)],
  )
}

function* changesSince(inbox: Inbox, after: number, limit: number): Script<InboxChange[]> {
  const found = yield* rows(
    `select ${MESSAGES.columns} from pillarbox.inbox_messages
      where tenant_id = :tenantId and user_id = :userId and revision > :after order by revision limit :limit`,
    { ...inbox, after, limit },
  )
  return found.map(MESSAGES.of)
}

function* revisionsOf(inboxes: readonly Inbox[]): Script<number[]> {
  const found = yield* rows(
    `select i.tenant_id, i.user_id, i.revision from :g cross join pillarbox.inboxes i
      where i.tenant_id = g.tenant_id and i.user_id = g.user_id`,
    { g: givenRows(INBOX, inboxes.map(inboxRow)) },
  )
  const known = byKey(found)
  return inboxes.map((inbox) => known.get(inboxKey(inbox)) ?? 0)
}

function* countUnread(inbox: Inbox): Script<number> {
  const found = yield* row(
    `select count(*) as unread from pillarbox.inbox_messages
      where tenant_id = :tenantId and user_id = :userId and read_at is null and removed_at is null`,
    inbox,
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
  const marked = yield* unmarked(inbox, mark, ids)
  if (marked.length === 0) return []
  // Being seen is nothing that anybody else needs to hear of.
  const last = mark === 'read' ? yield* advanceOne(inbox, marked.length) : 0
  const given = marked.map((id, i) => ({ id, revision: last - marked.length + 1 + i }))
  const changes =
    mark === 'read'
      ? `read_at = ${dialect.now}, seen_at = coalesce(m.seen_at, ${dialect.now}), revision = g.revision`
      : `seen_at = ${dialect.now}`
  yield* rows(`update pillarbox.inbox_messages as m set ${changes} from :g where m.id = g.id`, {
    g: givenRows({ id: 'uuid', revision: 'bigint' }, given),
  })
  const at = yield* storeNow(dialect)
  const { tenantId } = inbox
  const owed = yield* tellNotifications(
    dialect,
    WORD[mark],
    marked.map((id) => ({ id, tenantId, at })),
  )
  yield* markReceiptOwed(owed, WORD[mark])
  return marked
}

/** The inbox's revision; null where no message ever came. No other transaction changes the inbox until this one ends. */
function* lockInbox(dialect: Dialect, inbox: Inbox): Script<number | null> {
  const found = yield* row(
    `select i.revision from pillarbox.inboxes i
      where i.tenant_id = :tenantId and i.user_id = :userId ${dialect.lock('i')}`,
    inbox,
  )
  return found && Number(found['revision'])
}

/** The messages of the inbox that do not have the mark yet, in the order in which they came. */
function* unmarked(inbox: Inbox, mark: 'seen' | 'read', ids: readonly string[] | 'oldest'): Script<string[]> {
  const wanted = ids === 'oldest' ? null : [...new Set(ids.map(uuidOrNull))].filter((id) => id !== null)
  if (wanted?.length === 0) return []
  const found = yield* rows(
    `select m.id from ${wanted === null ? '' : ':g cross join '}pillarbox.inbox_messages m
      where ${wanted === null ? '' : 'm.id = g.id and '}m.tenant_id = :tenantId and m.user_id = :userId
        and m.${mark}_at is null and m.removed_at is null
      order by m.arrival limit ${MOST_MARKED}`,
    { ...inbox, g: givenIds(wanted ?? []) },
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

function* markReceiptOwed(ids: readonly string[], word: Word): Script<void> {
  if (ids.length === 0) return
  yield* rows('update pillarbox.inbox_messages as m set owed = :word from :g where m.id = g.id', {
    word,
    g: givenIds(ids),
  })
}

/** Unless something else is owed by now. */
function* markReceiptTold(ids: readonly string[], word: Word): Script<void> {
  if (ids.length === 0) return
  yield* rows('update pillarbox.inbox_messages as m set owed = null from :g where m.id = g.id and m.owed = :word', {
    word,
    g: givenIds(ids),
  })
}

function* removeMessage(dialect: Dialect, inbox: Inbox, id: string): Script<boolean> {
  const messageId = uuidOrNull(id)
  if (messageId === null || (yield* lockInbox(dialect, inbox)) === null) return false
  const found = yield* findMessage(inbox, messageId)
  if (!found) return false
  yield* rows(
    `update pillarbox.inbox_messages set sealed = null, removed_at = ${dialect.now}, revision = :revision where id = :id`,
    { id: messageId, revision: yield* advanceOne(inbox, 1) },
  )
  return true
}

function* settleOwed(
  dialect: Dialect,
  after: string | null,
  limit: number,
): Script<{ settled: number; next: string | null }> {
  const found = yield* rows(
    `select id, tenant_id, owed, seen_at, read_at from pillarbox.inbox_messages
      where owed is not null ${after === null ? '' : 'and id > :after'} order by id limit :limit`,
    { after, limit },
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
    yield* markReceiptTold(told, word)
    settled += told.length
  }
  return { settled, next: found.length < limit ? null : String(found.at(-1)?.['id']) }
}
