import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  IDENTIFIER_KINDS,
  type Identifier,
  identifiersOf,
  type KnownContact,
  type PersonFacts,
  type Recognition,
  recognise,
} from './contact.ts'

type Request = Partial<PersonFacts>

/** All contacts there are, kept as a store keeps them, with what must be true of them after every step. */
interface People {
  contacts: Map<string, KnownContact>
  owners: Map<string, Identifier & { contactId: string }>
  mergedInto: Map<string, string>
  /** One batch. */
  resolve(...requests: Request[]): (string | null)[]
  one(request: Request): KnownContact
  /** As `resolve`, but nothing is written. */
  recognise(requests: readonly Request[]): Recognition
  contact(id: string): KnownContact
  standingFor(id: string): string
}

function createPeople(): People {
  let count = 0
  const people: People = {
    contacts: new Map(),
    owners: new Map(),
    mergedInto: new Map(),
    resolve(...requests) {
      const recognition = people.recognise(requests)
      apply(people, recognition)
      assertSound(people)
      return recognition.contactIds
    },
    one(request) {
      const [id] = people.resolve(request)
      return people.contact(id ?? assert.fail('nobody was recognised'))
    },
    recognise(requests) {
      const known = { contacts: [...people.contacts.values()], owners: [...people.owners.values()] }
      return recognise(requests, known, () => `c${String(++count).padStart(6, '0')}`)
    },
    contact: (id) => people.contacts.get(people.standingFor(id)) ?? assert.fail(`${id} is gone`),
    standingFor(id) {
      let standing = id
      for (let next = people.mergedInto.get(id); next !== undefined; next = people.mergedInto.get(next)) standing = next
      return standing
    },
  }
  return people
}

function apply({ contacts, owners, mergedInto }: People, { created, changed, merged, claimed }: Recognition): void {
  for (const facts of created) {
    assert.ok(!contacts.has(facts.id))
    contacts.set(facts.id, { ...facts, createdAt: contacts.size + mergedInto.size })
  }
  for (const { before, after } of changed) {
    for (const [fact, value] of Object.entries(before))
      if (value !== null && fact !== 'createdAt')
        assert.equal(after[fact as keyof typeof after], value, `${fact} was overwritten`)
    contacts.set(after.id, { ...after, createdAt: before.createdAt })
  }
  const changedIds = new Set(changed.map(({ after }) => after.id))
  const createdIds = new Set(created.map(({ id }) => id))
  for (const { contact, into } of merged) {
    const survivor = contacts.get(into) ?? assert.fail('merged into nobody')
    assert.ok(survivor.createdAt < contact.createdAt, 'the older was merged into the younger')
    assert.ok(survivor.profileId === null || [null, survivor.profileId].includes(contact.profileId))
    assert.ok(changedIds.has(into), 'whoever takes another in has changed')
    contacts.delete(contact.id)
    mergedInto.set(contact.id, into)
    for (const owned of owners.values()) if (owned.contactId === contact.id) owned.contactId = into
  }
  for (const identifier of claimed) {
    const key = `${identifier.kind} ${identifier.value}`
    assert.ok(!owners.has(key), `${key} has an owner already`)
    owners.set(key, identifier)
    const isTouched = createdIds.has(identifier.contactId) || changedIds.has(identifier.contactId)
    assert.ok(isTouched, 'whoever owns a further identifier has changed')
  }
}

function assertSound({ contacts, owners }: People): void {
  for (const { contactId, kind, value } of owners.values()) {
    const contact = contacts.get(contactId) ?? assert.fail(`${kind} ${value} belongs to nobody`)
    if (kind === 'profile') assert.equal(contact.profileId, value, 'a contact has two profile ids')
  }
}

const NOBODY: PersonFacts = { profileId: null, userId: null, name: null, phone: null, email: null, locale: null }

describe('identifiers', () => {
  it('come with the strongest first', () => {
    const facts = { email: 'a@example.com', phone: '+4915112345678', userId: 'u', profileId: 'p', name: 'Guest' }

    assert.deepEqual(
      identifiersOf(facts).map(({ kind }) => kind),
      IDENTIFIER_KINDS,
    )
  })

  it('are neither empty, nor missing, nor too long for an index', () => {
    assert.deepEqual(identifiersOf({ ...NOBODY, profileId: '', userId: 'x'.repeat(513), name: 'Guest' }), [])
  })
})

