import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { planEvents } from '../../../../test/support/planning.ts'
import { sampleCompletion, sampleNotification, sampleSandboxMessage } from '../../../../test/support/samples.ts'
import type { SandboxMessage } from '../channels/sandbox/vendor.ts'
import type { Channel } from '../model/channel.ts'
import type { NewNotification } from '../model/notification.ts'
import type { Address } from '../model/recipient.ts'
import { type Fixture, openFixture, type TestTenant } from './fixture.ts'

const NAME = 'Markus Personname'
const EMAIL = 'marker.person@secret.example'
const PHONE = '+4915112345678'
const TOKEN = 'marker:device-token-0123456789'
const URL_TO = 'https://hooks.example.com/marker-path?key=marker-key'
/** No answer to a viewer holds any of these, in whatever case. */
const NEEDLES = [
  'personname',
  'marker.person',
  '15112345678',
  '112345678',
  'device-token-01',
  'marker-path',
  'marker-key',
]
/** What vendors say, who repeat what they were given. */
const said = ({ name, phone = PHONE, ...to }: Address): string =>
  `550 ${name} <${Object.values(to).join()}> (${phone.slice(1)}, ${EMAIL}, see ${URL_TO}) is unknown`

const PERSON = { name: NAME, email: EMAIL, phone: PHONE }
const TO: Record<'email' | 'sms' | 'push' | 'webhook', Address> = {
  email: { name: NAME, email: EMAIL },
  sms: { name: NAME, phone: PHONE },
  push: { name: NAME, deviceToken: TOKEN, platform: 'fcm' },
  webhook: { name: NAME, url: URL_TO },
}

/** What a site handed off, by the id it has there. */
const AT_SITE = '0b7c3f8e-7d0e-4a53-9f5c-2f1b9a0c4d11'

