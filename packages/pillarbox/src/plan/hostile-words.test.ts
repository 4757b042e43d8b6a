import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { systemClock } from '../runtime/system.ts'
import { createPool } from '../untrusted/pool.ts'
import { openPlanning } from './fixture.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** Doubles a list of a long text eleven times and sorts it a hundred times. */
const SORTS =
  `{% capture s %}${'Ab'.repeat(20_000)}{% endcapture %}{% assign a = s | split: "zzz" %}` +
  '{% assign a = a | concat: a %}'.repeat(11) +
  '{% assign b = a | sort_natural %}'.repeat(100)

const recipients = [{ phone: 'phone', email: 'email', name: 'name' }]
const CATALOGUE = {
  entities: { booking: 'bookings' },
  eventTypes: {
    'booking.confirmed': { entity: 'booking', recipients, templates: [{ channel: 'sms', body: 'Hello {{name}}' }] },
    'booking.hostile': { entity: 'booking', recipients, templates: [{ channel: 'sms', body: SORTS }] },
    'booking.deep': {
      entity: 'booking',
      recipients,
      templates: [{ channel: 'email', subject: 'Hi', body: `${'<blockquote>'.repeat(800)}{{name}}` }],
    },
    'booking.checked': {
      entity: 'booking',
      recipients,
      payload: { type: 'object', properties: { name: { type: 'string', pattern: '^(?:a|a){25}b$' } } },
      templates: [{ channel: 'sms', body: 'Hello {{name}}' }],
    },
  },
}

describe('planning', () => {
  const pool = createPool({ clock: systemClock, logger: silent, size: 2 })
  after(() => pool.close())

  it('stops the words and the schema of one event, and plans the rest of its batch', async (t) => {
    const bench = await openPlanning(t, { catalogue: CATALOGUE })
    const payload = { phone: '+15550100', email: 'ada@example.test', name: 'a'.repeat(25) }
    for (const type of ['booking.confirmed', 'booking.hostile', 'booking.deep', 'booking.checked', 'booking.confirmed'])
      await bench.publish({ type, payload })

    assert.equal(await bench.planner({ untrusted: pool }).round(), 5)

    const made = await bench.notifications()
    const of = (type: string) => made.filter(({ eventType }) => eventType === type)
    assert.deepEqual(
      of('booking.confirmed').map(({ status }) => status),
      ['queued', 'queued'],
    )
    for (const [type, words] of [
      ['booking.hostile', /limit exceeded: it takes more than (250 ms of processor time|96 MB of memory)/],
      ['booking.deep', /limit exceeded: the HTML is nested more than 100 deep/],
    ] as const) {
      const [parked] = of(type)
      assert.deepEqual([parked?.status, parked?.reason], ['parked', 'render_failed'])
      assert.match(parked?.lastError ?? '', words)
    }
    const failed = await bench.event('event-4')
    assert.equal(failed.status, 'failed')
    assert.match(failed.lastError ?? '', /cannot be checked by its schema: limit exceeded: it takes more than 250 ms/)
  })
})
