import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { planEvents } from '../../../../test/support/planning.ts'
import { sampleNotification } from '../../../../test/support/samples.ts'
import { type Scope, shared } from '../../../../test/support/shared.ts'
import { validEvent } from '../../../client/src/check-event.ts'
import type { NewNotification } from '../model/notification.ts'
import { CATALOGUE, openFixture } from './fixture.ts'

const EVENT = {
  id: 'e-1',
  type: 'booking.confirmed',
  entity: { type: 'booking', id: '12345' },
  payload: { guestPhone: '+919876543210', guestEmail: 'guest@example.com' },
  occurredAt: '2026-01-01T10:00:00+05:30',
  dueAt: null,
  correlationId: null,
  locale: 'de-DE',
  recipients: [{ profileId: 'p', name: 'N', phone: '+919876543210', email: null }],
  channels: ['whatsapp'],
  conversation: { type: 'booking', id: '12345' },
}

async function setup(t: Scope) {
  const f = await openFixture()
  t.after(() => f.app.close())
  const tenant = await f.tenant('acme')
  await f.call(tenant.keys.admin, 'PUT', '/api/event-types', CATALOGUE)
  return { f, tenant, publish: (body: unknown) => f.call(tenant.keys.publisher, 'POST', '/api/events', body) }
}

