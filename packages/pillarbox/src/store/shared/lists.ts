import { addressIdentity } from '../../model/address.ts'
import type { Page, PageOf } from '../../model/page.ts'
import type { ListMember, RecipientList } from '../../model/recipient-list.ts'
import type { ListStore } from '../../plan/list-store.ts'
import { writeAudit } from './audit.ts'
import { decodeCursor, invalidCursor, pageOf } from './cursor.ts'
import { isUniqueViolation, storableText, textOrNull, uuidOrNull } from './fields.ts'
import { parameters } from './parameters.ts'
import { type Dialect, instantOf, type Row, row, rows, type Script, type ScriptRunner } from './script.ts'

/** `planning` runs what planning waits for, so that nothing people do by hand gets in its way. */
export function sharedLists(
  { dialect, read, write }: ScriptRunner,
  { planning }: { planning: ScriptRunner },
): ListStore {
  return {
    insert: (list, actor) => write(() => insertList(dialect, list, actor)),
    update: (tenantId, id, changes, actor) =>
      write(() => updateList(dialect, { tenantId, id, changes, actor })).catch((error: unknown) => {
        if (isUniqueViolation(error)) return 'taken' as const
        throw error
      }),
    addMembers: (tenantId, id, members, actor) => write(() => addMembers(dialect, { tenantId, id, members, actor })),
    remove: (tenantId, id, actor) => write(() => removeList(dialect, tenantId, id, actor)),
    find: (tenantId, id) => read(() => findList(tenantId, id)),
    findByName: (tenantId, name) => read(() => findByName(tenantId, name)),
    list: (tenantId, page) => read(() => listLists(tenantId, page)),
    members: (tenantId, listId, after, limit) => planning.read(() => membersOf({ tenantId, listId, after, limit })),
  }
}

/** Members in one statement: enough that the round trips do not count, and no more than a few hundred kilobytes. */
const CHUNK = 2_000

/** Members read at once when a list is compared with what it is to be. */
const READ_CHUNK = 20_000

const COLUMNS = 'id, tenant_id, name, member_count, created_at, updated_at'

function listOf(found: Row): RecipientList {
  return {
    id: String(found['id']),
    tenantId: String(found['tenant_id']),
    name: String(found['name']),
    memberCount: Number(found['member_count']),
    createdAt: instantOf(found['created_at']),
    updatedAt: instantOf(found['updated_at']),
  }
}

function* insertList(dialect: Dialect, list: Parameters<ListStore['insert']>[0], actor: string): Script<boolean> {
  const written = yield* row(
    `insert into pillarbox.recipient_lists (id, tenant_id, name, created_at, updated_at)
      values ($1, $2, $3, ${dialect.now}, ${dialect.now}) on conflict do nothing returning id`,
    [list.id, list.tenantId, list.name],
  )
  if (!written) return false
  yield* insertMembers(dialect, list.id, list.members)
  yield* countMembers(list.id)
  yield* auditList(dialect, list.tenantId, list.id, 'create', actor)
  return true
}

interface Change<T> {
  tenantId: string
  id: string
  changes: T
  actor: string
}

function* updateList(
  dialect: Dialect,
  { tenantId, id, changes, actor }: Change<Parameters<ListStore['update']>[2]>,
): Script<RecipientList | null> {
  const list = yield* lockList(tenantId, id)
  if (!list) return null
  const { add, values } = parameters()
  const name = changes.name === undefined ? '' : `name = ${add(changes.name)}, `
  yield {
    text: `update pillarbox.recipient_lists set ${name}updated_at = ${dialect.now} where id = ${add(list.id)}`,
    values,
  }
  if (changes.members) yield* replaceMembers(dialect, list.id, changes.members)
  const changed = yield* countMembers(list.id)
  yield* auditList(dialect, tenantId, list.id, 'update', actor)
  return changed
}

interface Addition {
  tenantId: string
  id: string
  members: readonly ListMember[]
  actor: string
}

function* addMembers(dialect: Dialect, { tenantId, id, members, actor }: Addition): Script<number | null> {
  const list = yield* lockList(tenantId, id)
  if (!list) return null
  yield* insertMembers(dialect, list.id, members)
  const changed = yield* countMembers(list.id)
  const added = (changed?.memberCount ?? 0) - list.memberCount
  if (added > 0) {
    yield {
      text: `update pillarbox.recipient_lists set updated_at = ${dialect.now} where id = $1`,
      values: [list.id],
    }
    yield* auditList(dialect, tenantId, list.id, 'add_members', actor)
  }
  return added
}

/** Whoever changes a list has it alone until the transaction ends, so that its count is right. */
function* lockList(tenantId: string, id: string): Script<RecipientList | null> {
  const listId = uuidOrNull(id)
  if (listId === null) return null
  const found = yield* row(
    `update pillarbox.recipient_lists set member_count = member_count where tenant_id = $1 and id = $2
      returning ${COLUMNS}`,
    [tenantId, listId],
  )
  return found && listOf(found)
}

/** Those that are on it already are left out. */
function* insertMembers(dialect: Dialect, listId: string, members: readonly ListMember[]): Script<void> {
  for (let from = 0; from < members.length; from += CHUNK) {
    const { add, values } = parameters()
    const given = dialect.table(
      'g',
      { list_id: 'uuid', name: 'text', email: 'text', phone: 'text' },
      members.slice(from, from + CHUNK).map(({ name, email, phone }) => ({ list_id: listId, name, email, phone })),
      add,
    )
    yield {
      text: `insert into pillarbox.recipient_list_members (list_id, name, email, phone)
        select g.list_id, g.name, g.email, g.phone from ${given} where true on conflict do nothing`,
      values,
    }
  }
}

