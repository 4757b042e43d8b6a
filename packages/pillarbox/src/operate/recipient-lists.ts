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

/** The same reading as `addMembers` does, without writing: bad ones are named one by one. */
export async function tryMembers(
  store: ListStores,
  tenantId: string,
  { id }: RecipientList,
  given: MemberFields,
): Promise<TriedMembers> {
  const region = regionOf(await store.tenants.find(tenantId))
  const bad = given.flatMap((member, index) => {
    const [problem] = [...readMembers([member], region).problems, ...tooLong(member)]
    return problem ? [{ index, message: problem.message }] : []
  })
  const spoilt = new Set(bad.map(({ index }) => index))
  const good = given.filter((_, index) => !spoilt.has(index))
  const wanted = new Set(readMembers(good, region).members.map(memberIdentity))
  await forEachMember(store, { tenantId, id }, (member) => void wanted.delete(memberIdentity(member)))
  return { added: wanted.size, duplicates: good.length - wanted.size, bad }
}

const LONGEST = { name: 200, email: 320, phone: 60 } as const

function tooLong(member: MemberFields[number]): { message: string }[] {
  return (['name', 'email', 'phone'] as const).flatMap((field) =>
    (member[field]?.length ?? 0) > LONGEST[field]
      ? [{ message: `${field} has more than ${LONGEST[field]} characters` }]
      : [],
  )
}

/** Reads a list to its end, a page at a time. */
export async function forEachMember(
  { lists }: Pick<Store, 'lists'>,
  { tenantId, id }: Pick<RecipientList, 'tenantId' | 'id'>,
  visit: (member: ListMember) => void,
): Promise<void> {
  for (let after: string | null = null; ; ) {
    const page: Awaited<ReturnType<Store['lists']['members']>> = await lists.members(tenantId, id, after, PAGE)
    for (const member of page.members) visit(member)
    if (page.next === null) return
    after = page.next
  }
}

const PAGE = 10_000

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
