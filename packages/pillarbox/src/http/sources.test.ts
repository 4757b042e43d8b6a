import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type FixtureOptions, openFixture } from './fixture.ts'

const HASURA = {
  booking_confirmed: {
    eventType: 'booking.confirmed',
    entityId: 'new.id',
    payload: {
      bookingId: 'new.id',
      guestEmail: 'new.guest_email',
      formerStatus: 'old.status',
      city: 'new.address.city',
    },
  },
  booking_row: { eventType: 'booking.confirmed', entityId: 'new.id' },
  booking_gone: { eventType: 'booking.confirmed', entityId: 'old.id' },
  checkout_abandoned: { eventType: 'CheckoutAbandoned', entityId: 'new.booking_id' },
  nightly_digest: { eventType: 'booking.confirmed', entityId: 'payload.bookingId' },
}

const TYPE = { entity: 'booking', recipients: [{ email: 'guestEmail' }] }
const CATALOGUE = {
  name: 'hasura',
  defaultLocale: 'en',
  entities: { booking: 'bookings' },
  eventTypes: { 'booking.confirmed': TYPE, ABANDONED: TYPE, ABANDONED_WHATSAPP: TYPE },
  domainEvents: { CheckoutAbandoned: ['ABANDONED', 'ABANDONED_WHATSAPP'] },
  sources: { hasura: HASURA },
}

async function setup(t: TestContext, options?: FixtureOptions) {
  const f = await openFixture(options)
  t.after(() => f.app.close())
  const tenant = await f.tenant('acme')
  assert.equal((await f.call(tenant.keys.admin, 'PUT', '/api/event-types', CATALOGUE)).statusCode, 200)
  const take = (body: unknown, key = tenant.keys.publisher) => f.call(key, 'POST', '/api/sources/hasura', body)
  const event = (id: string) => f.store.events.find('acme', id)
  return { f, tenant, take, event }
}

/** As Hasura v2 sends it. */
const change = (id: string, trigger: string, data: object) => ({
  id,
  created_at: '2026-01-15T11:59:58.123456Z',
  trigger: { name: trigger },
  table: { schema: 'public', name: 'bookings' },
  event: {
    session_variables: { 'x-hasura-role': 'admin' },
    op: 'UPDATE',
    data,
    trace_context: { trace_id: '1', span_id: '2' },
  },
  delivery_info: { max_retries: 3, current_retry: 0 },
})

const ROW = { id: 42, status: 'confirmed', guest_email: 'ada@example.test', address: { city: 'Pune' }, note: null }

