import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { wholeNotifications } from '../../../../test/support/notifications.ts'
import { storedAccount } from '../../../../test/support/samples.ts'
import { type Scope, shared } from '../../../../test/support/shared.ts'
import type { Channel } from '../model/channel.ts'
import type { NotificationView } from '../model/notification.ts'
import { openFixture } from './fixture.ts'

const CATALOGUE = {
  name: 'test',
  defaultLocale: 'en',
  eventTypes: {
    'booking.confirmed': {
      entity: 'booking',
      payload: { type: 'object', properties: { guestName: { type: 'string' } } },
      recipients: [{ email: 'guestEmail', phone: 'guestPhone' }],
      retry: { maxAttempts: 2, fixed: 'PT1S' },
      onUndeliverable: 'fail',
      templates: [
        { channel: 'email', locale: 'en', subject: 'Booked', body: 'Hello {{guestName}}' },
        { channel: 'email', locale: 'de', subject: 'Gebucht', body: 'Hallo {{guestName}}' },
        { channel: 'sms', locale: 'en', body: 'Hi {{recipient.name}}' },
      ],
    },
    'booking.pin': {
      entity: 'booking',
      payload: { type: 'object', properties: { pin: { type: 'string' } } },
      recipients: [{ phone: 'guestPhone' }],
      secrets: ['pin'],
      templates: [{ channel: 'sms', locale: 'en', body: 'Your PIN is {{pin}}' }],
    },
    'booking.silent': { entity: 'booking', delivery: { channels: ['email'] }, recipients: [{ email: 'guestEmail' }] },
  },
}

const MAIL = { channel: 'email', to: { email: 'guest@example.com' } }

async function setup(t: Scope, channels: readonly Channel[] = ['email', 'sms', 'whatsapp']) {
  const f = await openFixture()
  t.after(() => f.app.close())
  const tenant = await f.tenant('acme')
  const imported = await f.call(tenant.keys.admin, 'PUT', '/api/event-types', CATALOGUE)
  assert.equal(imported.statusCode, 200, imported.body)
  for (const channel of channels)
    await f.store.accounts.insert(storedAccount({ id: f.deps.ids(), channel, name: channel, provider: 'sandbox' }))
  const templates = await f.store.templates.ofEventType('acme', 'booking.confirmed')
  return {
    f,
    tenant,
    send: (body: unknown) => f.call(tenant.keys.publisher, 'POST', '/api/notifications', body),
    templateId: (channel: Channel, locale = 'en') =>
      templates.find((template) => template.channel === channel && template.locale === locale)?.id,
    all: (): Promise<NotificationView[]> => wholeNotifications(f.store, { tenantId: 'acme' }),
    list: (name: string, members: { name?: string; email?: string; phone?: string }[]) =>
      f.store.lists.insert(
        {
          id: f.deps.ids(),
          tenantId: 'acme',
          name,
          members: members.map((member) => ({ name: null, email: null, phone: null, ...member })),
        },
        'test',
      ),
  }
}

