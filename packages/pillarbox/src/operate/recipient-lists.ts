import { found, invalidBody, PillarboxError } from '../model/errors.ts'
import type { IdSource } from '../model/ports.ts'
import type { ListMember, RecipientList } from '../model/recipient-list.ts'
import { regionOf } from '../model/tenant.ts'
import type { Store } from '../store/store.ts'
import type { Operator } from './operator.ts'
import { memberIdentity, readMembers } from './people.ts'

/** A list that has more members takes no more. Whether members are new is known only afterwards, so one call may go beyond. */
const FULL_AT = 100_000

type ListStores = Pick<Store, 'lists' | 'tenants'>
type MemberFields = Parameters<typeof readMembers>[0]

/** A list with how many of the members it was given are on it already, or were given twice. */
export interface WrittenList {
  list: RecipientList
  duplicates: number
}

export async function makeList(
  { store, ids }: { store: ListStores; ids: IdSource },
  { tenantId, actor }: Operator,
  given: { name: string; members: MemberFields },
): Promise<WrittenList> {
  const members = await membersOf(store, tenantId, given.members)
  const id = ids()
  if (!(await store.lists.insert({ id, tenantId, name: given.name, members }, actor))) throw nameTaken()
  return written(found(await store.lists.find(tenantId, id)), given.members)
}

export async function replaceList(
  store: ListStores,
  operator: Operator,
  id: string,
  given: { name: string; members: MemberFields },
): Promise<WrittenList> {
  const members = await membersOf(store, operator.tenantId, given.members)
  return written(await changeList(store, operator, id, { name: given.name, members }), given.members)
}

export async function changeList(
  { lists }: Pick<Store, 'lists'>,
  { tenantId, actor }: Operator,
  id: string,
  changes: { name: string; members?: ListMember[] },
): Promise<RecipientList> {
  const list = await lists.update(tenantId, id, changes, actor)
  if (list === 'taken') throw nameTaken()
  return found(list)
}

/** What still waits to be sent to it will be parked. */
export async function removeList(
  { lists }: Pick<Store, 'lists'>,
  { tenantId, actor }: Operator,
  id: string,
): Promise<void> {
  found(await lists.remove(tenantId, id, actor))
}

export async function addMembers(
  store: ListStores,
  { tenantId, actor }: Operator,
  { id, memberCount }: RecipientList,
  given: MemberFields,
): Promise<WrittenList & { added: number }> {
  const members = await membersOf(store, tenantId, given)
  if (memberCount > FULL_AT)
    throw invalidBody([{ path: '/members', message: `is too much: the list has ${memberCount} members already` }])
  const added = found(await store.lists.addMembers(tenantId, id, members, actor))
  return { list: found(await store.lists.find(tenantId, id)), added, duplicates: given.length - added }
}

/** What adding members would do: how many are new, how many are there, and which cannot be added. */
export interface TriedMembers {
  added: number
  duplicates: number
  bad: { index: number; message: string }[]
}

/** Calls back when everything else that has come in has had its turn. */
export type NextTurn = (run: () => void) => void

interface ListReading {
  store: ListStores
  nextTurn: NextTurn
}

/** The same reading as `addMembers` does, without writing: bad ones are named one by one. */
export async function tryMembers(
  deps: ListReading,
  tenantId: string,
  { id }: RecipientList,
  given: MemberFields,
): Promise<TriedMembers> {
  const region = regionOf(await deps.store.tenants.find(tenantId))
  const bad: TriedMembers['bad'] = []
  const wanted = new Set<string>()
  for (const [index, member] of given.entries()) {
    if (index > 0 && index % READ_AT_ONCE === 0) await turnOf(deps.nextTurn)
    const { members, problems } = readMembers([member], region)
    const [problem] = [...problems, ...tooLong(member)]
    if (problem) bad.push({ index, message: problem.message })
    else for (const good of members) wanted.add(memberIdentity(good))
  }
  for await (const members of memberPages(deps, { tenantId, id }))
    for (const member of members) wanted.delete(memberIdentity(member))
  return { added: wanted.size, duplicates: given.length - bad.length - wanted.size, bad }
}

/** Telephone numbers take some tens of microseconds each. */
const READ_AT_ONCE = 500

const LONGEST = { name: 200, email: 320, phone: 60 } as const

function tooLong(member: MemberFields[number]): { message: string }[] {
  return (['name', 'email', 'phone'] as const).flatMap((field) =>
    (member[field]?.length ?? 0) > LONGEST[field]
      ? [{ message: `${field} has more than ${LONGEST[field]} characters` }]
      : [],
  )
}

/** Reads a list to its end, a page at a time: a long one keeps nobody waiting. */
export async function* memberPages(
  { store: { lists }, nextTurn }: Pick<ListReading, 'nextTurn'> & { store: Pick<Store, 'lists'> },
  { tenantId, id }: Pick<RecipientList, 'tenantId' | 'id'>,
): AsyncGenerator<ListMember[]> {
  for (let after: string | null = null; ; ) {
    const page: Awaited<ReturnType<Store['lists']['members']>> = await lists.members(tenantId, id, after, PAGE)
    yield page.members
    if (page.next === null) return
    after = page.next
    await turnOf(nextTurn)
  }
}

const PAGE = 2_000

function turnOf(nextTurn: NextTurn): Promise<void> {
  return new Promise((resolve) => nextTurn(resolve))
}

/** Of a list that was just given all its members: those it does not count were given twice. */
function written(list: RecipientList, given: MemberFields): WrittenList {
  return { list, duplicates: given.length - list.memberCount }
}

async function membersOf(store: ListStores, tenantId: string, given: MemberFields): Promise<ListMember[]> {
  const { members, problems } = readMembers(given, regionOf(await store.tenants.find(tenantId)))
  if (problems.length) throw invalidBody(problems)
  return members
}

function nameTaken(): PillarboxError {
  return new PillarboxError('already_exists', 'Another recipient list has that name.')
}