describe('publishing events', () => {
  const refusing = shared(setup)

  it('writes the event as it was given and wakes the planner', async (t) => {
    const { f, publish } = await setup(t)

    const answer = await publish(EVENT)

    assert.deepEqual([answer.statusCode, answer.json()], [202, { id: 'e-1', duplicate: false }])
    const stored = await f.store.events.find('acme', 'e-1')
    assert.equal(stored?.status, 'pending')
    assert.deepEqual(stored?.payload, EVENT.payload)
    assert.equal(stored?.occurredAt, Date.parse('2026-01-01T04:30:00Z'))
    assert.deepEqual(stored?.recipients, [{ profileId: 'p', name: 'N', phone: '+919876543210' }])
    assert.deepEqual(
      [stored?.channels, stored?.conversation, stored?.locale],
      [['whatsapp'], EVENT.conversation, 'de-DE'],
    )
    assert.deepEqual(f.nudges, ['events'])
  })

  it('belongs to the trace that it names itself, else to that of its request', async (t) => {
    const { f, tenant } = await setup(t)
    const trace = (parent: string): string => `00-0af7651916cd43dd8448eb211c80319c-${parent.repeat(16)}-01`
    const headers = { authorization: `Bearer ${tenant.keys.publisher}`, traceparent: trace('1') }
    const payload = [
      { ...EVENT, id: 'own', traceparent: trace('2') },
      { ...EVENT, id: 'none', traceparent: null },
    ]

    const answer = await f.inject({ method: 'POST', url: '/api/events', headers, payload })

    assert.equal(answer.statusCode, 200, answer.body)
    assert.equal((await f.store.events.find('acme', 'own'))?.traceparent, trace('2'))
    assert.equal((await f.store.events.find('acme', 'none'))?.traceparent, trace('1'))
  })

  it('takes a domain event for all the types that it becomes, and for none', async (t) => {
    const { f, tenant, publish } = await setup(t)
    const [confirmed] = Object.values(CATALOGUE.eventTypes)
    const typeOf = (field: string, secrets: string[] = []) => ({
      ...confirmed,
      payload: { type: 'object', required: [field, 'both'] },
      secrets,
    })
    const catalogue = {
      ...CATALOGUE,
      eventTypes: { a: typeOf('one'), b: typeOf('two', ['two']) },
      domainEvents: { Both: ['a', 'b'], Nothing: [] },
    }
    assert.equal((await f.call(tenant.keys.admin, 'PUT', '/api/event-types', catalogue)).statusCode, 200)

    const bad = await publish({ ...EVENT, type: 'Both', payload: {} })
    const other = await publish({ ...EVENT, type: 'Both', entity: { type: 'trip', id: '1' } })
    const good = await publish({ ...EVENT, type: 'Both', payload: { one: 1, two: 'canary', both: 3 } })
    const none = await publish({ ...EVENT, id: 'e-2', type: 'Nothing', entity: { type: 'ledger', id: '1' } })

    assert.deepEqual(
      bad.json().errors.map(({ path }) => path),
      ['/payload/one', '/payload/both', '/payload/two'],
    )
    assert.equal(other.json().errors[0]?.path, '/entity/type')
    assert.deepEqual([good.statusCode, none.statusCode], [202, 202])
    const stored = await f.store.events.find('acme', 'e-1')
    assert.deepEqual([stored?.type, stored?.payload['one']], ['Both', 1])
    assert.doesNotMatch(JSON.stringify(stored?.payload), /canary/)
  })

  it('refuses a time that no store could keep, and spoils no other item with it', async (t) => {
    const { publish } = await setup(t)
    const times = ['9999-12-31T23:59:59Z', '0001-01-01T00:00:00Z', '1970-01-01T00:00:00+05:00']

    for (const dueAt of times) assert.equal((await publish({ ...EVENT, dueAt })).statusCode, 422, dueAt)
    const both = await publish([
      { ...EVENT, occurredAt: '1900-01-01T00:00:00Z' },
      { ...EVENT, id: 'e-2' },
    ])

    assert.deepEqual(
      both.json().results.map(({ status }) => status),
      [422, 202],
    )
  })

  it('takes a payload of 1 MiB as JSON and refuses a larger one in the words of the client, alone', async (t) => {
    const { publish } = await setup(t)
    const largest = { text: 'x'.repeat(1_048_576 - '{"text":""}'.length) }
    const larger = { text: 'é'.repeat(524_283) }
    const bySelf = (payload: object) => validEvent({ ...EVENT, tenantId: 'acme', payload }, () => 'id')

    assert.equal((await publish({ ...EVENT, payload: largest })).statusCode, 202)
    assert.equal(bySelf(largest).payloadText.length, 1_048_576)
    const refused = await publish({ ...EVENT, id: 'e-2', payload: larger })
    const message = 'must not be larger than 1 MiB (1048576 bytes) as JSON, and has 1048577 bytes'
    assert.deepEqual([refused.statusCode, refused.json().code], [422, 'invalid_body'])
    assert.deepEqual(refused.json().errors, [{ path: '/payload', message }])
    assert.throws(() => bySelf(larger), { problems: [{ path: '/payload', message }] })
    const both = await publish([
      { ...EVENT, id: 'e-3', payload: larger },
      { ...EVENT, id: 'e-4' },
    ])
    assert.deepEqual(
      both.json().results.map(({ status }) => status),
      [422, 202],
    )
  })

  it('answers a known id with 200 and changes nothing', async (t) => {
    const { f, publish } = await setup(t)
    await publish(EVENT)
    f.nudges.length = 0

    const repeat = await publish({ ...EVENT, payload: { other: 1 } })

    assert.deepEqual([repeat.statusCode, repeat.json()], [200, { id: 'e-1', duplicate: true }])
    assert.deepEqual((await f.store.events.find('acme', 'e-1'))?.payload, EVENT.payload)
    assert.deepEqual(f.nudges, [])
  })

  it('makes an id where none is given', async (t) => {
    const { publish } = await setup(t)
    const { id: _, ...anonymous } = EVENT
    const [first, second] = [(await publish(anonymous)).json(), (await publish(anonymous)).json()]

    assert.match(first.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/)
    assert.notEqual(first.id, second.id)
  })

  it('refuses a type the catalogue does not know, and takes it as soon as it does', async (t) => {
    const { f, tenant, publish } = await setup(t)

    const unknown = await publish({ ...EVENT, type: 'booking.moved' })
    assert.deepEqual([unknown.statusCode, unknown.json().code], [422, 'unknown_event_type'])
    const eventTypes = { ...CATALOGUE.eventTypes, 'booking.moved': { entity: 'booking', recipients: [] } }
    await f.call(tenant.keys.admin, 'PUT', '/api/event-types', { ...CATALOGUE, eventTypes })
    assert.equal((await publish({ ...EVENT, type: 'booking.moved' })).statusCode, 202)
  })

  it('refuses an event about something else than its type is about, and says what that is', async (t) => {
    const { f, publish } = await setup(t)

    const answer = await publish({ ...EVENT, entity: { type: 'guest', id: '7' } })

    assert.equal(answer.statusCode, 422)
    assert.equal(answer.json().code, 'invalid_body')
    const message = 'must be "booking": that is what events of the type booking.confirmed are about'
    assert.deepEqual(answer.json().errors, [{ path: '/entity/type', message }])
    assert.equal(await f.store.events.find('acme', EVENT.id), null)
  })

  it('forgets a type that was removed, here at once and elsewhere within a second', async (t) => {
    const { f, tenant, publish } = await setup(t)
    await publish(EVENT)
    const eventTypes = { 'other.type': { entity: 'booking', recipients: [] } }
    await f.call(tenant.keys.admin, 'PUT', '/api/event-types', { eventTypes })

    assert.equal((await publish({ ...EVENT, id: 'e-2' })).statusCode, 422)
  })

  it('answers each event of a list by itself', async (t) => {
    const { f, publish } = await setup(t)

    const answer = await publish([
      EVENT,
      { ...EVENT, id: 'e-2', type: 'nothing.known' },
      { ...EVENT, id: 'e-3', entity: null },
      EVENT,
      'nonsense',
      { ...EVENT, id: 'e-4' },
    ])

    assert.equal(answer.statusCode, 200)
    const { results } = answer.json()
    assert.deepEqual(
      results.map(({ index, id, status, code }) => [index, id, status, code]),
      [
        [0, 'e-1', 202, undefined],
        [1, undefined, 422, 'unknown_event_type'],
        [2, undefined, 422, 'invalid_body'],
        [3, 'e-1', 200, undefined],
        [4, undefined, 422, 'invalid_body'],
        [5, 'e-4', 202, undefined],
      ],
    )
    assert.equal((await f.call(f.opsKey, 'GET', '/ops/outbox')).json().items.length, 2)
  })

  it('refuses events with text or levels that cannot be kept, and takes the others of the list', async (t) => {
    const { publish } = await setup(t)
    let deep: unknown = 1
    for (let level = 0; level < 33; level++) deep = [deep]

    const answer = await publish([
      { ...EVENT, payload: { a: 'x\0' } },
      { ...EVENT, payload: { a: '\ud800' } },
      { ...EVENT, payload: { deep } },
      EVENT,
    ])

    assert.equal(answer.statusCode, 200, answer.body)
    assert.deepEqual(
      answer.json().results.map(({ status, errors }) => [status, errors?.[0]?.path]),
      [
        [422, '/payload/a'],
        [422, '/payload/a'],
        [422, `/payload/deep${'/0'.repeat(31)}`],
        [202, undefined],
      ],
    )
    assert.equal((await publish({ ...EVENT, id: 'e-2', payload: { a: 'x\0' } })).statusCode, 422)
  })

  it('takes 1,000 events at once, and neither none nor more', async (t) => {
    const { publish } = await setup(t)
    const events = (count: number) => Array.from({ length: count }, (_, i) => ({ ...EVENT, id: `n-${i}` }))

    const answer = await publish(events(1_000))
    assert.ok(answer.json().results.every(({ status }) => status === 202))
    assert.equal((await publish(events(1_001))).statusCode, 422)
    assert.equal((await publish([])).statusCode, 422)
  })

  for (const [path, wrong] of Object.entries({
    '/type': { type: 'a b' },
    '/entity': { entity: undefined },
    '/entity/id': { entity: { type: 'booking', id: '' } },
    '/entity/more': { entity: { type: 'booking', id: '1', more: 1 } },
    '/payload': { payload: [] },
    '/channels/0': { channels: ['pigeon'] },
    '/recipients/0/age': { recipients: [{ age: 5 }] },
    '/recipients': { recipients: [] },
    '/locale': { locale: 'German' },
    '/id': { id: 'x'.repeat(201) },
    '/status': { status: 'published' },
    '/tenantId': { tenantId: 'other' },
  }))
    it(`refuses an event with a wrong ${path}`, async () => {
      const { publish } = await refusing()
      const answer = await publish({ ...EVENT, ...wrong })

      assert.equal(answer.statusCode, 422)
      assert.ok(
        answer.json().errors.some((error) => error.path === path),
        answer.body,
      )
    })
})

