import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ENGINE_NAMES } from '../../../../test/support/engines.ts'
import { derivedId } from '../model/event.ts'
import { type Bench, bodyOf, openPlanning } from './fixture.ts'

const HOUR_MS = 3_600_000
const recipients = [{ phone: 'phone', email: 'email', name: 'name' }]
const type = (channel: string, fields: Record<string, unknown> = {}) => ({
  entity: 'booking',
  recipients,
  templates: [{ channel, ...(channel === 'email' && { subject: 'S' }), body: 'Hello {{name}}' }],
  ...fields,
})
const CATALOGUE = {
  entities: { booking: 'bookings' },
  eventTypes: {
    'checkout.mail': type('email', { cancelledBy: ['booking.made'] }),
    'checkout.later': type('sms', { timing: { after: 'PT24H' }, cancelledBy: ['booking.made'] }),
    'booking.made': { entity: 'booking', recipients: [], delivery: { none: true } },
    'booking.code': type('sms', {
      secrets: ['code'],
      templates: [{ channel: 'sms', body: 'Your code is {{code}}' }],
    }),
  },
  domainEvents: {
    CheckoutAbandoned: ['checkout.mail', 'checkout.later'],
    BookingMade: ['booking.made'],
    CodeAsked: ['booking.code', 'checkout.mail'],
    LedgerClosed: [],
  },
}
const payload = { phone: '+15550100', email: 'ada@example.test', name: 'Ada' }
const about = { entity: { type: 'booking', id: '42' }, payload }

for (const engine of ENGINE_NAMES)
  describe(`a domain event on ${engine}`, () => {
    const setup = (t: TestContext): Promise<Bench> => openPlanning(t, { catalogue: CATALOGUE, engine })

    it('becomes an event of each of its types, which go their ordinary way and lead back to it', async (t) => {
      const { publish, plan, event, schedules, notifications } = await setup(t)
      const id = await publish({ type: 'CheckoutAbandoned', ...about })

      await plan()

      const stored = await event(id)
      assert.deepEqual([stored.status, stored.lastError], ['published', null])
      const derived = [derivedId(id, 'checkout.mail'), derivedId(id, 'checkout.later')]
      for (const one of derived) {
        const { derivedFrom, correlationId, status, createdAt, occurredAt } = await event(one)
        assert.deepEqual([derivedFrom, correlationId, status], [id, id, 'published'])
        assert.deepEqual([createdAt, occurredAt], [stored.createdAt, stored.createdAt])
      }
      const all = await schedules()
      const byType = Object.fromEntries(all.map((schedule) => [schedule.eventType, schedule]))
      assert.deepEqual(all.map(({ eventId }) => eventId).toSorted(), derived.toSorted())
      assert.deepEqual([byType['checkout.mail']?.status, byType['checkout.later']?.status], ['completed', 'pending'])
      assert.equal(byType['checkout.later']?.dueAt, stored.createdAt + 24 * HOUR_MS)
      const [mail, ...others] = await notifications()
      assert.deepEqual(others, [])
      assert.deepEqual(
        [mail?.eventType, mail?.eventId, mail?.correlationId, bodyOf(mail)],
        ['checkout.mail', derived[0], id, 'Hello Ada'],
      )
    })

    it('keeps the correlation id and the trace that it came with', async (t) => {
      const { publish, plan, event } = await setup(t)
      const came = { correlationId: 'order-7', traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }
      const id = await publish({ type: 'CheckoutAbandoned', ...came, ...about })

      await plan()

      const { correlationId, traceparent } = await event(derivedId(id, 'checkout.mail'))
      assert.deepEqual({ correlationId, traceparent }, came)
    })

    it('that becomes nothing is taken quietly', async (t) => {
      const { publish, plan, event, schedules, notifications, logger } = await setup(t)
      const id = await publish({ type: 'LedgerClosed', ...about })

      await plan()

      assert.equal((await event(id)).status, 'published')
      assert.deepEqual([await schedules(), await notifications(), logger.lines], [[], [], []])
    })

    it('is cancelled by what happened after it, however they are planned', async (t) => {
      const { publish, plan, schedules, notifications, clock } = await setup(t)
      await publish({ type: 'CheckoutAbandoned', ...about })
      await clock.advance(5)
      await publish({ type: 'BookingMade', ...about })

      await plan()

      const live = (await schedules()).filter(
        ({ eventType, status }) => eventType !== 'booking.made' && status === 'pending',
      )
      assert.deepEqual(live, [])
      assert.deepEqual(
        (await notifications()).filter(({ status }) => status !== 'cancelled'),
        [],
      )
    })

    it('does not cancel what happened after it', async (t) => {
      const { publish, plan, schedules, clock } = await setup(t)
      await publish({ type: 'BookingMade', ...about })
      await clock.advance(5)
      await publish({ type: 'CheckoutAbandoned', ...about })

      await plan()

      const later = (await schedules()).find(({ eventType }) => eventType === 'checkout.later')
      assert.equal(later?.status, 'pending')
    })

    it('keeps its secrets sealed in each event that it becomes, and they open there', async (t) => {
      const { publish, plan, event, seal, notifications, store } = await setup(t)
      const id = 'sealed-1'
      const secret = { ...payload, code: 'canary-4711' }
      const sealed = seal.sealFields({ tenantId: 'acme', id, payload: secret }, ['code'])

      await publish({ id, type: 'CodeAsked', ...about, payload: sealed })
      await plan()

      const rows = await Promise.all(['booking.code', 'checkout.mail'].map((name) => event(derivedId(id, name))))
      for (const row of [...rows, await event(id)]) {
        assert.doesNotMatch(JSON.stringify(row.payload), /canary/)
        const opened = seal.openPayload(row, [])
        assert.deepEqual('payload' in opened && opened.payload, secret)
      }
      const made = await notifications()
      assert.doesNotMatch(JSON.stringify(made), /canary/)
      const code = made.find(({ eventType }) => eventType === 'booking.code') ?? assert.fail()
      const stored = await store.notifications.find('acme', code.id)
      const content = stored?.content
      assert.ok(content && 'sealed' in content)
      const words = seal.openContent(content, { tenantId: 'acme', notificationId: code.id })
      assert.equal('content' in words && words.content.body, 'Your code is canary-4711')
    })
  })

it('a domain event of a name that the catalogue does not have fails like any unknown type, and can be replayed', async (t) => {
  const { publish, plan, event, store, import: bring, clock } = await openPlanning(t, { catalogue: CATALOGUE })
  const id = await publish({ type: 'LedgerOpened', ...about })
  await plan()
  assert.match((await event(id)).lastError ?? '', /no event type "LedgerOpened"/)
  await bring({ ...CATALOGUE, domainEvents: { LedgerOpened: ['checkout.mail'] } })
  await clock.advance(2_000)

  await store.events.replay('acme', id, 'key:ops')
  await plan()

  assert.equal((await event(id)).status, 'published')
  assert.equal((await event(derivedId(id, 'checkout.mail'))).status, 'published')
})