describe('a notification in a template’s words', () => {
  const refusing = shared(setup)

  it('is rendered from its context, and says what it was made from', async (t) => {
    const { send, all, templateId } = await setup(t)

    const answer = await send({ ...MAIL, templateId: templateId('email', 'de'), context: { guestName: 'Guest' } })

    assert.equal(answer.statusCode, 202, answer.body)
    const [made] = await all()
    assert.deepEqual(made?.content, { subject: 'Gebucht', body: 'Hallo Guest', data: {} })
    assert.deepEqual(
      [made?.templateId, made?.templateVersion, made?.locale, made?.eventType, made?.eventId],
      [templateId('email', 'de'), 1, 'de', 'booking.confirmed', null],
    )
  })

  it('of an event type takes the template of the channel and the language', async (t) => {
    const { send, all } = await setup(t)

    await send({ ...MAIL, eventType: 'booking.confirmed', locale: 'de-AT', context: { guestName: 'Guest' } })
    await send({ ...MAIL, eventType: 'booking.confirmed', context: { guestName: 'Guest' } })

    assert.deepEqual(
      (await all()).map(({ locale }) => locale),
      ['en', 'de'],
    )
  })

  it('follows the event type’s policy', async (t) => {
    const { send, all } = await setup(t)

    await send({ ...MAIL, eventType: 'booking.confirmed' })

    assert.deepEqual((await all())[0]?.policy, { retry: { maxAttempts: 2, fixed: 'PT1S' }, onUndeliverable: 'fail' })
  })

  it('warns of what the context has not, and is sent all the same', async (t) => {
    const { send, all, f } = await setup(t)

    assert.equal((await send({ ...MAIL, eventType: 'booking.confirmed' })).statusCode, 202)
    const [sent = assert.fail()] = await all()
    assert.ok(f.log.some((line) => line.includes('"reason":"missing_placeholder"') && line.includes(sent.id)))
    assert.deepEqual(
      (await all())[0]?.warnings.map(({ code, key }) => [code, key]),
      [['missing_placeholder', 'guestName']],
    )
  })

  it('is sealed where a secret stands in it (P10)', async (t) => {
    const { send, all, f } = await setup(t)

    await send({
      channel: 'sms',
      to: { phone: '+12025550100' },
      eventType: 'booking.pin',
      context: { pin: 'canary-4711' },
    })

    const [made] = await all()
    assert.ok(made?.content && 'sealed' in made.content)
    const opened = f.deps.payloadSeal.openContent(made.content, { tenantId: 'acme', notificationId: made.id })
    assert.ok('content' in opened)
    assert.deepEqual([opened.content.body, opened.secrets], ['Your PIN is canary-4711', ['canary-4711']])
    assert.ok(!f.log.join().includes('canary'))
  })

  it('of the caller’s own is HTML where it says so, else where it is a mail and looks like it', async (t) => {
    const { f, send, all } = await setup(t)
    await f.store.accounts.insert(storedAccount({ id: f.deps.ids(), channel: 'in_app', provider: 'sandbox' }))
    const inApp = { channel: 'in_app', to: { userId: 'ada' } }
    for (const body of [
      { ...MAIL, body: '<p>a</p>' },
      { ...MAIL, body: 'a < b, c > d' },
      { ...MAIL, body: '<p>a</p>', format: 'text' },
      { ...MAIL, body: 'a &amp; b', format: 'html' },
      { ...inApp, body: '<p>a</p>' },
      { ...inApp, body: '<p>a</p>', format: 'html' },
    ])
      assert.equal((await send(body)).statusCode, 202)

    assert.deepEqual(
      (await all()).toReversed().map(({ content }) => (content as { isHtml?: boolean }).isHtml === true),
      [true, false, false, true, false, true],
    )
  })

  it('skips a channel without a template for the next one of the chain', async (t) => {
    const { send, all } = await setup(t)

    await send({
      channel: 'email',
      to: { email: 'guest@example.com', phone: '+12025550100', name: 'Guest' },
      fallback: ['sms'],
      eventType: 'booking.confirmed',
    })
    const [made] = await all()

    assert.deepEqual([made?.channel, made?.fallback], ['email', ['sms']])
  })

  for (const [what, changes, path, message] of [
    ['neither words nor a template', {}, '/body', /templateId or eventType/],
    ['words beside a template', { body: 'x', eventType: 'booking.confirmed' }, '/eventType', /beside body/],
    ['a subject beside a template', { subject: 'x', eventType: 'booking.confirmed' }, '/subject', /template’s/],
    ['a format beside a template', { format: 'html', eventType: 'booking.confirmed' }, '/format', /template’s/],
    ['HTML by SMS', { channel: 'sms', to: { phone: '+12025550100' }, body: 'x', format: 'html' }, '/format', /no HTML/],
    ['a context without a template', { body: 'x', context: {} }, '/context', /needs templateId or eventType/],
    ['an unknown event type', { eventType: 'nothing' }, '/eventType', /not an event type/],
    ['an unknown template', { templateId: 'nothing' }, '/templateId', /not a template/],
    ['an event type without templates', { eventType: 'booking.silent' }, '/eventType', /no active template/],
    [
      'a sealed value that is none',
      { eventType: 'booking.confirmed', context: { pin: { $sealed: 'x' } } },
      '/context/pin',
      /not a sealed/,
    ],
  ] as [string, object, string, RegExp][])
    it(`is refused with ${what}`, async () => {
      const { send, all } = await refusing()

      const answer = await send({ ...MAIL, ...changes })

      assert.equal(answer.statusCode, 422, answer.body)
      assert.deepEqual([answer.json().errors[0]?.path], [path])
      assert.match(answer.json().errors[0]?.message ?? '', message)
      assert.deepEqual(await all(), [])
    })

  it('is refused with a template for another channel', async (t) => {
    const { send, templateId } = await setup(t)

    const answer = await send({ ...MAIL, templateId: templateId('sms') })

    assert.match(answer.json().detail, /template for sms/)
  })

  it('that cannot be rendered spoils no other of its batch', async (t) => {
    const { f, tenant, all } = await setup(t)
    const items = [
      { ...MAIL, eventType: 'nothing' },
      { ...MAIL, body: 'Hello' },
      { ...MAIL, templateId: 'nothing' },
    ]

    const answer = await f.call(tenant.keys.publisher, 'POST', '/api/notifications/batch', { items })

    assert.deepEqual(
      answer.json().results.map(({ status, code }) => [status, code]),
      [
        [422, 'unknown_event_type'],
        [202, undefined],
        [422, 'invalid_body'],
      ],
    )
    assert.equal((await all()).length, 1)
  })

  it('keeps its template from being deleted', async (t) => {
    const { send, templateId, f } = await setup(t)
    await send({ ...MAIL, templateId: templateId('email') })

    const removed = await f.store.templates.remove('acme', templateId('email') ?? '', 'test')

    assert.ok(removed !== null && removed !== 'removed')
  })
})

