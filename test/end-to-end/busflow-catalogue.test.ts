import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { TestTenant } from '../support/tenant.ts'
import { until } from '../support/until.ts'
import { onEachStore, startWorld, type World } from '../support/world.ts'
import { SAMPLES, type Sample } from './busflow-messages.ts'
import { assertClean, wordsOf } from './message-words.ts'

const HAMBURG = { defaultLocale: 'de-DE', timeZone: 'Europe/Berlin', region: 'DE', currency: 'EUR' }
const DAY_MS = 86_400_000

function busflowTenant(world: World, channels = ['whatsapp', 'sms', 'email']): Promise<TestTenant> {
  return world.tenant({ catalogue: 'busflow', settings: HAMBURG, channels })
}

function sampleOf(type: string): Sample {
  return SAMPLES.find((sample) => sample.type === type) ?? assert.fail(type)
}

function eventOf({ type, entityType, payload }: Sample, id = `${type}-1`): Record<string, unknown> {
  return { type, entity: { type: entityType, id }, payload }
}

async function act(tenant: TestTenant, scheduleId: string | undefined, action: string): Promise<void> {
  const answer = await tenant.call('POST', `/api/automation-schedules/${scheduleId}/${action}`)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}

onEachStore('the busflow catalogue', startWorld, (world) => {
  /** Waits, for those types that do, until its notifications are there. */
  async function bringAbout(tenant: TestTenant, event: Record<string, unknown>): Promise<void> {
    const eventId = await tenant.publish(event)
    const schedule = (await tenant.schedules()).find((one) => one.eventId === eventId)
    if (schedule?.status === 'awaiting_approval') await act(tenant, schedule.id, 'approve')
    if (schedule?.status === 'pending') await world().timePasses(Date.parse(schedule.dueAt) - Date.now() + 1_000)
    await tenant.settle()
  }

  let shared: Promise<TestTenant> | null = null

  for (const sample of SAMPLES)
    it(`has the right words for ${sample.type}`, async () => {
      shared ??= busflowTenant(world())
      const tenant = await shared
      const { type, channels, email, whatsapp, sms } = sample

      await bringAbout(tenant, { ...eventOf(sample), ...(channels && { channels }) })

      const notifications = await tenant.notifications(`eventType=${type}`)
      const inbox = await tenant.inbox()
      const sent = (channel: string) => {
        const ids = notifications.filter((one) => one.channel === channel).map(({ id }) => id)
        const messages = inbox.filter(({ notificationId }) => ids.includes(notificationId))
        assert.equal(messages.length, 1, `${channel}: ${messages.length} messages`)
        return messages[0] ?? assert.fail()
      }
      const expected = [email && 'email', whatsapp && 'whatsapp', sms && 'sms'].filter((one) => one !== undefined)
      assert.deepEqual(notifications.map(({ channel }) => channel).toSorted(), expected.toSorted())
      if (email) {
        const message = sent('email')
        assert.equal(message.to.email, 'gast@example.com')
        assert.equal(message.subject, email.subject)
        assert.equal(wordsOf(message.body), email.words.join('\n'))
      }
      if (whatsapp) {
        const message = sent('whatsapp')
        assert.equal(message.to.phone, '+4915112345678')
        assert.equal(message.body, whatsapp.lines.join('\n'))
        assert.deepEqual(message.providerTemplate, {
          name: whatsapp.template,
          language: 'de',
          components: [{ type: 'body', parameters: whatsapp.parameters.map((text) => ({ type: 'text', text })) }],
        })
      }
      if (sms !== undefined) {
        assert.equal(sent('sms').to.phone, '+4915112345678')
        assert.equal(sent('sms').body, sms)
      }
      assertClean(notifications)
    })

  it('finds good words where what may be left out is left out', async () => {
    const tenant = await busflowTenant(world())

    for (const sample of SAMPLES) {
      const listed = await tenant.call('GET', `/api/event-types/${sample.type}`)
      const { required } = listed.body['payload'] as { required: string[] }
      const kept = [
        ...required,
        'passengers',
        'passenger_phone',
        'passenger_email',
        'crew_member_email',
        'fleet_manager_email',
      ]
      const payload = Object.fromEntries(Object.entries(sample.payload).filter(([key]) => kept.includes(key)))
      await bringAbout(tenant, eventOf({ ...sample, payload }))
    }

    const notifications = await tenant.notifications()
    assertClean(notifications)
    assert.deepEqual(
      [...new Set(notifications.map(({ eventType }) => eventType))].toSorted(),
      SAMPLES.map(({ type }) => type).toSorted(),
    )
    // A label with nothing behind it, a cell or a paragraph with nothing in it.
    const gap = /^[^\n.]{1,30}: *$|<td[^>]*>(?:<strong>)?(?:<\/strong>)?<\/td>|<p>\s*<\/p>|„“|\(\)/m
    for (const { body } of await tenant.inbox()) assert.doesNotMatch(body, gap)
  })

  it('reaches those whom the event itself names', async () => {
    const tenant = await busflowTenant(world())
    const { passenger_phone: _, passenger_email: __, ...payload } = sampleOf('BOOKING_CONFIRMED').payload

    await tenant.publish({
      ...eventOf({ ...sampleOf('BOOKING_CONFIRMED'), payload }),
      recipients: [{ profileId: 'p2', name: 'Gast Zwei', phone: '0151 2345 6789', email: 'Zwei@Example.com' }],
    })

    const inbox = await tenant.inbox()
    const reached = inbox.map(({ channel, to }) => `${channel} ${channel === 'email' ? to.email : to.phone}`)
    assert.deepEqual(reached.toSorted(), ['email Zwei@example.com', 'whatsapp +4915123456789'])
  })

  it('nudges those who did not finish booking a day later, by WhatsApp', async () => {
    const tenant = await busflowTenant(world())

    await tenant.publish({ ...eventOf(sampleOf('CHECKOUT_ABANDONED_WHATSAPP')), occurredAt: '2040-01-01T09:00:00Z' })

    const [schedule] = await tenant.schedules()
    assert.deepEqual([schedule?.status, schedule?.dueAt], ['pending', '2040-01-02T09:00:00.000Z'])
    assert.deepEqual(await tenant.notifications(), [])
  })

  it('does not nudge those who have booked meanwhile', async () => {
    const tenant = await busflowTenant(world())
    await tenant.publish(eventOf(sampleOf('CHECKOUT_ABANDONED_WHATSAPP'), 'booking-7'))
    await tenant.settle()

    await tenant.publish(eventOf(sampleOf('BOOKING_CONFIRMED'), 'booking-7'))
    await tenant.settle()
    await world().timePasses(DAY_MS)

    const types = (await tenant.notifications()).map(({ eventType }) => eventType)
    assert.deepEqual(types, ['BOOKING_CONFIRMED', 'BOOKING_CONFIRMED'])
    const [nudge] = await tenant.schedules('eventType=CHECKOUT_ABANDONED_WHATSAPP')
    assert.equal(nudge?.status, 'cancelled')
  })

  it('reminds a day before departure', async () => {
    const tenant = await busflowTenant(world())

    await tenant.publish(eventOf(sampleOf('PRE_TRIP_REMINDER')))

    const [schedule] = await tenant.schedules()
    assert.deepEqual([schedule?.status, schedule?.dueAt], ['pending', '2040-06-13T04:30:00.000Z'])
    assert.deepEqual(await tenant.notifications(), [])
  })

  it('reminds of the new departure alone when it was moved', async () => {
    const tenant = await busflowTenant(world())
    const reminder = sampleOf('PRE_TRIP_REMINDER')
    await tenant.publish(eventOf(reminder, 'booking-8'))
    await tenant.settle()

    const moved = { ...reminder.payload, departure_date: '2040-06-15T07:00:00+02:00', boarding_time: '06:45' }
    await tenant.publish(eventOf({ ...reminder, payload: moved }, 'booking-8'))
    const [first, second] = await tenant.schedules('bookingId=booking-8')
    await world().timePasses(Date.parse(second?.dueAt ?? '') - Date.now() + 1_000)

    assert.deepEqual([first?.status, second?.status], ['cancelled', 'pending'])
    const inbox = await tenant.inbox()
    assert.deepEqual(inbox.map(({ channel }) => channel).toSorted(), ['email', 'whatsapp'])
    assert.ok(inbox.every(({ body }) => body.includes('06:45')))
  })

  it('reminds every passenger of a booking by their own name, each once', async () => {
    const tenant = await busflowTenant(world(), ['whatsapp'])
    const reminder = sampleOf('PRE_TRIP_REMINDER')
    const passengers = [
      { profile_id: 'profile-1', name: 'Gast Beispiel', phone: '+4915112345678' },
      { profile_id: 'profile-2', name: 'Gast Zwei', phone: '+4915112345679' },
    ]

    await bringAbout(tenant, eventOf({ ...reminder, payload: { ...reminder.payload, passengers } }))

    const greeted = (await tenant.inbox()).map(({ to, body }) => `${to.phone} ${body.split(',')[0]}`)
    assert.deepEqual(greeted.toSorted(), [
      '+4915112345678 Guten Tag Gast Beispiel',
      '+4915112345679 Guten Tag Gast Zwei',
    ])
  })

  it('does not remind of a journey that was cancelled', async () => {
    const tenant = await busflowTenant(world())
    await tenant.publish(eventOf(sampleOf('PRE_TRIP_REMINDER'), 'booking-9'))
    await tenant.settle()

    await tenant.publish(eventOf(sampleOf('BOOKING_CANCELLED'), 'booking-9'))
    await tenant.settle()
    const schedules = await tenant.schedules('bookingId=booking-9')
    await world().timePasses(Date.parse(schedules[0]?.dueAt ?? '') - Date.now() + 1_000)

    assert.deepEqual(
      schedules.map(({ eventType, status }) => [eventType, status]),
      [
        ['PRE_TRIP_REMINDER', 'cancelled'],
        ['BOOKING_CANCELLED', 'completed'],
      ],
    )
    const types = (await tenant.notifications()).map(({ eventType }) => eventType)
    assert.deepEqual(types, ['BOOKING_CANCELLED', 'BOOKING_CANCELLED'])
  })

  it('broadcasts an incident only after somebody approved it, and says who', async () => {
    const tenant = await busflowTenant(world())
    await tenant.publish(eventOf(sampleOf('INCIDENT_BROADCAST'), 'incident-1'))
    const [waiting] = await tenant.schedules()
    const before = await tenant.inbox()

    await act(tenant, waiting?.id, 'approve')

    assert.equal(waiting?.status, 'awaiting_approval')
    assert.deepEqual(before, [])
    assert.deepEqual(
      (await tenant.inbox()).map(({ channel }) => channel),
      ['whatsapp'],
    )
    const [approved] = await tenant.schedules()
    assert.deepEqual([approved?.status, approved?.approvedBy], ['completed', 'key:admin'])
  })

  it('says nothing of an incident that was rejected, or was over before anybody looked', async () => {
    const tenant = await busflowTenant(world())
    await tenant.publish(eventOf(sampleOf('INCIDENT_BROADCAST'), 'incident-2'))
    await tenant.publish(eventOf(sampleOf('INCIDENT_BROADCAST'), 'incident-3'))
    const waiting = await tenant.schedules()
    const rejected = waiting.find(({ status }) => status === 'awaiting_approval')

    await act(tenant, rejected?.id, 'reject')
    for (const id of ['incident-2', 'incident-3']) await tenant.publish(eventOf(sampleOf('INCIDENT_ALLCLEAR'), id))

    const types = (await tenant.notifications()).map(({ eventType }) => eventType)
    assert.deepEqual(types, ['INCIDENT_ALLCLEAR', 'INCIDENT_ALLCLEAR'])
    const broadcasts = await tenant.schedules('eventType=INCIDENT_BROADCAST')
    assert.deepEqual(
      broadcasts.map(({ status }) => status),
      ['cancelled', 'cancelled'],
    )
  })

  it('makes of an abandoned checkout the mail now and the WhatsApp message a day later, and of a closed ledger nothing', async () => {
    const tenant = await busflowTenant(world())
    const { payload, entityType } = sampleOf('CHECKOUT_ABANDONED')
    const entity = { type: entityType, id: 'booking-77' }

    await tenant.publish({ type: 'FinancialLedgerClosed', entity: { type: 'ledger', id: '2026-03' }, payload: {} })
    const id = await tenant.publish({ type: 'CheckoutAbandoned', entity, payload })
    const now = (await tenant.inbox()).map(({ channel }) => channel)
    const [waiting] = await tenant.schedules('status=pending')
    await world().timePasses(Date.parse(waiting?.dueAt ?? '') - Date.now() + 1_000)
    await tenant.settle()

    assert.deepEqual(now, ['email'])
    assert.equal(waiting?.eventType, 'CHECKOUT_ABANDONED_WHATSAPP')
    assert.deepEqual(
      (await tenant.notifications()).map(({ channel, status, correlationId }) => [channel, status, correlationId]),
      [
        ['email', 'sent', id],
        ['whatsapp', 'sent', id],
      ],
    )
  })

  it('tells every passenger of an incident once, on the first channel that reaches them', async () => {
    const tenant = await world().tenant({ catalogue: 'busflow', settings: HAMBURG, channels: ['sms', 'email'] })
    const faults = [{ kind: 'permanent', reason: 'invalid_recipient', to: '+4915100000002' }]
    const account = { channel: 'whatsapp', provider: 'sandbox', name: 'whatsapp', settings: { faults } }
    assert.equal((await tenant.call('POST', '/api/channel-accounts', account)).status, 201)
    const passengers = [
      { name: 'A', phone: '+4915100000001', email: 'a@example.com' },
      { name: 'B', phone: '+4915100000002', email: 'b@example.com' },
      { name: 'C', email: 'c@example.com' },
    ]
    const sample = sampleOf('INCIDENT_BROADCAST')

    await bringAbout(tenant, eventOf({ ...sample, payload: { ...sample.payload, passengers } }))

    const reached = (await tenant.inbox()).map(({ channel, to }) => `${to.name} ${channel}`)
    assert.deepEqual(reached.toSorted(), ['A whatsapp', 'B sms', 'C email'])
    const refused = (await tenant.notifications('channel=whatsapp')).find(({ to }) => to.name === 'B')
    assert.deepEqual([refused?.status, refused?.reason], ['failed', 'fallback_triggered:sms'])
  })

  it('keeps what is said about one booking together, and about one trip', async () => {
    const tenant = await busflowTenant(world())
    for (const type of ['BOOKING_CONFIRMED', 'BOOKING_FULLY_PAID'])
      await tenant.publish(eventOf(sampleOf(type), 'booking-10'))
    await tenant.publish(eventOf(sampleOf('SERVICE_LEG_STARTED'), 'leg-1'))

    const notifications = await tenant.notifications()
    const conversations = new Map<string, Set<string | null>>()
    for (const { eventType, conversationId } of notifications)
      conversations.set(eventType, (conversations.get(eventType) ?? new Set()).add(conversationId))
    const [booking] = conversations.get('BOOKING_CONFIRMED') ?? []
    const [trip] = conversations.get('SERVICE_LEG_STARTED') ?? []
    assert.ok(booking && trip && booking !== trip)
    assert.deepEqual(conversations.get('BOOKING_FULLY_PAID'), new Set([booking]))
    assert.equal(new Set(notifications.map(({ contactId }) => contactId)).size, 1)
    const listed = await tenant.call('GET', '/api/conversations')
    const contexts = (listed.body['items'] as { context: { type: string; id: string } }[]).map(({ context }) => context)
    assert.deepEqual(
      contexts.toSorted((a, b) => a.type.localeCompare(b.type)),
      [
        { type: 'booking', id: 'booking-10' },
        { type: 'trip', id: 'trip-1' },
      ],
    )
  })

  it('asks nobody for money who has paid', async () => {
    const tenant = await busflowTenant(world(), [])
    const slow = { provider: 'sandbox', pace: { perSecond: 0.001, burst: 1 } }
    for (const channel of ['whatsapp', 'email'])
      await tenant.call('POST', '/api/channel-accounts', { ...slow, channel, name: channel })
    // The first message of each account takes its only token: what follows waits.
    await tenant.publish(eventOf(sampleOf('FINAL_PAYMENT_DUE'), 'booking-11'))
    await until('the first is sent', async () => (await countOf(tenant, 'sent')) === 2)

    await tenant.publish(eventOf(sampleOf('FINAL_PAYMENT_OVERDUE'), 'booking-12'))
    await until('the second waits', async () => (await countOf(tenant, 'queued')) === 2)
    await tenant.publish({ ...eventOf(sampleOf('BOOKING_FULLY_PAID'), 'booking-12') })
    await until('it is cancelled', async () => (await countOf(tenant, 'cancelled')) === 2)

    const cancelled = await tenant.call('GET', '/api/notifications?status=cancelled')
    const items = cancelled.body['items'] as { eventType: string; reason: string }[]
    assert.deepEqual(
      items.map(({ eventType, reason }) => [eventType, reason]),
      [
        ['FINAL_PAYMENT_OVERDUE', 'cancelled_by_event'],
        ['FINAL_PAYMENT_OVERDUE', 'cancelled_by_event'],
      ],
    )
  })
})

async function countOf(tenant: TestTenant, status: string): Promise<number> {
  const answer = await tenant.call('GET', `/api/notifications?limit=200&status=${status}`)
  return (answer.body['items'] as unknown[]).length
}