describe('recognising people', () => {
  it('makes a contact of somebody unknown, with all that is known', () => {
    const people = createPeople()
    const request = { profileId: 'p', userId: 'u', name: 'Guest', phone: '+1', email: 'a@example.com', locale: 'de' }

    const { id, createdAt, ...facts } = people.one(request)

    assert.deepEqual(facts, request)
    assert.equal(people.owners.size, 4)
    assert.ok([...people.owners.values()].every(({ contactId }) => contactId === id))
    assert.equal(createdAt, 0)
  })

  it('recognises nobody by a name', () => {
    const people = createPeople()

    assert.deepEqual(people.resolve({ name: 'Guest', locale: 'de' }, {}), [null, null])
    assert.equal(people.contacts.size, 0)
  })

  for (const [kind, request] of Object.entries({
    profile: { profileId: 'p' },
    user: { userId: 'u' },
    phone: { phone: '+1' },
    email: { email: 'a@example.com' },
  }))
    it(`finds somebody by ${kind} alone`, () => {
      const people = createPeople()
      const known = people.one({ profileId: 'p', userId: 'u', phone: '+1', email: 'a@example.com' })

      assert.equal(people.one(request).id, known.id)
    })

  it('adds what the request knows and the contact does not, and overwrites nothing', () => {
    const people = createPeople()
    const { id } = people.one({ phone: '+1', name: 'Guest' })

    const contact = people.one({ phone: '+1', email: 'a@example.com', profileId: 'p', name: 'Other', locale: 'de' })

    assert.deepEqual(
      { ...contact, createdAt: 0 },
      {
        id,
        profileId: 'p',
        userId: null,
        name: 'Guest',
        phone: '+1',
        email: 'a@example.com',
        locale: 'de',
        createdAt: 0,
      },
    )
  })

  it('finds somebody by a second phone, too', () => {
    const people = createPeople()
    const { id } = people.one({ profileId: 'p', phone: '+1' })
    people.one({ profileId: 'p', phone: '+2' })

    assert.equal(people.one({ phone: '+2' }).id, id)
    assert.equal(people.one({ phone: '+2' }).phone, '+1')
  })

  it('writes nothing for somebody of whom nothing new is said', () => {
    const people = createPeople()
    people.resolve({ profileId: 'p', phone: '+1', name: 'Guest' })

    const { created, changed, merged, claimed } = people.recognise([{ phone: '+1' }, { profileId: 'p', name: 'Other' }])

    assert.deepEqual([created, changed, merged, claimed], [[], [], [], []])
  })

  it('takes family members who share a phone for as many people as there are profile ids', () => {
    const people = createPeople()
    const family = ['mother', 'father', 'child'].map((profileId) => ({ profileId, phone: '+1' }))

    const ids = people.resolve(...family)

    assert.equal(new Set(ids).size, 3)
    assert.deepEqual(people.resolve(...family), ids)
    assert.ok(ids.every((id) => people.contact(id ?? '').phone === '+1'))
    assert.equal(people.one({ phone: '+1' }).id, ids[0], 'the phone belongs to who had it first')
  })

  it('takes people who share a phone for as many as there are user ids, where no profile id says otherwise', () => {
    const people = createPeople()

    const ids = people.resolve({ userId: 'a', phone: '+1' }, { userId: 'b', phone: '+1' }, { phone: '+1' })

    assert.equal(new Set(ids).size, 2)
    assert.equal(ids[2], ids[0])
  })

  it('knows somebody with two user ids by either of them, where the profile id says they are one', () => {
    const people = createPeople()
    const { id } = people.one({ profileId: 'p', userId: 'a', phone: '+1' })
    people.one({ profileId: 'p', userId: 'b' })

    assert.equal(people.one({ userId: 'b' }).id, id)
    assert.equal(people.one({ userId: 'b', phone: '+1' }).id, id)
    assert.equal(people.contacts.size, 1)
  })

  it('gives an owner of a phone who has no profile id the first one that comes', () => {
    const people = createPeople()
    const { id } = people.one({ phone: '+1' })

    assert.equal(people.one({ profileId: 'p', phone: '+1' }).id, id)
    assert.notEqual(people.one({ profileId: 'q', phone: '+1' }).id, id)
  })

  it('merges the younger into the older when phone and email meet', () => {
    const people = createPeople()
    const older = people.one({ email: 'a@example.com', name: 'Guest' })
    const younger = people.one({ phone: '+1', locale: 'de', name: 'Other' })

    const both = people.one({ phone: '+1', email: 'a@example.com' })

    assert.equal(both.id, older.id)
    assert.deepEqual([both.name, both.phone, both.locale], ['Guest', '+1', 'de'])
    assert.equal(people.standingFor(younger.id), older.id)
    assert.equal(people.one({ phone: '+1' }).id, older.id)
  })

  it('merges one who has a profile id with one who has none, whichever of them the request found first', () => {
    const people = createPeople()
    people.one({ userId: 'u1' })
    people.one({ profileId: 'p1', phone: '+1' })

    const both = people.one({ userId: 'u1', phone: '+1' })

    assert.deepEqual([both.profileId, both.userId, both.phone], ['p1', 'u1', '+1'])
    assert.equal(people.one({ profileId: 'p1' }).id, both.id)
  })

  it('merges contacts that were unknown when the batch began, without making the second one', () => {
    const people = createPeople()

    const ids = people.resolve({ phone: '+1' }, { email: 'a@example.com' }, { phone: '+1', email: 'a@example.com' })

    assert.equal(new Set(ids).size, 1)
    assert.equal(people.contacts.size, 1)
    assert.equal(people.mergedInto.size, 0)
  })

  it('merges all that one request brings together', () => {
    const people = createPeople()
    const ids = people.resolve({ userId: 'u' }, { phone: '+1' }, { email: 'a@example.com' })

    const contact = people.one({ userId: 'u', phone: '+1', email: 'a@example.com', profileId: 'p' })

    assert.equal(people.contacts.size, 1)
    assert.ok(ids.every((id) => people.standingFor(id ?? '') === contact.id))
  })

  it('answers requests that came before a merge in the same batch with whom they were merged into', () => {
    const people = createPeople()
    const [a, b] = people.resolve({ phone: '+1' }, { email: 'a@example.com' })

    const ids = people.resolve({ email: 'a@example.com' }, { phone: '+1', email: 'a@example.com' }, { phone: '+1' })

    assert.deepEqual(ids, [a, a, a])
    assert.equal(people.standingFor(b ?? ''), a)
  })

  it('does not merge two who both have a profile id, and takes the owner of the stronger identifier', () => {
    const people = createPeople()
    const a = people.one({ profileId: 'p', phone: '+1' })
    const b = people.one({ profileId: 'q', email: 'a@example.com' })

    assert.equal(people.one({ phone: '+1', email: 'a@example.com' }).id, a.id)
    assert.equal(people.one({ profileId: 'q', phone: '+1' }).id, b.id)
    assert.equal(people.contacts.size, 2)
  })

  it('does not merge two who both have a user id because of a phone and an email', () => {
    const people = createPeople()
    const a = people.one({ userId: 'a', phone: '+1' })
    people.one({ userId: 'b', email: 'a@example.com' })

    assert.equal(people.one({ phone: '+1', email: 'a@example.com' }).id, a.id)
    assert.equal(people.contacts.size, 2)
  })

  it('merges two who both have a user id when a profile id and a user id meet', () => {
    const people = createPeople()
    const a = people.one({ profileId: 'p', userId: 'a' })
    people.one({ userId: 'b' })

    assert.equal(people.one({ profileId: 'p', userId: 'b' }).id, a.id)
    assert.equal(people.one({ userId: 'b' }).id, a.id)
  })

  it('takes a known profile id with somebody else’s user id for the profile’s', () => {
    const people = createPeople()
    const a = people.one({ profileId: 'p', userId: 'a' })
    const b = people.one({ profileId: 'q', userId: 'b' })

    assert.equal(people.one({ profileId: 'p', userId: 'b' }).id, a.id)
    assert.equal(people.one({ userId: 'b' }).id, b.id)
  })

  it('ignores an identifier that is too long, and keeps the rest', () => {
    const people = createPeople()

    const contact = people.one({ profileId: 'x'.repeat(1_000), phone: '+1' })

    assert.deepEqual([contact.profileId, contact.phone], [null, '+1'])
  })
})

