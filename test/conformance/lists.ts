import assert from 'node:assert/strict'
import { isPillarboxError } from '../../packages/pillarbox/src/model/errors.ts'
import type { ListMember, RecipientList } from '../../packages/pillarbox/src/model/recipient-list.ts'
import { allPages, assertBetween, type Bench, only, type Rule } from './fixtures.ts'

/** Recipient lists: every member once, in an order that holds while a list is being sent to. */
export function listRules(rule: Rule): void {
  rule('keeps a list and its members', async (bench) => {
    const { store, tenant, newId } = bench
    const tenantId = await tenant()
    const members = [
      member('Ada', 'ada@example.com', null),
      member(null, null, '+491'),
      member('Both', 'both@example.com', '+492'),
    ]
    const id = newId()
    const before = await store.now()

    assert.equal(await store.lists.insert({ id, tenantId, name: 'ops-team', members }, 'key:ada'), true)

    const list = (await store.lists.find(tenantId, id)) ?? assert.fail()
    const { createdAt, updatedAt, ...rest } = list
    assert.deepEqual(rest, { id, tenantId, name: 'ops-team', memberCount: 3 })
    assertBetween(createdAt, before, await store.now())
    assert.equal(updatedAt, createdAt)
    assert.deepEqual(await store.lists.findByName(tenantId, 'ops-team'), list)
    assert.deepEqual(await membersOf(bench, list), members)
  })

  rule('a list’s name is taken once per tenant', async (bench) => {
    const { store, tenant, newId, another } = bench
    const [tenantId, second, other] = [await tenant(), await tenant(), await another()]
    const insert = (on: typeof store, of: string) =>
      on.lists.insert(
        { id: newId(), tenantId: of, name: 'ops', members: [member('a', 'a@example.com', null)] },
        'key:ada',
      )

    const answers = await Promise.all([store, other, store, other].map((each) => insert(each, tenantId)))

    assert.equal(answers.filter(Boolean).length, 1)
    assert.equal(await insert(store, tenantId), false)
    assert.equal(await insert(store, second), true)
    assert.equal((await store.lists.findByName(tenantId, 'ops'))?.memberCount, 1)
  })

  rule('nobody is on a list twice', async (bench) => {
    const { store } = bench
    const twice = [
      member('A', 'a@example.com', null),
      member('again', 'a@example.com', null),
      member('B', 'a@example.com', '+491'),
      member('C', null, '+491'),
      member('again', null, '+491'),
    ]

    const list = await inserted(bench, twice)

    assert.equal(list.memberCount, 3)
    assert.deepEqual(
      (await membersOf(bench, list)).map(({ name }) => name),
      ['A', 'B', 'C'],
    )
    assert.equal(await store.lists.addMembers(list.tenantId, list.id, twice, 'key:ada'), 0)
    assert.deepEqual(await store.lists.find(list.tenantId, list.id), list)
  })

  rule('nobody is on a list twice because their email is written in another case', async (bench) => {
    const { store } = bench
    const list = await inserted(bench, [member('A', 'Ada@example.com', null), member('again', 'ada@EXAMPLE.com', null)])
    const names = async () => (await membersOf(bench, list)).map(({ name, email }) => [name, email])

    assert.deepEqual(await names(), [['A', 'Ada@example.com']])
    const upper = [member('B', 'ADA@example.com', null)]
    assert.equal(await store.lists.addMembers(list.tenantId, list.id, upper, 'key:ada'), 0)
    const [kept] = (await store.lists.members(list.tenantId, list.id, null, 10)).members
    await store.lists.update(list.tenantId, list.id, { members: upper }, 'key:ada')

    const [{ id, name } = assert.fail()] = (await store.lists.members(list.tenantId, list.id, null, 10)).members
    assert.deepEqual([id, name], [kept?.id, 'B'])
    assert.equal((await store.lists.find(list.tenantId, list.id))?.memberCount, 1)
  })

  rule('adds members that are not on the list yet, and says how many', async (bench) => {
    const { store, advance } = bench
    const list = await inserted(bench, [member('A', 'a@example.com', null)])
    await advance(5)

    const added = await store.lists.addMembers(
      list.tenantId,
      list.id,
      [member('A', 'a@example.com', null), member('B', 'b@example.com', null), member('C', null, '+491')],
      'key:ada',
    )

    assert.equal(added, 2)
    const after = (await store.lists.find(list.tenantId, list.id)) ?? assert.fail()
    assert.equal(after.memberCount, 3)
    assert.ok(after.updatedAt > list.updatedAt)
    assert.equal((await membersOf(bench, list)).length, 3)
  })

  rule('members added at the same time are all counted', async (bench) => {
    const { store, another } = bench
    const other = await another()
    const list = await inserted(bench, [])
    const some = (from: number) => numbered(10).map((_, i) => member(null, `${from + i}@example.com`, null))

    const added = await Promise.all(
      [0, 5, 10, 15].map((from, i) =>
        (i % 2 ? store : other).lists.addMembers(list.tenantId, list.id, some(from), 'key:a'),
      ),
    )

    assert.equal(
      added.reduce<number>((sum, count) => sum + (count ?? 0), 0),
      25,
    )
    assert.equal((await store.lists.find(list.tenantId, list.id))?.memberCount, 25)
    assert.equal((await membersOf(bench, list)).length, 25)
  })

  rule('changes a list’s name, and leaves its members', async (bench) => {
    const { store, advance } = bench
    const list = await inserted(bench, [member('A', 'a@example.com', null)])
    await advance(5)

    const changed = await store.lists.update(list.tenantId, list.id, { name: 'renamed' }, 'key:ada')

    assert.ok(changed !== null && changed !== 'taken' && changed.updatedAt > list.updatedAt)
    assert.deepEqual(changed, { ...list, name: 'renamed', updatedAt: changed.updatedAt })
    assert.deepEqual(await store.lists.findByName(list.tenantId, 'renamed'), changed)
    assert.equal(await store.lists.findByName(list.tenantId, list.name), null)
    assert.equal((await membersOf(bench, list)).length, 1)
  })

  rule('a list does not get another one’s name, and is then left as it was', async (bench) => {
    const { store } = bench
    const list = await inserted(bench, [member('A', 'a@example.com', null)])
    const other = await inserted(bench, [], list.tenantId)

    const changes = { name: list.name, members: [member('B', 'b@example.com', null)] }
    assert.equal(await store.lists.update(list.tenantId, other.id, changes, 'key:ada'), 'taken')

    assert.deepEqual(await store.lists.find(list.tenantId, other.id), other)
    assert.deepEqual(await membersOf(bench, other), [])
  })

  rule('replaces members, and those who stay keep their place', async (bench) => {
    const { store } = bench
    const list = await inserted(bench, [
      member('A', 'a@example.com', null),
      member('B', 'b@example.com', null),
      member('C', null, '+491'),
    ])
    const page = () => store.lists.members(list.tenantId, list.id, null, 10)
    const before = (await page()).members

    const wanted = [
      member('D', 'd@example.com', null),
      member('new name', null, '+491'),
      member('A', 'a@example.com', null),
    ]
    const changed = await store.lists.update(list.tenantId, list.id, { members: wanted }, 'key:ada')

    assert.ok(changed !== null && changed !== 'taken')
    assert.equal(changed.memberCount, 3)
    const after = (await page()).members
    assert.deepEqual(
      after.map(({ name }) => name),
      ['A', 'new name', 'D'],
    )
    assert.deepEqual([after[0]?.id, after[1]?.id], [before[0]?.id, before[2]?.id])
    await store.lists.update(list.tenantId, list.id, { members: [] }, 'key:ada')
    assert.equal((await store.lists.find(list.tenantId, list.id))?.memberCount, 0)
  })

  rule('a hundred thousand members are written, read in parts, and replaced', async (bench) => {
    const { store } = bench
    const many = numbered(100_000).map((i) => member(`Guest ${i}`, `guest${i}@example.com`, null))

    const list = await inserted(bench, many)
    let [seen, after]: [number, string | null] = [0, null]
    do {
      const page: Awaited<ReturnType<typeof store.lists.members>> = await store.lists.members(
        list.tenantId,
        list.id,
        after,
        1_000,
      )
      for (const { email } of page.members) assert.equal(email, `guest${seen++}@example.com`)
      after = page.next
    } while (after !== null)
    const half = await store.lists.update(list.tenantId, list.id, { members: many.slice(0, 50_000) }, 'key:ada')

    assert.equal(list.memberCount, 100_000)
    assert.equal(seen, 100_000)
    assert.ok(half !== null && half !== 'taken')
    assert.equal(half.memberCount, 50_000)
    assert.equal(await store.lists.remove(list.tenantId, list.id, 'key:ada'), true)
  })

  rule('members are read from behind a place, whatever is added or removed meanwhile', async (bench) => {
    const { store } = bench
    const list = await inserted(
      bench,
      numbered(7).map((i) => member(`${i}`, `${i}@example.com`, null)),
    )
    const members = (after: string | null, limit: number) => store.lists.members(list.tenantId, list.id, after, limit)

    const first = await members(null, 3)
    await store.lists.addMembers(list.tenantId, list.id, [member('late', 'late@example.com', null)], 'key:ada')
    const kept = [2, 4, 5, 6].map((i) => member(`${i}`, `${i}@example.com`, null))
    await store.lists.update(
      list.tenantId,
      list.id,
      { members: [...kept, member('late', 'late@example.com', null)] },
      'a',
    )
    const second = await members(first.next, 2)
    const third = await members(second.next, 2)

    assert.deepEqual(
      [first, second, third].map((page) => page.members.map(({ name }) => name)),
      [
        ['0', '1', '2'],
        ['4', '5'],
        ['6', 'late'],
      ],
    )
    assert.equal(third.next, null)
    assert.equal(first.next, first.members.at(-1)?.id)
  })

  rule('refuses a place among members that it never gave', async (bench) => {
    const { store } = bench
    const list = await inserted(bench, [])

    for (const after of ['', 'nonsense', '-1', '1e3', '9'.repeat(30)])
      await assert.rejects(store.lists.members(list.tenantId, list.id, after, 1), (error) =>
        isPillarboxError(error, 'invalid_query'),
      )
  })

  rule('a list is removed with its members, and its name is free', async (bench) => {
    const { store, newId } = bench
    const list = await inserted(bench, [member('A', 'a@example.com', null)])

    assert.equal(await store.lists.remove(list.tenantId, list.id, 'key:ada'), true)

    assert.equal(await store.lists.find(list.tenantId, list.id), null)
    assert.deepEqual(await membersOf(bench, list), [])
    assert.equal(await store.lists.remove(list.tenantId, list.id, 'key:ada'), false)
    const again = { id: newId(), tenantId: list.tenantId, name: list.name, members: [] }
    assert.equal(await store.lists.insert(again, 'key:ada'), true)
  })

  rule('a list of another tenant, or of nobody, is neither found, read, changed nor removed', async (bench) => {
    const { store, tenant, newId } = bench
    const list = await inserted(bench, [member('A', 'a@example.com', null)])
    const other = await tenant()

    for (const id of [list.id, newId(), 'no id at all']) {
      assert.equal(await store.lists.find(other, id), null)
      assert.equal(await store.lists.update(other, id, { name: 'stolen' }, 'key:eve'), null)
      assert.equal(await store.lists.addMembers(other, id, [member('E', 'e@example.com', null)], 'key:eve'), null)
      assert.equal(await store.lists.remove(other, id, 'key:eve'), false)
      assert.deepEqual(await store.lists.members(other, id, null, 10), { members: [], next: null })
    }
    assert.equal(await store.lists.findByName(other, list.name), null)
    assert.deepEqual((await store.lists.list(other, { limit: 10 })).items, [])
    assert.deepEqual(await store.lists.find(list.tenantId, list.id), list)
    assert.equal((await membersOf(bench, list)).length, 1)
  })

  rule('pages through lists, newest first', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()
    const lists: RecipientList[] = []
    for (let i = 0; i < 5; i++) lists.push(await inserted(bench, [], tenantId))

    assert.deepEqual(await allPages((page) => store.lists.list(tenantId, page), 2), lists.toReversed())
  })

  rule('keeps members whose text is awkward', async (bench) => {
    const { store } = bench
    const odd = ['"', '\\', '{}', 'a,b', 'null', "'", '\n', '☃'].map((text) =>
      member(text, `${text}@example.com`, null),
    )

    const list = await inserted(bench, odd)

    assert.deepEqual(await membersOf(bench, list), odd)
    const same = await store.lists.update(list.tenantId, list.id, { members: odd }, 'key:ada')
    assert.equal(same !== null && same !== 'taken' && same.memberCount, odd.length)
  })
}

function member(name: string | null, email: string | null, phone: string | null): ListMember {
  return { name, email, phone }
}

function numbered(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i)
}

async function inserted(bench: Bench, members: ListMember[], of?: string): Promise<RecipientList> {
  const id = bench.newId()
  const tenantId = of ?? (await bench.tenant())
  assert.ok(await bench.store.lists.insert({ id, tenantId, name: `list ${id}`, members }, 'key:ada'))
  return only([(await bench.store.lists.find(tenantId, id)) ?? assert.fail()])
}

async function membersOf({ store }: Bench, { tenantId, id }: RecipientList): Promise<ListMember[]> {
  const { members } = await store.lists.members(tenantId, id, null, 1_000)
  return members.map(({ name, email, phone }) => ({ name, email, phone }))
}
