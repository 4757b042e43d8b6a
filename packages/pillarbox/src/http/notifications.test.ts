import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { planEvents } from '../../../../test/support/planning.ts'
import { sampleCompletion, sampleNotification } from '../../../../test/support/samples.ts'
import { type Scope, shared } from '../../../../test/support/shared.ts'
import type { NotificationView } from '../model/notification.ts'
import type { ReplanAnswer } from '../plan/replan.ts'
import { type AnswerJson, CATALOGUE, type Fixture, openFixture, type TestTenant } from './fixture.ts'

const URL = '/api/notifications'
const FULL = {
  idempotencyKey: 'order-123-paid',
  channel: 'email',
  to: { email: 'a@example.com', name: 'A' },
  subject: 'Paid',
  body: 'Thanks',
  data: { order: 123 },
  entity: { type: 'booking', id: '12345' },
  dueAt: null,
  expiresAt: null,
  fallback: ['sms'],
  correlationId: 'c-1',
  executionId: 'x-1',
  parentExecutionId: 'p-1',
}
const EMAIL = { channel: 'email', to: { email: 'a@example.com' }, body: 'x' }

async function setup(t: Scope, options: Parameters<typeof openFixture>[0] = {}) {
  const f = await openFixture(options)
  t.after(() => f.app.close())
  const tenant = await f.tenant('acme')
  const send = (body: unknown, headers: Record<string, string> = {}) =>
    f.inject({
      method: 'POST',
      url: URL,
      headers: { authorization: `Bearer ${tenant.keys.publisher}`, 'content-type': 'application/json', ...headers },
      payload: JSON.stringify(body),
    })
  return { f, tenant, send }
}

async function account(f: Fixture, tenant: TestTenant, given: object = {}): Promise<string> {
  const body = {
    channel: 'email',
    provider: 'sandbox',
    name: `a${f.nudges.length}-${JSON.stringify(given).length}`,
    ...given,
  }
  const answer = await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', body)
  assert.equal(answer.statusCode, 201, answer.body)
  return answer.json().id
}

async function view(f: Fixture, id: string): Promise<NotificationView> {
  const found = await f.store.notifications.find(null, id)
  assert.ok(found)
  return found
}

describe('a notification that waits', () => {
  it('says so where its account is paused or held, and only then', async (t) => {
    const { f, tenant, send } = await setup(t)
    const accountId = await account(f, tenant)
    const { id } = (await send(EMAIL)).json()
    const waitingFor = async () => (await f.call(tenant.keys.viewer, 'GET', `${URL}/${id}`)).json().waitingFor

    assert.equal(await waitingFor(), null)
    await f.store.lanes.hold(accountId, 60_000, 'throttled: 429')
    const until = new Date(f.now() + 60_000).toISOString()
    assert.deepEqual(await waitingFor(), { accountId, why: 'held', detail: 'throttled: 429', until })
    await f.store.accounts.setStatus(accountId, 'paused', 'The access token has expired.', 'system')
    const detail = 'The access token has expired.'
    assert.deepEqual(await waitingFor(), { accountId, why: 'paused', detail, until: null })
    await f.call(tenant.keys.operator, 'POST', `${URL}/${id}/cancel`)
    assert.equal(await waitingFor(), null)
  })
})