/** Every request that can be made with two values of each identifier. */
const EVERY_REQUEST: Request[] = [undefined, 'p', 'q'].flatMap((profileId) =>
  [undefined, 'u', 'v'].flatMap((userId) =>
    [undefined, '+1', '+2'].flatMap((phone) =>
      [undefined, 'a@example.com', 'b@example.com'].map((email) => ({
        ...(profileId === undefined ? {} : { profileId }),
        ...(userId === undefined ? {} : { userId }),
        ...(phone === undefined ? {} : { phone }),
        ...(email === undefined ? {} : { email }),
      })),
    ),
  ),
)

describe('recognising people, for every history of two requests', () => {
  const forEveryPair = (check: (people: People, first: Request, second: Request) => void): void => {
    for (const first of EVERY_REQUEST)
      for (const second of EVERY_REQUEST) {
        const people = createPeople()
        try {
          check(people, first, second)
        } catch (error) {
          throw new Error(`${JSON.stringify(first)} then ${JSON.stringify(second)}`, { cause: error })
        }
      }
  }

  it('keeps one owner per identifier and one profile id per contact', () => {
    forEveryPair((people, first, second) => {
      people.resolve(first)
      people.resolve(second)
    })
  })

  it('answers with the request’s own profile id', () => {
    forEveryPair((people, first, second) => {
      people.resolve(first)
      const [id] = people.resolve(second)
      if (second.profileId !== undefined) assert.equal(people.contact(id ?? '').profileId, second.profileId)
    })
  })

  it('never takes two profile ids for one person', () => {
    forEveryPair((people, first, second) => {
      const [a, b] = [...people.resolve(first), ...people.resolve(second)]
      const differ =
        first.profileId !== undefined && second.profileId !== undefined && first.profileId !== second.profileId
      if (differ) assert.notEqual(a, b)
    })
  })

  it('takes two who share an identifier for one person, unless their profile or user ids differ', () => {
    forEveryPair((people, first, second) => {
      const [a, b] = [...people.resolve(first), ...people.resolve(second)]
      const share = (fact: keyof PersonFacts): boolean => first[fact] !== undefined && first[fact] === second[fact]
      const differ = (fact: keyof PersonFacts): boolean =>
        first[fact] !== undefined && second[fact] !== undefined && first[fact] !== second[fact]
      const areOne =
        share('profileId') ||
        (!differ('profileId') && (share('userId') || (!differ('userId') && (share('phone') || share('email')))))

      assert.equal(a !== null && a === b, areOne)
    })
  })
})

