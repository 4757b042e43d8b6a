import { addressIdentity } from '../../model/address.ts'
import type { ListMember, RecipientList } from '../../model/recipient-list.ts'
import type { ListStore } from '../../plan/list-store.ts'
import { writeChange } from './audit.ts'
import { pictureOfList } from './audit-pictures.ts'
import { invalidCursor } from './cursor.ts'
import { isUniqueViolation, storableText } from './fields.ts'
import { findBy, newestFirst, nounOf, removeBy } from './noun.ts'
import { type Dialect, givenRows, row, rows, type Script, type ScriptRunner } from './script.ts'

const LISTS = nounOf<RecipientList>('recipient_lists', {
  id: 'uuid',
  tenantId: 'text',
  name: 'text',
  memberCount: 'number',
  createdAt: 'instant',
  updatedAt: 'instant',
})

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
    remove: (tenantId, id, actor) =>
      write(function* () {
        const removed = yield* removeBy(LISTS, { tenantId, id })
        if (removed) yield* auditList(dialect, { before: removed, after: null }, 'remove', actor)
        return removed !== null
      }),
    find: (tenantId, id) => read(() => findBy(LISTS, { tenantId, id })),
    findByName: (tenantId, name) => read(() => findBy(LISTS, { tenantId, name })),
    list: (tenantId, page) => read(() => newestFirst(LISTS, ['tenant_id = :tenantId'], { tenantId }, page)),
    members: (tenantId, listId, after, limit) => planning.read(() => membersOf({ tenantId, listId, after, limit })),
  }
}

/** Members in one statement: enough that the round trips do not count, and no more than a few hundred kilobytes. */
const CHUNK = 2_000

/** Members read at once when a list is compared with what it is to be. */
const READ_CHUNK = 20_000

function* insertList(dialect: Dialect, list: Parameters<ListStore['insert']>[0], actor: string): Script<boolean> {
  const written = yield* row(
    `insert into pillarbox.recipient_lists (id, tenant_id, name, created_at, updated_at)
      values (:id, :tenantId, :name, ${dialect.now}, ${dialect.now}) on conflict do nothing returning id`,
    list,
  )
  if (!written) return false
  yield* insertMembers(list.id, list.members)
  const inserted = yield* countMembers(list.id)
  yield* auditList(dialect, { before: null, after: inserted }, 'create', actor)
  return true
}

interface ListUpdate {
  tenantId: string
  id: string
  changes: Parameters<ListStore['update']>[2]
  actor: string
}

/** The list is locked until the transaction ends, so that no other change makes its count wrong. */
function* updateList(dialect: Dialect, { tenantId, id, changes, actor }: ListUpdate): Script<RecipientList | null> {
  const list = yield* findBy(LISTS, { tenantId, id }, { lockedBy: dialect })
  if (!list) return null
  const name = changes.name === undefined ? '' : 'name = :name, '
  yield* rows(`update pillarbox.recipient_lists set ${name}updated_at = ${dialect.now} where id = :id`, {
    id: list.id,
    name: changes.name,
  })
  if (changes.members) yield* replaceMembers(list.id, changes.members)
  const changed = yield* countMembers(list.id)
  yield* auditList(dialect, { before: list, after: changed }, 'update', actor)
  return changed
}

interface Addition {
  tenantId: string
  id: string
  members: readonly ListMember[]
  actor: string
}

function* addMembers(dialect: Dialect, { tenantId, id, members, actor }: Addition): Script<number | null> {
  const list = yield* findBy(LISTS, { tenantId, id }, { lockedBy: dialect })
  if (!list) return null
  yield* insertMembers(list.id, members)
  const changed = yield* countMembers(list.id)
  const added = (changed?.memberCount ?? 0) - list.memberCount
  if (added > 0) {
    yield* rows(`update pillarbox.recipient_lists set updated_at = ${dialect.now} where id = :id`, { id: list.id })
    yield* auditList(dialect, { before: list, after: changed }, 'add_members', actor)
  }
  return added
}

function chunksOf<T>(items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / CHUNK) }, (_, i) => items.slice(i * CHUNK, (i + 1) * CHUNK))
}

/** Members that are on the list already are left out. */
function* insertMembers(listId: string, members: readonly ListMember[]): Script<void> {
  for (const chunk of chunksOf(members))
    yield* rows(
      `insert into pillarbox.recipient_list_members (list_id, name, email, phone)
        select :listId, g.name, g.email, g.phone from :g where true on conflict do nothing`,
      { listId, g: givenRows({ name: 'text', email: 'text', phone: 'text' }, chunk) },
    )
}

/**
 * Members who stay keep their place: a send that is under way goes on behind the last member it had, and would begin anew
 * if everybody got a new one.
 */
function* replaceMembers(listId: string, members: readonly ListMember[]): Script<void> {
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
  for (const chunk of chunksOf(gone))
    yield* rows('delete from pillarbox.recipient_list_members where id in (select g.id from :g)', {
      g: givenRows({ id: 'bigint' }, chunk),
    })
  for (const chunk of chunksOf(renamed))
    yield* rows('update pillarbox.recipient_list_members as m set name = g.name from :g where m.id = g.id', {
      g: givenRows({ id: 'bigint', name: 'text' }, chunk),
    })
  yield* insertMembers(listId, [...wanted.values()])
}

/** Emails that differ by case are one mailbox. */
function memberKey({ email, phone }: ListMember): string {
  return JSON.stringify([email && addressIdentity('email', email), phone].map((part) => part && storableText(part)))
}

/** Counted, not added up: whatever was on the list twice has been left out. */
function* countMembers(listId: string): Script<RecipientList | null> {
  const found = yield* row(
    `update pillarbox.recipient_lists
      set member_count = (select count(*) from pillarbox.recipient_list_members m where m.list_id = :listId)
      where id = :listId returning ${LISTS.columns}`,
    { listId },
  )
  return found && LISTS.of(found)
}

function auditList(
  dialect: Dialect,
  change: { before: RecipientList | null; after: RecipientList | null },
  action: string,
  actor: string,
): Script<void> {
  return writeChange(dialect, 'list', { ...change, pictureOf: pictureOfList }, { action, actor })
}

type MemberPage = Awaited<ReturnType<ListStore['members']>>

function* membersOf(wanted: {
  tenantId: string
  listId: string
  after: string | null
  limit: number
}): Script<MemberPage> {
  const { tenantId, listId, after, limit } = wanted
  if (after !== null && !/^\d{1,15}$/.test(after)) throw invalidCursor()
  const list = yield* findBy(LISTS, { tenantId, id: listId })
  return list ? yield* memberPage(list.id, after ?? '0', limit) : { members: [], next: null }
}

const MEMBERS = nounOf<MemberPage['members'][number]>('recipient_list_members', {
  id: 'text',
  name: 'text',
  email: 'text',
  phone: 'text',
})

function* memberPage(listId: string, after: string, limit: number): Script<MemberPage> {
  const found = yield* rows(
    `select ${MEMBERS.columns} from pillarbox.recipient_list_members
      where list_id = :listId and id > :after order by id limit :limit`,
    { listId, after: Number(after), limit: limit + 1 },
  )
  const members = found.slice(0, limit).map(MEMBERS.of)
  return { members, next: found.length > limit ? (members.at(-1)?.id ?? null) : null }
}
