import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { sampleNotification } from '../../../../test/support/samples.ts'
import { sealWith } from '../../../client/src/seal.ts'
import { createPayloadSeal } from '../security/payload-seal.ts'
import { openFixture } from './fixture.ts'

const TOKEN = 'rsvp-canary-7f3a'

const CATALOGUE = {
  name: 'eventhub',
  defaultLocale: 'en',
  eventTypes: {
    InvitationSent: {
      entity: 'invitation',
      payload: {
        type: 'object',
        required: ['rsvpToken'],
        properties: { rsvpToken: { type: 'string', minLength: 8 }, guests: { type: 'array' } },
      },
      recipients: [{ email: 'guestEmail' }],
      secrets: ['rsvpToken', 'guests[].token'],
      templates: [{ channel: 'email', locale: 'en', subject: 'Invited', body: 'https://x.test/{{rsvpToken}}' }],
    },
  },
}

const EVENT = {
  id: 'e-1',
  type: 'InvitationSent',
  entity: { type: 'invitation', id: '77' },
  payload: { guestEmail: 'guest@example.com', rsvpToken: TOKEN, guests: [{ token: `${TOKEN}-2`, name: 'Guest' }] },
}

async function setup(t: TestContext) {
  const f = await openFixture()
  t.after(() => f.app.close())
  const tenant = await f.tenant('acme')
  const imported = await f.call(tenant.keys.admin, 'PUT', '/api/event-types', CATALOGUE)
  assert.equal(imported.statusCode, 200, imported.body)
  return { f, tenant, publish: (body: unknown) => f.call(tenant.keys.publisher, 'POST', '/api/events', body) }
}

describe('the sealing key', () => {
  it('is given to every role, and to nobody without a key', async (t) => {
    const { f, tenant } = await setup(t)

    for (const key of [...Object.values(tenant.keys), f.opsKey]) {
      const answer = await f.call(key, 'GET', '/api/sealing-key')
      assert.deepEqual(JSON.parse(answer.body), { sealingKey: f.deps.payloadSeal.sealingKey })
    }
    assert.equal((await f.call(null, 'GET', '/api/sealing-key')).statusCode, 401)
  })
})

describe('secret fields over HTTP (P10)', () => {
  it('are sealed before the event is written, and only they are', async (t) => {
    const { f, publish } = await setup(t)

    assert.equal((await publish(EVENT)).statusCode, 202)

    const stored = await f.store.events.find('acme', 'e-1')
    assert.ok(stored && !JSON.stringify(stored).includes('canary'))
    assert.equal(stored.payload['guestEmail'], 'guest@example.com')
    const opened = f.deps.payloadSeal.openPayload(stored, [])
    assert.deepEqual('payload' in opened && opened.payload, EVENT.payload)
  })

  it('may come sealed already, and are checked against the schema all the same', async (t) => {
    const { f, publish } = await setup(t)
    const seal = sealWith(f.deps.payloadSeal.sealingKey, { tenantId: 'acme' })

    const good = await publish({ ...EVENT, payload: { rsvpToken: seal(TOKEN) } })
    const bad = await publish({ ...EVENT, id: 'e-2', payload: { rsvpToken: seal('short') } })

    assert.equal(good.statusCode, 202)
    assert.deepEqual([bad.statusCode, bad.json().errors[0]?.path], [422, '/payload/rsvpToken'])
  })

  it('that cannot be opened are refused with their path', async (t) => {
    const { publish } = await setup(t)
    const foreign = sealWith(createPayloadSeal(Buffer.alloc(32, 9)).sealingKey)

    for (const rsvpToken of [{ $sealed: 'nonsense' }, foreign(TOKEN), { $scrubbed: true }]) {
      const answer = await publish({ ...EVENT, payload: { rsvpToken } })

      assert.deepEqual([answer.statusCode, answer.json().errors[0]?.path], [422, '/payload/rsvpToken'])
    }
  })

  it('are neither in problem documents nor in the log', async (t) => {
    const { f, publish } = await setup(t)

    const answers = [
      await publish({ ...EVENT, payload: { ...EVENT.payload, rsvpToken: [TOKEN] } }),
      await publish({ ...EVENT, type: 'Unknown' }),
      await publish({ ...EVENT, payload: TOKEN }),
      await publish([EVENT, { ...EVENT, payload: { rsvpToken: { deep: TOKEN } } }]),
      await publish(EVENT),
    ]

    for (const { body } of answers) assert.ok(!body.includes('canary'), body)
    assert.ok(!f.log.join('\n').includes('canary'))
  })

  it('are not shown with the event: only that they are sealed', async (t) => {
    const { f, tenant, publish } = await setup(t)
    await publish(EVENT)
    const id = f.deps.ids()
    const content = { subject: null, body: TOKEN, data: {} }
    await f.store.notifications.insert([
      sampleNotification({
        id,
        accountId: null,
        provider: null,
        eventId: 'e-1',
        content: f.deps.payloadSeal.sealContent(content, [TOKEN], { tenantId: 'acme', notificationId: id }),
        stopped: { status: 'parked', reason: 'no_active_channels', error: 'none' },
      }),
    ])

    const detail = await f.call(tenant.keys.admin, 'GET', `/api/notifications/${id}`)

    assert.equal(detail.statusCode, 200, detail.body)
    assert.deepEqual([detail.json().content, detail.json().isSealed], [null, true])
    assert.deepEqual(detail.json().event.payload, {
      guestEmail: 'guest@example.com',
      rsvpToken: { $sealed: true },
      guests: [{ token: { $sealed: true }, name: 'Guest' }],
    })
  })
})

describe('device tokens over HTTP', () => {
  it('are refused where a caller has sealed them: they would be opened for whoever brings them', async (t) => {
    const { publish } = await setup(t)
    const payload = { ...EVENT.payload, guestEmail: { $token: 't1.AAAA' } }

    const answer = await publish({ ...EVENT, payload })

    assert.equal(answer.statusCode, 422)
    assert.match(answer.body, /must not hold a device token that is sealed/)
  })
})
