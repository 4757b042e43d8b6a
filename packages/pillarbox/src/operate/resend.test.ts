import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { isPillarboxError } from '../model/errors.ts'
import type { NotificationView } from '../model/notification.ts'
import { type Bench, bodyOf, type Options, openPlanning } from '../plan/fixture.ts'
import { createResend, type ResendRequest } from './resend.ts'

const sms = { channel: 'sms', locale: 'en', body: 'text {{name}}' }
const email = { channel: 'email', locale: 'en', subject: 'S {{name}}', body: 'mail {{name}}' }
const type = (fields: Record<string, unknown> = {}) => ({
  entity: 'booking',
  recipients: [{ phone: 'phone', email: 'email', name: 'name' }],
  templates: [sms, email],
  ...fields,
})
const catalogueOf = (fields: Record<string, unknown> = {}) => ({
  entities: { booking: 'bookings' },
  eventTypes: {
    'booking.confirmed': type(fields),
    'booking.changed': type({ once: 'per-event', templates: [{ ...sms, body: 'changed {{name}}' }] }),
    'booking.reminder': type({ timing: { after: 'PT24H' } }),
    'booking.cancelled': { entity: 'booking', delivery: { none: true } },
  },
})
const entity = { type: 'booking', id: 'B-1' }

async function setup(t: TestContext, options: Partial<Options> = {}) {
  const bench = await openPlanning(t, { catalogue: catalogueOf(), ...options })
  const nudged: string[] = []
  const resend = createResend({
    ...bench.chain,
    store: bench.store,
    logger: bench.logger,
    nudge: (topic) => void nudged.push(topic),
  })
  return {
    ...bench,
    nudged,
    resend: (changes: Partial<ResendRequest> = {}) =>
      resend({ tenantId: 'acme', entity, channel: 'sms', templateId: null, actor: 'key:desk', ...changes }),
    async told(changes: Parameters<Bench['publish']>[0] = {}) {
      await bench.publish({ entity, ...changes })
      await bench.plan()
      await bench.clock.advance(1_000)
    },
  }
}

async function refusalOf(sending: Promise<unknown>): Promise<string> {
  try {
    await sending
    return 'sent'
  } catch (error) {
    assert.ok(isPillarboxError(error))
    return `${error.code}: ${error.message}`
  }
}

