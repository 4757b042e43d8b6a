import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openPlanning } from './fixture.ts'

const catalogue = {
  entities: { booking: 'bookings' },
  eventTypes: {
    'booking.confirmed': {
      entity: 'booking',
      recipients: [{ phone: 'phone', email: 'email', name: 'name' }],
      delivery: { channels: ['sms', 'email'] },
      templates: [{ channel: 'sms', locale: 'en', body: 'Room {{room}}' }],
    },
  },
}

const SKIPPED = 'a notification was skipped'

describe('the operator', () => {
  it('is told of each notification that was skipped or lacks words, with the ids to find it', async (t) => {
    const bench = await openPlanning(t, { catalogue })
    await bench.publish({ correlationId: 'c-1' })
    const planner = bench.planner()

    while ((await planner.round()) > 0);

    const [sms, email] = await bench.notifications()
    const common = { tenantId: 'acme', eventId: 'event-1', correlationId: 'c-1' }
    const lines = bench.logger.lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields)
    assert.deepEqual(lines, [
      { ...common, notificationId: sms?.id, channel: 'sms', reason: 'missing_placeholder', placeholders: ['room'] },
      {
        ...common,
        notificationId: email?.id,
        channel: 'email',
        reason: 'no_template',
        error: 'no active template for booking.confirmed on email',
      },
    ])
    assert.deepEqual(bench.meters.counts, {
      'rows_planned event notifications': 1,
      'notifications_planned sms': 1,
      placeholders_missing: 1,
      'notifications_skipped no_template': 1,
    })
  })

  it('is told of a duplicate, which only the store finds', async (t) => {
    for (const engine of ['sqlite', 'postgres'] as const) {
      const bench = await openPlanning(t, { catalogue, engine })
      const entity = { type: 'booking', id: 'B-1' }
      await bench.publish({ entity, channels: ['sms'] })
      await bench.publish({ entity, channels: ['sms'] })
      const planner = bench.planner()

      while ((await planner.round()) > 0);

      assert.equal(bench.meters.counts['notifications_skipped duplicate'], 1, engine)
      const told = bench.logger.lines.filter(({ message }) => message === SKIPPED)
      assert.equal(told.length, 1)
    }
  })

  it('is told of a mass send in twenty lines and a number', async (t) => {
    const bench = await openPlanning(t, { catalogue })
    const recipients = Array.from({ length: 1_500 }, (_, i) => ({ email: `${i}@example.test` }))
    await bench.publish({ recipients, channels: ['email'] })
    const planner = bench.planner()

    while ((await planner.round()) > 0);

    assert.equal(bench.logger.lines.filter(({ message }) => message === SKIPPED).length, 20)
    const further = bench.logger.lines.filter(({ message }) => message.startsWith('further notifications'))
    assert.deepEqual(
      further.map(({ fields }) => fields['count']),
      [980, 500],
    )
    assert.equal(bench.meters.counts['notifications_skipped no_template'], 1_500)
  })
})
