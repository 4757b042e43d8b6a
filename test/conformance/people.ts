import assert from 'node:assert/strict'
import type { Contact, NewContact } from '../../packages/pillarbox/src/model/contact.ts'
import type { Conversation } from '../../packages/pillarbox/src/model/conversation.ts'
import { isPillarboxError } from '../../packages/pillarbox/src/model/errors.ts'
import type { ContactRequest, RecognisedContact } from '../../packages/pillarbox/src/plan/people-store.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'
import { allPages, assertBetween, at, type Bench, only, type Rule } from './fixtures.ts'

/** Contacts and conversations: one row per person, whoever asks, and however many ask at once. */
export function peopleRules(rule: Rule): void {
  resolveRules(rule)
  mergeRules(rule)
  raceRules(rule)
  conversationRules(rule)
  contactRules(rule)
}

const TRIP = { type: 'trip', id: '7' }

function resolveRules(rule: Rule): void {
  rule('somebody unknown becomes a contact, with all that is known', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()
    const facts = { profileId: 'p', userId: 'u', name: 'Guest', phone: '+491', email: 'a@example.com', locale: 'de' }
    const before = await store.now()

    const { contact, conversationId } = await resolved(bench, { tenantId, ...facts })

    const { id, createdAt, updatedAt, ...rest } = contact ?? assert.fail()
    assert.deepEqual(rest, { tenantId, ...facts, version: 1 })
    assertBetween(createdAt, before, await store.now())
    assert.equal(updatedAt, createdAt)
    assert.equal(conversationId, null)
    assert.deepEqual(await store.people.findContact(tenantId, id), contact)
  })

  rule('somebody known is found by each identifier', async (bench) => {
    const tenantId = await bench.tenant()
    const facts = { profileId: 'p', userId: 'u', phone: '+491', email: 'a@example.com' }
    const { contact } = await resolved(bench, { tenantId, ...facts })

    for (const [fact, value] of Object.entries(facts))
      assert.deepEqual(await resolved(bench, { tenantId, [fact]: value }), { contact, conversationId: null }, fact)
  })

  rule('what a request knows and the contact does not is added, and nothing is overwritten', async (bench) => {
    const { store, tenant, advance } = bench
    const tenantId = await tenant()
    const first = (await resolved(bench, { tenantId, phone: '+491', name: 'Guest' })).contact ?? assert.fail()
    await advance(5)

    const facts = { email: 'a@example.com', profileId: 'p', userId: 'u', locale: 'de' }
    const { contact } = await resolved(bench, { tenantId, phone: '+491', name: 'Other', ...facts })

    const { updatedAt, ...rest } = contact ?? assert.fail()
    const { updatedAt: updatedBefore, ...old } = first
    assert.deepEqual(rest, { ...old, ...facts, version: 2 })
    assert.ok(updatedAt > updatedBefore)
    assert.deepEqual(await store.people.findContact(tenantId, first.id), contact)
    assert.equal((await resolved(bench, { tenantId, email: 'a@example.com' })).contact?.id, first.id)
  })

  rule('a request that identifies nobody has no contact, and makes none', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()

    for (const facts of [{}, { name: 'Guest', locale: 'de' }, { phone: '', email: '' }])
      assert.deepEqual(await resolved(bench, { tenantId, ...facts, conversation: TRIP }), {
        contact: null,
        conversationId: null,
      })
    assert.deepEqual((await store.people.listContacts(tenantId, {}, { limit: 10 })).items, [])
  })

  rule('nobody asked for is nobody answered', async ({ store, newId }) => {
    assert.deepEqual(await store.people.resolve([], newId), [])
  })

  rule('answers come in the order of the requests, also for the same person twice', async (bench) => {
    const tenantId = await bench.tenant()
    const phones = ['+491', '+492', '+491', '+493', '+492']

    const people = await resolveAll(
      bench,
      phones.map((phone) => ({ tenantId, phone })),
    )

    assert.deepEqual(
      people.map(({ contact }) => contact?.phone),
      phones,
    )
    assert.equal(new Set(people.map(({ contact }) => contact?.id)).size, 3)
  })

  rule('the same identifiers are other people in another tenant', async (bench) => {
    const { store, tenant } = bench
    const [a, b] = [await tenant(), await tenant()]
    const facts = { profileId: 'p', userId: 'u', phone: '+491', email: 'a@example.com', conversation: TRIP }

    const people = await resolveAll(bench, [
      { tenantId: a, ...facts, name: 'of a' },
      { tenantId: b, ...facts, name: 'of b' },
    ])
    const [first, second] = people.map(({ contact }) => contact ?? assert.fail())
    const again = await resolveAll(bench, [
      { tenantId: b, phone: '+491' },
      { tenantId: a, phone: '+491' },
    ])

    assert.deepEqual([first?.name, second?.name], ['of a', 'of b'])
    assert.deepEqual(
      again.map(({ contact }) => contact),
      [second, first],
    )
    assert.notEqual(at(people, 0).conversationId, at(people, 1).conversationId)
    assert.equal(await store.people.findContact(b, first?.id ?? ''), null)
    assert.deepEqual((await store.people.listContacts(b, {}, { limit: 10 })).items, [second])
  })

  rule('a contact named by its id is found, and neither looked for nor changed', async (bench) => {
    const { tenant, newId } = bench
    const [tenantId, other] = [await tenant(), await tenant()]
    const { contact } = await resolved(bench, { tenantId, phone: '+491' })
    const contactId = contact?.id ?? ''

    const people = await resolveAll(bench, [
      { tenantId, contactId, name: 'Guest', email: 'a@example.com' },
      { tenantId: other, contactId, phone: '+491' },
      { tenantId, contactId: newId(), phone: '+491' },
      { tenantId, contactId: 'no id at all', conversation: TRIP },
      { tenantId, contactId: contactId.toUpperCase() },
    ])

    assert.deepEqual(
      people.map((person) => person.contact),
      [contact, null, null, null, contact],
    )
    assert.equal(at(people, 3).conversationId, null)
  })

  rule('family members who share a phone are as many as they have profile ids', async (bench) => {
    const tenantId = await bench.tenant()
    const family = ['mother', 'father', 'child'].map((profileId) => ({ tenantId, profileId, phone: '+491' }))

    const people = await resolveAll(bench, family)

    assert.equal(new Set(people.map(({ contact }) => contact?.id)).size, 3)
    assert.ok(people.every(({ contact }) => contact?.phone === '+491'))
    assert.deepEqual(await resolveAll(bench, family), people)
    for (const [i, request] of family.entries())
      assert.deepEqual(await resolved(bench, request), people[i], 'one at a time')
    assert.deepEqual(await resolved(bench, { tenantId, phone: '+491' }), people[0])
  })

  rule('resolves two thousand at once, the unknown and the known', async (bench) => {
    const { store, tenant } = bench
    const tenants = [await tenant(), await tenant()]
    const requests = Array.from({ length: 2_000 }, (_, i) => ({
      tenantId: tenants[i % 2] ?? '',
      profileId: `profile ${i}`,
      phone: `+49${1_000_000 + i}`,
      email: `guest${i}@example.com`,
      name: `Guest ${i}`,
      conversation: { type: 'trip', id: String(i % 10) },
    }))

    const people = await resolveAll(bench, requests)
    const again = await resolveAll(bench, requests)
    const byPhone = await resolveAll(
      bench,
      requests.map(({ tenantId, phone }) => ({ tenantId, phone })),
    )

    assert.deepEqual(
      people.map(({ contact }) => contact?.name),
      requests.map(({ name }) => name),
    )
    assert.equal(new Set(people.map(({ conversationId }) => conversationId)).size, 2_000)
    assert.deepEqual(again, people)
    assert.deepEqual(
      byPhone.map(({ contact }) => contact),
      people.map(({ contact }) => contact),
    )
    assert.equal((await allPages((page) => store.people.listContacts(at(tenants, 0), {}, page), 200)).length, 1_000)
  })

  rule('text that a database cannot hold identifies people all the same', async (bench) => {
    const tenantId = await bench.tenant()
    const odd = { profileId: 'a\0b\ud800', name: 'G\0', conversation: { type: 'trip', id: '\0\udfff' } }

    const first = await resolved(bench, { tenantId, ...odd })
    const again = await resolved(bench, { tenantId, ...odd })

    assert.ok(first.contact && first.conversationId)
    assert.deepEqual(again, first)
  })

  rule('text with quotes, braces and backslashes is kept as it is', async (bench) => {
    const tenantId = await bench.tenant()
    const requests = ['"', '\\', '{}', 'a,b', 'null', 'NULL', "'", '%', '\n', '$1', '☃ 𝄞'].map((value) => ({
      tenantId,
      profileId: `id ${value}`,
      name: value,
      conversation: { type: value, id: value },
    }))

    const people = await resolveAll(bench, requests)

    assert.deepEqual(
      people.map(({ contact }) => [contact?.profileId, contact?.name]),
      requests.map(({ profileId, name }) => [profileId, name]),
    )
    assert.deepEqual(await resolveAll(bench, requests), people)
  })
}