describe('a resend by hand', () => {
  it('makes a new notification under a key of its own, and leaves the first alone', async (t) => {
    const { told, resend, notifications, nudged } = await setup(t)
    await told()
    const before = await notifications()

    const { requestId, notifications: made } = await resend()

    const after = await notifications()
    assert.equal(after.length, 3)
    const again = after.find(({ id }) => id === made[0])
    assert.equal(bodyOf(again), 'text Ada')
    assert.equal(again?.idempotencyKey, `manual:B-1:sms:${again?.templateId}:${requestId}`)
    assert.deepEqual([again?.triggeredBy, again?.status, again?.eventId], ['key:desk', 'queued', 'event-1'])
    const untouched = (rows: NotificationView[]) => rows.filter(({ id }) => !made.includes(id))
    assert.deepEqual(untouched(after), before)
    assert.deepEqual(nudged, ['dispatch'])
  })

  it('speaks the event’s language, whatever the recipient prefers', async (t) => {
    const german = { ...sms, locale: 'de', body: 'SMS {{name}}' }
    const recipients = [{ phone: 'phone', name: 'name', locale: 'locale' }]
    const { told, resend, notifications } = await setup(t, {
      catalogue: catalogueOf({ recipients, templates: [sms, german] }),
    })
    await told({ locale: 'de', payload: { phone: '+15550100', name: 'Ada', locale: 'en' } })

    const { notifications: made } = await resend()

    const again = (await notifications()).find(({ id }) => id === made[0])
    assert.deepEqual([again?.locale, bodyOf(again)], ['de', 'SMS Ada'])
  })

  it('keeps who asked for it, and why, in the audit of each', async (t) => {
    const { told, resend, store } = await setup(t)
    await told()

    const { notifications } = await resend({ note: 'the guest lost it' })

    for (const id of notifications)
      assert.deepEqual(
        (await store.notifications.audit(id)).map(({ actor, action, to, note }) => [actor, action, to, note]),
        [['key:desk', 'resend', 'queued', 'the guest lost it']],
      )
  })

  it('goes to a corrected address where one is given, and the event’s other fields stay', async (t) => {
    const { told, resend, notifications } = await setup(t, { tenant: { settings: { region: 'IN' } } })
    await told()

    const { notifications: made } = await resend({ to: { phone: '98765 43210' } })

    const again = (await notifications()).find(({ id }) => id === made[0])
    assert.deepEqual(again?.to, { phone: '+919876543210', email: 'ada@example.test', name: 'Ada' })
    assert.equal(bodyOf(again), 'text Ada')
  })

  it('is a new one for every request', async (t) => {
    const { told, resend, notifications } = await setup(t)
    await told()

    const [first, second] = [await resend(), await resend()]

    assert.notEqual(first.requestId, second.requestId)
    assert.equal((await notifications()).length, 4)
  })

  it('tells what the entity’s most recent event on that channel told', async (t) => {
    const { told, resend, store } = await setup(t)
    await told()
    await told({ type: 'booking.changed' })
    await told({ type: 'booking.reminder' })
    await told({ type: 'booking.cancelled', payload: {} })
    const wordsOf = async (channel: 'sms' | 'email'): Promise<string> => {
      const [id = ''] = (await resend({ channel })).notifications
      return bodyOf((await store.notifications.find('acme', id)) ?? undefined)
    }

    assert.equal(await wordsOf('sms'), 'changed Ada')
    assert.equal(await wordsOf('email'), 'mail Ada')
  })

  it('may name the template, of whichever event it is', async (t) => {
    const { told, resend, store } = await setup(t)
    await told()
    await told({ type: 'booking.changed' })
    const [template] = (await store.templates.ofEventType('acme', 'booking.confirmed')).filter(
      ({ channel }) => channel === 'sms',
    )

    const { notifications: made } = await resend({ templateId: template?.id ?? '' })

    const again = await store.notifications.find('acme', made[0] ?? '')
    assert.deepEqual([again?.templateId, again?.eventType], [template?.id, 'booking.confirmed'])
  })

  it('tells every recipient', async (t) => {
    const payload = { seats: [{ phone: '+15550101' }, { phone: '+15550102' }, { phone: 'none' }], name: 'Ada' }
    const { told, resend, store } = await setup(t, {
      catalogue: catalogueOf({ recipients: [{ phone: 'seats[].phone' }] }),
    })
    await told({ payload })

    const { notifications: made, requestId } = await resend()

    const rows = await Promise.all(made.map((id) => store.notifications.find('acme', id)))
    assert.deepEqual(rows.map((row) => row?.to.phone ?? '').toSorted(), ['+15550101', '+15550102'])
    assert.ok(
      rows.every((row) => row?.idempotencyKey === `manual:B-1:sms:${row?.templateId}:${requestId}:${row?.to.phone}`),
    )
  })

  it('falls back to no other channel: it was this one that was asked for', async (t) => {
    const { told, resend, store } = await setup(t, {
      catalogue: catalogueOf({ delivery: { fallback: ['sms', 'email'] } }),
    })
    await told()

    const [id = ''] = (await resend({ channel: 'email' })).notifications

    assert.deepEqual((await store.notifications.find('acme', id))?.fallback, [])
  })

  it('does not expire for being old', async (t) => {
    const { told, resend, store, clock } = await setup(t, { catalogue: catalogueOf({ expiresAfter: 'PT1H' }) })
    await told()
    await clock.advance(86_400_000)

    const [id = ''] = (await resend()).notifications

    assert.equal((await store.notifications.find('acme', id))?.expiresAt, null)
  })
})