describe('a notification to a contact', () => {
  const contact = { profileId: null, userId: null, name: 'Guest', phone: '+12025550100', email: null, locale: 'de' }

  it('goes to the address the contact has when it is accepted', async (t) => {
    const { f, send, all } = await setup(t)
    const id = f.deps.ids()
    await f.store.people.insertContact({ id, tenantId: 'acme', ...contact }, 'test')

    const answer = await send({ channel: 'sms', to: { contactId: id }, body: 'Hello' })

    assert.equal(answer.statusCode, 202, answer.body)
    const [made] = await all()
    assert.deepEqual(made?.to, { name: 'Guest', phone: '+12025550100', contactId: id })
    assert.equal(made?.contactId, id)
  })

  it('is in the contact’s language, and to the address given where one is', async (t) => {
    const { f, send, all } = await setup(t)
    const id = f.deps.ids()
    await f.store.people.insertContact({ id, tenantId: 'acme', ...contact }, 'test')

    await send({ channel: 'email', to: { contactId: id, email: 'other@example.com' }, eventType: 'booking.confirmed' })

    const [made] = await all()
    assert.deepEqual([made?.locale, made?.to.email, made?.to.phone], ['de', 'other@example.com', '+12025550100'])
  })

  it('is in the language of the request where that names one, alone and in a batch', async (t) => {
    const { f, tenant, send, all } = await setup(t)
    const id = f.deps.ids()
    await f.store.people.insertContact({ id, tenantId: 'acme', ...contact }, 'test')
    const to = { contactId: id, email: 'other@example.com' }
    const body = { channel: 'email', to, eventType: 'booking.confirmed', locale: 'en' }

    await send(body)
    await f.call(tenant.keys.publisher, 'POST', '/api/notifications/batch', { items: [body] })

    assert.deepEqual(
      (await all()).map(({ locale }) => locale),
      ['en', 'en'],
    )
  })

  it('is refused where the contact is unknown, another tenant’s, or has no address for the channel', async (t) => {
    const { f, send } = await setup(t)
    const [own, foreign] = [f.deps.ids(), f.deps.ids()]
    await f.tenant('other')
    await f.store.people.insertContact({ id: own, tenantId: 'acme', ...contact }, 'test')
    await f.store.people.insertContact({ id: foreign, tenantId: 'other', ...contact }, 'test')

    for (const contactId of [f.deps.ids(), foreign, own]) {
      const answer = await send({ channel: 'email', to: { contactId }, body: 'Hello' })
      assert.deepEqual([answer.statusCode, answer.json().errors[0]?.path], [422, '/to/contactId'])
    }
  })
})

