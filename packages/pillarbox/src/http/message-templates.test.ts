import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ENGINES } from '../../../../test/support/engines.ts'
import { CATALOGUE, type Fixture, openFixture, type TestTenant } from './fixture.ts'

const TYPES = {
  ...CATALOGUE,
  eventTypes: {
    'booking.confirmed': {
      ...CATALOGUE.eventTypes['booking.confirmed'],
      payload: {
        type: 'object',
        properties: {
          guestName: { type: 'string' },
          guestEmail: { type: 'string' },
          guestPhone: { type: 'string' },
          checkinDate: { type: 'string', format: 'date' },
          token: { type: 'string' },
        },
      },
      secrets: ['token'],
    },
    'booking.reminder': { ...CATALOGUE.eventTypes['booking.confirmed'], templates: [] },
  },
}

const SMS = { eventType: 'booking.confirmed', channel: 'sms', locale: 'de', body: 'Hallo {{guestName}}' }
const EMAIL = {
  eventType: 'booking.confirmed',
  channel: 'email',
  locale: 'de',
  subject: 'Hi',
  body: 'Hallo {{guestName}}',
}

for (const { engine, open } of ENGINES)
  describe(`message templates on ${engine}`, () => {
    let f: Fixture
    let counter = 0

    before(async () => {
      f = await openFixture({ open })
    })
    after(() => f.app.close())

    /** A tenant with the catalogue above, and short ways to call as its admin. */
    async function setup() {
      const tenant: TestTenant = await f.tenant(`templates-${++counter}`)
      const call = (method: string, path: string, body?: unknown, key = tenant.keys.admin) =>
        f.call(key, method, `/api/message-templates${path}`, body)
      const imported = await f.call(tenant.keys.admin, 'PUT', '/api/event-types', TYPES)
      assert.equal(imported.statusCode, 200, imported.body)
      return { tenant, call }
    }

    it('are made, read and listed as they were given', async () => {
      const { tenant, call } = await setup()

      const made = await call('POST', '', { ...EMAIL, scopeType: 'listing', scopeId: '10' })

      assert.equal(made.statusCode, 201, made.body)
      const { id, createdAt, updatedAt, warnings, ...rest } = made.json()
      assert.deepEqual(rest, {
        ...EMAIL,
        tenantId: tenant.id,
        scopeType: 'listing',
        scopeId: '10',
        format: null,
        providerTemplate: null,
        version: 1,
        isActive: true,
        isEdited: true,
        updatedBy: 'key:admin',
      })
      assert.ok(Date.parse(createdAt) > 0 && createdAt === updatedAt)
      assert.deepEqual(
        warnings.map(({ code, key }) => [code, key]),
        [['unknown_scope', 'listing']],
      )
      const read = await call('GET', `/${id}`, undefined, tenant.keys.viewer)
      assert.deepEqual(read.json(), made.json())
      const listed = (await call('GET', '?locale=de&channel=email', undefined, tenant.keys.viewer)).json()
      assert.deepEqual(listed, { items: [made.json()], nextCursor: null })
    })

    it('speak the tenant’s language where none is named', async () => {
      const { call } = await setup()
      const { locale: _, ...words } = SMS

      assert.equal((await call('POST', '', words)).json().locale, 'en')
    })

    it('are narrowed by event type, channel, locale and whether they are active, page by page', async () => {
      const { call } = await setup()
      for (const locale of ['de', 'fr', 'it']) await call('POST', '', { ...SMS, locale, isActive: locale !== 'it' })
      const locales = async (query: string) =>
        (await call('GET', `?${query}`)).json().items.map(({ channel, locale }) => [channel, locale].join(' '))

      assert.deepEqual(await locales('eventType=booking.confirmed'), ['email en', 'sms de', 'sms fr', 'sms it'])
      assert.deepEqual(await locales('eventType=other'), [])
      assert.deepEqual(await locales('channel=sms&isActive=true'), ['sms de', 'sms fr'])
      assert.deepEqual(await locales('isActive=false'), ['sms it'])
      const first = (await call('GET', '?channel=sms&limit=2')).json()
      const second = (await call('GET', `?channel=sms&limit=2&cursor=${first.nextCursor}`)).json()
      assert.deepEqual(
        [...first.items, ...second.items].map(({ locale }) => locale),
        ['de', 'fr', 'it'],
      )
      assert.equal(second.nextCursor, null)
      assert.equal((await call('GET', '?cursor=nonsense')).json().code, 'invalid_query')
    })

    it('are replaced whole by PUT and in part by PATCH, each time as a new version with who did it', async () => {
      const { tenant, call } = await setup()
      const { id } = (await call('POST', '', { ...EMAIL, scopeType: 'listing', scopeId: '10' })).json()

      const patched = (await call('PATCH', `/${id}`, { body: 'Moin', isActive: false })).json()
      assert.deepEqual(
        [patched.body, patched.subject, patched.isActive, patched.scopeId, patched.version],
        ['Moin', 'Hi', false, '10', 2],
      )
      const { subject: _, ...withoutSubject } = EMAIL
      const replaced = (await call('PUT', `/${id}`, withoutSubject)).json()
      assert.deepEqual(
        [replaced.body, replaced.subject, replaced.isActive, replaced.scopeId, replaced.version],
        [EMAIL.body, null, true, null, 3],
      )

      const versions = (await call('GET', `/${id}/versions`, undefined, tenant.keys.viewer)).json()
      assert.deepEqual(
        versions.items.map(({ version, body, changedBy }) => [version, body, changedBy]),
        [
          [3, EMAIL.body, 'key:admin'],
          [2, 'Moin', 'key:admin'],
          [1, EMAIL.body, 'key:admin'],
        ],
      )
      const first = (await call('GET', `/${id}/versions?limit=2`)).json()
      const rest = (await call('GET', `/${id}/versions?limit=2&cursor=${first.nextCursor}`)).json()
      assert.deepEqual([first.items.length, rest.items.length, rest.nextCursor], [2, 1, null])
      assert.equal((await call('GET', `/${id}/versions?cursor=x`)).json().code, 'invalid_query')
    })

    it('are changed only as the version that was read, where one is named', async () => {
      const { call } = await setup()
      const { id, version } = (await call('POST', '', SMS)).json()

      const answers = await Promise.all(['Hallo', 'Servus'].map((body) => call('PATCH', `/${id}`, { body, version })))

      const [changed, refused] = answers.toSorted((a, b) => a.statusCode - b.statusCode)
      assert.deepEqual([changed?.statusCode, changed?.json().version], [200, 2])
      assert.deepEqual([refused?.statusCode, refused?.json().code], [409, 'changed_meanwhile'])
      assert.deepEqual((await call('GET', `/${id}`)).json(), changed?.json())
      assert.equal((await call('PUT', `/${id}`, { ...SMS, version: 1 })).statusCode, 409)
      assert.equal((await call('PUT', `/${id}`, { ...SMS, version: 2 })).json().version, 3)
      assert.equal((await call('PATCH', `/${id}`, { body: 'Moin' })).json().version, 4)
      assert.equal((await call('POST', '', { ...SMS, locale: 'fr', version: 1 })).statusCode, 422)
    })

    it('keep the place of another free', async () => {
      const { call } = await setup()
      await call('POST', '', SMS)
      const { id } = (await call('POST', '', { ...SMS, locale: 'fr' })).json()

      for (const answer of [
        await call('POST', '', SMS),
        await call('PUT', `/${id}`, SMS),
        await call('PATCH', `/${id}`, { locale: 'de' }),
      ])
        assert.deepEqual([answer.statusCode, answer.json().code], [409, 'already_exists'])
      assert.equal((await call('PATCH', `/${id}`, { scopeType: 'listing', scopeId: '1' })).statusCode, 200)
    })

    it('are removed, or deactivated once a notification was made from them', async () => {
      const { call } = await setup()
      const { id } = (await call('POST', '', SMS)).json()
      const used = (await call('POST', '', { ...SMS, locale: 'fr' })).json()
      await f.store.templates.markUsed([used.id])

      const removed = await call('DELETE', `/${id}`)
      const kept = await call('DELETE', `/${used.id}`)

      assert.deepEqual([removed.statusCode, removed.body], [204, ''])
      assert.equal((await call('GET', `/${id}`)).statusCode, 404)
      assert.deepEqual([kept.statusCode, kept.json().isActive], [200, false])
      assert.equal((await call('GET', `/${used.id}`)).json().isActive, false)
    })

    it('are refused where they cannot be read, with the field and the line', async () => {
      const { call } = await setup()
      const { id } = (await call('POST', '', SMS)).json()

      const body = await call('POST', '', { ...EMAIL, locale: 'it', body: 'Hallo\n{% if guestName == %}{% endif %}' })
      const subject = await call('PUT', `/${id}`, { ...EMAIL, subject: '{{ x | nonsense }}' })
      const patched = await call('PATCH', `/${id}`, { body: '{{ guestName' })
      const provider = await call('PATCH', `/${id}`, { providerTemplate: { name: 'x', components: ['{% if %}'] } })

      for (const [answer, path] of [
        [body, '/body'],
        [subject, '/subject'],
        [patched, '/body'],
        [provider, '/providerTemplate'],
      ] as const) {
        assert.deepEqual([answer.statusCode, answer.json().code], [422, 'invalid_template'], answer.body)
        assert.equal(answer.json().errors[0]?.path, path)
      }
      assert.match(body.json().errors[0]?.message ?? '', /line:? ?2/)
      assert.equal((await call('GET', `/${id}`)).json().version, 1)
    })

    it('are text or HTML as they say, in preview as well, and only text where a channel carries nothing else', async () => {
      const { call } = await setup()
      const html = { ...EMAIL, format: 'html' }
      const { id, format } = (await call('POST', '', html)).json()
      const context = { guestName: '<b>' }

      const stored = (await call('POST', `/${id}/preview`, { context })).json()
      const text = (await call('PATCH', `/${id}`, { format: 'text' })).json()
      const draft = (
        await call('POST', '/preview', { channel: 'email', body: '<p>{{x}}', format: 'text', context })
      ).json()
      const refused = [
        await call('POST', '', { ...SMS, format: 'html' }),
        await call('PATCH', `/${id}`, { channel: 'sms', format: 'html' }),
        await call('POST', '', { ...EMAIL, locale: 'fr', format: 'markdown' }),
      ]

      assert.deepEqual([format, stored.body, stored.isHtml], ['html', 'Hallo &lt;b&gt;', true])
      assert.deepEqual([text.format, text.version, draft.isHtml], ['text', 2, false])
      const { items } = (await call('GET', `/${id}/versions`)).json()
      assert.deepEqual(
        items.map((version) => version.format),
        ['text', 'html'],
      )
      for (const answer of refused) {
        assert.deepEqual([answer.statusCode, answer.json().code], [422, 'invalid_body'], answer.body)
        assert.equal(answer.json().errors[0]?.path, '/format')
      }
    })

    it('are refused for an event type that the catalogue does not have', async () => {
      const { call } = await setup()
      const { id } = (await call('POST', '', SMS)).json()

      for (const answer of [
        await call('POST', '', { ...SMS, eventType: 'booking.forgotten' }),
        await call('PATCH', `/${id}`, { eventType: 'booking.forgotten' }),
        await call('POST', '/preview', { channel: 'sms', body: 'x', context: {}, eventType: 'booking.forgotten' }),
      ]) {
        assert.deepEqual([answer.statusCode, answer.json().code], [422, 'unknown_event_type'])
        assert.equal(answer.json().errors[0]?.path, '/eventType')
      }
    })

    it('warn of placeholders that no payload has, with the nearest name that one has', async () => {
      const { call } = await setup()

      const made = (await call('POST', '', { ...EMAIL, body: 'Hallo {{guestNmae}}, {{zzz}} {{GuestName}}' })).json()

      const unknown = made.warnings.filter(({ code }) => code === 'unknown_placeholder')
      assert.deepEqual(
        unknown.map(({ key }) => key),
        ['guestNmae', 'zzz'],
      )
      assert.match(unknown[0]?.message ?? '', /guestName/)
      const listed = (await call('GET', '?locale=de')).json()
      assert.deepEqual(listed.items[0]?.warnings, made.warnings)
    })

    it('warn of a mail without a subject', async () => {
      const { call } = await setup()

      const { id, warnings } = (await call('POST', '', { ...EMAIL, subject: null })).json()
      const mended = (await call('PATCH', `/${id}`, { subject: 'Hallo' })).json()

      assert.deepEqual(
        [warnings, mended.warnings].map((given) => given.map(({ code }) => code)),
        [['missing_subject'], []],
      )
    })

    it('warn of a channel that the event type is not delivered on', async () => {
      const { call } = await setup()

      assert.deepEqual(
        (await call('POST', '', SMS)).json().warnings.map(({ code, key }) => [code, key]),
        [['unused_channel', 'sms']],
      )
    })

    for (const [path, changes] of [
      ['/eventType', { eventType: 'not a name' }],
      ['/channel', { channel: 'pigeon' }],
      ['/locale', { locale: 'German' }],
      ['/body', { body: '' }],
      ['/subject', { subject: 'a\nb' }],
      ['/scopeId', { scopeType: 'listing' }],
      ['/scopeType', { scopeId: '10' }],
      ['/isActive', { isActive: 'yes' }],
      ['/providerTemplate', { providerTemplate: 'x' }],
      ['/version', { version: 3 }],
    ] as const)
      it(`are refused with a wrong ${path}: ${JSON.stringify(changes)}`, async () => {
        const { call } = await setup()

        const answer = await call('POST', '', { ...EMAIL, ...changes })

        assert.deepEqual([answer.statusCode, answer.json().code], [422, 'invalid_body'], answer.body)
        assert.equal(answer.json().errors[0]?.path, path)
      })

    it('are previewed before they are saved, with what is missing and what nobody knows', async () => {
      const { call } = await setup()

      const answer = await call('POST', '/preview', {
        channel: 'email',
        subject: 'Hi {{guestName}}',
        body: '<p>{{guestName}}, {{checkinDate}}{{nothing}}</p>',
        eventType: 'booking.confirmed',
        context: { guestName: '<b>Guest</b>' },
      })

      assert.equal(answer.statusCode, 200, answer.body)
      const { subject, body, missing, unknown, warnings, segments } = answer.json()
      assert.deepEqual([subject, body], ['Hi <b>Guest</b>', '<p>&lt;b&gt;Guest&lt;/b&gt;, </p>'])
      assert.deepEqual(missing, ['checkinDate', 'nothing'])
      assert.deepEqual(unknown, ['nothing'])
      assert.ok(warnings.some(({ code, key }) => code === 'unknown_placeholder' && key === 'nothing'))
      assert.equal(segments, undefined)
    })

    it('are previewed with the tenant’s zone, date format and way with what is missing', async () => {
      const { tenant, call } = await setup()
      await f.call(tenant.keys.admin, 'PATCH', '/api/tenant', {
        dateFormat: 'dd-MMM-yyyy',
        missingPlaceholder: 'keep',
      })
      const { id } = (await call('POST', '', { ...SMS, locale: 'en', body: '{{checkinDate}} {{guestName}}' })).json()
      const context = { checkinDate: '2026-03-15' }

      const stored = (await call('POST', `/${id}/preview`, { context })).json()
      const draft = (
        await call('POST', '/preview', {
          channel: 'sms',
          body: '{{checkinDate}} {{guestName}}',
          eventType: 'booking.confirmed',
          context,
        })
      ).json()

      assert.equal(stored.body, '15-Mar-2026 {{guestName}}')
      assert.deepEqual(draft, stored)
      assert.deepEqual((stored.segments as { segments: number }).segments, 1)
    })

    it('are not previewed where they cannot be read, or need more than they get', async () => {
      const { call } = await setup()

      const unreadable = await call('POST', '/preview', { channel: 'sms', body: '{{x, your {{y}}', context: {} })
      const endless = await call('POST', '/preview', {
        channel: 'sms',
        body: '{% for a in (1..99999999) %}{% for b in (1..99999999) %}x{% endfor %}{% endfor %}',
        context: {},
      })

      for (const answer of [unreadable, endless])
        assert.deepEqual([answer.statusCode, answer.json().code], [422, 'invalid_template'])
      for (const body of [
        { channel: 'sms', body: 'x' },
        { channel: 'sms', body: 'x', context: [] },
      ])
        assert.equal((await call('POST', '/preview', body)).json().code, 'invalid_body')
    })

    it('are sent to somebody as a test, as an ordinary notification', async () => {
      const { tenant, call } = await setup()
      await f.call(tenant.keys.admin, 'PATCH', '/api/tenant', { region: 'IN' })
      const account = { channel: 'sms', provider: 'sandbox', name: 'sms' }
      await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', account)
      const providerTemplate = { dltTemplateId: '1707' }
      const { id } = (
        await call('POST', '', { ...SMS, eventType: 'booking.reminder', providerTemplate, isActive: false })
      ).json()
      f.nudges.length = 0

      const sent = await call('POST', `/${id}/test-send`, {
        to: { phone: '098765 43210' },
        context: { guestName: 'Guest' },
      })

      assert.equal(sent.statusCode, 202, sent.body)
      const notification = await f.call(tenant.keys.admin, 'GET', `/api/notifications/${sent.json().id}`)
      const view = notification.json()
      assert.deepEqual(
        [view.status, view.channel, view.templateId, view.templateVersion, view.locale, view.triggeredBy],
        ['queued', 'sms', id, 1, 'de', 'key:admin'],
      )
      assert.equal(view.idempotencyKey, `test:${sent.json().id}`)
      assert.deepEqual(view.to, { phone: '+919876543210' })
      assert.deepEqual(view.content, { subject: null, body: 'Hallo Guest', data: {}, providerTemplate })
      assert.deepEqual(f.nudges, ['dispatch'])
      // It is now one that a notification was made from.
      assert.equal((await call('DELETE', `/${id}`)).statusCode, 200)
    })

    it('park a test that no account can send, and refuse one that has nowhere to go', async () => {
      const { tenant, call } = await setup()
      const { id } = (await call('POST', '', SMS)).json()

      const parked = await call('POST', `/${id}/test-send`, { to: { phone: '+919876543210' }, context: {} })
      const nowhere = await call('POST', `/${id}/test-send`, { to: { email: 'a@example.com' }, context: {} })
      const wrong = await call('POST', `/${id}/test-send`, { to: { phone: '12' }, context: {} })

      const { status, reason } = (
        await f.call(tenant.keys.admin, 'GET', `/api/notifications/${parked.json().id}`)
      ).json()
      assert.deepEqual([status, reason], ['parked', 'no_active_channels'])
      for (const answer of [nowhere, wrong])
        assert.deepEqual([answer.statusCode, answer.json().errors[0]?.path], [422, '/to/phone'])
    })

    it('keep the secrets of a test sealed', async () => {
      const { tenant, call } = await setup()
      const { id } = (await call('POST', '', { ...EMAIL, body: 'Your link: {{token}}' })).json()

      const sent = await call('POST', `/${id}/test-send`, {
        to: { email: 'a@example.com' },
        context: { token: 'canary-4711' },
      })

      const view = await f.call(tenant.keys.admin, 'GET', `/api/notifications/${sent.json().id}`)
      assert.deepEqual([view.json().content, view.json().isSealed], [null, true], view.body)
      const stored = await f.store.notifications.find(tenant.id, sent.json().id)
      assert.ok(!JSON.stringify(stored).includes('canary-4711'))
      const preview = await call('POST', `/${id}/preview`, { context: { token: 'canary-4711' } })
      assert.ok(!preview.body.includes('canary-4711'))
    })

    it('can still be corrected when their event type has left the catalogue', async () => {
      const { tenant, call } = await setup()
      const { id } = (await call('POST', '', SMS)).json()
      const other = { eventTypes: { other: { ...CATALOGUE.eventTypes['booking.confirmed'], templates: [] } } }
      await f.call(tenant.keys.admin, 'PUT', '/api/event-types', { ...CATALOGUE, ...other })

      const patched = await call('PATCH', `/${id}`, { isActive: false })

      assert.equal(patched.statusCode, 200, patched.body)
      assert.equal(patched.json().warnings[0]?.code, 'unknown_event_type')
    })
  })
