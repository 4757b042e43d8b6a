import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { openFixture } from './fixture.ts'

/** As the pipeline of bus tours sends it, field by field. */
const REQUEST = {
  event_id: 'hasura-1',
  tenant_id: 'acme',
  trigger_event: 'BOOKING_CONFIRMED',
  recipients: [
    { passenger_profile_id: 'p-1', name: 'Ada', phone: '+4915112345678', email: 'ada@example.com' },
    { name: 'Bob', email: 'bob@example.com' },
  ],
  context: { booking_id: 'B-7', passenger_name: 'Ada' },
  conversation_context: { type: 'booking', id: 'B-7' },
  channels: ['WHATSAPP', 'EMAIL'],
}

const CATALOGUE = {
  name: 'tours',
  defaultLocale: 'de-DE',
  entities: { booking: 'bookings', serviceLeg: 'service-legs' },
  eventTypes: {
    BOOKING_CONFIRMED: {
      entity: 'booking',
      payload: { type: 'object', required: ['passenger_name'] },
      templates: [{ channel: 'email', locale: 'de-DE', subject: 'S', body: 'Hallo {{passenger_name}}' }],
    },
    LEG_DELAYED: {
      entity: 'serviceLeg',
      templates: [{ channel: 'email', locale: 'de-DE', subject: 'S', body: 'B' }],
    },
  },
}

async function setup(t: TestContext) {
  const f = await openFixture()
  t.after(() => f.app.close())
  const tenant = await f.tenant('acme')
  const imported = await f.call(tenant.keys.admin, 'PUT', '/api/event-types', CATALOGUE)
  assert.equal(imported.statusCode, 200, imported.body)
  const request = (changes: Record<string, unknown> = {}) =>
    f.call(tenant.keys.publisher, 'POST', '/api/notification-requests', { ...REQUEST, ...changes })
  return { f, request, stored: (id = REQUEST.event_id) => f.store.events.find('acme', id) }
}

describe('a NotificationRequest', () => {
  it('is taken verbatim and published as the event it is', async (t) => {
    const { f, request, stored } = await setup(t)

    const answer = await request()

    assert.deepEqual([answer.statusCode, answer.json()], [202, { id: 'hasura-1', duplicate: false }])
    const event = await stored()
    assert.deepEqual([event?.type, event?.entity], ['BOOKING_CONFIRMED', { type: 'booking', id: 'B-7' }])
    assert.deepEqual(event?.payload, REQUEST.context)
    assert.deepEqual(event?.recipients, [
      { profileId: 'p-1', name: 'Ada', phone: '+4915112345678', email: 'ada@example.com' },
      { name: 'Bob', email: 'bob@example.com' },
    ])
    assert.deepEqual([event?.channels, event?.conversation], [['whatsapp', 'email'], REQUEST.conversation_context])
    assert.equal(event?.correlationId, 'hasura-1')
    assert.deepEqual(f.nudges, ['events'])
  })

  it('that comes again is answered with 200, and changes nothing', async (t) => {
    const { request, stored } = await setup(t)
    await request()
    const before = await stored()

    const again = await request({ context: { passenger_name: 'Eve' } })

    assert.deepEqual([again.statusCode, again.json()], [200, { id: 'hasura-1', duplicate: true }])
    assert.deepEqual(await stored(), before)
  })

  it('of another tenant finds nothing, as if that tenant never was', async (t) => {
    const { f, request, stored } = await setup(t)
    await f.tenant('other')

    for (const tenant_id of ['other', 'nobody']) {
      const answer = await request({ tenant_id })
      assert.deepEqual([answer.statusCode, answer.json().code], [404, 'not_found'])
    }
    assert.equal(await stored(), null)
  })

  it('is about what its conversation or its context names, else about itself', async (t) => {
    const { request, stored } = await setup(t)
    const bare = { conversation_context: undefined, channels: undefined }
    const entityOf = async (event_id: string, changes: Record<string, unknown>) => {
      assert.equal((await request({ ...bare, event_id, ...changes })).statusCode, 202)
      return (await stored(event_id))?.entity.id
    }

    assert.equal(await entityOf('a', {}), 'B-7')
    assert.equal(await entityOf('b', { context: { passenger_name: 'Ada', bookingId: 42 } }), '42')
    assert.equal(await entityOf('c', { context: { passenger_name: 'Ada' } }), 'c')
    const leg = { trigger_event: 'LEG_DELAYED', context: { service_leg_id: 'L-1' } }
    assert.equal(await entityOf('d', { ...leg, conversation_context: { type: 'trip', id: 'T-1' } }), 'L-1')
  })

  it('that names nothing it is about says so in its answer, and the event in its explanation', async (t) => {
    const { f, request } = await setup(t)
    const bare = { conversation_context: undefined, context: { passenger_name: 'Ada' } }

    const answer = await request({ ...bare, event_id: 'c' })
    const named = await request({ event_id: 'd' })

    assert.equal(answer.statusCode, 202)
    const [warning, ...more] = answer.json().warnings
    assert.deepEqual([warning?.code, warning?.key, more], ['entity_is_event', '/context/booking_id', []])
    assert.match(String(warning?.message), /names no booking: its own event_id stands for one/)
    assert.equal('warnings' in named.json(), false, 'where there is none, nothing is said of them')
    const { explanation } = (await f.call(f.opsKey, 'GET', '/api/events/c?tenantId=acme')).json() as unknown as {
      explanation: { code: string; text: string }[]
    }
    assert.equal(
      explanation.find(({ code }) => code === 'entity_is_event')?.text,
      'Its booking has the id of the event itself: no other event is about the same one.',
    )
  })

  it('is refused with the names it has for its fields', async (t) => {
    const { request } = await setup(t)
    const pathsOf = async (changes: Record<string, unknown>) => {
      const answer = await request(changes)
      return [answer.statusCode, ...answer.json().errors.map(({ path }) => path)]
    }

    assert.deepEqual(await pathsOf({ recipients: [] }), [422, '/recipients'])
    assert.deepEqual(await pathsOf({ channels: ['PIGEON'] }), [422, '/channels/0'])
    assert.deepEqual(await pathsOf({ context: {} }), [422, '/context/passenger_name'])
    assert.deepEqual(await pathsOf({ trigger_event: 'NO_SUCH' }), [422, '/trigger_event'])
  })
})
