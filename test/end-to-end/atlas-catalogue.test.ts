import assert from 'node:assert/strict'
import { it } from 'node:test'
import { onEachStore, startWorld } from '../support/world.ts'
import { atlasTenant, BOOKING, NAMES } from './atlas-bookings.ts'
import { assertClean, wordsOf } from './message-words.ts'

onEachStore('the atlas catalogue', startWorld, (world) => {
  it('confirms a booking by WhatsApp, SMS and e-mail', async () => {
    const tenant = await atlasTenant(world())

    await tenant.publish({
      type: 'booking.confirmed',
      entity: { type: 'booking', id: '12345' },
      payload: { ...BOOKING, ...NAMES },
    })

    const inbox = await tenant.inbox()
    assert.deepEqual(inbox.map(({ channel }) => channel).toSorted(), ['email', 'sms', 'whatsapp'])
    const by = (channel: string) => inbox.find((message) => message.channel === channel) ?? assert.fail(channel)
    assert.equal(by('whatsapp').to.phone, '+919876543210')
    assert.equal(
      by('whatsapp').body,
      [
        'Hello Guest Example, your stay at Cozy Studio is confirmed.',
        '',
        'Booking: 12345',
        'Check-in: 15-Mar-2026',
        'Check-out: 17-Mar-2026',
        '',
        'Just reply here if you need anything. We look forward to welcoming you!',
      ].join('\n'),
    )
    assert.equal(by('sms').to.phone, '+919876543210')
    assert.equal(
      by('sms').body,
      'Booking 12345 at Cozy Studio is confirmed. Check-in 15-Mar-2026, check-out 17-Mar-2026. We look forward to your stay.',
    )
    assert.equal(by('email').to.email, 'guest@example.com')
    assert.equal(by('email').subject, 'Your booking 12345 is confirmed')
    assert.equal(
      wordsOf(by('email').body),
      [
        'Dear Guest Example,',
        'thank you for booking with us. Your stay at Cozy Studio is confirmed, and we look forward to welcoming you.',
        'Booking 12345 (Confirmed)',
        'Check-in 15-Mar-2026',
        'Check-out 17-Mar-2026',
        'On the day we reach you at +919876543210 or guest@example.com. If that is no longer right, please reply to this e-mail.',
        'Warm regards',
        'Your hosts',
        'For our team: guest 678, listing 10',
      ].join('\n'),
    )
    assertClean(await tenant.notifications())
  })

  it('finds good words where the booking system sends no names', async () => {
    const tenant = await atlasTenant(world())

    await tenant.publish({
      type: 'booking.confirmed',
      entity: { type: 'booking', id: '12345' },
      payload: BOOKING,
    })

    const inbox = await tenant.inbox()
    assert.match(
      inbox.find(({ channel }) => channel === 'whatsapp')?.body ?? '',
      /^Hello there, your stay at our place is confirmed\./,
    )
    assertClean(await tenant.notifications())
  })

  it('says that a booking is cancelled', async () => {
    const tenant = await atlasTenant(world())

    await tenant.publish({
      type: 'booking.cancelled',
      entity: { type: 'booking', id: '12345' },
      payload: { ...BOOKING, ...NAMES, bookingStatus: 'Cancelled' },
    })

    const inbox = await tenant.inbox()
    const by = (channel: string) => inbox.find((message) => message.channel === channel) ?? assert.fail(channel)
    assert.equal(inbox.length, 3)
    assert.equal(
      by('whatsapp').body,
      [
        'Hello Guest Example, your booking 12345 at Cozy Studio has been cancelled.',
        '',
        'It was for 15-Mar-2026 to 17-Mar-2026.',
        '',
        'If this is a mistake, just reply here. We hope to welcome you another time.',
      ].join('\n'),
    )
    assert.equal(
      by('sms').body,
      'Booking 12345 at Cozy Studio (15-Mar-2026 to 17-Mar-2026) has been cancelled. Please contact us if this is a mistake.',
    )
    assert.equal(by('email').subject, 'Your booking 12345 has been cancelled')
    assert.equal(
      wordsOf(by('email').body),
      [
        'Dear Guest Example,',
        'your booking at Cozy Studio has been cancelled.',
        'Booking 12345 (Cancelled)',
        'Check-in 15-Mar-2026',
        'Check-out 17-Mar-2026',
        'If you did not expect this, please reply to this e-mail. We hope to welcome you another time.',
        'Warm regards',
        'Your hosts',
        'For our team: guest 678, listing 10',
      ].join('\n'),
    )
    assertClean(await tenant.notifications())
  })

  it('no longer confirms a booking that was cancelled while its confirmation waited', async () => {
    const tenant = await atlasTenant(world())
    const entity = { type: 'booking', id: '12345' }
    const dueAt = new Date(Date.now() + 3_600_000).toISOString()

    await tenant.publish({ type: 'booking.confirmed', entity, payload: { ...BOOKING, ...NAMES }, dueAt })
    const [waiting] = await tenant.schedules('bookingId=12345')
    await tenant.publish({ type: 'booking.cancelled', entity, payload: { ...BOOKING, ...NAMES } })
    await tenant.settle()
    await world().timePasses(3_600_000)

    assert.equal(waiting?.status, 'pending')
    assert.deepEqual(
      new Set((await tenant.notifications()).map(({ eventType }) => eventType)),
      new Set(['booking.cancelled']),
    )
    const confirmed = (await tenant.schedules('bookingId=12345')).find(({ id }) => id === waiting?.id)
    assert.equal(confirmed?.status, 'cancelled')
  })

  it('uses a template that was made for one listing only there', async () => {
    const tenant = await atlasTenant(world(), ['sms'])
    const body = 'Welcome to the lake house, booking {{bookingId}}!'
    const made = await tenant.call('POST', '/api/message-templates', {
      eventType: 'booking.confirmed',
      channel: 'sms',
      locale: 'en-IN',
      scopeType: 'listing',
      scopeId: '10',
      body,
    })
    assert.equal(made.status, 201, JSON.stringify(made.body))

    for (const [bookingId, listingId] of [
      [1, 10],
      [2, 11],
    ])
      await tenant.publish({
        type: 'booking.confirmed',
        entity: { type: 'booking', id: String(bookingId) },
        payload: { ...BOOKING, ...NAMES, bookingId, listingId },
      })

    const bodies = (await tenant.inbox()).map((message) => message.body)
    assert.ok(bodies.includes('Welcome to the lake house, booking 1!'))
    assert.ok(bodies.some((text) => text.startsWith('Booking 2 at Cozy Studio is confirmed.')))
    assert.equal(bodies.length, 2)
  })

  it('is published with the host’s own change, or not at all', async () => {
    const tenant = await atlasTenant(world(), ['whatsapp'])
    const event = (id: string) => ({
      tenantId: tenant.id,
      type: 'booking.confirmed',
      entity: { type: 'booking', id },
      payload: { ...BOOKING, ...NAMES, bookingId: Number(id) },
    })

    await (await world().host()).transact({ rows: ['booking 801'], events: [event('801')] }, 'commit')
    await (await world().host()).transact({ rows: ['booking 802'], events: [event('802')] }, 'rollback')
    await tenant.publish(event803())

    const inbox = await tenant.inbox()
    assert.deepEqual(inbox.map(({ body }) => /Booking: (\d+)/.exec(body)?.[1] ?? body).toSorted(), ['801', '803'])
    assert.deepEqual(await (await world().host()).rows(), ['booking 801'])

    function event803(): object {
      const { tenantId: _, ...body } = event('803')
      return body
    }
  })

  it('fails an event alone and visibly whose payload a host wrote wrongly', async () => {
    const tenant = await atlasTenant(world(), ['sms'])
    const entity = { type: 'booking', id: '901' }

    const refused = await tenant.call('POST', '/api/events', {
      type: 'booking.confirmed',
      entity,
      payload: { bookingId: 'x' },
    })
    const wrong = { tenantId: tenant.id, id: 'wrong', type: 'booking.confirmed', entity, payload: { bookingId: 'x' } }
    await (await world().host()).transact({ rows: ['booking 901'], events: [wrong] })
    await tenant.publish({ type: 'booking.confirmed', entity, payload: { ...BOOKING, bookingId: 901 } })

    assert.equal(refused.status, 422)
    assert.equal((refused.body['errors'] as { path: string }[])[0]?.path, '/payload/bookingId')
    assert.equal((await tenant.inbox()).length, 1)
    const failed = await world().ops('GET', `/ops/outbox?tenantId=${tenant.id}&status=failed`)
    const [event] = failed.body['items'] as { id: string; lastError: string }[]
    assert.equal(event?.id, 'wrong')
    assert.match(event.lastError, /bookingId/)
  })
})