function mergeRules(rule: Rule): void {
  rule('when phone and email meet, the younger contact is merged into the older', async (bench) => {
    const { store, tenant, advance } = bench
    const tenantId = await tenant()
    const older = (await resolved(bench, { tenantId, email: 'a@example.com', name: 'Guest' })).contact ?? assert.fail()
    await advance(5)
    const younger = (await resolved(bench, { tenantId, phone: '+491', locale: 'de' })).contact ?? assert.fail()
    await advance(5)

    const { contact } = await resolved(bench, { tenantId, phone: '+491', email: 'a@example.com' })

    assert.deepEqual(contact, { ...older, phone: '+491', locale: 'de', version: 2, updatedAt: contact?.updatedAt })
    for (const id of [older.id, younger.id]) assert.deepEqual(await store.people.findContact(tenantId, id), contact)
    for (const facts of [{ phone: '+491' }, { email: 'a@example.com' }, { contactId: younger.id }])
      assert.deepEqual((await resolved(bench, { tenantId, ...facts })).contact, contact)
    assert.deepEqual((await store.people.listContacts(tenantId, {}, { limit: 10 })).items, [contact])
  })

  rule('a contact that was merged again and again answers the last survivor', async (bench) => {
    const { store, tenant, advance } = bench
    const tenantId = await tenant()
    const ids: string[] = []
    for (const phone of ['+491', '+492', '+493', '+494']) {
      ids.push((await resolved(bench, { tenantId, phone })).contact?.id ?? '')
      await advance(2)
    }
    const meet = (phone: string, email: string) => resolveAll(bench, [{ tenantId, phone, email }])
    for (const [i, phone] of ['+494', '+493', '+492', '+491'].entries()) {
      await meet(phone, `${i}@example.com`)
      if (i > 0) await meet(phone, `${i - 1}@example.com`)
    }

    const people = await resolveAll(
      bench,
      ids.map((contactId) => ({ tenantId, contactId })),
    )

    for (const [i, id] of ids.entries()) {
      assert.equal((await store.people.findContact(tenantId, id))?.id, ids[0])
      assert.equal(at(people, i).contact?.id, ids[0])
    }
    assert.equal((await store.people.listContacts(tenantId, {}, { limit: 10 })).items.length, 1)
  })

  rule('two who both have a profile id are never merged', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()
    const [a, b] = await resolveAll(bench, [
      { tenantId, profileId: 'p', phone: '+491' },
      { tenantId, profileId: 'q', email: 'a@example.com' },
    ])

    const both = await resolved(bench, { tenantId, phone: '+491', email: 'a@example.com' })

    assert.equal(both.contact?.id, a?.contact?.id)
    assert.equal((await store.people.listContacts(tenantId, {}, { limit: 10 })).items.length, 2)
    assert.equal((await resolved(bench, { tenantId, email: 'a@example.com' })).contact?.id, b?.contact?.id)
  })

  rule('contacts that meet within one batch are one', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()

    const people = await resolveAll(bench, [
      { tenantId, phone: '+491', conversation: TRIP },
      { tenantId, email: 'a@example.com', conversation: TRIP },
      { tenantId, phone: '+491', email: 'a@example.com', conversation: TRIP },
    ])

    assert.equal(new Set(people.map(({ contact }) => contact?.id)).size, 1)
    assert.equal(new Set(people.map(({ conversationId }) => conversationId)).size, 1)
    assert.equal((await store.people.listContacts(tenantId, {}, { limit: 10 })).items.length, 1)
  })

  rule('a batch that names somebody by an id which it merges away answers the survivor', async (bench) => {
    const { tenant, advance } = bench
    const tenantId = await tenant()
    const older = await resolved(bench, { tenantId, phone: '+491' })
    await advance(2)
    const younger = await resolved(bench, { tenantId, email: 'a@example.com' })

    const people = await resolveAll(bench, [
      { tenantId, contactId: younger.contact?.id ?? '', conversation: TRIP },
      { tenantId, phone: '+491', email: 'a@example.com', conversation: TRIP },
    ])

    for (const person of people) assert.equal(person.contact?.id, older.contact?.id)
    assert.equal(at(people, 0).conversationId, at(people, 1).conversationId)
  })

  rule('a merge takes the conversations along, and leaves one open about each thing', async (bench) => {
    const { store, tenant, advance } = bench
    const tenantId = await tenant()
    const context = (id: string) => ({ type: 'trip', id })
    const requests = (facts: Partial<ContactRequest>, ids: string[]) =>
      resolveAll(
        bench,
        ids.map((id) => ({ tenantId, ...facts, conversation: context(id) })),
      )
    const [shared, own] = await requests({ phone: '+491' }, ['shared', 'own'])
    await advance(2)
    const [second, theirs] = await requests({ email: 'a@example.com' }, ['shared', 'theirs'])
    await advance(2)
    const [third, last] = await requests({ userId: 'u' }, ['theirs', 'last'])

    const merged = await requests({ phone: '+491', email: 'a@example.com', userId: 'u' }, [
      'shared',
      'own',
      'theirs',
      'last',
    ])

    assert.deepEqual(
      merged.map(({ conversationId }) => conversationId),
      [shared, own, theirs, last].map((person) => person?.conversationId),
    )
    const survivor = shared?.contact?.id
    const all = await allPages((page) => store.people.listConversations(tenantId, {}, page), 2)
    assert.equal(all.length, 6)
    assert.ok(all.every(({ contactId }) => contactId === survivor))
    assert.deepEqual(
      new Set(all.filter(({ status }) => status === 'closed').map(({ id }) => id)),
      new Set([second?.conversationId, third?.conversationId]),
    )
  })

  rule('many merges at once are merges all the same', async (bench) => {
    const { store, tenant, advance } = bench
    const tenantId = await tenant()
    const numbers = Array.from({ length: 300 }, (_, i) => i)
    const phone = (i: number) => `+49${1_000 + i}`
    const email = (i: number) => `guest${i}@example.com`
    const older = await resolveAll(
      bench,
      numbers.map((i) => ({ tenantId, phone: phone(i), conversation: TRIP })),
    )
    await advance(5)
    await resolveAll(
      bench,
      numbers.map((i) => ({ tenantId, email: email(i), conversation: TRIP })),
    )

    const people = await resolveAll(
      bench,
      numbers.map((i) => ({ tenantId, phone: phone(i), email: email(i), conversation: TRIP })),
    )

    assert.deepEqual(
      people.map(({ contact, conversationId }) => [contact?.id, contact?.email, conversationId]),
      older.map(({ contact, conversationId }, i) => [contact?.id, email(i), conversationId]),
    )
    assert.equal((await allPages((page) => store.people.listContacts(tenantId, {}, page), 200)).length, 300)
  })
}

