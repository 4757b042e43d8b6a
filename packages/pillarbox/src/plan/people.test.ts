import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { openPlanning } from './fixture.ts'
import { createPeopleBook, type RecipientGroup } from './people.ts'
import type { ContactRequest, RecognisedContact } from './people-store.ts'
import { noRecipient, type Recipient } from './recipients.ts'

function setup() {
  const clock = createManualClock()
  const calls: ContactRequest[][] = []
  let made = 0
  const resolve = async (requests: readonly ContactRequest[]): Promise<RecognisedContact[]> => {
    calls.push([...requests])
    return requests.map(({ tenantId, phone = null }) => {
      const id = `c-${++made}`
      const facts = { profileId: null, userId: null, name: null, email: null, locale: 'de' }
      return {
        contact: { id, tenantId, ...facts, phone, version: 1, createdAt: 0, updatedAt: 0 },
        conversationId: null,
      }
    })
  }
  return { clock, calls, book: createPeopleBook({ people: { resolve }, clock, ids: () => 'id' }) }
}

function recipient(phone: string | null): Recipient {
  const address = phone === null ? { deviceToken: 'token' } : { phone }
  return { ...noRecipient, address, key: phone ?? 'token', identity: phone ? { phone } : null }
}

function group(phones: readonly (string | null)[], tenantId = 'acme'): RecipientGroup {
  return { tenantId, conversation: null, recipients: phones.map(recipient) }
}

function manyPhones(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `+1555${1_000_000 + i}`)
}

describe('recognising people', () => {
  it('asks about all of them at once', async () => {
    const { book, calls } = setup()

    const [found = []] = await book.recognise([group(['+15550101', '+15550102'])])

    assert.equal(calls.length, 1)
    assert.deepEqual(
      found.map(({ contactId, locale }) => [contactId, locale]),
      [
        ['c-1', 'de'],
        ['c-2', 'de'],
      ],
    )
  })

  it('asks about the same person once', async () => {
    const { book, calls } = setup()

    const found = (await book.recognise([group(['+15550101']), group(['+15550101'])])).flat()

    assert.equal(calls[0]?.length, 1)
    assert.deepEqual(
      found.map(({ contactId }) => contactId),
      ['c-1', 'c-1'],
    )
  })

  it('asks about nobody who cannot be recognised', async () => {
    const { book, calls } = setup()

    const [found = []] = await book.recognise([group([null])])

    assert.equal(found[0]?.contactId, null)
    assert.equal(calls.length, 0)
  })

  it('asks in chunks', async () => {
    const { book, calls } = setup()

    await book.recognise([group(manyPhones(2_500))])

    assert.deepEqual(
      calls.map(({ length }) => length),
      [1_000, 1_000, 500],
    )
  })

  it('remembers for a second, and no longer', async () => {
    const { book, calls, clock } = setup()
    await book.recognise([group(['+15550101'])])
    await clock.advance(999)
    await book.recognise([group(['+15550101'])])
    assert.equal(calls.length, 1)
    await clock.advance(1)

    await book.recognise([group(['+15550101'])])

    assert.equal(calls.length, 2)
  })

  it('keeps tenants apart', async () => {
    const { book, calls } = setup()

    await book.recognise([group(['+15550101']), group(['+15550101'], 'other')])

    assert.equal(calls[0]?.length, 2)
  })

  it('remembers ten thousand, and forgets who was asked about first', async () => {
    const { book, calls } = setup()
    const phones = manyPhones(10_001)
    await book.recognise([group(phones)])
    calls.length = 0

    await book.recognise([group(phones.slice(1))])
    assert.deepEqual(calls, [])
    await book.recognise([group(phones.slice(0, 1))])

    assert.deepEqual(
      calls.flat().map(({ phone }) => phone),
      phones.slice(0, 1),
    )
  })
})