const request = fc.record(
  {
    profileId: fc.constantFrom('p', 'q', 'r'),
    userId: fc.constantFrom('u', 'v', 'w'),
    phone: fc.constantFrom('+1', '+2', '+3'),
    email: fc.constantFrom('a@example.com', 'b@example.com', 'c@example.com'),
    name: fc.constantFrom('Guest', 'Other'),
  },
  { requiredKeys: [] },
)
const history = fc.array(request, { maxLength: 12 })

describe('recognising people, in general', () => {
  it('changes nothing when a request is repeated, however the others came before it', () => {
    fc.assert(
      fc.property(history, request, (before, last) => {
        const people = createPeople()
        people.resolve(...before)
        const first = people.resolve(last)

        const { created, changed, merged, claimed, contactIds } = people.recognise([last])

        assert.deepEqual([created, changed, merged, claimed], [[], [], [], []])
        assert.deepEqual(contactIds, first)
      }),
      { numRuns: 2_000 },
    )
  })

  it('comes to the same in one batch as one by one', () => {
    fc.assert(
      fc.property(history, history, (before, requests) => {
        const [together, apart] = [createPeople(), createPeople()]
        for (const people of [together, apart]) people.resolve(...before)

        const ids = together.resolve(...requests)
        const others = requests.map((one) => apart.resolve(one)[0] ?? null).map((id) => id && apart.standingFor(id))

        const partition = (all: readonly (string | null)[]): number[] => all.map((id) => all.indexOf(id))
        assert.deepEqual(partition(ids), partition(others))
        const facts = (people: People, id: string | null): unknown =>
          id && { ...people.contact(id), id: '', createdAt: 0 }
        assert.deepEqual(
          ids.map((id) => facts(together, id)),
          others.map((id) => facts(apart, id)),
        )
      }),
      { numRuns: 2_000 },
    )
  })

  it('takes for one person exactly those whom phones and emails connect, in whatever order they come', () => {
    const phone = fc.constantFrom('+1', '+2', '+3', '+4')
    const email = fc.constantFrom('a@example.com', 'b@example.com', 'c@example.com')
    const weak = fc.oneof(fc.record({ phone }), fc.record({ email }), fc.record({ phone, email }))
    const inTwoOrders = fc
      .array(weak, { minLength: 1, maxLength: 10 })
      .chain((requests) =>
        fc.tuple(
          fc.constant(requests),
          fc.shuffledSubarray(requests, { minLength: requests.length, maxLength: requests.length }),
        ),
      )
    fc.assert(
      fc.property(inTwoOrders, ([requests, shuffled]) => {
        const partitions = [requests, shuffled].map((order) => {
          const people = createPeople()
          for (const one of order) people.resolve(one)
          return requests.map((one) => people.resolve(one)[0] ?? null).map((id, _, all) => all.indexOf(id))
        })

        assert.deepEqual(partitions[0], components(requests))
        assert.deepEqual(partitions[1], partitions[0])
      }),
      { numRuns: 1_000 },
    )
  })

  it('never loses anybody: whoever was answered once still stands for somebody', () => {
    fc.assert(
      fc.property(fc.array(history, { maxLength: 5 }), (batches) => {
        const people = createPeople()
        const answered = batches.flatMap((batch) => people.resolve(...batch))

        for (const id of answered) if (id !== null) assert.ok(people.contact(id))
      }),
      { numRuns: 1_000 },
    )
  })
})

/** For each request the first that it is connected with, by shared phones and emails. */
function components(requests: readonly Request[]): number[] {
  const group = requests.map((_, i) => i)
  for (let round = 0; round < requests.length; round++)
    for (const [i, a] of requests.entries())
      for (const [j, b] of requests.entries()) {
        const isShared = (a.phone && a.phone === b.phone) || (a.email && a.email === b.email)
        if (isShared) group[i] = group[j] = Math.min(group[i] ?? 0, group[j] ?? 0)
      }
  return group
}