/** Two handles on one database stand for two processes. */
function raceRules(rule: Rule): void {
  rule('two processes that meet the same new person at once get one contact and one conversation', async (bench) => {
    const { store, another, tenant, newId } = bench
    const other = await another()
    for (let round = 0; round < 10; round++) {
      const tenantId = await tenant()
      const request = {
        tenantId,
        profileId: `p${round}`,
        phone: '+491',
        email: 'a@example.com',
        conversation: TRIP,
      }

      const people = await Promise.all(
        [store, other, store, other].map((each) => each.people.resolve([request], newId).then(only)),
      )

      assert.equal(new Set(people.map(({ contact }) => contact?.id)).size, 1)
      assert.equal(new Set(people.map(({ conversationId }) => conversationId)).size, 1)
      assert.equal((await store.people.listContacts(tenantId, {}, { limit: 10 })).items.length, 1)
      assert.equal((await store.people.listConversations(tenantId, {}, { limit: 10 })).items.length, 1)
    }
  })

  rule('processes that meet many of the same people in different orders agree on every one of them', async (bench) => {
    const { store, another, tenant, newId } = bench
    const stores = [store, await another(), await another()]
    const tenantId = await tenant()
    const requests = Array.from({ length: 300 }, (_, i) => ({
      tenantId,
      phone: `+49${1_000 + i}`,
      email: `guest${i}@example.com`,
      conversation: TRIP,
    }))
    const orders = [requests, requests.toReversed(), [...requests.slice(150), ...requests.slice(0, 150)]]

    const answers = await Promise.all(
      orders.map((order, i) =>
        at(stores, i)
          .people.resolve(order, newId)
          .then((people) => byPhone(people)),
      ),
    )

    for (const answer of answers) assert.deepEqual(answer, answers[0])
    assert.equal((await allPages((page) => store.people.listContacts(tenantId, {}, page), 200)).length, 300)
    assert.equal((await allPages((page) => store.people.listConversations(tenantId, {}, page), 200)).length, 300)
  })

  rule('processes that bring identifiers together in different ways end with one contact', async (bench) => {
    const { store, another, tenant, newId } = bench
    const other = await another()
    for (let round = 0; round < 10; round++) {
      const tenantId = await tenant()
      await resolveAll(bench, [
        { tenantId, phone: '+491', conversation: TRIP },
        { tenantId, email: 'a@example.com', conversation: TRIP },
        { tenantId, userId: 'u', conversation: TRIP },
      ])
      const pairs = [
        { phone: '+491', email: 'a@example.com' },
        { email: 'a@example.com', userId: 'u' },
        { userId: 'u', phone: '+491' },
        { phone: '+491', profileId: 'p' },
      ]

      await Promise.all(
        pairs.map((facts, i) =>
          (i % 2 ? store : other).people.resolve([{ tenantId, ...facts, conversation: TRIP }], newId),
        ),
      )

      const contact = only((await store.people.listContacts(tenantId, {}, { limit: 10 })).items)
      assert.deepEqual(
        [contact.phone, contact.email, contact.userId, contact.profileId],
        ['+491', 'a@example.com', 'u', 'p'],
      )
      for (const facts of [{ phone: '+491' }, { email: 'a@example.com' }, { userId: 'u' }, { profileId: 'p' }])
        assert.equal((await resolved(bench, { tenantId, ...facts })).contact?.id, contact.id)
      const open = await store.people.listConversations(tenantId, { status: 'open' }, { limit: 10 })
      assert.equal(only(open.items).contactId, contact.id)
    }
  })

  rule('two profile ids that claim the same phone at once stay two people', async (bench) => {
    const { store, another, tenant, newId } = bench
    const other = await another()
    for (let round = 0; round < 10; round++) {
      const tenantId = await tenant()
      await resolved(bench, { tenantId, phone: '+491' })

      const answers = await Promise.all(
        ['p', 'q'].map((profileId, i) =>
          (i ? store : other).people
            .resolve([{ tenantId, profileId, phone: '+491', conversation: null }], newId)
            .then(only),
        ),
      )

      assert.deepEqual(
        answers.map(({ contact }) => contact?.profileId),
        ['p', 'q'],
      )
      assert.equal((await store.people.listContacts(tenantId, {}, { limit: 10 })).items.length, 2)
    }
  })

  rule('somebody who is removed while others look for them is there again, or not, but never half', async (bench) => {
    const { store, another, tenant, newId } = bench
    const other = await another()
    for (let round = 0; round < 10; round++) {
      const tenantId = await tenant()
      const { contact } = await resolved(bench, { tenantId, phone: '+491' })
      const request = { tenantId, phone: '+491', email: `${round}@example.com`, conversation: TRIP }

      const [removed, [person]] = await Promise.all([
        store.people.removeContact(tenantId, contact?.id ?? '', 'key:ada'),
        other.people.resolve([request], newId),
      ])

      assert.ok(removed)
      assert.ok(person?.contact && person.conversationId)
      const again = await resolved(bench, request)
      assert.ok(again.contact && again.conversationId)
      assert.equal((await store.people.listContacts(tenantId, {}, { limit: 10 })).items.length, 1)
    }
  })
}

