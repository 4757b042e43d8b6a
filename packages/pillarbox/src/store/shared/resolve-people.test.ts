import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Clock } from '../../model/ports.ts'
import type { ContactRequest, PeopleStore, RecognisedContact } from '../../plan/people-store.ts'
import { applySettings, openConnection } from '../sqlite/connection.ts'
import { sqliteSchema } from '../sqlite/migrate.ts'
import { scriptRunner } from '../sqlite/scripts.ts'
import { openWriter } from '../sqlite/writer.ts'
import { sharedPeople } from './people.ts'
import type { Row, Script, ScriptRunner } from './script.ts'
import { sharedTenants } from './tenants.ts'

const TENANT = 'atlas'
const TRIP = { type: 'trip', id: '7' }

/** People on a real database, with every statement on record and a place to step in between reading and writing. */
async function setup() {
  let now = 1_800_000_000_000
  const clock: Clock = { now: () => ++now, monotonic: () => now, sleep: () => assert.fail('nobody is in the way') }
  const connection = openConnection({ path: ':memory:', readOnly: false, now: clock.now })
  applySettings(connection)
  const writer = openWriter({ connection, clock, defer: queueMicrotask })
  const connections = { connection, reader: connection, reports: null, writer, clock }
  await sqliteSchema(connections).migrate()
  const runner = scriptRunner(connections)
  await sharedTenants(runner).insert({ id: TENANT, name: TENANT, defaultLocale: 'en', timeZone: 'UTC', settings: {} })

  const statements: string[] = []
  let meanwhile: (() => Promise<unknown>)[] = []
  const watched: ScriptRunner = {
    ...runner,
    read: (script) => runner.read(() => onRecord(script(), statements)),
    write: async (script) => {
      await meanwhile.shift()?.()
      return runner.write(() => onRecord(script(), statements))
    },
  }
  let count = 0
  const newId = () => `019b7a00-0000-7000-8000-${String(++count).padStart(12, '0')}`
  const people = sharedPeople(runner, { planning: watched })
  const others = sharedPeople(runner, { planning: runner })
  const asked = (request: Partial<ContactRequest>): ContactRequest => ({
    tenantId: TENANT,
    conversation: null,
    ...request,
  })
  return {
    statements,
    resolve: (...requests: Partial<ContactRequest>[]): Promise<RecognisedContact[]> =>
      people.resolve(requests.map(asked), newId),
    /** What somebody else does before the next write, and before the ones after that. */
    stepIn: (...work: ((others: PeopleStore, newId: () => string) => Promise<unknown>)[]) => {
      meanwhile = work.map((each) => () => each(others, newId))
    },
    /** Somebody else resolves these. */
    meet:
      (...requests: Partial<ContactRequest>[]) =>
      (store: PeopleStore) =>
        store.resolve(requests.map(asked), newId),
    contacts: async () => (await people.listContacts(TENANT, {}, { limit: 200 })).items,
    conversations: async () => (await people.listConversations(TENANT, {}, { limit: 200 })).items,
  }
}

function* onRecord<T>(script: Script<T>, statements: string[]): Script<T> {
  let step = script.next()
  while (!step.done) {
    statements.push(step.value.text)
    let found: Row[]
    try {
      found = yield step.value
    } catch (error) {
      step = script.throw(error)
      continue
    }
    step = script.next(found)
  }
  return step.value
}

describe('resolving people', () => {
  const many = (facts: (i: number) => Partial<ContactRequest>) => Array.from({ length: 500 }, (_, i) => facts(i))
  const everybody = many((i) => ({
    profileId: `p${i}`,
    phone: `+49${i}`,
    email: `${i}@example.com`,
    conversation: TRIP,
  }))

  it('takes a handful of statements for five hundred who are new', async () => {
    const { resolve, statements } = await setup()

    await resolve(...everybody)

    assert.equal(statements.length, 5, statements.join('\n'))
  })

  it('takes two statements, and writes nothing, for five hundred who are known', async () => {
    const { resolve, statements, stepIn } = await setup()
    await resolve(...everybody)
    statements.length = 0
    stepIn(() => assert.fail('there was something to write'))

    await resolve(...everybody)

    assert.equal(statements.length, 2)
  })

  it('takes a handful of statements for five hundred merges', async () => {
    const { resolve, statements } = await setup()
    await resolve(...many((i) => ({ phone: `+49${i}`, conversation: TRIP })))
    await resolve(...many((i) => ({ email: `${i}@example.com`, conversation: TRIP })))
    statements.length = 0

    await resolve(...many((i) => ({ phone: `+49${i}`, email: `${i}@example.com`, conversation: TRIP })))

    assert.equal(statements.length, 7, statements.join('\n'))
  })
})