describe('the outbox', () => {
  it('lists events of all tenants, or of one, without what they carry', async (t) => {
    const { f, tenant, publish } = await setup(t)
    const other = await f.tenant('other')
    await f.call(other.keys.admin, 'PUT', '/api/event-types', CATALOGUE)
    await publish(EVENT)
    f.advance(1_000)
    await f.call(other.keys.publisher, 'POST', '/api/events', EVENT)
    const list = async (query: string) => (await f.call(f.opsKey, 'GET', `/ops/outbox${query}`)).json()

    assert.deepEqual(
      (await list('')).items.map((event) => event.tenantId),
      ['other', 'acme'],
    )
    assert.deepEqual((await list('?tenantId=acme&status=pending')).items.length, 1)
    assert.deepEqual((await list('?status=failed')).items, [])
    const from = encodeURIComponent(new Date(f.now()).toISOString())
    assert.deepEqual(
      (await list(`?from=${from}`)).items.map((event) => event.tenantId),
      ['other'],
    )
    assert.deepEqual(
      (await list(`?to=${from}`)).items.map((event) => event.tenantId),
      ['acme'],
    )
    const first = await list('?limit=1')
    assert.equal((await list(`?limit=1&cursor=${first.nextCursor}`)).items[0]?.tenantId, 'acme')
    assert.ok(!JSON.stringify(await list('')).includes('guest@example.com'))
    assert.equal((await f.call(tenant.keys.admin, 'GET', '/ops/outbox')).statusCode, 403)
  })

  it('replays what failed and nothing else', async (t) => {
    const { f, publish } = await setup(t)
    await publish(EVENT)
    const replay = (query = '') => f.call(f.opsKey, 'POST', `/ops/outbox/e-1/replay${query}`)

    const early = await replay()
    assert.deepEqual([early.statusCode, early.json().code], [409, 'not_failed'])
    await f.store.plan.deferEvent({ tenantId: 'acme', id: 'e-1' }, 'no template', null)
    f.nudges.length = 0
    const answer = await replay()
    assert.deepEqual([answer.statusCode, answer.json().status, answer.json().lastError], [200, 'pending', null])
    assert.deepEqual(f.nudges, ['events'])
    assert.equal((await replay('?tenantId=other')).statusCode, 404)
    assert.equal((await f.call(f.opsKey, 'POST', '/ops/outbox/nothing/replay')).statusCode, 404)
  })

  it('wants to know the tenant where several have an event of that id', async (t) => {
    const { f, publish } = await setup(t)
    const other = await f.tenant('other')
    await f.call(other.keys.admin, 'PUT', '/api/event-types', CATALOGUE)
    await publish(EVENT)
    await f.call(other.keys.publisher, 'POST', '/api/events', EVENT)
    await f.store.plan.deferEvent({ tenantId: 'other', id: 'e-1' }, 'broken', null)

    const answer = await f.call(f.opsKey, 'POST', '/ops/outbox/e-1/replay')
    assert.deepEqual([answer.statusCode, answer.json().errors[0]?.path], [422, 'tenantId'])
    assert.equal((await f.call(f.opsKey, 'POST', '/ops/outbox/e-1/replay?tenantId=other')).statusCode, 200)
  })
})