/**
 * Those who stay keep their place: a send that is under way goes on behind the last member it had, and would begin anew
 * if everybody got a new one.
 */
function* replaceMembers(dialect: Dialect, listId: string, members: readonly ListMember[]): Script<void> {
  const wanted = new Map(members.map((member) => [memberKey(member), member]))
  const gone: { id: number }[] = []
  const renamed: { id: number; name: string | null }[] = []
  let after: string | null = '0'
  while (after !== null) {
    const page: MemberPage = yield* memberPage(listId, after, READ_CHUNK)
    for (const { id, ...member } of page.members) {
      const key = memberKey(member)
      const stays = wanted.get(key)
      wanted.delete(key)
      if (!stays) gone.push({ id: Number(id) })
      else if (stays.name !== member.name) renamed.push({ id: Number(id), name: stays.name })
    }
    after = page.next
  }
  for (let from = 0; from < gone.length; from += CHUNK) {
    const { add, values } = parameters()
    const given = dialect.table('g', { id: 'bigint' }, gone.slice(from, from + CHUNK), add)
    yield { text: `delete from pillarbox.recipient_list_members where id in (select g.id from ${given})`, values }
  }
  for (let from = 0; from < renamed.length; from += CHUNK) {
    const { add, values } = parameters()
    const given = dialect.table('g', { id: 'bigint', name: 'text' }, renamed.slice(from, from + CHUNK), add)
    yield {
      text: `update pillarbox.recipient_list_members as m set name = g.name from ${given} where m.id = g.id`,
      values,
    }
  }
  yield* insertMembers(dialect, listId, [...wanted.values()])
}

/** Emails that differ by case are one mailbox. */
function memberKey({ email, phone }: ListMember): string {
  return JSON.stringify([email && addressIdentity('email', email), phone].map((part) => part && storableText(part)))
}

/** Counted, not added up: whatever was on the list twice has been left out. */
function* countMembers(listId: string): Script<RecipientList | null> {
  const found = yield* row(
    `update pillarbox.recipient_lists
      set member_count = (select count(*) from pillarbox.recipient_list_members m where m.list_id = $1)
      where id = $1 returning ${COLUMNS}`,
    [listId],
  )
  return found && listOf(found)
}

function* removeList(dialect: Dialect, tenantId: string, id: string, actor: string): Script<boolean> {
  const listId = uuidOrNull(id)
  if (listId === null) return false
  const removed = yield* row('delete from pillarbox.recipient_lists where tenant_id = $1 and id = $2 returning id', [
    tenantId,
    listId,
  ])
  if (!removed) return false
  yield* auditList(dialect, tenantId, listId, 'remove', actor)
  return true
}

function auditList(dialect: Dialect, tenantId: string, id: string, action: string, actor: string): Script<void> {
  return writeAudit(dialect, { tenantId, actor, action, subject: `list:${id}` })
}

function* findList(tenantId: string, id: string): Script<RecipientList | null> {
  const listId = uuidOrNull(id)
  if (listId === null) return null
  const found = yield* row(`select ${COLUMNS} from pillarbox.recipient_lists where tenant_id = $1 and id = $2`, [
    tenantId,
    listId,
  ])
  return found && listOf(found)
}

function* findByName(tenantId: string, name: string): Script<RecipientList | null> {
  const found = yield* row(`select ${COLUMNS} from pillarbox.recipient_lists where tenant_id = $1 and name = $2`, [
    tenantId,
    name,
  ])
  return found && listOf(found)
}

/** Newest first. */
function* listLists(tenantId: string, page: Page): Script<PageOf<RecipientList>> {
  const { add, values } = parameters()
  const where = [`tenant_id = ${add(tenantId)}`]
  if (page.cursor !== undefined) {
    const before = uuidOrNull(decodeCursor(page.cursor, 1)[0] ?? '')
    if (before === null) throw invalidCursor()
    where.push(`id < ${add(before)}`)
  }
  const found = yield* rows(
    `select ${COLUMNS} from pillarbox.recipient_lists where ${where.join(' and ')}
      order by id desc limit ${add(page.limit + 1)}`,
    values,
  )
  return pageOf(found.map(listOf), page.limit, ({ id }) => [id])
}

type MemberPage = Awaited<ReturnType<ListStore['members']>>

const NO_MEMBERS: MemberPage = { members: [], next: null }

function* membersOf(wanted: {
  tenantId: string
  listId: string
  after: string | null
  limit: number
}): Script<MemberPage> {
  const { tenantId, after, limit } = wanted
  if (after !== null && !/^\d{1,15}$/.test(after)) throw invalidCursor()
  const list = yield* findList(tenantId, wanted.listId)
  return list ? yield* memberPage(list.id, after ?? '0', limit) : NO_MEMBERS
}

function* memberPage(listId: string, after: string, limit: number): Script<MemberPage> {
  const found = yield* rows(
    `select id, name, email, phone from pillarbox.recipient_list_members
      where list_id = $1 and id > $2 order by id limit $3`,
    [listId, Number(after), limit + 1],
  )
  const members = found.slice(0, limit).map((member) => ({
    id: String(member['id']),
    name: textOrNull(member['name']),
    email: textOrNull(member['email']),
    phone: textOrNull(member['phone']),
  }))
  return { members, next: found.length > limit ? (members.at(-1)?.id ?? null) : null }
}
