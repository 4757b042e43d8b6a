import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { CHANNELS } from './channel.ts'
import { fallbackKey, manualKey, perEntityKey, perEventKey, perOccurrenceKey } from './idempotency.ts'

/** Ids that try to reach into their neighbour's place, or to look like another kind of key. */
const part = fc.oneof(
  fc.constantFrom('42', 'manual', 'fallback', '', ':', '%', '%3A', '%25', 'a:b', 'email', '%6Danual'),
  fc.string({ unit: fc.constantFrom('a', ':', '%', '2', '5', '3', 'A'), maxLength: 6 }),
  fc.string(),
)
const channel = fc.constantFrom(...CHANNELS)

/** With and without a recipient; never an explicit undefined. */
const recipient = fc.option(part, { nil: undefined }).map((recipient) => (recipient === undefined ? {} : { recipient }))

const automatic = fc
  .tuple(fc.record({ entityId: part, eventType: part, channel, templateId: part }), recipient)
  .map(([parts, recipient]) => ({ ...parts, ...recipient }))

const manual = fc
  .tuple(fc.record({ entityId: part, channel, templateId: part, requestId: part }), recipient)
  .map(([parts, recipient]) => ({ ...parts, ...recipient }))

describe('idempotency keys', () => {
  it('read {entityId}:{eventType}:{channel}:{templateId} for plain ids', () => {
    const key = perEntityKey({ entityId: '42', eventType: 'booking.confirmed', channel: 'sms', templateId: 'tpl-7' })

    assert.equal(key, '42:booking.confirmed:sms:tpl-7')
  })

  it('append the recipient where an event has several', () => {
    const key = perEntityKey({
      entityId: '42',
      eventType: 'booking.confirmed',
      channel: 'email',
      templateId: 'tpl-7',
      recipient: 'ada@example.test',
    })

    assert.equal(key, '42:booking.confirmed:email:tpl-7:ada@example.test')
  })

  it('have the event’s id in the entity’s place for once per event', () => {
    const key = perEventKey({ eventId: 'evt-1', eventType: 'trip.late', channel: 'push', templateId: 'tpl-7' })

    assert.equal(key, 'evt-1:trip.late:push:tpl-7')
  })

  it('have the due time beside the entity’s id for once per occurrence', () => {
    const parts = { entityId: '42', eventType: 'trip.soon', channel: 'sms', templateId: 'tpl-7' } as const
    const at = Date.UTC(2026, 2, 14, 9)

    assert.equal(perOccurrenceKey({ ...parts, at }), '42@20260314T090000Z:trip.soon:sms:tpl-7')
    assert.equal(perOccurrenceKey({ ...parts, at: at + 1 }), '42@20260314T090000.001Z:trip.soon:sms:tpl-7')
  })

  it('read manual:{entityId}:{channel}:{templateId}:{requestId} for a resend by hand', () => {
    const key = manualKey({ entityId: '42', channel: 'sms', templateId: 'tpl-7', requestId: 'req-1' })

    assert.equal(key, 'manual:42:sms:tpl-7:req-1')
  })

  it('read fallback:{notificationId}:{channel} for the next channel of a chain', () => {
    assert.equal(fallbackKey('n-1', 'sms'), 'fallback:n-1:sms')
  })

  it('are the same for the same parts', () => {
    fc.assert(
      fc.property(automatic, (parts) => {
        assert.equal(perEntityKey(parts), perEntityKey({ ...parts }))
      }),
    )
  })

  it('differ as soon as one automatic part differs', () => {
    fc.assert(
      fc.property(automatic, automatic, (one, other) => {
        fc.pre(JSON.stringify(sorted(one)) !== JSON.stringify(sorted(other)))

        assert.notEqual(perEntityKey(one), perEntityKey(other))
      }),
      { numRuns: 1_000 },
    )
  })

  it('differ when text moves from one part to its neighbour', () => {
    fc.assert(
      fc.property(part, part, part, (a, b, c) => {
        fc.pre(b !== '')
        const rest = { channel: 'sms' as const, templateId: 't' }

        assert.notEqual(
          perEntityKey({ entityId: `${a}${b}`, eventType: c, ...rest }),
          perEntityKey({ entityId: a, eventType: `${b}${c}`, ...rest }),
        )
      }),
    )
  })

  it('differ as soon as one part of a resend differs', () => {
    fc.assert(
      fc.property(manual, manual, (one, other) => {
        fc.pre(JSON.stringify(sorted(one)) !== JSON.stringify(sorted(other)))

        assert.notEqual(manualKey(one), manualKey(other))
      }),
      { numRuns: 1_000 },
    )
  })

  it('of a resend never equal an automatic one', () => {
    fc.assert(
      fc.property(automatic, manual, (auto, resend) => {
        const key = manualKey(resend)
        assert.notEqual(perEntityKey(auto), key)
        assert.notEqual(perEventKey({ ...auto, eventId: auto.entityId }), key)
      }),
      { numRuns: 1_000 },
    )
  })

  it('of a resend never equal an automatic one, not even for an entity called manual', () => {
    const resend = manualKey({ entityId: 'order.paid', channel: 'sms', templateId: 't', requestId: 'ada' })
    const parts = { eventType: 'order.paid', channel: 'sms' as const, templateId: 't', recipient: 'ada' }

    assert.notEqual(perEntityKey({ entityId: 'manual', ...parts }), resend)
    assert.notEqual(perEventKey({ eventId: 'manual', ...parts }), resend)
  })

  it('of a fallback never equal any other kind', () => {
    fc.assert(
      fc.property(part, channel, automatic, manual, (notificationId, channel, auto, resend) => {
        const key = fallbackKey(notificationId, channel)
        assert.notEqual(perEntityKey(auto), key)
        assert.notEqual(manualKey(resend), key)
      }),
    )
  })

  it('of a fallback differ by notification and by channel', () => {
    const keys = ['n-1', 'n-2'].flatMap((id) => CHANNELS.map((channel) => fallbackKey(id, channel)))

    assert.equal(new Set(keys).size, keys.length)
  })
})

function sorted(parts: Record<string, string>): [string, string][] {
  return Object.entries(parts).sort(([a], [b]) => a.localeCompare(b))
}