function conversationRules(rule: Rule): void {
  rule(
    'a conversation is used again while it is open or snoozed, and a new one begins once it is closed',
    async (bench) => {
      const { store, tenant } = bench
      const tenantId = await tenant()
      const request = { tenantId, phone: '+491', conversation: TRIP }
      const first = await resolved(bench, request)
      const id = first.conversationId ?? ''

      assert.equal((await resolved(bench, request)).conversationId, id)
      await store.people.setConversationStatus(tenantId, id, 'snoozed', 'key:ada')
      assert.equal((await resolved(bench, request)).conversationId, id)
      await store.people.setConversationStatus(tenantId, id, 'closed', 'key:ada')
      const next = await resolved(bench, request)

      assert.notEqual(next.conversationId, id)
      assert.deepEqual(next.contact, first.contact)
      assert.equal((await resolved(bench, request)).conversationId, next.conversationId)
    },
  )

  rule('a conversation is of one contact, about one thing', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()
    const before = await store.now()
    const people = await resolveAll(bench, [
      { tenantId, phone: '+491', conversation: TRIP },
      { tenantId, phone: '+491', conversation: { type: 'trip', id: '8' } },
      { tenantId, phone: '+491', conversation: { type: 'invoice', id: '7' } },
      { tenantId, phone: '+492', conversation: TRIP },
      { tenantId, phone: '+491', conversation: null },
    ])

    assert.equal(new Set(people.map(({ conversationId }) => conversationId)).size, 5)
    assert.equal(at(people, 4).conversationId, null)
    const found = await store.people.findConversation(tenantId, at(people, 0).conversationId ?? '')
    const { createdAt, updatedAt, ...rest } = found ?? assert.fail()
    assert.deepEqual(rest, {
      id: at(people, 0).conversationId,
      tenantId,
      contactId: at(people, 0).contact?.id,
      context: TRIP,
      status: 'open',
    })
    assertBetween(createdAt, before, await store.now())
    assert.equal(updatedAt, createdAt)
  })

  rule('lists conversations newest first, and by contact, status and what they are about', async (bench) => {
    const { store, tenant } = bench
    const [tenantId, other] = [await tenant(), await tenant()]
    const people = await resolveAll(bench, [
      { tenantId, phone: '+491', conversation: TRIP },
      { tenantId, phone: '+491', conversation: { type: 'trip', id: '8' } },
      { tenantId, phone: '+492', conversation: TRIP },
      { tenantId: other, phone: '+491', conversation: TRIP },
    ])
    const ids = people.slice(0, 3).map(({ conversationId }) => conversationId ?? '')
    await store.people.setConversationStatus(tenantId, at(ids, 1), 'snoozed', 'key:ada')
    const listed = async (filter: Parameters<typeof store.people.listConversations>[1]): Promise<string[]> =>
      (await allPages((page) => store.people.listConversations(tenantId, filter, page), 2)).map(({ id }) => id)

    assert.deepEqual(await listed({}), ids.toSorted().toReversed())
    assert.deepEqual((await listed({ contactId: at(people, 0).contact?.id ?? '' })).sort(), ids.slice(0, 2).sort())
    assert.deepEqual(await listed({ status: 'snoozed' }), [ids[1]])
    assert.deepEqual((await listed({ context: TRIP })).sort(), [at(ids, 0), at(ids, 2)].sort())
    assert.deepEqual(await listed({ contactId: 'no id at all' }), [])
    assert.deepEqual(await listed({ contactId: at(people, 3).contact?.id ?? '' }), [])
    assert.deepEqual(await listed({ status: 'closed' }), [])
  })

  rule('a conversation’s status changes, and nothing else', async (bench) => {
    const { store, tenant, advance } = bench
    const tenantId = await tenant()
    const { conversationId } = await resolved(bench, { tenantId, phone: '+491', conversation: TRIP })
    const id = conversationId ?? ''
    const before = (await store.people.findConversation(tenantId, id)) ?? assert.fail()
    await advance(5)

    const closed = await store.people.setConversationStatus(tenantId, id, 'closed', 'key:ada')

    assert.ok(closed && closed.updatedAt > before.updatedAt)
    assert.deepEqual(closed, { ...before, status: 'closed', updatedAt: closed.updatedAt })
    assert.deepEqual(await store.people.findConversation(tenantId, id), closed)
    assert.deepEqual(await store.people.setConversationStatus(tenantId, id, 'closed', 'key:ada'), closed)
  })

  rule('a closed conversation is opened again unless another one took its place', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()
    const request = { tenantId, phone: '+491', conversation: TRIP }
    const set = (id: string, status: Conversation['status']) =>
      store.people.setConversationStatus(tenantId, id, status, 'key:ada')
    const first = (await resolved(bench, request)).conversationId ?? ''
    await set(first, 'closed')
    assert.equal((await set(first, 'open'))?.status, 'open')
    await set(first, 'closed')
    await resolved(bench, request)

    await assert.rejects(set(first, 'open'), (error) => isPillarboxError(error, 'already_exists'))

    assert.equal((await store.people.findConversation(tenantId, first))?.status, 'closed')
  })

  rule('a conversation of another tenant, or of nobody, is neither found nor changed', async (bench) => {
    const { store, tenant, newId } = bench
    const [tenantId, other] = [await tenant(), await tenant()]
    const { conversationId } = await resolved(bench, { tenantId, phone: '+491', conversation: TRIP })

    for (const id of [conversationId ?? '', newId(), 'no id at all']) {
      assert.equal(await store.people.findConversation(other, id), null)
      assert.equal(await store.people.setConversationStatus(other, id, 'closed', 'key:eve'), null)
    }
    assert.equal((await store.people.findConversation(tenantId, conversationId ?? ''))?.status, 'open')
  })
}

