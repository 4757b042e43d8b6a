import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ENGINES } from '../../../../test/support/engines.ts'
import { planEvents } from '../../../../test/support/planning.ts'
import { sampleNotification } from '../../../../test/support/samples.ts'
import type { NewNotification } from '../model/notification.ts'
import type { EventPlan } from '../plan/plan-store.ts'
import { CATALOGUE, type Fixture, openFixture, type TestTenant } from './fixture.ts'

for (const { engine, open } of ENGINES) {
  let f: Fixture
  let counter = 0

  async function setup(): Promise<TestTenant> {
    const tenant = await f.tenant(`panel-${++counter}`)
    const { 'booking.confirmed': confirmed } = CATALOGUE.eventTypes
    const catalogue = {
      ...CATALOGUE,
      entities: { booking: 'bookings', trip: 'journeys' },
      eventTypes: { 'booking.confirmed': confirmed, 'trip.confirmed': { ...confirmed, entity: 'trip' } },
    }
    const imported = await f.call(tenant.keys.admin, 'PUT', '/api/event-types', catalogue)
    assert.equal(imported.statusCode, 200, imported.body)
    return tenant
  }

  /** Writes a notification as planning would. */
  async function told(tenant: TestTenant, changes: Partial<NewNotification> = {}): Promise<string> {
    const id = f.deps.ids()
    await f.store.notifications.insert([
      sampleNotification({
        id,
        tenantId: tenant.id,
        idempotencyKey: `key-${id}`,
        channel: 'email',
        accountId: null,
        provider: null,
        to: { name: 'Ada', email: 'ada@example.com' },
        entity: { type: 'booking', id: '42' },
        eventType: 'booking.confirmed',
        stopped: { status: 'parked', reason: 'no_active_channels', error: 'There is no account.' },
        ...changes,
      }),
    ])
    return id
  }

  describe(`communication logs on ${engine}`, () => {
    before(async () => {
      f = await openFixture({ open })
    })
    after(() => f.app.close())

    const logs = (key: string, query: string) => f.call(key, 'GET', `/api/communication-logs${query}`)

    it('show what was sent about one entity, newest first, masked for everybody', async () => {
      const tenant = await setup()
      const first = await told(tenant)
      const second = await told(tenant, { channel: 'sms', to: { phone: '+919876543210' }, triggeredBy: 'key:desk' })
      await told(tenant, { entity: { type: 'booking', id: '43' } })
      await told(tenant, { entity: { type: 'trip', id: '42' } })

      const answer = await logs(tenant.keys.admin, '?bookingId=42')

      assert.equal(answer.statusCode, 200, answer.body)
      const { items, nextCursor } = answer.json()
      assert.deepEqual(
        items.map(({ id, toAddress, triggeredBy }) => [id, toAddress, triggeredBy]),
        [
          [second, '+91***10', 'key:desk'],
          [first, 'a***@example.com', 'system'],
        ],
      )
      assert.equal(nextCursor, null)
      assert.deepEqual(Object.keys(items[0] ?? {}).sort(), [
        'attemptCount',
        'channel',
        'correlationId',
        'createdAtUtc',
        'eventType',
        'id',
        'idempotencyKey',
        'lastError',
        'provider',
        'providerMessageId',
        'sentAtUtc',
        'status',
        'templateId',
        'templateVersion',
        'toAddress',
        'triggeredBy',
      ])
      assert.deepEqual([items[0]?.status, items[0]?.lastError], ['parked', 'There is no account.'])
    })

    it('hide from a viewer the address that a key ends with', async () => {
      const tenant = await setup()
      await told(tenant, { to: { email: 'Ada@example.com' }, idempotencyKey: '42:x:email:t:ada@example.com' })
      await told(tenant, {
        to: { url: 'https://example.com/a?b=1' },
        idempotencyKey: '42:x:t:https%3A//example.com/a?b=1',
      })
      const keys = async (key: string) =>
        (await logs(key, '?bookingId=42')).json().items.map((log) => log.idempotencyKey)

      assert.deepEqual(await keys(tenant.keys.viewer), [
        '42:x:t:https://example.com/***',
        '42:x:email:t:A***@example.com',
      ])
      assert.equal((await keys(tenant.keys.operator))[1], '42:x:email:t:ada@example.com')
      const list = await f.call(tenant.keys.viewer, 'GET', '/api/notifications')
      const detail = await f.call(tenant.keys.viewer, 'GET', `/api/notifications/${list.json().items[1]?.id}`)
      for (const { body } of [list, detail]) assert.ok(!/ada@/i.test(body), body)
    })

    it('name a recipient list where one was addressed', async () => {
      const tenant = await setup()
      await told(tenant, { to: { list: 'ops-team' } })

      assert.equal((await logs(tenant.keys.viewer, '?bookingId=42')).json().items[0]?.toAddress, 'ops-team')
    })

    it('take every entity type of the catalogue, or any by type and id, page by page', async () => {
      const tenant = await setup()
      const ids = [await told(tenant), await told(tenant), await told(tenant)].reverse()
      await told(tenant, { entity: { type: 'trip', id: '7' } })
      await told(tenant, { entity: { type: 'other', id: '7' } })
      const count = async (query: string) => (await logs(tenant.keys.viewer, query)).json().items.length

      assert.equal(await count('?tripId=7'), 1)
      assert.equal(await count('?entityType=other&entityId=7'), 1)
      assert.equal(await count('?entityType=booking&entityId=42'), 3)
      const first = (await logs(tenant.keys.viewer, '?bookingId=42&limit=2')).json()
      const rest = (await logs(tenant.keys.viewer, `?bookingId=42&limit=2&cursor=${first.nextCursor}`)).json()
      assert.deepEqual(
        [...first.items, ...rest.items].map(({ id }) => id),
        ids,
      )
    })

    for (const [query, path] of [
      ['', 'entityId'],
      ['?entityType=booking', 'entityId'],
      ['?entityId=42', 'entityType'],
      ['?otherId=42', 'otherId'],
      ['?bookingId=1&tripId=2', 'tripId'],
      ['?bookingId=1&entityType=booking', 'bookingId'],
      ['?bookingId=', 'bookingId'],
      ['?bookingId=1&status=sent', 'status'],
    ] as const)
      it(`are refused with ${query || 'no entity'}`, async () => {
        const tenant = await setup()

        const answer = await logs(tenant.keys.viewer, query)

        assert.deepEqual([answer.statusCode, answer.json().code], [422, 'invalid_query'], answer.body)
        assert.equal(answer.json().errors[0]?.path, path)
      })

    it('show nothing of another tenant', async () => {
      const [mine, theirs] = [await setup(), await setup()]
      await told(theirs)

      assert.deepEqual((await logs(mine.keys.viewer, '?bookingId=42')).json().items, [])
      assert.equal((await logs(f.opsKey, `?bookingId=42&tenantId=${theirs.id}`)).json().items.length, 1)
    })
  })

  describe(`lists of notifications on ${engine}`, () => {
    before(async () => {
      f = await openFixture({ open })
    })
    after(() => f.app.close())

    it('are narrowed by event, contact and conversation', async () => {
      const tenant = await setup()
      const [contactId, conversationId] = [f.deps.ids(), f.deps.ids()]
      const event = await told(tenant, { eventId: 'event-1' })
      const person = await told(tenant, { contactId, conversationId })
      const found = async (query: string) =>
        (await f.call(tenant.keys.viewer, 'GET', `/api/notifications?${query}`)).json().items.map(({ id }) => id)

      assert.deepEqual(await found('eventId=event-1'), [event])
      assert.deepEqual(await found(`contactId=${contactId}`), [person])
      assert.deepEqual(await found(`conversationId=${conversationId}`), [person])
      assert.deepEqual(await found('bookingId=42'), [person, event])
      assert.deepEqual(await found('contactId=nobody'), [])
    })

    it('say who it was for, and that a content is sealed', async () => {
      const tenant = await setup()
      const [contactId, conversationId] = [f.deps.ids(), f.deps.ids()]
      const id = await told(tenant, { contactId, conversationId, content: { sealed: 'xyz' } })

      const listed = (await f.call(tenant.keys.viewer, 'GET', '/api/notifications')).json().items[0]
      const detail = (await f.call(tenant.keys.admin, 'GET', `/api/notifications/${id}`)).json()

      for (const view of [listed, detail])
        assert.deepEqual(
          [view?.contactId, view?.conversationId, view?.isSealed, view?.isScrubbed, view?.resolvedTargets],
          [contactId, conversationId, true, false, null],
        )
      assert.equal(detail.content, null)
    })
  })

  describe(`automation schedules on ${engine}`, () => {
    before(async () => {
      f = await openFixture({ open })
    })
    after(() => f.app.close())

    const call = (key: string, method: string, path: string, body?: unknown) =>
      f.call(key, method, `/api/automation-schedules${path}`, body)

    /** An event that was planned so, and its schedule's id. */
    async function scheduled(
      tenant: TestTenant,
      plan: Partial<{ dueInMs: number; needsApproval: boolean; entityId: string }> = {},
    ): Promise<string> {
      const { dueInMs = 3_600_000, needsApproval = false, entityId = '42' } = plan
      const [eventId, scheduleId] = [f.deps.ids(), f.deps.ids()]
      await f.store.events.insert([
        {
          id: eventId,
          tenantId: tenant.id,
          type: 'booking.confirmed',
          entity: { type: 'booking', id: entityId },
          payload: {},
          occurredAt: null,
          dueAt: null,
          correlationId: null,
          locale: null,
          recipients: null,
          channels: null,
          conversation: null,
          schemaVersion: 1,
          topic: null,
          publishedBy: null,
        },
      ])
      const dueAt = (await f.store.now()) + dueInMs
      const decision: EventPlan = { kind: 'schedule', scheduleId, dueAt, needsApproval, cancels: null }
      await planEvents(f.store, 100, ({ id }) => (id === eventId ? decision : { kind: 'later' }))
      return scheduleId
    }

    async function failed(tenant: TestTenant): Promise<string> {
      const id = await scheduled(tenant)
      await f.store.plan.deferSchedule({ tenantId: tenant.id, id }, 'broken', null)
      return id
    }

    it('are read with everything there is to know', async () => {
      const tenant = await setup()
      const id = await scheduled(tenant)

      const answer = await call(tenant.keys.viewer, 'GET', `/${id}`)

      assert.equal(answer.statusCode, 200, answer.body)
      const { eventId, dueAt, createdAt, ...rest } = answer.json()
      assert.deepEqual(rest, {
        id,
        tenantId: tenant.id,
        eventType: 'booking.confirmed',
        entity: { type: 'booking', id: '42' },
        status: 'pending',
        attemptCount: 0,
        lastError: null,
        completedAt: null,
        approvedBy: null,
        approvedAt: null,
        progress: null,
      })
      assert.match(String(eventId), /^[0-9a-f-]{36}$/)
      assert.ok(Date.parse(String(dueAt)) > Date.parse(createdAt))
    })

    it('are listed newest first, and by entity, status, event type and due time', async () => {
      const tenant = await setup()
      const later = await scheduled(tenant)
      const due = await scheduled(tenant, { dueInMs: -60_000, entityId: '43' })
      const waiting = await scheduled(tenant, { needsApproval: true, dueInMs: 7_200_000 })
      const found = async (query: string) =>
        (await call(tenant.keys.viewer, 'GET', `?${query}`)).json().items.map(({ id }) => id)
      const inMinutes = async (minutes: number) => new Date((await f.store.now()) + minutes * 60_000).toISOString()

      assert.deepEqual(await found(''), [waiting, due, later])
      assert.deepEqual(await found('bookingId=42'), [waiting, later])
      assert.deepEqual(await found('entityType=booking&entityId=43'), [due])
      assert.deepEqual(await found('status=pending'), [due, later])
      assert.deepEqual(await found('status=pending&status=awaiting_approval'), [waiting, due, later])
      assert.deepEqual(await found('eventType=booking.cancelled'), [])
      assert.deepEqual(await found('due=past'), [due])
      assert.deepEqual(await found('due=future'), [waiting, later])
      assert.deepEqual(await found(`dueFrom=${await inMinutes(30)}&dueTo=${await inMinutes(90)}`), [later])
      const first = (await call(tenant.keys.viewer, 'GET', '?limit=2')).json()
      const rest = (await call(tenant.keys.viewer, 'GET', `?limit=2&cursor=${first.nextCursor}`)).json()
      assert.deepEqual(
        [...first.items, ...rest.items].map(({ id }) => id),
        [waiting, due, later],
      )
    })

    for (const query of [
      '?otherId=1',
      '?status=done',
      '?due=now',
      '?due=past&dueTo=2026-01-01T00:00:00Z',
      '?dueFrom=x',
    ])
      it(`are refused with ${query}`, async () => {
        const tenant = await setup()

        const answer = await call(tenant.keys.viewer, 'GET', query)

        assert.deepEqual([answer.statusCode, answer.json().code], [422, 'invalid_query'], answer.body)
      })

    it('go ahead when an operator approves them, who and when', async () => {
      const tenant = await setup()
      const id = await scheduled(tenant, { needsApproval: true })
      f.nudges.length = 0

      const answer = await call(tenant.keys.operator, 'POST', `/${id}/approve`)

      assert.equal(answer.statusCode, 200, answer.body)
      const { status, approvedBy, approvedAt } = answer.json()
      assert.deepEqual([status, approvedBy], ['pending', 'key:operator'])
      assert.ok(Date.parse(String(approvedAt)) > 0)
      assert.deepEqual(f.nudges, ['events'])
      assert.deepEqual((await call(tenant.keys.viewer, 'GET', `/${id}`)).json(), answer.json())
    })

    it('are planned now when an operator cannot wait, but not before they are approved', async () => {
      const tenant = await setup()
      const [pending, waiting] = [await scheduled(tenant), await scheduled(tenant, { needsApproval: true })]
      f.nudges.length = 0

      const answer = await call(tenant.keys.operator, 'POST', `/${pending}/send-now`)

      assert.deepEqual([answer.statusCode, answer.json().status], [200, 'pending'], answer.body)
      assert.deepEqual(f.nudges, ['events'])
      const refused = await call(tenant.keys.operator, 'POST', `/${waiting}/send-now`)
      assert.deepEqual([refused.statusCode, refused.json().code], [409, 'not_waiting'])
      assert.equal(refused.json().detail, 'The schedule is awaiting_approval: approve it first.')
    })

    it('are rejected and cancelled, with a reason or without', async () => {
      const tenant = await setup()
      const [rejected, cancelled, waiting] = [
        await scheduled(tenant, { needsApproval: true }),
        await scheduled(tenant),
        await scheduled(tenant, { needsApproval: true }),
      ]

      for (const answer of [
        await call(tenant.keys.operator, 'POST', `/${rejected}/reject`, { reason: 'wrong price' }),
        await call(tenant.keys.operator, 'POST', `/${cancelled}/cancel`),
        await call(tenant.keys.operator, 'POST', `/${waiting}/cancel`, {}),
      ])
        assert.deepEqual([answer.statusCode, answer.json().status], [200, 'cancelled'], answer.body)
    })

    it('are planned again when they failed, with a fresh count', async () => {
      const tenant = await setup()
      const id = await failed(tenant)
      assert.deepEqual((await call(tenant.keys.viewer, 'GET', `/${id}`)).json().status, 'failed')
      f.nudges.length = 0

      const answer = await call(tenant.keys.operator, 'POST', `/${id}/replay`)

      assert.deepEqual([answer.json().status, answer.json().attemptCount], ['pending', 0], answer.body)
      assert.deepEqual(f.nudges, ['events'])
    })

    it('say where they stand when they cannot be moved so', async () => {
      const tenant = await setup()
      const pending = await scheduled(tenant)
      const over = await scheduled(tenant)
      await call(tenant.keys.operator, 'POST', `/${over}/cancel`)

      for (const [id, action, code, detail] of [
        [pending, 'approve', 'not_awaiting_approval', 'The schedule is pending.'],
        [pending, 'reject', 'not_awaiting_approval', 'The schedule is pending.'],
        [pending, 'replay', 'not_failed', 'The schedule is pending.'],
        [over, 'cancel', 'not_waiting', 'The schedule is cancelled.'],
        [over, 'approve', 'not_awaiting_approval', 'The schedule is cancelled.'],
      ] as const) {
        const answer = await call(tenant.keys.operator, 'POST', `/${id}/${action}`)
        assert.deepEqual(
          [answer.statusCode, answer.json().code, answer.json().detail],
          [409, code, detail],
          `${action}: ${answer.body}`,
        )
      }
    })

    it('take nothing but a reason', async () => {
      const tenant = await setup()
      const id = await scheduled(tenant)

      for (const body of [{ reason: '' }, { reason: 'x'.repeat(501) }, { reason: 'a', force: true }, []])
        assert.equal((await call(tenant.keys.operator, 'POST', `/${id}/cancel`, body)).json().code, 'invalid_body')
      assert.equal((await call(tenant.keys.viewer, 'GET', `/${id}`)).json().status, 'pending')
    })

    it('of another tenant are not there', async () => {
      const [mine, theirs] = [await setup(), await setup()]
      const id = await scheduled(theirs, { needsApproval: true })

      assert.equal((await call(mine.keys.admin, 'GET', `/${id}`)).statusCode, 404)
      assert.equal((await call(mine.keys.admin, 'POST', `/${id}/approve`)).statusCode, 404)
      assert.deepEqual((await call(mine.keys.admin, 'GET', '')).json().items, [])
      assert.equal((await call(f.opsKey, 'GET', `/${id}?tenantId=${theirs.id}`)).statusCode, 200)
      assert.equal((await call(f.opsKey, 'GET', `?tenantId=${theirs.id}`)).json().items.length, 1)
      assert.ok((await call(f.opsKey, 'GET', '?bookingId=42')).json().items.some((schedule) => schedule.id === id))
    })
  })

  describe(`resending on ${engine}`, () => {
    before(async () => {
      f = await openFixture({ open })
    })
    after(() => f.app.close())

    const post = (key: string, path: string, body: unknown = { channel: 'email' }) =>
      f.call(key, 'POST', `/api/${path}/resend-notification`, body)

    /** An entity that was told something, a while ago. */
    async function happened(tenant: TestTenant, entity: { type: string; id: string }): Promise<void> {
      const payload = { guestName: 'Ada', guestEmail: 'ada@example.com' }
      const event = { type: `${entity.type}.confirmed`, entity, payload }
      const published = await f.call(tenant.keys.publisher, 'POST', '/api/events', event)
      assert.equal(published.statusCode, 202, published.body)
      const { id } = published.json()
      await planEvents(f.store, 100, (row) =>
        row.id === id
          ? { kind: 'notifications', scheduleId: f.deps.ids(), notifications: [], cancels: null }
          : { kind: 'later' },
      )
    }

    it('tells an entity’s recipients again, as a notification of its own that the panel shows', async () => {
      const tenant = await setup()
      await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', {
        channel: 'email',
        provider: 'sandbox',
        name: 'mail',
      })
      await happened(tenant, { type: 'booking', id: '42' })
      await happened(tenant, { type: 'trip', id: 'A/7' })
      f.nudges.length = 0

      const first = await post(tenant.keys.operator, 'bookings/42')
      const again = await post(tenant.keys.operator, 'bookings/42')
      const other = await post(tenant.keys.operator, 'journeys/A%2F7')

      assert.deepEqual([first.statusCode, again.statusCode, other.statusCode], [202, 202, 202], first.body)
      assert.deepEqual(f.nudges, ['dispatch', 'dispatch', 'dispatch'])
      const { items } = (await f.call(tenant.keys.viewer, 'GET', '/api/communication-logs?bookingId=42')).json()
      assert.deepEqual(
        items.map(({ id }) => id),
        [again.json().notifications[0], first.json().notifications[0]],
      )
      assert.deepEqual([items[0]?.status, items[0]?.triggeredBy], ['queued', 'key:operator'])
      assert.equal(
        items[1]?.idempotencyKey,
        `manual:42:email:${String(items[1]?.templateId)}:${first.json().requestId}`,
      )
      const trip = (await f.call(tenant.keys.viewer, 'GET', '/api/communication-logs?tripId=A%2F7')).json()
      assert.deepEqual(
        trip.items.map(({ id }) => id),
        other.json().notifications,
      )
    })

    it('uses the template that is named', async () => {
      const tenant = await setup()
      await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', {
        channel: 'email',
        provider: 'sandbox',
        name: 'mail',
      })
      const { id: templateId } = (
        await f.call(tenant.keys.admin, 'POST', '/api/message-templates', {
          eventType: 'booking.confirmed',
          channel: 'email',
          locale: 'de',
          body: 'Moin {{guestName}}',
        })
      ).json()
      await happened(tenant, { type: 'booking', id: '42' })

      const answer = await post(tenant.keys.operator, 'bookings/42', { channel: 'email', templateId })

      assert.equal(answer.statusCode, 202, answer.body)
      const [id] = answer.json().notifications
      const { content } = (await f.call(tenant.keys.operator, 'GET', `/api/notifications/${id}`)).json()
      assert.equal((content as { body: string }).body, 'Moin Ada')
    })

    it('says why where nothing can be told, and finds nothing where nothing ever was', async () => {
      const tenant = await setup()
      await happened(tenant, { type: 'booking', id: '42' })

      const untold = await post(tenant.keys.operator, 'bookings/42')
      assert.deepEqual([untold.statusCode, untold.json().code], [409, 'not_plannable'])
      assert.match(untold.json().detail, /no_active_account/)
      assert.equal((await post(tenant.keys.operator, 'bookings/43')).statusCode, 404)
    })

    it('knows no plural but the tenant’s own, and nothing but channel and template', async () => {
      const tenant = await setup()
      const stranger = await f.tenant(`stranger-${counter}`)
      await happened(tenant, { type: 'booking', id: '42' })

      for (const plural of ['booking', 'trips', 'events', 'notifications', '__proto__'])
        assert.equal((await post(tenant.keys.admin, `${plural}/42`)).statusCode, 404, plural)
      assert.equal((await post(stranger.keys.admin, 'bookings/42')).statusCode, 404)
      assert.equal((await post(tenant.keys.admin, `bookings/${'4'.repeat(201)}`)).statusCode, 404)
      for (const [path, body] of [
        ['/channel', {}],
        ['/channel', { channel: 'pigeon' }],
        ['/to', { channel: 'email', to: 'x' }],
      ] as const) {
        const answer = await post(tenant.keys.admin, 'bookings/42', body)
        assert.deepEqual([answer.statusCode, answer.json().errors[0]?.path], [422, path])
      }
      assert.equal((await post(tenant.keys.viewer, 'bookings/42')).statusCode, 403)
    })
  })
}