describe('a viewer', () => {
  let f: Fixture
  let tenant: TestTenant
  /** Ids of what is to be looked at, by the path they come after. */
  const planted: Record<string, string[]> = {}

  before(async () => {
    f = await openFixture({ deps: { sandbox: () => [sandboxMessage()] } })
    tenant = await f.tenant('acme')
    await f.call(tenant.keys.admin, 'PUT', '/api/event-types', CATALOGUE)
    await plantPeople()
    await plantEvent()
    await plantPersonalIds()
    for (const [channel, to] of Object.entries(TO)) await plantSuppression(channel as Channel, to)
    await plantOperation()
    await plantSite()
  })
  after(() => f.app.close())

  it('finds nobody’s name, address or token in any answer, where an operator does', async () => {
    // What a stream says, which has no end, is looked at in console-stream.test.ts.
    const routes = f.app.routeTable.filter(
      ({ method, access, url }) => method === 'GET' && access.includes('viewer') && url !== '/api/stream',
    )
    const found = new Map<string, Set<string>>()
    for (const { url } of routes)
      for (const path of pathsOf(url)) {
        const seen = await f.call(tenant.keys.viewer, 'GET', path)
        assert.equal(seen.statusCode, 200, `${path} ${seen.body}`)
        for (const needle of NEEDLES)
          assert.ok(!seen.body.toLowerCase().includes(needle), `${needle} in ${path}: ${seen.body}`)
        const { body } = await f.call(tenant.keys.operator, 'GET', path)
        for (const needle of NEEDLES.filter((one) => body.toLowerCase().includes(one)))
          found.set(url, (found.get(url) ?? new Set()).add(needle))
      }

    // Otherwise nothing was planted there, and nothing is shown by this test.
    for (const url of [
      '/api/channel-accounts',
      '/api/channel-accounts/:id',
      '/api/communication-logs',
      '/api/contacts',
      '/api/contacts/:id',
      '/api/events/:id',
      '/api/notifications',
      '/api/notifications/:id',
      '/api/notifications/:id/status',
      '/api/notifications/causes',
      '/api/operations',
      '/api/operations/:id',
      '/api/recipient-lists/:id',
      '/api/recipient-lists/:id/members',
      '/api/sandbox/messages',
      '/api/suppressions',
      '/api/suppressions/:id',
    ])
      assert.ok(found.has(url), `an operator finds nobody at ${url}`)
    assert.deepEqual([...(found.get('/api/notifications/:id') ?? [])].sort(), NEEDLES.toSorted())
  })

  it('turns the pages of a list whose places are people, and learns nothing from where a page ends', async () => {
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const path: string = `/api/events?limit=1${cursor && `&cursor=${cursor}`}`
      const page = (await f.call(tenant.keys.viewer, 'GET', path)).json()
      seen.push(...page.items.map(({ id }) => id))
      cursor = page.nextCursor
      for (let skip = 0; skip < (cursor?.length ?? 0); skip += 1) {
        const decoded = Buffer.from(cursor?.slice(skip) ?? '', 'base64url')
          .toString('latin1')
          .toLowerCase()
        for (const needle of NEEDLES) assert.ok(!decoded.includes(needle), `${needle} in the cursor ${cursor}`)
      }
    }

    assert.deepEqual(seen.toSorted(), ['+49***78', 'event-1', 'm***@secret.example'])
    const another = await f.call(tenant.keys.viewer, 'GET', '/api/events?cursor=bm90aGluZw')
    assert.equal(another.statusCode, 422, another.body)
  })

  /** Every path that a route stands for, with what was planted. */
  function pathsOf(url: string): string[] {
    if (url === '/api/communication-logs') return [`${url}?bookingId=42`]
    if (url === '/api/sites/:site/notifications/:id/status') return [`/api/sites/north/notifications/${AT_SITE}/status`]
    if (!url.includes(':')) return [url]
    const ids = planted[url.replace(/\/:.*/, '')]
    assert.ok(ids?.length, `nothing was planted for ${url}`)
    return ids.map((id) => url.replace(/:\w+/, encodeURIComponent(id)))
  }

  function plant(path: string, id: string): void {
    planted[path] = [...(planted[path] ?? []), id]
  }

  async function plantSite(): Promise<void> {
    const item = { notificationId: AT_SITE, to: TO.email, subject: PERSON.name, body: `For ${PERSON.name}` }
    const taken = await f.call(tenant.keys.admin, 'POST', '/api/sites/north/notifications', { items: [item] })
    assert.equal(taken.statusCode, 200, taken.body)
  }

  async function plantPeople(): Promise<void> {
    const admin = (path: string, body: object) => f.call(tenant.keys.admin, 'POST', path, body)
    const contact = (await admin('/api/contacts', { profileId: 'p-1', ...PERSON })).json()
    plant('/api/contacts', contact.id)
    plant(
      '/api/recipient-lists',
      (await admin('/api/recipient-lists', { name: 'guests', members: [PERSON] })).json().id,
    )
    const about = { tenantId: 'acme', profileId: 'p-1', conversation: { type: 'booking', id: '42' } }
    const [person] = await f.store.people.resolve([about], f.deps.ids)
    plant('/api/conversations', String(person?.conversationId))
    const template = { eventType: 'booking.confirmed', channel: 'sms', locale: 'en', body: 'Hello {{guestName}}' }
    plant('/api/message-templates', (await admin('/api/message-templates', template)).json().id)
  }

  async function plantSuppression(channel: Channel, to: Address): Promise<void> {
    const id = f.deps.ids()
    const address = to.email ?? to.phone ?? to.deviceToken ?? to.url ?? ''
    await f.store.suppressions.insert({
      id,
      tenantId: 'acme',
      channel,
      address,
      cause: 'dead_address',
      error: `550 <${address}> is unknown`,
      notificationId: null,
      createdBy: 'system',
    })
    plant('/api/suppressions', id)
  }

  /** An event becomes a notification on each channel, which fails, is reported on, and set aside with a note. */
  async function plantEvent(): Promise<void> {
    const event = {
      id: 'event-1',
      type: 'booking.confirmed',
      entity: { type: 'booking', id: '42' },
      payload: { guestName: NAME, guest: { mail: EMAIL, call: [PHONE, Number(PHONE)], device: TOKEN, hook: URL_TO } },
      recipients: [PERSON],
    }
    const published = await f.call(tenant.keys.publisher, 'POST', '/api/events', event)
    assert.equal(published.statusCode, 202, published.body)
    plant('/api/events', event.id)
    plant('/api/event-types', event.type)
    plant('/api/event-types/versions', '1')
    const scheduleId = f.deps.ids()
    const notifications: NewNotification[] = []
    for (const [channel, to] of Object.entries(TO) as [keyof typeof TO, Address][]) {
      const accountId = await account(channel)
      notifications.push(
        sampleNotification({
          id: f.deps.ids(),
          channel,
          accountId,
          provider: 'sandbox',
          to,
          content: { subject: `For ${NAME}`, body: said(TO.email), data: { name: NAME, token: TOKEN } },
          idempotencyKey: `42:${channel}:${to.email ?? to.phone ?? to.deviceToken ?? to.url}`,
          eventId: event.id,
          eventType: event.type,
          scheduleId,
          entity: event.entity,
          correlationId: `for ${EMAIL}`,
          warnings: [{ code: 'probably_not_meant', message: said(to) }],
        }),
      )
    }
    await planEvents(f.store, 10, () => ({ kind: 'notifications', scheduleId, notifications, cancels: null }))
    plant('/api/automation-schedules', scheduleId)
    for (const notification of notifications) {
      await fail(notification)
      plant('/api/notifications', notification.id)
    }
  }

  /** Hosts that know people by their addresses. */
  async function plantPersonalIds(): Promise<void> {
    for (const [id, entityId] of [
      [EMAIL, PHONE],
      [PHONE, EMAIL],
    ] as const) {
      const event = {
        id,
        type: 'booking.confirmed',
        entity: { type: 'booking', id: entityId },
        correlationId: id,
        recipients: [{ userId: PHONE.slice(1), profileId: EMAIL }],
      }
      const published = await f.call(tenant.keys.publisher, 'POST', '/api/events', event)
      assert.equal(published.statusCode, 202, published.body)
      plant('/api/events', id)
    }
  }

  /** Of what was discarded, with a note; not begun. */
  async function plantOperation(): Promise<void> {
    const operator = (path: string, body: object) => f.call(tenant.keys.operator, 'POST', path, body)
    const preview = { action: 'restore', filter: { status: ['discarded'] } }
    const { token } = (await operator('/api/notifications/bulk/preview', preview)).json()
    const started = await operator('/api/notifications/bulk', { token, note: `Called ${NAME} at ${PHONE}` })
    assert.equal(started.statusCode, 202, started.body)
    plant('/api/operations', started.json().operationId)
  }

  async function account(channel: Channel): Promise<string> {
    const body = { channel, provider: 'sandbox', name: `for ${channel}` }
    const { id } = (await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', body)).json()
    plant('/api/channel-accounts', id)
    return id
  }

  async function fail({ id: notificationId, accountId: given, to }: NewNotification): Promise<void> {
    const [accountId, error] = [given ?? '', said(to)]
    const worker = f.deps.ids()
    await f.store.workers.register({ id: worker, host: 'host', pid: 1, version: '1', channels: null })
    const claimed = await f.store.dispatch.claim(worker, [{ accountId, limit: 1 }])
    const claim = claimed.fenced ? undefined : claimed.claims[0]
    assert.equal(claim?.notificationId, notificationId)
    const { token, attempt } = claim
    const outcome = { outcome: 'permanent', to: 'parked', reason: 'unreachable', code: '550', error } as const
    const completion = {
      notificationId,
      tenantId: 'acme',
      accountId,
      token,
      attempt,
      resolvedTargets: [EMAIL, PHONE],
      ...outcome,
    }
    await f.store.dispatch.complete(worker, [sampleCompletion(completion)])
    await f.store.receipts.merge({
      tenantId: 'acme',
      notificationId,
      provider: 'sandbox',
      providerMessageId: 'message-1',
      kind: 'bounced',
      recipient: EMAIL,
      failure: { reason: 'unreachable', code: '550', error, to: 'parked' },
      at: f.now(),
      next: null,
    })
    const note = { note: `Called ${NAME} at ${PHONE}` }
    const noted = await f.call(tenant.keys.operator, 'POST', `/api/notifications/${notificationId}/discard`, note)
    assert.equal(noted.statusCode, 200, noted.body)
    await f.store.lanes.hold(accountId, 60_000, `550 <${EMAIL}> is unknown`)
  }
})

function sandboxMessage(): SandboxMessage {
  return sampleSandboxMessage({
    key: `42:email:${EMAIL}`,
    to: { ...TO.email, bcc: [EMAIL] },
    subject: `For ${NAME}`,
    body: said(TO.email),
    data: { name: NAME },
    providerTemplate: { values: [NAME, PHONE] },
  })
}

const CATALOGUE = {
  name: 'test',
  entities: { booking: 'bookings' },
  eventTypes: { 'booking.confirmed': { entity: 'booking', recipients: [{ email: 'guest.mail' }] } },
}