describe('resolving people whom somebody else changes between being looked at and being written', () => {
  it('finds the contact that somebody else has just made', async () => {
    const { resolve, stepIn, meet, contacts } = await setup()
    stepIn(meet({ phone: '+491', name: 'Guest' }))

    const [person] = await resolve({ phone: '+491', email: 'a@example.com' })

    assert.deepEqual(await contacts(), [person?.contact])
    assert.deepEqual([person?.contact?.name, person?.contact?.email], ['Guest', 'a@example.com'])
  })

  it('uses the conversation that somebody else has just begun', async () => {
    const { resolve, stepIn, meet, conversations } = await setup()
    await resolve({ phone: '+491' })
    stepIn(meet({ phone: '+491', conversation: TRIP }))

    const [person] = await resolve({ phone: '+491', conversation: TRIP })

    assert.deepEqual(
      (await conversations()).map(({ id }) => id),
      [person?.conversationId],
    )
  })

  it('does not add to a contact that has just been merged', async () => {
    const { resolve, stepIn, meet, contacts } = await setup()
    const [older] = await resolve({ phone: '+491' })
    await resolve({ email: 'a@example.com' })
    stepIn(meet({ phone: '+491', email: 'a@example.com' }))

    const [person] = await resolve({ email: 'a@example.com', userId: 'u' })

    assert.equal(person?.contact?.id, older?.contact?.id)
    assert.deepEqual(await contacts(), [person?.contact])
    assert.equal((await resolve({ userId: 'u' }))[0]?.contact?.id, older?.contact?.id)
  })

  it('begins no conversation with a contact that has just been merged', async () => {
    const { resolve, stepIn, meet, conversations } = await setup()
    const [older] = await resolve({ phone: '+491' })
    await resolve({ email: 'a@example.com' })
    stepIn(meet({ phone: '+491', email: 'a@example.com' }))

    const [person] = await resolve({ email: 'a@example.com', conversation: TRIP })

    assert.equal(person?.contact?.id, older?.contact?.id)
    assert.deepEqual(
      (await conversations()).map(({ contactId }) => contactId),
      [older?.contact?.id],
    )
  })

  it('does not merge a contact that has just got a profile id into one that has another', async () => {
    const { resolve, stepIn, meet, contacts } = await setup()
    await resolve({ phone: '+491', profileId: 'p' })
    await resolve({ email: 'a@example.com' })
    stepIn(meet({ email: 'a@example.com', profileId: 'q' }))

    await resolve({ phone: '+491', email: 'a@example.com' })

    assert.deepEqual(new Set((await contacts()).map(({ profileId }) => profileId)), new Set(['p', 'q']))
  })

  it('does not merge into a contact that has just got a profile id', async () => {
    const { resolve, stepIn, meet, contacts } = await setup()
    await resolve({ phone: '+491' })
    await resolve({ email: 'a@example.com', profileId: 'q' })
    stepIn(meet({ phone: '+491', profileId: 'p' }))

    await resolve({ phone: '+491', email: 'a@example.com' })

    assert.deepEqual(new Set((await contacts()).map(({ profileId }) => profileId)), new Set(['p', 'q']))
  })

  it('does not give a profile id to a contact that has just got another', async () => {
    const { resolve, stepIn, meet, contacts } = await setup()
    await resolve({ phone: '+491' })
    stepIn(meet({ phone: '+491', profileId: 'p' }))

    const [person] = await resolve({ phone: '+491', profileId: 'q' })

    assert.equal(person?.contact?.profileId, 'q')
    assert.equal((await contacts()).length, 2)
  })

  it('keeps what somebody else has just written into a field that was empty', async () => {
    const { resolve, stepIn, contacts } = await setup()
    const [person] = await resolve({ phone: '+491' })
    stepIn((others) => others.updateContact(TENANT, person?.contact?.id ?? '', { name: 'By hand' }, 'key:ada'))

    const [after] = await resolve({ phone: '+491', name: 'From an event', locale: 'de' })

    assert.deepEqual([after?.contact?.name, after?.contact?.locale], ['By hand', 'de'])
    assert.deepEqual(await contacts(), [after?.contact])
  })

  for (const [what, request] of Object.entries({
    'a new identifier': { phone: '+491', email: 'a@example.com' },
    'a conversation': { phone: '+491', conversation: TRIP },
  }))
    it(`makes anew a contact that has just been removed and was to get ${what}`, async () => {
      const { resolve, stepIn, contacts } = await setup()
      const [gone] = await resolve({ phone: '+491' })
      stepIn((others) => others.removeContact(TENANT, gone?.contact?.id ?? '', 'key:ada'))

      const [person] = await resolve(request)

      assert.notEqual(person?.contact?.id, gone?.contact?.id)
      assert.deepEqual(await contacts(), [person?.contact])
    })

  it('goes on trying while others win', async () => {
    const { resolve, stepIn, meet, contacts } = await setup()
    const rounds = [1, 2, 3, 4].map((i) => ({ userId: `u${i}`, phone: `+49${i}` }))
    stepIn(...rounds.map((facts) => meet(facts)))

    const people = await resolve(...rounds)

    assert.deepEqual(new Set(people.map(({ contact }) => contact?.id)), new Set((await contacts()).map(({ id }) => id)))
    assert.equal((await contacts()).length, 4)
  })

  it('gives up in the end, and says that it can be tried again', async () => {
    const { resolve, stepIn } = await setup()
    const [person] = await resolve({ phone: '+491' })
    const id = person?.contact?.id ?? ''
    stepIn(
      ...Array.from(
        { length: 20 },
        (_, i) => (others: PeopleStore) => others.updateContact(TENANT, id, { userId: `u${i}` }, 'key:ada'),
      ),
    )

    await assert.rejects(resolve({ phone: '+491', name: 'Guest' }), { code: 'store_unavailable' })
  })

  it('rejects people of a tenant that does not exist', async () => {
    const { resolve } = await setup()

    await assert.rejects(resolve({ tenantId: 'nobody', phone: '+491' }), /FOREIGN KEY/)
  })
})
