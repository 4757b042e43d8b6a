import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type NewEvent, PillarboxClient, publish, publishMany, publishSync } from './index.ts'
import type { Parameter, SyncTransaction } from './transaction.ts'

/** What a generated file may look like: an interface, which has no index signature, naming each type's payload. */
interface BookingEvents {
  'booking.confirmed': { bookingId: number; guestPhone?: string }
  'booking.cancelled': BookingCancelled
}
interface BookingCancelled {
  bookingId: number
  reason: string
}

const about = { tenantId: 'atlas', entity: { type: 'booking', id: '1' } }

function setup() {
  const rows: (readonly Parameter[])[] = []
  const tx: SyncTransaction = {
    engine: 'sqlite',
    isSync: true,
    run: (_sql, parameters) => void rows.push(parameters),
  }
  return { rows, tx }
}

// Every line that the compiler refuses stands under a @ts-expect-error: `npm run types` fails if it stops refusing one.
// Types do not exist at run time, so those of them whose payload is an object are written all the same.
describe('publish with event types', () => {
  it('takes each type with its payload', async () => {
    const { rows, tx } = setup()
    const cancelled: BookingCancelled = { bookingId: 1, reason: 'rain' }

    await publish<BookingEvents>(tx, { ...about, type: 'booking.confirmed', payload: { bookingId: 1 } })
    publishSync<BookingEvents>(tx, { ...about, type: 'booking.cancelled', payload: cancelled, dueAt: new Date(0) })

    assert.deepEqual(
      rows.map((row) => [row[2], row[5]]),
      [
        ['booking.confirmed', '{"bookingId":1}'],
        ['booking.cancelled', '{"bookingId":1,"reason":"rain"}'],
      ],
    )
  })

  it('is refused by the compiler for a payload of another type, a missing field and an unknown type', async () => {
    const { rows, tx } = setup()

    // @ts-expect-error: bookingId is a number
    await publish<BookingEvents>(tx, { ...about, type: 'booking.confirmed', payload: { bookingId: '1' } })
    // @ts-expect-error: a cancellation has a reason
    await publish<BookingEvents>(tx, { ...about, type: 'booking.cancelled', payload: { bookingId: 1 } })
    // @ts-expect-error: no such field
    await publish<BookingEvents>(tx, { ...about, type: 'booking.confirmed', payload: { bookingId: 1, gestPhone: '1' } })
    // @ts-expect-error: no such type
    await publish<BookingEvents>(tx, { ...about, type: 'booking.confirmd', payload: { bookingId: 1 } })
    await publishMany<BookingEvents>(tx, [
      // @ts-expect-error: bookingId is a number
      { ...about, type: 'booking.confirmed', payload: { bookingId: '1' } },
    ])

    assert.equal(rows.length, 5)
  })

  it('is refused by the compiler without a tenant, an entity or a payload, or with a channel that is none', async () => {
    const { rows, tx } = setup()
    const type = 'booking.confirmed'
    const payload = { bookingId: 1 }

    // @ts-expect-error: an event in the host's database names its tenant
    await assert.rejects(publish(tx, { entity: about.entity, type, payload }), { name: 'InvalidEventError' })
    // @ts-expect-error: an event is about something
    await assert.rejects(publish(tx, { tenantId: 'atlas', type, payload }), { name: 'InvalidEventError' })
    // @ts-expect-error: no such channel
    await assert.rejects(publish(tx, { ...about, type, payload, channels: ['pigeon'] }), { name: 'InvalidEventError' })
    assert.equal(rows.length, 0)
    // @ts-expect-error: a typed event has a payload; left out all the same, as over HTTP, it is an empty one
    await publish(tx, { ...about, type })
    assert.equal(rows.length, 1)
  })

  it('is loose without them: any type, any object, interfaces too', async () => {
    const { rows, tx } = setup()
    const payload: BookingCancelled = { bookingId: 1, reason: 'rain' }
    const event: NewEvent = { ...about, type: 'anything.at-all', payload }

    await publish(tx, event)

    assert.equal(rows.length, 1)
  })

  it('has a synchronous form only for what is synchronous', () => {
    const { tx } = setup()
    const later = { engine: 'sqlite' as const, run: () => Promise.resolve() }
    const event = { ...about, type: 'booking.confirmed', payload: {} }

    // @ts-expect-error: this one answers later
    assert.throws(() => publishSync(later, event), /await publish/)
    assert.deepEqual(Object.keys(publishSync(tx, event)), ['id'])
  })

  it('types the HTTP client alike, without the tenant', async () => {
    const bodies: unknown[] = []
    const client = new PillarboxClient({
      url: 'http://127.0.0.1:1',
      key: 'pbx_test',
      fetch: async (_url, init) => {
        bodies.push(init?.body)
        return Response.json({ id: 'e', duplicate: false }, { status: 202 })
      },
    })
    const { entity } = about

    await client.publish<BookingEvents>({ entity, type: 'booking.confirmed', payload: { bookingId: 1 } })
    // @ts-expect-error: bookingId is a number
    await client.publish<BookingEvents>({ entity, type: 'booking.confirmed', payload: { bookingId: '1' } })

    assert.equal(bodies.length, 2)
  })
})