describe('sending a notification', () => {
  const refusing = shared(setup)

  it('goes to the webhook account’s own URL where it names none', async (t) => {
    const { f, tenant, send } = await setup(t)
    const hook = { channel: 'webhook', to: {}, body: 'x' }
    const without = await send(hook)
    assert.equal(without.statusCode, 422)
    const settings = { url: 'https://hooks.example.com/in' }
    await account(f, tenant, { channel: 'webhook', settings })

    const sent = await send(hook)
    const elsewhere = await send({ ...hook, to: { url: 'https://hooks.example.com/other' } })

    assert.equal(sent.statusCode, 202, sent.body)
    assert.deepEqual((await view(f, sent.json().id)).to, { url: settings.url })
    assert.deepEqual((await view(f, elsewhere.json().id)).to, { url: 'https://hooks.example.com/other' })
  })

  it('writes the ledger row as it was given and wakes the dispatcher', async (t) => {
    const { f, tenant, send } = await setup(t)
    const accountId = await account(f, tenant)
    f.nudges.length = 0

    const answer = await send(FULL)

    assert.equal(answer.statusCode, 202)
    const { id, notificationId, status, links } = answer.json()
    assert.deepEqual(
      { notificationId, status, links },
      { notificationId: id, status: 'queued', links: { self: `${URL}/${id}`, status: `${URL}/${id}/status` } },
    )
    const row = await view(f, id)
    assert.equal(row.tenantId, 'acme')
    assert.equal(row.idempotencyKey, 'order-123-paid')
    assert.equal(row.accountId, accountId)
    assert.equal(row.provider, 'sandbox')
    assert.deepEqual(row.to, FULL.to)
    assert.deepEqual(row.content, { subject: 'Paid', body: 'Thanks', data: { order: 123 } })
    assert.deepEqual(row.entity, FULL.entity)
    assert.deepEqual([row.correlationId, row.executionId, row.parentExecutionId], ['c-1', 'x-1', 'p-1'])
    assert.equal(row.triggeredBy, 'key:publisher')
    assert.deepEqual(
      row.warnings.map(({ code, key }) => [code, key]),
      [['no_fallback_address', 'sms']],
    )
    assert.deepEqual(f.nudges, ['dispatch'])
  })

  it('answers a repeat with the first one’s id, whatever its body, and writes nothing', async (t) => {
    const { f, tenant, send } = await setup(t)
    await account(f, tenant)
    const first = await send(FULL)

    const repeat = await send({ ...EMAIL, idempotencyKey: FULL.idempotencyKey })

    assert.equal(repeat.statusCode, 409)
    assert.equal(repeat.json().code, 'duplicate_notification')
    assert.equal(repeat.json().notificationId, first.json().id)
    assert.equal((await f.call(tenant.keys.viewer, 'GET', URL)).json().items.length, 1)
  })

  it('keeps the keys of two tenants apart', async (t) => {
    const { f, send } = await setup(t)
    const other = await f.tenant('other')
    await send(FULL)

    assert.equal((await f.call(other.keys.publisher, 'POST', URL, FULL)).statusCode, 202)
  })

  it('takes the key from the header, or from both if they agree', async (t) => {
    const { f, send } = await setup(t)

    const byHeader = await send(EMAIL, { 'idempotency-key': 'k-1' })
    assert.equal((await view(f, byHeader.json().id)).idempotencyKey, 'k-1')
    assert.equal((await send({ ...EMAIL, idempotencyKey: 'k-1' })).statusCode, 409)
    assert.equal((await send({ ...EMAIL, idempotencyKey: 'k-2' }, { 'idempotency-key': 'k-2' })).statusCode, 202)
    const differ = await send({ ...EMAIL, idempotencyKey: 'k-3' }, { 'idempotency-key': 'k-4' })
    assert.deepEqual([differ.statusCode, differ.json().code], [422, 'idempotency_key_mismatch'])
    assert.equal((await send(EMAIL, { 'idempotency-key': 'k'.repeat(255) })).statusCode, 202)
    assert.equal((await send(EMAIL, { 'idempotency-key': 'k'.repeat(256) })).statusCode, 422)
    assert.equal((await send(EMAIL, { 'idempotency-key': '' })).statusCode, 422)
    assert.equal((await send({ ...EMAIL, idempotencyKey: 'k'.repeat(256) })).statusCode, 422)
  })

  it('names the header whose key is too long', async (t) => {
    const { send } = await setup(t)

    const problem = (await send(EMAIL, { 'idempotency-key': 'k'.repeat(256) })).json()

    assert.equal(problem.code, 'invalid_body')
    assert.equal(problem.detail, 'The Idempotency-Key header must not have more than 255 characters.')
    assert.equal(problem.errors[0]?.path, 'Idempotency-Key')
  })

  for (const [what, fields, error] of [
    [
      'a time',
      { dueAt: 'tomorrow' },
      {
        path: '/dueAt',
        message: 'must be a time of the years 1970 to 9998 with its zone, such as 2026-03-15T09:00:00Z',
      },
    ],
    [
      'a name of one line',
      { to: { ...EMAIL.to, name: 'a\nb' } },
      { path: '/to/name', message: 'must be one line without control characters' },
    ],
  ] as const)
    it(`says in words what ${what} must be`, async () => {
      const { send } = await refusing()

      assert.deepEqual((await send({ ...EMAIL, ...fields })).json().errors, [error])
    })

  it('keeps the trace of its request, and no other text in its place', async (t) => {
    const { f, tenant } = await setup(t)
    await account(f, tenant)
    const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const sent = async (traceparent: string) => {
      const headers = { authorization: `Bearer ${tenant.keys.publisher}`, traceparent }
      const answer = await f.app.inject({ method: 'POST', url: URL, headers, payload: EMAIL })
      return (await view(f, answer.json<{ id: string }>().id)).traceparent
    }

    assert.deepEqual([await sent(trace), await sent('somebody')], [trace, null])
  })

  it('is found by its own id where the caller gives no correlation id', async (t) => {
    const { f, tenant, send } = await setup(t)
    await account(f, tenant)

    const [plain, given] = [await send(EMAIL), await send({ ...EMAIL, correlationId: 'order-77' })]

    assert.equal((await view(f, plain.json().id)).correlationId, plain.json().id)
    assert.equal((await view(f, given.json().id)).correlationId, 'order-77')
  })

  it('uses its own id as the key where none is given', async (t) => {
    const { f, send } = await setup(t)
    const { id } = (await send(EMAIL)).json()

    assert.equal((await view(f, id)).idempotencyKey, id)
  })

  it('takes the flat form of push senders as it stands', async (t) => {
    const { f, tenant, send } = await setup(t)
    await account(f, tenant, { channel: 'push', provider: 'fcm', name: 'fcm' })
    const wns = await account(f, tenant, { channel: 'push', provider: 'wns', name: 'wns', priority: 9 })
    const flat = {
      idempotencyKey: 'p-1',
      targetPlatform: 'WNS',
      deviceToken: 'https://wns.example/x',
      title: 'Hi',
      body: 'There',
      data: { a: '1' },
    }

    const answer = await send(flat)

    assert.equal(answer.statusCode, 202, answer.body)
    const row = await view(f, answer.json().id)
    assert.deepEqual(row.to, { deviceToken: 'https://wns.example/x', platform: 'wns' })
    assert.deepEqual(row.content, { subject: 'Hi', body: 'There', data: { a: '1' } })
    assert.deepEqual([row.channel, row.accountId, row.provider], ['push', wns, 'wns'])
    assert.equal((await send(flat)).statusCode, 409)
    for (const wrong of [{ targetPlatform: 'APNS' }, { deviceToken: '' }, { title: undefined }, { channel: 'push' }])
      assert.equal((await send({ ...flat, ...wrong })).statusCode, 422, JSON.stringify(wrong))
  })

  it('goes through the active account with the lowest priority', async (t) => {
    const { f, tenant, send } = await setup(t)
    await account(f, tenant, { name: 'second', priority: 2 })
    const first = await account(f, tenant, { name: 'first', priority: 1 })
    await account(f, tenant, { name: 'third', priority: 3 })

    assert.equal((await view(f, (await send(EMAIL)).json().id)).accountId, first)
    await f.call(tenant.keys.admin, 'POST', `/api/channel-accounts/${first}/suspend`)
    assert.notEqual((await view(f, (await send(EMAIL)).json().id)).accountId, first)
  })

  it('sees an account made by another process within a second', async (t) => {
    const { f, send } = await setup(t)
    await send(EMAIL)
    const { id: _, ...row } = {
      id: '',
      tenantId: 'acme',
      channel: 'email' as const,
      provider: 'sandbox',
      name: 'x',
      settings: {},
      sealedSecrets: null,
      secretNames: [],
      pace: null,
      retry: null,
      onUnknown: 'resend' as const,
      breaker: { failures: 5, resetAfterMs: 1_000 },
      priority: 0,
      status: 'active' as const,
      statusReason: null,
    }
    await f.store.accounts.insert({ id: f.deps.ids(), ...row })

    f.advance(1_000)
    assert.equal((await send(EMAIL)).json().status, 'queued')
  })

  it('is born parked where the tenant has no active account, and can be retried once it has one', async (t) => {
    const { f, tenant, send } = await setup(t)

    const answer = await send(EMAIL)

    assert.deepEqual([answer.statusCode, answer.json().status], [202, 'parked'])
    const { id } = answer.json()
    assert.equal((await view(f, id)).reason, 'no_active_channels')
    assert.deepEqual(f.nudges, [])
    const early = await f.call(tenant.keys.operator, 'POST', `${URL}/${id}/retry`)
    assert.deepEqual([early.statusCode, early.json().code], [409, 'not_plannable'])
    const accountId = await account(f, tenant)
    const retried = await f.call(tenant.keys.operator, 'POST', `${URL}/${id}/retry`)
    assert.deepEqual([retried.statusCode, retried.json().status, retried.json().accountId], [200, 'queued', accountId])
  })

  it('takes the next channel of the chain at once where the first has no account', async (t) => {
    const { f, tenant, send } = await setup(t)
    await account(f, tenant, { channel: 'sms', name: 'sms' })
    const body = {
      ...EMAIL,
      to: { email: 'a@example.com', phone: '+919876543210', userId: 'u' },
      fallback: ['sms', 'in_app'],
    }

    const row = await view(f, (await send(body)).json().id)

    assert.deepEqual([row.channel, row.status, row.fallback], ['sms', 'queued', ['in_app']])
    assert.deepEqual(
      row.warnings.map(({ code, key }) => [code, key]),
      [['channel_skipped', 'email']],
    )
  })

  it('does not wake anybody for what is due later', async (t) => {
    const { f, tenant, send } = await setup(t)
    await account(f, tenant)
    f.nudges.length = 0
    const dueAt = new Date(f.now() + 60_000).toISOString()

    const { id } = (await send({ ...EMAIL, dueAt })).json()

    assert.deepEqual(f.nudges, [])
    assert.equal((await f.call(tenant.keys.viewer, 'GET', `${URL}/${id}`)).json().dueAt, dueAt)
  })

  for (const [what, body, path] of [
    ['no address', { ...EMAIL, to: {} }, '/to/email'],
    ['the address of another channel', { ...EMAIL, to: { phone: '+919876543210' } }, '/to/email'],
    ['a bad email', { ...EMAIL, to: { email: 'a@b@c' } }, '/to/email'],
    ['a list of emails', { ...EMAIL, to: { email: 'a@b.c,d@e.f' } }, '/to/email'],
    ['a header in the name', { ...EMAIL, to: { email: 'a@b.c', name: 'A\r\nBcc: x@y.z' } }, '/to/name'],
    ['a header in the subject', { ...EMAIL, subject: 'Hi\nBcc: x@y.z' }, '/subject'],
    ['a national number', { ...EMAIL, channel: 'sms', to: { phone: '09876543210' } }, '/to/phone'],
    ['other digits', { ...EMAIL, channel: 'sms', to: { phone: '+٩١٩٨٧٦٥٤٣٢١' } }, '/to/phone'],
    ['a script URL', { ...EMAIL, channel: 'webhook', to: { url: 'javascript:alert(1)' } }, '/to/url'],
    ['a URL with a password', { ...EMAIL, channel: 'webhook', to: { url: 'https://a:b@example.com/' } }, '/to/url'],
    ['a device without platform', { ...EMAIL, channel: 'push', to: { deviceToken: 'x' } }, '/to/platform'],
    ['an unknown channel', { ...EMAIL, channel: 'pigeon' }, '/channel'],
    ['no body', { channel: 'email', to: { email: 'a@b.c' } }, '/body'],
    ['an empty body', { ...EMAIL, body: '' }, '/body'],
    ['a status', { ...EMAIL, status: 'sent' }, '/status'],
    ['a tenant', { ...EMAIL, tenantId: 'other' }, '/tenantId'],
    ['itself as fallback', { ...EMAIL, fallback: ['email'] }, '/fallback'],
    [
      'an expiry before it is due',
      { ...EMAIL, dueAt: '2026-02-01T00:00:00Z', expiresAt: '2026-01-01T00:00:00Z' },
      '/expiresAt',
    ],
    ['a number as entity id', { ...EMAIL, entity: { type: 'booking', id: 5 } }, '/entity/id'],
  ] as const)
    it(`refuses ${what} and says where`, async () => {
      const { send } = await refusing()
      const answer = await send(body)

      assert.equal(answer.statusCode, 422, answer.body)
      assert.ok(
        answer.json().errors.some((error) => error.path === path),
        answer.body,
      )
    })
})