describe('a call of a Hasura event trigger', () => {
  it('becomes the event that the catalogue maps it to, once', async (t) => {
    const { take, event, f } = await setup(t)
    const body = change('11111111-2222-4333-8444-555555555555', 'booking_confirmed', {
      old: { id: 42, status: 'pending' },
      new: ROW,
    })

    const first = await take(body)
    const again = await take({ ...body, delivery_info: { max_retries: 3, current_retry: 1 } })

    assert.deepEqual([first.statusCode, first.json()], [202, { id: body.id, duplicate: false }])
    assert.deepEqual([again.statusCode, again.json()], [200, { id: body.id, duplicate: true }])
    const found = (await event(body.id)) ?? assert.fail()
    assert.deepEqual([found.type, found.entity], ['booking.confirmed', { type: 'booking', id: '42' }])
    assert.deepEqual(found.payload, {
      bookingId: 42,
      guestEmail: 'ada@example.test',
      formerStatus: 'pending',
      city: 'Pune',
    })
    assert.equal(found.correlationId, body.id)
    assert.equal(found.occurredAt, Date.parse('2026-01-15T11:59:58.123Z'))
    assert.equal(found.publishedBy, 'key:publisher')
    assert.deepEqual(f.nudges, ['events'])
  })

  it('is one event where Hasura delivers it several times at once', async (t) => {
    const { f, take } = await setup(t)
    const body = change('id-1', 'booking_confirmed', { old: null, new: ROW })

    const answers = await Promise.all(Array.from({ length: 8 }, () => take(body)))

    assert.equal(answers.filter(({ statusCode }) => statusCode === 202).length, 1)
    assert.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 7)
    const { items } = await f.store.events.list({ tenantId: 'acme' }, { limit: 10 })
    assert.equal(items.length, 1)
  })

  it('may become several events, through a domain event', async (t) => {
    const { take, event } = await setup(t)

    const { statusCode } = await take(change('id-1', 'checkout_abandoned', { old: null, new: { booking_id: 'B7' } }))

    assert.equal(statusCode, 202)
    const found = await event('id-1')
    assert.deepEqual([found?.type, found?.entity.id], ['CheckoutAbandoned', 'B7'])
  })

  it('has the whole row for its payload where the catalogue names no fields, without what is null', async (t) => {
    const { take, event } = await setup(t)
    await take(change('id-1', 'booking_row', { old: null, new: ROW }))
    await take(change('id-2', 'booking_gone', { old: { id: 7, status: 'gone' }, new: null }))

    const { note: _, ...given } = ROW
    assert.deepEqual((await event('id-1'))?.payload, given)
    assert.deepEqual((await event('id-2'))?.payload, { id: 7, status: 'gone' })
    assert.equal((await event('id-2'))?.entity.id, '7')
  })

  it('keeps the digits of numbers that a double cannot hold', async (t) => {
    const { f, tenant, event } = await setup(t)
    const text = JSON.stringify(change('id-1', 'booking_row', { old: null, new: { id: 0, deep: [{ n: 1 }] } }))
    const payload = text.replace('"id":0', '"id":9007199254740993').replace('"n":1', '"n":9007199254740995')

    const answer = await f.inject({
      method: 'POST',
      url: '/api/sources/hasura',
      headers: { authorization: `Bearer ${tenant.keys.publisher}`, 'content-type': 'application/json' },
      payload,
    })

    assert.equal(answer.statusCode, 202, answer.body)
    const found = await event('id-1')
    assert.equal(found?.entity.id, '9007199254740993')
    assert.deepEqual(found?.payload, { id: '9007199254740993', deep: [{ n: '9007199254740995' }] })
  })

  it('is refused with words where it cannot be mapped, and Hasura tries again', async (t) => {
    const { take } = await setup(t)
    const refused = async (body: unknown): Promise<[number, string[]]> => {
      const answer = await take(body)
      return [answer.statusCode, (answer.json().errors ?? []).map(({ path }) => path)]
    }

    assert.deepEqual(await refused(change('id-1', 'unheard_of', { new: ROW })), [422, ['/trigger/name']])
    assert.deepEqual(await refused(change('id-1', 'constructor', { new: ROW })), [422, ['/trigger/name']])
    assert.deepEqual(await refused(change('id-1', '__proto__', { new: ROW })), [422, ['/trigger/name']])
    assert.deepEqual(await refused(change('id-1', 'booking_confirmed', { new: {} })), [422, ['/event/data']])
    assert.deepEqual(await refused(change('', 'booking_confirmed', { new: ROW })), [422, ['/id']])
    const both = { ...change('id-1', 'booking_row', { new: ROW }), trigger: 'booking_row', scheduled_time: 'now' }
    for (const body of [both, {}, [], { id: 'x' }, { id: 'x', trigger: { name: 'booking_row' } }])
      assert.equal((await refused(body))[0], 422, JSON.stringify(body))
  })
})