describe('a notification to an address as people write it', () => {
  it('goes to its normal form, by the tenant’s region', async (t) => {
    const { f, send, all } = await setup(t)
    await f.store.tenants.update('acme', { settings: { region: 'IN' } })

    await send({ channel: 'sms', to: { phone: '098765 43210', email: 'Guest@EXAMPLE.com' }, body: 'Hello' })

    assert.deepEqual((await all())[0]?.to, { phone: '+919876543210', email: 'Guest@example.com' })
  })
})

describe('a notification to a recipient list', () => {
  const refusing = shared(setup)

  it('is one, and is resolved when it is sent: the list need not exist yet', async (t) => {
    const { send, all } = await setup(t)

    const answer = await send({ channel: 'email', to: { list: 'ops-team' }, subject: 'Alarm', body: 'Pump 7' })

    assert.equal(answer.statusCode, 202, answer.body)
    const [made, ...others] = await all()
    assert.deepEqual([made?.to, made?.status, others.length], [{ list: 'ops-team' }, 'queued', 0])
  })

  for (const [what, changes, path] of [
    ['another address beside it', { to: { list: 'ops-team', email: 'a@example.com' } }, '/to/email'],
    ['a channel that reaches one person at a time', { channel: 'sms' }, '/to/list'],
    ['a fallback', { fallback: ['sms'] }, '/fallback'],
  ] as [string, object, string][])
    it(`is refused with ${what}`, async () => {
      const { send } = await refusing()

      const answer = await send({ channel: 'email', to: { list: 'ops-team' }, body: 'Pump 7', ...changes })

      assert.deepEqual([answer.statusCode, answer.json().errors[0]?.path], [422, path])
    })
})