describe('a batch', () => {
  it('answers each item by itself; one bad item spoils no other', async (t) => {
    const { f, tenant } = await setup(t)
    const items = [
      { ...EMAIL, idempotencyKey: 'a' },
      { ...EMAIL, to: {} },
      { ...EMAIL, idempotencyKey: 'a' },
      7,
      { targetPlatform: 'FCM', deviceToken: 'd', title: 't', body: 'b' },
      { ...EMAIL, idempotencyKey: 'b' },
    ]

    const answer = await f.call(tenant.keys.publisher, 'POST', `${URL}/batch`, { items })

    assert.equal(answer.statusCode, 200)
    const { results } = answer.json()
    assert.deepEqual(
      results.map((result) => result.status),
      [202, 422, 409, 422, 202, 202],
    )
    assert.deepEqual(
      results.map((result) => result.index),
      [0, 1, 2, 3, 4, 5],
    )
    assert.equal(results[2]?.id, results[0]?.id)
    assert.equal(results[2]?.code, 'duplicate_notification')
    assert.equal(results[1]?.errors[0]?.path, '/to/email')
    assert.equal((await f.call(tenant.keys.viewer, 'GET', URL)).json().items.length, 3)
  })

  for (const [what, bad, path] of [
    ['NUL', '{"channel":"email","body":"a\\u0000b"}', '/body'],
    ['half a surrogate pair', '{"data":{"x":["\\ud800"]}}', '/data/x/0'],
    ['__proto__', '{"data":{"__proto__":{}}}', '/data/__proto__'],
    ['1e400', '{"data":{"a":1e400}}', '/data/a'],
    ['a whole number beyond 2^53', '{"data":{"a":12345678901234567890}}', '/data/a'],
    ['33 levels', `{"data":${'['.repeat(32)}${']'.repeat(32)}}`, `/data${'/0'.repeat(31)}`],
    ['500 levels', `{"data":${'{"a":'.repeat(500)}1${'}'.repeat(500)}}`, `/data${'/a'.repeat(31)}`],
  ] as const)
    it(`refuses an item with ${what} and takes the others`, async (t) => {
      const { f, tenant } = await setup(t)
      const good = JSON.stringify(EMAIL)

      const answer = await f.inject({
        method: 'POST',
        url: `${URL}/batch`,
        headers: { authorization: `Bearer ${tenant.keys.publisher}`, 'content-type': 'application/json' },
        payload: `{"items":[${good},${bad},${good}]}`,
      })

      assert.equal(answer.statusCode, 200, answer.body)
      const { results } = answer.json()
      assert.deepEqual(
        results.map(({ index, status, code }) => [index, status, code]),
        [
          [0, 202, undefined],
          [1, 422, 'invalid_body'],
          [2, 202, undefined],
        ],
      )
      assert.equal(results[1]?.errors[0]?.path, path)
      assert.equal((await f.call(tenant.keys.viewer, 'GET', URL)).json().items.length, 2)
    })

  it('refuses a form that is no batch, and a key for all of it', async (t) => {
    const { f, tenant } = await setup(t)
    for (const body of [[EMAIL], EMAIL, {}, { items: EMAIL }, { items: [EMAIL], more: 1 }])
      assert.equal((await f.call(tenant.keys.publisher, 'POST', `${URL}/batch`, body)).statusCode, 422)
    const keyed = await f.inject({
      method: 'POST',
      url: `${URL}/batch`,
      headers: {
        authorization: `Bearer ${tenant.keys.publisher}`,
        'content-type': 'application/json',
        'idempotency-key': 'k',
      },
      payload: JSON.stringify({ items: [EMAIL] }),
    })
    assert.equal(keyed.statusCode, 400)
  })
})