describe('a call of a Hasura cron trigger', () => {
  const cron = (id: string, changes: object = {}) => ({
    id,
    name: 'nightly_digest',
    scheduled_time: '2026-01-15T00:00:00Z',
    payload: { bookingId: 'B9', guestEmail: 'ada@example.test' },
    comment: 'every night',
    ...changes,
  })

  it('becomes the event that the catalogue maps its name to, once', async (t) => {
    const { take, event } = await setup(t)

    const [first, again] = [await take(cron('c-1')), await take(cron('c-1'))]

    assert.deepEqual([first.statusCode, again.statusCode], [202, 200])
    const found = await event('c-1')
    assert.deepEqual([found?.type, found?.entity.id], ['booking.confirmed', 'B9'])
    assert.deepEqual(found?.payload, { bookingId: 'B9', guestEmail: 'ada@example.test' })
    assert.equal(found?.occurredAt, Date.parse('2026-01-15T00:00:00Z'))
  })

  it('that names no trigger, as a one-off event does, is mapped by the one in the address', async (t) => {
    const { f, tenant, take } = await setup(t)
    const body = cron('c-1', { name: undefined })

    assert.equal((await take(body)).statusCode, 422)
    const answer = await f.call(tenant.keys.publisher, 'POST', '/api/sources/hasura?trigger=nightly_digest', body)
    assert.equal(answer.statusCode, 202)
  })
})

describe('Hasura’s secret', () => {
  const body = change('id-1', 'booking_confirmed', { old: null, new: ROW })
  const HEADER = 'x-hasura-webhook-secret'

  it('is a publisher’s key, as a bearer token or in the header that the tenant names', async (t) => {
    const { f, tenant } = await setup(t)
    const post = async (headers: Record<string, string>): Promise<number> => {
      const given = { method: 'POST', url: '/api/sources/hasura', payload: JSON.stringify(body) }
      return (await f.inject({ ...given, headers: { 'content-type': 'application/json', ...headers } })).statusCode
    }
    const { publisher, viewer } = tenant.keys

    assert.equal(await post({ [HEADER]: publisher }), 401, 'the tenant names no header yet')
    await f.call(tenant.keys.admin, 'PATCH', '/api/tenant', { hasuraSecretHeader: 'X-Hasura-Webhook-Secret' })
    assert.equal(await post({ [HEADER]: publisher }), 202)
    assert.equal(await post({ [HEADER.toUpperCase()]: publisher }), 200)
    assert.equal(await post({ authorization: `Bearer ${publisher}` }), 200)
    assert.equal(await post({}), 401)
    assert.equal(await post({ 'x-other': publisher }), 401)
    assert.equal(await post({ [HEADER]: publisher, 'x-other': publisher }), 401)
    assert.equal(await post({ [HEADER]: `${publisher}x` }), 401)
    assert.equal(await post({ [HEADER]: viewer }), 403)
    assert.equal(await post({ [HEADER]: f.opsKey }), 401, 'no tenant names a header for ops')
  })

  it('opens nothing else in that header, and nothing of another tenant', async (t) => {
    const { f, tenant } = await setup(t)
    const stranger = await f.tenant('other')
    await f.call(tenant.keys.admin, 'PATCH', '/api/tenant', { hasuraSecretHeader: HEADER })
    const headers = { 'content-type': 'application/json', [HEADER]: tenant.keys.publisher }
    const payload = JSON.stringify({ channel: 'email', to: { email: 'a@example.test' }, body: 'x' })

    assert.equal((await f.inject({ method: 'POST', url: '/api/notifications', headers, payload })).statusCode, 401)
    const other = { ...headers, [HEADER]: stranger.keys.publisher }
    const given = { method: 'POST', url: '/api/sources/hasura', payload: JSON.stringify(body) }
    assert.equal((await f.inject({ ...given, headers: other })).statusCode, 401)
    assert.equal(await f.store.events.find('other', 'id-1'), null)
  })
})

it('sources of a catalogue that was imported before they were kept apart are read from its document', async (t) => {
  const wrapStore: FixtureOptions['wrapStore'] = (store) => ({
    ...store,
    catalogue: { ...store.catalogue, sources: async () => null },
  })
  const { take } = await setup(t, { wrapStore })

  assert.equal((await take(change('id-1', 'booking_confirmed', { old: null, new: ROW }))).statusCode, 202)
})