describe('the people an event is for', () => {
  const type = (fields: Record<string, unknown> = {}) => ({
    entity: 'booking',
    recipients: [{ phone: 'phone', email: 'email', name: 'name', profileId: 'profileId' }],
    templates: [
      { channel: 'sms', body: 'Hello' },
      { channel: 'email', subject: 'S', body: 'Hello' },
    ],
    ...fields,
  })
  const catalogueOf = (fields: Record<string, unknown> = {}) => ({
    entities: { booking: 'bookings' },
    eventTypes: { 'booking.confirmed': type(fields) },
  })

  it('become contacts, whose addresses later events need not name', async (t) => {
    const { publish, plan, notifications, clock } = await openPlanning(t, { catalogue: catalogueOf() })
    await publish({ payload: { profileId: 'p-1', phone: '+15550100', email: 'ada@example.test' } })
    await plan()
    await clock.advance(1_000)
    await publish({ id: 'later', payload: { profileId: 'p-1' } })
    await plan()

    const later = (await notifications()).filter(({ eventId }) => eventId === 'later')
    assert.deepEqual(later.map(({ channel, status }) => `${channel} ${status}`).toSorted(), [
      'email queued',
      'sms queued',
    ])
    assert.equal(new Set((await notifications()).map(({ contactId }) => contactId)).size, 1)
  })

  it('are asked about once for a whole batch, and not at all where nobody can be recognised', async (t) => {
    const calls: number[] = []
    const push = { channel: 'push', body: 'Hello' }
    const recipients = [{ phone: 'phone', deviceToken: 'token' }]
    const bench = await openPlanning(t, {
      catalogue: catalogueOf({ recipients, templates: [push] }),
      accounts: ['push'],
      plant: (base) => ({
        people: {
          ...base.people,
          resolve: (requests, newId) => {
            calls.push(requests.length)
            return base.people.resolve(requests, newId)
          },
        },
      }),
    })
    for (let i = 0; i < 5; i++) await bench.publish({ payload: { phone: `+1555010${i}`, token: `t${i}` } })
    await bench.plan()
    assert.deepEqual(calls, [5])

    for (let i = 0; i < 5; i++) await bench.publish({ payload: { token: `t${i}` } })
    await bench.plan()

    assert.deepEqual(calls, [5])
    assert.equal((await bench.notifications()).length, 10)
  })

  it('may be named by the contact’s id', async (t) => {
    const { publish, plan, notifications, store } = await openPlanning(t, { catalogue: catalogueOf() })
    await publish()
    await plan()
    const contactId = (await notifications())[0]?.contactId ?? ''
    await publish({ id: 'by-id', recipients: [{ contactId }] })
    await publish({ id: 'gone', recipients: [{ contactId: '019b7a00-0000-7000-8000-00000000dead' }] })
    await plan()

    const of = async (id: string) => (await notifications()).filter(({ eventId }) => eventId === id)
    assert.deepEqual(
      (await of('by-id')).map(({ to }) => [to.phone, to.email]),
      Array(2).fill(['+15550100', 'ada@example.test']),
    )
    assert.deepEqual(
      (await of('gone')).map(({ reason }) => reason),
      ['no_address', 'no_address'],
    )
    assert.ok(await store.people.findContact('acme', contactId))
  })

  it('are spoken with about what the event type says, or the event itself', async (t) => {
    const conversation = { type: 'trip', id: 'tripId' }
    const { publish, plan, notifications, store } = await openPlanning(t, {
      catalogue: catalogueOf({ conversation, once: 'per-event' }),
    })
    const payload = { phone: '+15550100', tripId: 7 }
    await publish({ payload })
    await publish({ payload })
    await publish({ payload, conversation: { type: 'booking', id: 'B-1' } })
    await publish({ payload: { phone: '+15550100' } })
    await plan()

    const told = async () => (await notifications()).filter(({ channel }) => channel === 'sms')
    const about = await Promise.all(
      (await told()).map(async ({ conversationId }) => {
        const found = conversationId && (await store.people.findConversation('acme', conversationId))
        return found ? `${found.context.type} ${found.context.id}` : null
      }),
    )
    assert.deepEqual(about, ['trip 7', 'trip 7', 'booking B-1', null])
    const [first, second] = await told()
    assert.equal(first?.conversationId, second?.conversationId)
  })
})