describe('reading notifications', () => {
  it('lists newest first, page by page, with the address masked', async (t) => {
    const { f, tenant, send } = await setup(t)
    const ids: string[] = []
    for (let i = 0; i < 5; i++) ids.push((await send({ ...EMAIL, to: { email: 'alice@example.com' } })).json().id)
    const seen: string[] = []
    let url = `${URL}?limit=2`
    for (;;) {
      const page = (await f.call(tenant.keys.admin, 'GET', url)).json()
      assert.ok(page.items.length <= 2)
      for (const item of page.items) assert.equal(item.to.email, 'a***@example.com')
      seen.push(...page.items.map((item) => item.id))
      if (page.nextCursor === null) break
      url = `${URL}?limit=2&cursor=${page.nextCursor}`
    }

    assert.deepEqual(seen, ids.reverse())
  })

  it('understands channels and statuses in any case, and other systems’ words', async (t) => {
    const { f, tenant, send } = await setup(t)
    await account(f, tenant)
    const { id } = (await send({ ...EMAIL, channel: 'EMAIL' })).json()
    const found = async (query: string) => {
      const answer = await f.call(tenant.keys.viewer, 'GET', `${URL}?${query}`)
      return answer.statusCode === 200 ? answer.json().items.map((item) => [item.id, item.status, item.channel]) : []
    }

    for (const query of ['status=Pending&channel=Email', 'status=QUEUED', 'status=DeadLettered&status=pending'])
      assert.deepEqual(await found(query), [[id, 'queued', 'email']], query)
    assert.deepEqual(await found('status=Parked'), [])
    assert.equal((await f.call(tenant.keys.viewer, 'GET', `${URL}?status=Lost`)).statusCode, 422)
  })

  it('finds by every filter', async (t) => {
    const { f, tenant, send } = await setup(t)
    const other = await f.tenant('other')
    await f.call(other.keys.publisher, 'POST', URL, FULL)
    const accountId = await account(f, tenant)
    f.advance(10_000)
    const { id } = (await send(FULL)).json()
    await send({ channel: 'sms', to: { phone: '+919876543210' }, body: 'x' })
    const at = (offset: number): string => encodeURIComponent(new Date(f.now() + offset).toISOString())

    for (const query of [
      'status=queued',
      'status=queued&status=sent',
      'channel=email',
      'entityType=booking&entityId=12345',
      'bookingId=12345',
      `accountId=${accountId}`,
      'q=order-123-paid',
      'q=a%40example.com',
      `q=${id}`,
      `from=${at(-1)}&to=${at(1)}&channel=email`,
    ]) {
      const found = (await f.call(tenant.keys.viewer, 'GET', `${URL}?${query}`)).json()
      assert.deepEqual(
        found.items?.map((item) => item.id),
        [id],
        query,
      )
    }
    for (const query of [
      'status=sent',
      'bookingId=99',
      'site=x',
      'eventType=x',
      `to=${at(-5_000)}`,
      'q=a',
      'possibleDuplicate=true',
      'reason=bounced',
    ])
      assert.deepEqual((await f.call(tenant.keys.viewer, 'GET', `${URL}?${query}`)).json().items, [], query)
    const parked = (await f.call(tenant.keys.viewer, 'GET', `${URL}?reason=no_active_channels`)).json()
    assert.deepEqual(
      parked.items.map((item) => item.channel),
      ['sms'],
    )
    const everywhere = (await f.call(f.opsKey, 'GET', `${URL}?bookingId=12345`)).json()
    assert.deepEqual(
      everywhere.items.map((item) => item.tenantId),
      ['acme', 'other'],
    )
    const one = (await f.call(f.opsKey, 'GET', `${URL}?bookingId=12345&tenantId=other`)).json()
    assert.deepEqual(
      one.items.map((item) => item.tenantId),
      ['other'],
    )
  })

  it('refuses the id of an entity that the catalogue does not know, and names what was probably meant', async (t) => {
    const { f, tenant } = await setup(t)
    assert.equal((await f.call(tenant.keys.admin, 'PUT', '/api/event-types', CATALOGUE)).statusCode, 200)
    const refusal = async (key: string, query: string) => {
      const answer = await f.call(key, 'GET', `${URL}?${query}`)
      return [answer.statusCode, answer.json().detail]
    }
    const unknown = 'is not a known parameter, nor the id of an entity of the catalogue'

    assert.deepEqual(await refusal(tenant.keys.viewer, 'bokingId=1'), [
      422,
      `bokingId ${unknown}: did you mean bookingId?`,
    ])
    assert.deepEqual(await refusal(f.opsKey, 'acountId=1&tenantId=acme'), [
      422,
      `acountId ${unknown}: did you mean accountId?`,
    ])
    assert.deepEqual(await refusal(f.opsKey, 'bokingId=1'), [422, `bokingId ${unknown}: did you mean bookingId?`])
    assert.equal((await f.call(f.opsKey, 'GET', `${URL}?bookingId=1`)).statusCode, 200)
    assert.deepEqual(await refusal(tenant.keys.viewer, 'warehouseId=1'), [
      422,
      `warehouseId ${unknown}: name an entity of another type with entityType and entityId.`,
    ])
    assert.equal((await f.call(tenant.keys.viewer, 'GET', `${URL}?entityType=warehouse&entityId=1`)).statusCode, 200)
  })

  it('shows the whole of one, the address only to those who operate', async (t) => {
    const { f, tenant, send } = await setup(t)
    const { id } = (await send({ ...FULL, to: { email: 'alice@example.com' } })).json()
    await f.call(tenant.keys.operator, 'POST', `${URL}/${id}/discard`)

    const detail = (await f.call(tenant.keys.operator, 'GET', `${URL}/${id}`)).json()
    assert.equal(detail.to.email, 'alice@example.com')
    assert.deepEqual(detail.content, { subject: 'Paid', body: 'Thanks', data: { order: 123 } })
    assert.deepEqual([detail.attempts, detail.receipts, detail.event, detail.schedule], [[], [], null, null])
    const discard = detail.audit.at(-1)
    assert.deepEqual(
      [discard?.action, discard?.actor, discard?.from, discard?.to, discard?.correlationId, discard?.executionId],
      ['discard', 'key:operator', 'parked', 'discarded', 'c-1', 'x-1'],
    )
    const masked = (await f.call(tenant.keys.viewer, 'GET', `${URL}/${id}`)).json()
    assert.equal(masked.to.email, 'a***@example.com')
  })

  it('shows what the provider said later, and of whom only to those who operate', async (t) => {
    const { f, tenant, send } = await setup(t)
    await account(f, tenant)
    const { id } = (await send(EMAIL)).json()
    const { accountId } = await view(f, id)
    const worker = f.deps.ids()
    await f.store.workers.register({ id: worker, host: 'host', pid: 1, version: '1', channels: null })
    const claimed = await f.store.dispatch.claim(worker, [{ accountId: accountId ?? '', limit: 1 }])
    const claim = claimed.fenced ? undefined : claimed.claims[0]
    assert.ok(claim)
    const { notificationId, token, attempt } = claim
    await f.store.dispatch.complete(worker, [
      sampleCompletion({ notificationId, accountId: accountId ?? '', token, attempt }),
    ])
    const at = Date.UTC(2026, 0, 2)
    const failure = { reason: 'unreachable', code: '550', error: 'SES reported 550.', to: 'parked' } as const
    await f.store.receipts.merge({
      tenantId: 'acme',
      notificationId: id,
      provider: 'ses',
      providerMessageId: 'message-1',
      kind: 'bounced',
      recipient: 'alice@example.com',
      failure,
      at,
      next: null,
    })

    const [receipt] = (await f.call(tenant.keys.operator, 'GET', `${URL}/${id}`)).json().receipts
    assert.deepEqual(receipt, {
      kind: 'bounced',
      at: '2026-01-02T00:00:00.000Z',
      receivedAt: new Date(f.now()).toISOString(),
      provider: 'ses',
      providerMessageId: 'message-1',
      recipient: 'alice@example.com',
      code: '550',
      error: 'SES reported 550.',
    })
    const [masked] = (await f.call(tenant.keys.viewer, 'GET', `${URL}/${id}`)).json().receipts
    assert.equal(masked?.['recipient'], 'a***@example.com')
  })

  it('shows the event and schedule it came from, masked for a viewer', async (t) => {
    const { f, tenant } = await setup(t)
    const event = {
      id: 'e-1',
      tenantId: 'acme',
      type: 'booking.confirmed',
      entity: { type: 'booking', id: '1' },
      payload: { guestEmail: 'alice@example.com', nested: [{ phone: '+919876543210' }], nights: 3, city: 'Pune' },
      occurredAt: null,
      dueAt: null,
      correlationId: null,
      locale: null,
      recipients: [{ name: 'Alice', phone: '+919876543210', profileId: 'p' }],
      channels: null,
      conversation: null,
      schemaVersion: 1,
      topic: null,
      publishedBy: null,
    }
    await f.store.events.insert([event])
    const [id, scheduleId] = [f.deps.ids(), f.deps.ids()]
    const notification = sampleNotification({
      id,
      tenantId: 'acme',
      channel: 'email',
      accountId: null,
      provider: null,
      to: { email: 'alice@example.com' },
      content: null,
      eventId: 'e-1',
      eventType: event.type,
      scheduleId,
      entity: event.entity,
      stopped: { status: 'parked', reason: 'no_templates_found', error: 'none' },
    })
    await planEvents(f.store, 1, () => ({
      kind: 'notifications',
      scheduleId,
      notifications: [notification],
      cancels: null,
    }))

    const whole = (await f.call(tenant.keys.operator, 'GET', `${URL}/${id}`)).json()
    assert.equal(whole.schedule.id, scheduleId)
    assert.equal(whole.schedule.status, 'completed')
    assert.deepEqual(whole.event.payload, event.payload)
    assert.deepEqual(whole.event.recipients, event.recipients)
    const masked = (await f.call(tenant.keys.viewer, 'GET', `${URL}/${id}`)).json()
    assert.deepEqual([masked.event.payload.nights, masked.event.payload.city], [3, 'P***'])
    for (const leak of ['alice@', '9876543210', 'Alice']) assert.ok(!JSON.stringify(masked).includes(leak), leak)
  })

  it('tells where one stands, and a publisher only of its own', async (t) => {
    const { f, tenant, send } = await setup(t)
    const stranger = await f.key({ tenantId: 'acme', role: 'publisher', name: 'stranger' })
    const { id } = (await send(EMAIL)).json()

    const answer = await f.call(tenant.keys.publisher, 'GET', `${URL}/${id}/status`)
    assert.deepEqual(answer.json(), {
      notificationId: id,
      status: 'parked',
      retryCount: 0,
      lastError: 'The tenant has no active account for email.',
      nextAttemptAt: null,
      deliveredAt: null,
    })
    assert.equal((await f.call(stranger, 'GET', `${URL}/${id}/status`)).statusCode, 404)
    assert.equal((await f.call(tenant.keys.viewer, 'GET', `${URL}/${id}/status`)).statusCode, 200)
  })

  it('marks what has waited too long as stuck', async (t) => {
    const { f, tenant, send } = await setup(t)
    await account(f, tenant)
    const { id } = (await send(EMAIL)).json()
    const later = (await send({ ...EMAIL, dueAt: new Date(f.now() + 3_600_000).toISOString() })).json().id
    const isStuck = async (of: string) => (await f.call(tenant.keys.viewer, 'GET', `${URL}/${of}`)).json().stuck

    assert.equal(await isStuck(id), false)
    f.advance(600_001)
    assert.deepEqual([await isStuck(id), await isStuck(later)], [true, false])
    const list = async (query: string) => {
      const answer = await f.call(tenant.keys.viewer, 'GET', `${URL}?${query}`)
      return answer.statusCode === 200 ? answer.json().items.map((item: { id: string }) => item.id) : answer.statusCode
    }
    assert.deepEqual(await list('stuck=true'), [id])
    assert.deepEqual(await list('stale=true'), [])
    assert.equal(await list('stuck=false'), 422)
  })
})