function contactRules(rule: Rule): void {
  rule('keeps a contact that is added by hand, and finds it by what identifies it', async (bench) => {
    const { store, tenant } = bench
    const given = newContact(bench, await tenant(), { profileId: 'p', phone: '+491', name: 'Guest', locale: 'de' })
    const before = await store.now()

    const inserted = await store.people.insertContact(given, 'key:ada')

    assert.ok(inserted !== 'taken')
    const { createdAt, updatedAt, ...rest } = inserted
    assert.deepEqual(rest, { ...given, version: 1 })
    assertBetween(createdAt, before, await store.now())
    assert.equal(updatedAt, createdAt)
    assert.deepEqual((await resolved(bench, { tenantId: given.tenantId, phone: '+491' })).contact, inserted)
  })

  rule('a contact whose identifiers somebody has is not added', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()
    await resolved(bench, { tenantId, profileId: 'p', userId: 'u', phone: '+491', email: 'a@example.com' })

    for (const facts of [{ profileId: 'p' }, { userId: 'u' }, { phone: '+491' }, { email: 'a@example.com' }]) {
      const given = newContact(bench, tenantId, { email: 'free@example.com', ...facts })
      assert.equal(await store.people.insertContact(given, 'key:ada'), 'taken')
      assert.equal(await store.people.findContact(tenantId, given.id), null)
    }
    const free = newContact(bench, tenantId, { email: 'free@example.com' })
    assert.notEqual(await store.people.insertContact(free, 'key:ada'), 'taken')
  })

  rule('of many who add the same person by hand at once, one does', async (bench) => {
    const { store, another, tenant } = bench
    const other = await another()
    const tenantId = await tenant()

    const answers = await Promise.all(
      [store, other, store, other].map((each) =>
        each.people.insertContact(newContact(bench, tenantId, { phone: '+491', email: 'a@example.com' }), 'key:ada'),
      ),
    )

    assert.equal(answers.filter((answer) => answer !== 'taken').length, 1)
  })

  rule('changes of a contact what is named, and what identified it before is free', async (bench) => {
    const { store, tenant, advance } = bench
    const tenantId = await tenant()
    const { contact } = await resolved(bench, { tenantId, profileId: 'p', phone: '+491', email: 'a@example.com' })
    const before = contact ?? assert.fail()
    await advance(5)

    const changed = await store.people.updateContact(
      tenantId,
      before.id,
      { phone: '+492', email: null, name: 'Guest' },
      'key:ada',
    )

    assert.ok(typeof changed === 'object' && changed !== null && changed.updatedAt > before.updatedAt)
    const { updatedAt } = changed
    assert.deepEqual(changed, { ...before, phone: '+492', email: null, name: 'Guest', version: 2, updatedAt })
    assert.deepEqual(await store.people.findContact(tenantId, before.id), changed)
    assert.equal((await resolved(bench, { tenantId, phone: '+492' })).contact?.id, before.id)
    for (const facts of [{ phone: '+491' }, { email: 'a@example.com' }])
      assert.notEqual((await resolved(bench, { tenantId, ...facts })).contact?.id, before.id)
    assert.deepEqual(await store.people.updateContact(tenantId, before.id, {}, 'key:ada'), changed)
  })

  rule('of several who change one version of a contact, the first does and the others are told', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()
    const other = await bench.another()
    const { contact } = await resolved(bench, { tenantId, profileId: 'p' })
    const { id, version } = contact ?? assert.fail()

    const answers = await Promise.all(
      [store, other, store].map((each, i) =>
        each.people.updateContact(tenantId, id, { name: `Guest ${i}` }, 'key:ada', version),
      ),
    )

    const changed = answers.filter((answer) => typeof answer === 'object' && answer !== null)
    assert.deepEqual([changed.length, answers.filter((answer) => answer === 'stale').length], [1, 2])
    assert.deepEqual(await store.people.findContact(tenantId, id), changed[0])
  })

  rule('what planning learns of a contact makes a version, too', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()
    const before = (await resolved(bench, { tenantId, profileId: 'p' })).contact ?? assert.fail()
    const after = (await resolved(bench, { tenantId, profileId: 'p', email: 'a@example.com' })).contact ?? assert.fail()

    assert.deepEqual([before.version, after.version], [1, 2])
    assert.equal(await store.people.updateContact(tenantId, before.id, { name: 'x' }, 'key:ada', 1), 'stale')
    assert.deepEqual(await store.people.findContact(tenantId, before.id), after)
  })

  rule('a contact does not get what somebody else is found by, and is then left as it was', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()
    const [a, b] = await resolveAll(bench, [
      { tenantId, phone: '+491' },
      { tenantId, phone: '+492' },
    ])

    const changes = { phone: '+491', name: 'Guest' }
    assert.equal(await store.people.updateContact(tenantId, b?.contact?.id ?? '', changes, 'key:ada'), 'taken')

    assert.deepEqual(await store.people.findContact(tenantId, b?.contact?.id ?? ''), b?.contact)
    assert.deepEqual(await resolved(bench, { tenantId, phone: '+492' }), b)
    assert.deepEqual(await resolved(bench, { tenantId, phone: '+491' }), a)
  })

  rule('a contact that shares a phone can be saved as it is', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()
    const [owner, sharing] = await resolveAll(bench, [
      { tenantId, profileId: 'p', phone: '+491' },
      { tenantId, profileId: 'q', phone: '+491' },
    ])
    const id = sharing?.contact?.id ?? ''

    const same = await store.people.updateContact(tenantId, id, { profileId: 'q', phone: '+491' }, 'key:ada')
    await store.people.updateContact(tenantId, id, { phone: '+492' }, 'key:ada')

    assert.deepEqual(same, sharing?.contact)
    assert.deepEqual(await resolved(bench, { tenantId, phone: '+491' }), owner)
  })

  rule(
    'a contact is removed with its identifiers, its conversations and those that were merged into it',
    async (bench) => {
      const { store, tenant, advance } = bench
      const tenantId = await tenant()
      const older = await resolved(bench, { tenantId, phone: '+491', conversation: TRIP })
      await advance(2)
      const younger = await resolved(bench, { tenantId, email: 'a@example.com' })
      await resolved(bench, { tenantId, phone: '+491', email: 'a@example.com' })
      const [id, mergedId] = [older.contact?.id ?? '', younger.contact?.id ?? '']

      assert.equal(await store.people.removeContact(tenantId, mergedId, 'key:ada'), true)

      for (const gone of [id, mergedId]) {
        assert.equal(await store.people.findContact(tenantId, gone), null)
        assert.equal(await store.people.removeContact(tenantId, gone, 'key:ada'), false)
        assert.equal((await resolved(bench, { tenantId, contactId: gone, conversation: TRIP })).contact, null)
      }
      assert.equal(await store.people.findConversation(tenantId, older.conversationId ?? ''), null)
      const again = await resolved(bench, { tenantId, phone: '+491', conversation: TRIP })
      assert.ok(again.contact && ![id, mergedId].includes(again.contact.id))
    },
  )

  rule('a contact of another tenant, or of nobody, is neither found, changed nor removed', async (bench) => {
    const { store, tenant, newId } = bench
    const [tenantId, other] = [await tenant(), await tenant()]
    const { contact } = await resolved(bench, { tenantId, phone: '+491' })

    for (const id of [contact?.id ?? '', newId(), 'no id at all']) {
      assert.equal(await store.people.findContact(other, id), null)
      assert.equal(await store.people.updateContact(other, id, { name: 'stolen' }, 'key:eve'), null)
      assert.equal(await store.people.removeContact(other, id, 'key:eve'), false)
    }
    assert.deepEqual(await store.people.findContact(tenantId, contact?.id ?? ''), contact)
  })

  rule('lists contacts newest first, and by identifier or the beginning of a name', async (bench) => {
    const { store, tenant } = bench
    const [tenantId, other] = [await tenant(), await tenant()]
    const people = await resolveAll(bench, [
      { tenantId, profileId: 'p', name: 'Anna Guest', phone: '+491' },
      { tenantId, profileId: 'q', name: 'anton guest', phone: '+491', email: 'b@example.com' },
      { tenantId, userId: 'u', name: '100%_x', email: 'a@example.com' },
      { tenantId: other, profileId: 'p', name: 'Anna Guest', phone: '+491' },
    ])
    const ids = people.map(({ contact }) => contact?.id ?? '')
    const listed = async (q?: string): Promise<string[]> => {
      const filter = q === undefined ? {} : { q }
      const all: Contact[] = await allPages((page) => store.people.listContacts(tenantId, filter, page), 2)
      return all.map(({ id }) => id)
    }
    const some = (...places: number[]): string[] =>
      places
        .map((place) => at(ids, place))
        .sort()
        .toReversed()

    assert.deepEqual(await listed(), some(0, 1, 2))
    for (const [q, expected] of [
      ['p', some(0)],
      ['u', some(2)],
      ['+491', some(0, 1)],
      ['a@example.com', some(2)],
      ['an', some(0, 1)],
      ['ANNA G', some(0)],
      ['guest', []],
      ['100%_', some(2)],
      ['%', []],
      ['_', []],
      ['\\', []],
      ['+49', []],
    ] as const)
      assert.deepEqual(await listed(q), expected, q)
  })

  rule('finds somebody in a list by a second phone', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()
    await resolved(bench, { tenantId, profileId: 'p', phone: '+491' })
    await resolved(bench, { tenantId, profileId: 'p', phone: '+492' })

    const { items } = await store.people.listContacts(tenantId, { q: '+492' }, { limit: 10 })

    assert.equal(only(items).phone, '+491')
  })
}

type Asked = Omit<ContactRequest, 'conversation'> & Partial<Pick<ContactRequest, 'conversation'>>

function resolveAll(
  { store, newId }: { store: Store; newId: () => string },
  requests: Asked[],
): Promise<RecognisedContact[]> {
  return store.people.resolve(
    requests.map((request) => ({ conversation: null, ...request })),
    newId,
  )
}

async function resolved(bench: Bench, request: Asked): Promise<RecognisedContact> {
  return only(await resolveAll(bench, [request]))
}

function byPhone(people: readonly RecognisedContact[]): unknown[] {
  return people
    .map(({ contact, conversationId }) => [contact?.phone ?? '', contact?.id, contact?.email, conversationId])
    .sort(([a], [b]) => ((a ?? '') < (b ?? '') ? -1 : 1))
}

function newContact({ newId }: Bench, tenantId: string, facts: Partial<NewContact>): NewContact {
  const nothing = { profileId: null, userId: null, name: null, phone: null, email: null, locale: null }
  return { id: newId(), tenantId, ...nothing, ...facts }
}