describe('what became of events', () => {
  const withTrips = {
    ...CATALOGUE,
    entities: { booking: 'bookings', trip: 'trips' },
    eventTypes: { ...CATALOGUE.eventTypes, 'trip.late': { entity: 'trip', recipients: [] } },
  }

  /** One event planned into a parked and a skipped notification, one that failed, and one of another key. */
  async function told(t: Scope) {
    const { f, tenant, publish } = await setup(t)
    await f.call(tenant.keys.admin, 'PUT', '/api/event-types', withTrips)
    await publish({ ...EVENT, occurredAt: null, correlationId: 'corr-1' })
    const made = (changes: Partial<NewNotification>) =>
      sampleNotification({ tenantId: 'acme', eventId: 'e-1', entity: EVENT.entity, scheduleId, ...changes })
    const scheduleId = f.deps.ids()
    const obstacle = { accountId: null, provider: null, content: null }
    await planEvents(f.store, 1, () => ({
      kind: 'notifications',
      scheduleId,
      cancels: null,
      notifications: [
        made({
          ...obstacle,
          id: f.deps.ids(),
          idempotencyKey: 'a',
          stopped: { status: 'parked', reason: 'no_recipient', error: 'nobody' },
        }),
        made({
          ...obstacle,
          id: f.deps.ids(),
          idempotencyKey: 'b',
          channel: 'email',
          to: { email: 'guest@example.com' },
          stopped: { status: 'skipped', reason: 'no_active_account', error: 'no account' },
        }),
      ],
    }))
    f.advance(1_000)
    await publish({ id: 'e-2', type: 'booking.confirmed', entity: { type: 'booking', id: '7' }, topic: 'desk' })
    await f.store.plan.deferEvent({ tenantId: 'acme', id: 'e-2' }, 'no template', null)
    f.advance(1_000)
    const trip = { id: 'e-3', type: 'trip.late', entity: { type: 'trip', id: '7' } }
    await f.call(tenant.keys.admin, 'POST', '/api/events', trip)
    const get = (path: string, key = tenant.keys.viewer) => f.call(key, 'GET', `/api/events${path}`)
    const ids = async (query: string, key?: string) => (await get(query, key)).json().items.map(({ id }) => id)
    return { f, tenant, get, ids, scheduleId }
  }
  const reading = shared(told)

  it('is listed newest first, with how many notifications stand where', async () => {
    const { get, f } = await reading()
    const { items } = (await get('')).json()

    assert.deepEqual(
      items.map(({ id }) => id),
      ['e-3', 'e-2', 'e-1'],
    )
    const { counts, ...first } = items[2] ?? assert.fail()
    assert.deepEqual(
      { ...first },
      {
        id: 'e-1',
        tenantId: 'acme',
        type: 'booking.confirmed',
        entity: { type: 'booking', id: '12345' },
        status: 'published',
        attemptCount: 1,
        nextAttemptAt: null,
        lastError: null,
        correlationId: 'corr-1',
        topic: 'booking.events',
        derivedFrom: null,
        locale: 'de-DE',
        schemaVersion: 1,
        occurredAt: null,
        dueAt: null,
        createdAt: new Date(f.now() - 2_000).toISOString(),
        publishedAt: new Date(f.now() - 2_000).toISOString(),
      },
    )
    assert.deepEqual([counts['parked'], counts['skipped']], [1, 1])
    assert.equal(
      Object.values(counts).reduce((sum, count) => sum + count),
      2,
    )
    assert.deepEqual([items[1]?.lastError, items[1]?.topic], ['no template', 'desk'])
  })

  it('is not asked about with a cursor that names an event of another tenant', async () => {
    const { get, f, tenant } = await reading()
    const other = await f.tenant('neighbour')
    await f.call(other.keys.admin, 'PUT', '/api/event-types', CATALOGUE)
    await f.call(other.keys.publisher, 'POST', '/api/events', { ...EVENT, id: 'theirs' })
    const { operator } = tenant.keys
    const { nextCursor } = (await get('?limit=1', operator)).json()
    const mark = String(nextCursor).slice(0, 6)
    const naming = (...place: string[]): string => mark + Buffer.from(JSON.stringify(place)).toString('base64url')

    const ask = async (id: string) => {
      const { statusCode, body } = await get(`?cursor=${naming('neighbour', id)}`, operator)
      return [statusCode, (JSON.parse(body) as { code: unknown }).code]
    }
    assert.deepEqual(await ask('theirs'), await ask('nobody’s'))
    assert.deepEqual(await ask('theirs'), [422, 'invalid_query'])
  })

  it('is found by type, entity, status and time, page by page', async () => {
    const { ids, get, f } = await reading()
    const at = (offset: number): string => encodeURIComponent(new Date(f.now() + offset).toISOString())

    assert.deepEqual(await ids('?type=booking.confirmed'), ['e-2', 'e-1'])
    assert.deepEqual(await ids('?bookingId=7'), ['e-2'])
    assert.deepEqual(await ids('?tripId=7'), ['e-3'])
    assert.deepEqual(await ids('?entityType=booking&entityId=12345'), ['e-1'])
    assert.deepEqual(await ids('?entityId=7'), ['e-3', 'e-2'])
    assert.deepEqual(await ids('?status=failed'), ['e-2'])
    assert.deepEqual(await ids(`?from=${at(-1_500)}&to=${at(-500)}`), ['e-2'])
    const first = (await get('?limit=1')).json()
    assert.deepEqual(await ids(`?limit=2&cursor=${first.nextCursor}`), ['e-2', 'e-1'])
    for (const query of ['status=done', 'bokingId=7', 'from=x', 'eventType=a', 'tenantId=acme'])
      assert.equal((await get(`?${query}`)).statusCode, 422, query)
    assert.equal((await get('?tenantId=acme', f.opsKey)).json().items.length, 3)
    assert.equal((await get('', f.opsKey)).statusCode, 422)
  })

  it('is told in words, with schedules and notifications', async () => {
    const { get, f, tenant, scheduleId } = await reading()
    const answer = (await get('/e-1', tenant.keys.operator)).json() as unknown as {
      counts: Record<string, number>
      schedules: { id: string; status: string }[]
      notifications: { channel: string; to: { email?: string } }[]
      explanation: { at: string; code: string; text: string; channel?: string; recipient?: string }[]
      payload: { guestEmail: string }
    }

    assert.equal(answer.payload.guestEmail, 'guest@example.com')
    assert.deepEqual(
      answer.schedules.map(({ id, status }) => [id, status]),
      [[scheduleId, 'completed']],
    )
    assert.deepEqual(
      answer.notifications.map(({ channel }) => channel),
      ['email', 'sms'],
    )
    assert.deepEqual(
      answer.explanation.map(({ code, text }) => `${code}: ${text}`),
      [
        'published: booking.confirmed about booking 12345 was published by key:publisher.',
        'planned: It was turned into 1 notification; 1 more was skipped.',
        'no_recipient: sms: set aside for an operator, not sent to +15***00. The event names nobody with an address for any of its channels. (nobody)',
        'no_active_account: email: skipped, not sent to g***@example.com. The tenant has no active account for this channel. (no account)',
      ],
    )
    const { channel, recipient, at } = answer.explanation[3] ?? assert.fail()
    assert.deepEqual([channel, recipient, at], ['email', 'g***@example.com', new Date(f.now() - 2_000).toISOString()])
  })

  it('shows a viewer no address, and nobody what is not there', async () => {
    const { get, tenant } = await reading()

    const { body, statusCode } = await get('/e-1')

    assert.equal(statusCode, 200)
    for (const address of ['guest@example.com', '9876543210']) assert.ok(!body.includes(address), body)
    assert.equal((await get('/nothing', tenant.keys.admin)).statusCode, 404)
  })

  it('is shown to a publisher only of what its own key published', async () => {
    const { get, ids, tenant } = await reading()
    const { publisher } = tenant.keys

    assert.deepEqual(await ids('', publisher), ['e-2', 'e-1'])
    assert.deepEqual(await ids('?tripId=7', publisher), [])
    assert.equal((await get('/e-1', publisher)).statusCode, 200)
    const [theirs, none] = [await get('/e-3', publisher), await get('/nothing', publisher)]
    assert.deepEqual([theirs.statusCode, theirs.json().detail], [none.statusCode, none.json().detail])
  })

  it('is planned again by an operator where it failed', async (t) => {
    const { f, tenant, get } = await told(t)
    const replay = (key: string, id: string) => f.call(key, 'POST', `/api/events/${id}/replay`)

    assert.equal((await replay(tenant.keys.viewer, 'e-2')).statusCode, 403)
    assert.equal((await replay(tenant.keys.operator, 'e-1')).json().code, 'not_failed')
    const answer = await replay(tenant.keys.operator, 'e-2')

    assert.deepEqual([answer.statusCode, answer.json().status], [200, 'pending'])
    assert.equal((await get('/e-2')).json().status, 'pending')
  })
})