describe('acting on a notification', () => {
  it('moves it only from where the action is allowed', async (t) => {
    const { f, tenant, send } = await setup(t)
    await account(f, tenant)
    const act = async (id: string, action: string) => {
      const answer = await f.call(tenant.keys.operator, 'POST', `${URL}/${id}/${action}`)
      return answer.statusCode === 200 ? answer.json().status : answer.json().code
    }
    const fresh = async () => (await send(EMAIL)).json().id

    const a = await fresh()
    assert.deepEqual([await act(a, 'retry'), await act(a, 'discard')], ['not_parked', 'not_parked'])
    assert.deepEqual(
      [await act(a, 'park'), await act(a, 'park'), await act(a, 'cancel')],
      ['parked', 'not_waiting', 'not_waiting'],
    )
    f.nudges.length = 0
    assert.equal(await act(a, 'retry'), 'queued')
    assert.deepEqual(f.nudges, ['dispatch'])
    assert.deepEqual([await act(a, 'cancel'), await act(a, 'retry')], ['cancelled', 'not_parked'])
    const b = await fresh()
    await act(b, 'park')
    assert.equal(await act(b, 'restore'), 'not_discarded')
    assert.deepEqual([await act(b, 'discard'), await act(b, 'discard')], ['discarded', 'not_parked'])
    assert.deepEqual([await act(b, 'restore'), await act(b, 'retry')], ['parked', 'queued'])
  })

  it('keeps who did it and the note in the audit', async (t) => {
    const { f, tenant, send } = await setup(t)
    await account(f, tenant)
    const { id } = (await send(EMAIL)).json()
    const act = (action: string, body: unknown) => f.call(tenant.keys.operator, 'POST', `${URL}/${id}/${action}`, body)

    assert.equal((await act('park', { note: 'ask the guest first' })).statusCode, 200)
    assert.equal((await act('discard', { note: 'two\nlines' })).statusCode, 422)
    assert.equal((await act('discard', { because: 'of this' })).statusCode, 422)

    const { audit } = (await f.call(tenant.keys.operator, 'GET', `${URL}/${id}`)).json()
    assert.deepEqual(
      audit.map((row: AnswerJson) => [row.actor, row.action, row.note]),
      [['key:operator', 'park', 'ask the guest first']],
    )
  })

  it('retries to a corrected address, and refuses options that make no sense', async (t) => {
    const { f, tenant, send } = await setup(t)
    await account(f, tenant)
    const { id } = (await send(EMAIL)).json()
    const act = (action: string, body: unknown = {}) =>
      f.call(tenant.keys.operator, 'POST', `${URL}/${id}/${action}`, body)
    await act('park')

    assert.equal((await act('discard', { to: { email: 'right@example.com' } })).statusCode, 422)
    assert.equal((await act('retry', { to: {} })).statusCode, 422)
    assert.equal((await act('retry', { override: 'everything' })).statusCode, 422)
    const corrected = (await act('retry', { to: { email: 'right@example.com' }, note: 'typo' })).json()

    assert.deepEqual([corrected.status, corrected.correctedFrom], ['queued', id])
    const { status, correctedTo } = (await f.call(tenant.keys.viewer, 'GET', `${URL}/${id}`)).json()
    assert.deepEqual([status, correctedTo], ['discarded', corrected.id])
  })

  it('lets one of two operators win', async (t) => {
    const { f, tenant, send } = await setup(t)
    await account(f, tenant)
    const { id } = (await send(EMAIL)).json()
    await f.call(tenant.keys.operator, 'POST', `${URL}/${id}/park`)

    const answers = await Promise.all(
      ['retry', 'discard', 'retry', 'discard'].map((action) =>
        f.call(tenant.keys.operator, 'POST', `${URL}/${id}/${action}`),
      ),
    )

    assert.deepEqual(
      answers.map(({ statusCode }) => statusCode).sort((a, b) => a - b),
      [200, 409, 409, 409],
    )
  })

  it('plans one anew that was born without words', async (t) => {
    let answer: ReplanAnswer = { problem: { reason: 'no_templates_found', error: 'There is no template yet.' } }
    const { f, tenant } = await setup(t, { deps: { replan: async () => answer } })
    const accountId = await account(f, tenant)
    const id = f.deps.ids()
    await f.store.notifications.insert([
      sampleNotification({
        id,
        tenantId: 'acme',
        channel: 'email',
        accountId: null,
        provider: null,
        to: { email: 'a@example.com' },
        content: null,
        stopped: { status: 'parked', reason: 'no_templates_found', error: 'none' },
      }),
    ])

    const early = await f.call(tenant.keys.operator, 'POST', `${URL}/${id}/retry`)
    assert.equal(early.json().code, 'not_plannable')
    assert.match(early.json().detail, /no_templates_found: There is no template yet/)
    const content = { subject: 'S', body: 'B', data: {} }
    answer = {
      replacement: {
        accountId,
        provider: 'sandbox',
        channel: 'email',
        to: { email: 'a@example.com' },
        content,
        templateId: f.deps.ids(),
        templateVersion: 2,
        locale: 'en',
        fallback: [],
        warnings: [],
        idempotencyKey: 'planned-anew',
      },
    }
    const retried = await f.call(tenant.keys.operator, 'POST', `${URL}/${id}/retry`)
    assert.deepEqual([retried.json().status, retried.json().templateVersion], ['queued', 2])
    assert.deepEqual((await view(f, id)).content, content)
  })
})