describe('a recipient list that is expanded', () => {
  const EXPAND = { idempotencyKey: 'alarm-7', channel: 'sms', to: { list: 'ops-team' }, expand: true }
  const MEMBERS = [
    { name: 'Ana', phone: '+12025550101', email: 'ana@example.com' },
    { name: 'Bo', email: 'bo@example.com' },
    { name: 'Cy', phone: '+12025550103' },
  ]
  const refusing = shared(async (t) => {
    const opened = await setup(t)
    await opened.list('ops-team', MEMBERS)
    await opened.list('nobody', [{ email: 'a@example.com' }])
    return opened
  })

  it('is one notification for each member with an address, each in words of their own', async (t) => {
    const { send, all, list } = await setup(t)
    await list('ops-team', MEMBERS)

    const answer = await send({ ...EXPAND, eventType: 'booking.confirmed' })

    assert.equal(answer.statusCode, 202, answer.body)
    const { ids, ...counts } = JSON.parse(answer.body) as { ids: string[] }
    assert.deepEqual(counts, { count: 2, duplicates: 0, skipped: 1 })
    const made = (await all()).toReversed()
    assert.deepEqual(
      made.map(({ id }) => id),
      ids,
    )
    assert.deepEqual(
      made.map(({ to, content }) => [to.phone, content && 'body' in content && content.body]),
      [
        ['+12025550101', 'Hi Ana'],
        ['+12025550103', 'Hi Cy'],
      ],
    )
  })

  it('reaches members on the fallback where they lack the first channel’s address', async (t) => {
    const { send, all, list } = await setup(t)
    await list('ops-team', MEMBERS)

    await send({ ...EXPAND, fallback: ['email'], body: 'Pump 7' })

    assert.deepEqual(
      (await all()).toReversed().map(({ channel, fallback }) => [channel, fallback]),
      [
        ['sms', ['email']],
        ['email', []],
        ['sms', []],
      ],
    )
  })

  it('makes what is still missing when it is repeated, and is a duplicate when nothing is (P2)', async (t) => {
    const { f, send, all, list } = await setup(t)
    await list('ops-team', MEMBERS)
    const first = await send({ ...EXPAND, body: 'Pump 7' })
    const { id: listId } = (await f.store.lists.findByName('acme', 'ops-team')) ?? { id: '' }

    const repeated = await send({ ...EXPAND, body: 'Pump 7' })
    await f.store.lists.addMembers('acme', listId, [{ name: null, email: null, phone: '+12025550104' }], 'test')
    const more = await send({ ...EXPAND, body: 'Pump 7' })

    assert.equal(repeated.statusCode, 409)
    assert.equal(repeated.json().notificationId, (JSON.parse(first.body) as { ids: string[] }).ids[0])
    assert.deepEqual(
      [more.statusCode, more.json().duplicates, (JSON.parse(more.body) as { count: number }).count],
      [202, 2, 3],
    )
    assert.equal((await all()).length, 3)
  })

  it('of more than one part is written whole', async (t) => {
    const { send, f, list } = await setup(t)
    await list(
      'ops-team',
      Array.from({ length: 2_300 }, (_, n) => ({ email: `m${n}@example.com` })),
    )

    const answer = await send({ ...EXPAND, channel: 'email', body: 'Pump 7' })

    const { ids } = JSON.parse(answer.body) as { ids: string[] }
    assert.deepEqual([ids.length, new Set(ids).size], [2_300, 2_300])
    assert.equal((await f.store.notifications.countByStatus('acme')).queued, 2_300)
  })

  it('that is too long makes nothing, and says what to do instead', async (t) => {
    const { send, all, list } = await setup(t)
    await list(
      'ops-team',
      Array.from({ length: 10_001 }, (_, n) => ({ email: `m${n}@example.com` })),
    )

    const answer = await send({ ...EXPAND, channel: 'email', body: 'Pump 7' })

    assert.equal(answer.statusCode, 422)
    assert.match(answer.json().detail, /more than 10000 members; publish an event/)
    assert.deepEqual(await all(), [])
  })

  for (const [what, changes, path] of [
    ['no key to repeat it by', { idempotencyKey: null }, '/idempotencyKey'],
    ['a key without room for the member', { idempotencyKey: 'k'.repeat(201) }, '/idempotencyKey'],
    ['a list that does not exist', { to: { list: 'sales' } }, '/to/list'],
    ['a list with nobody to reach', { to: { list: 'nobody' } }, '/to/list'],
    ['a channel that members have no address for', { channel: 'push' }, '/channel'],
    ['no list', { to: { phone: '+12025550101' } }, '/to/phone'],
    ['words that cannot be made', { body: null, eventType: 'booking.silent' }, '/eventType'],
  ] as [string, object, string][])
    it(`is refused with ${what}, before anything is written`, async () => {
      const { send, all } = await refusing()

      const answer = await send({ ...EXPAND, body: 'Pump 7', ...changes })

      assert.equal(answer.statusCode, 422, answer.body)
      assert.ok(
        answer.json().errors.some((error) => error.path === path),
        answer.body,
      )
      assert.deepEqual(await all(), [])
    })

  it('is refused in a batch', async (t) => {
    const { f, tenant, list } = await setup(t)
    await list('ops-team', MEMBERS)
    const items = [{ ...EXPAND, body: 'Pump 7' }]

    const answer = await f.call(tenant.keys.publisher, 'POST', '/api/notifications/batch', { items })

    assert.deepEqual(answer.json().results[0]?.status, 422)
  })
})