describe('a resend that cannot be', () => {
  it('of an entity that nothing is known of', async (t) => {
    const { resend } = await setup(t)

    assert.equal(await refusalOf(resend()), 'not_found: Nothing was ever published about booking B-1.')
  })

  it('of another tenant’s entity', async (t) => {
    const { told, resend } = await setup(t)
    await told()

    assert.match(await refusalOf(resend({ tenantId: 'other' })), /^not_found/)
  })

  it('of what has not been told yet', async (t) => {
    const { told, resend } = await setup(t)
    await told({ type: 'booking.reminder' })

    assert.match(
      await refusalOf(resend()),
      /^not_plannable: Nothing about booking B-1 has been told yet: booking.reminder is pending/,
    )
  })

  it('on a channel that nothing is told on', async (t) => {
    const { told, resend } = await setup(t)
    await told()

    assert.match(
      await refusalOf(resend({ channel: 'push' })),
      /^not_plannable: no_templates_found: .*B-1 is told on push/,
    )
  })

  it('without an account', async (t) => {
    const { told, resend, store, accountId, clock } = await setup(t)
    await told()
    await store.accounts.setStatus(accountId('sms'), 'suspended', null, 'test')
    await clock.advance(1_000)

    assert.match(await refusalOf(resend()), /^not_plannable: no_active_account: no active account for sms/)
  })

  it('without a recipient', async (t) => {
    const { told, resend } = await setup(t)
    await told({ payload: { name: 'Ada' } })

    assert.match(
      await refusalOf(resend()),
      /^not_plannable: Nothing about booking B-1 has been told yet: booking.confirmed is failed/,
    )
  })

  it('with a template that is not there, of another channel, of another event type or not active', async (t) => {
    const { told, resend, store, ids } = await setup(t)
    await told()
    const all = await store.templates.ofEventType('acme', 'booking.confirmed')
    const idOf = (channel: string): string => all.find((template) => template.channel === channel)?.id ?? ''
    const [changed] = await store.templates.ofEventType('acme', 'booking.changed')

    assert.match(await refusalOf(resend({ templateId: ids() })), /^not_found: There is no template/)
    assert.match(await refusalOf(resend({ templateId: idOf('email') })), /^not_plannable: The template is for email/)
    assert.match(await refusalOf(resend({ templateId: changed?.id ?? '' })), /event type, booking.changed/)
    await store.templates.update('acme', idOf('sms'), { isActive: false }, 'test')
    assert.match(await refusalOf(resend({ templateId: idOf('sms') })), /not active/)
  })

  it('to an address that the channel cannot use, or that could be that of several', async (t) => {
    const { told, resend } = await setup(t)
    await told()

    assert.match(await refusalOf(resend({ to: { phone: '12' } })), /^invalid_body: \/to\/phone must be/)
    await told({ type: 'booking.changed', recipients: [{ phone: '+15550101' }, { phone: '+15550102' }] })
    assert.match(await refusalOf(resend({ to: { phone: '+15550109' } })), /^not_plannable: The event has several/)
  })

  it('to more people than an operator would want', async (t) => {
    const payload = { seats: Array.from({ length: 1_001 }, (_, i) => ({ phone: `+1555${1_000_000 + i}` })) }
    const { told, resend } = await setup(t, { catalogue: catalogueOf({ recipients: [{ phone: 'seats[].phone' }] }) })
    await told({ payload })

    assert.match(await refusalOf(resend()), /^not_plannable: It has 1001 recipients/)
  })

  it('writes nothing', async (t) => {
    const { told, resend, notifications } = await setup(t)
    await told()
    const before = await notifications()

    await refusalOf(resend({ channel: 'push' }))

    assert.deepEqual(await notifications(), before)
  })
})
