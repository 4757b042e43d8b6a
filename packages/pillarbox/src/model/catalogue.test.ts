import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseCatalogue } from './catalogue.ts'

/** A small but complete catalogue; each test changes what it is about. */
function booking(changes: Record<string, unknown> = {}, type: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    name: 'atlas',
    defaultLocale: 'en-IN',
    entities: { booking: 'bookings' },
    eventTypes: {
      'booking.confirmed': {
        entity: 'booking',
        once: 'per-entity',
        recipients: [{ phone: 'guestPhone', email: 'guest.email', name: 'guestName' }],
        delivery: { all: true },
        timing: { after: 'PT24H' },
        templates: [
          { channel: 'whatsapp', locale: 'de', body: 'Hallo {{guestName}}' },
          { channel: 'email', subject: 'Booking {{bookingId}}', body: '<p>Hi</p>' },
        ],
        ...type,
      },
    },
    ...changes,
  }
}

describe('a good catalogue', () => {
  it('is read whole', () => {
    assert.deepEqual(parseCatalogue(booking()), {
      catalogue: {
        name: 'atlas',
        defaultLocale: 'en-IN',
        entities: { booking: 'bookings' },
        eventTypes: [
          {
            name: 'booking.confirmed',
            entity: 'booking',
            once: 'per-entity',
            recipients: [{ phone: 'guestPhone', email: 'guest.email', name: 'guestName' }],
            delivery: { kind: 'all' },
            afterMs: 86_400_000,
          },
        ],
        templates: [
          {
            eventType: 'booking.confirmed',
            channel: 'whatsapp',
            locale: 'de',
            subject: null,
            body: 'Hallo {{guestName}}',
          },
          {
            eventType: 'booking.confirmed',
            channel: 'email',
            locale: 'en-IN',
            subject: 'Booking {{bookingId}}',
            body: '<p>Hi</p>',
          },
        ],
      },
    })
  })

  it('needs no more than one event type: the rest has defaults', () => {
    assert.deepEqual(parseCatalogue({ eventTypes: { ping: {} } }), {
      catalogue: {
        name: 'catalogue',
        defaultLocale: 'en',
        entities: {},
        eventTypes: [
          { name: 'ping', entity: 'entity', once: 'per-entity', recipients: [], delivery: { kind: 'all' }, afterMs: 0 },
        ],
        templates: [],
      },
    })
  })

  it('may name channels, or a fallback chain in its order', () => {
    for (const kind of ['channels', 'fallback'] as const) {
      const read = parseCatalogue(booking({}, { delivery: { [kind]: ['whatsapp', 'sms', 'email'] } }))

      assert.ok('catalogue' in read)
      assert.deepEqual(read.catalogue.eventTypes[0]?.delivery, { kind, channels: ['whatsapp', 'sms', 'email'] })
    }
  })

  it('may be once per event', () => {
    const read = parseCatalogue(booking({}, { once: 'per-event' }))

    assert.ok('catalogue' in read)
    assert.equal(read.catalogue.eventTypes[0]?.once, 'per-event')
  })
})

describe('a bad catalogue', () => {
  const at = '/eventTypes/booking.confirmed'
  const BAD: [string, unknown, string[]][] = [
    ['that is null', null, ['']],
    ['that is a list', [], ['']],
    ['that is text', 'name: atlas', ['']],
    ['without event types', { name: 'atlas' }, ['/eventTypes']],
    ['with no event type in it', booking({ eventTypes: {} }), ['/eventTypes']],
    ['whose event types are a list', booking({ eventTypes: [] }), ['/eventTypes']],
    ['with an unknown key', booking({ version: 1 }), ['/version']],
    ['with a name that is no word', booking({ name: 'at las' }), ['/name']],
    ['with a locale in words', booking({ defaultLocale: 'English' }), ['/defaultLocale']],
    ['with a locale that is null', booking({ defaultLocale: null }), ['/defaultLocale']],
    ['whose entities are a list', booking({ entities: ['booking'] }), ['/entities']],
    ['whose entities are text', booking({ entities: 'booking' }), ['/entities']],
    ['with a plural that is no path', booking({ entities: { booking: 'Book ings' } }), ['/entities/booking']],
    ['with a plural that is a number', booking({ entities: { booking: 2 } }), ['/entities/booking']],
    ['with an event type that is null', booking({ eventTypes: { a: null } }), ['/eventTypes/a']],
    ['with an event type of a forbidden name', booking({ eventTypes: { 'a b': {} } }), ['/eventTypes/a b']],
    ['with an event type of no name', booking({ eventTypes: { '': {} } }), ['/eventTypes/']],
    [
      'with an event type of an endless name',
      booking({ eventTypes: { ['a'.repeat(101)]: {} } }),
      [`/eventTypes/${'a'.repeat(101)}`],
    ],
    ['with an unknown key of an event type', booking({}, { chanels: [] }), [`${at}/chanels`]],
    ['with an entity that is no word', booking({}, { entity: '1 booking' }), [`${at}/entity`]],
    ['with an unknown once', booking({}, { once: 'per-day' }), [`${at}/once`]],
    ['whose recipients are no list', booking({}, { recipients: { phone: 'p' } }), [`${at}/recipients`]],
    ['with a recipient that is text', booking({}, { recipients: ['phone'] }), [`${at}/recipients/0`]],
    ['with an unknown recipient field', booking({}, { recipients: [{ fax: 'f' }] }), [`${at}/recipients/0/fax`]],
    [
      'with a recipient path that is none',
      booking({}, { recipients: [{}, { phone: 'a..b' }] }),
      [`${at}/recipients/1/phone`],
    ],
    [
      'with a recipient path that is a number',
      booking({}, { recipients: [{ phone: 7 }] }),
      [`${at}/recipients/0/phone`],
    ],
    ['with two deliveries at once', booking({}, { delivery: { all: true, channels: ['sms'] } }), [`${at}/delivery`]],
    ['with all: false', booking({}, { delivery: { all: false } }), [`${at}/delivery`]],
    ['with an unknown channel', booking({}, { delivery: { channels: ['sms', 'fax'] } }), [`${at}/delivery`]],
    ['with an empty chain', booking({}, { delivery: { fallback: [] } }), [`${at}/delivery`]],
    ['whose delivery is text', booking({}, { delivery: 'all' }), [`${at}/delivery`]],
    ['with a timing in words', booking({}, { timing: { after: 'a day' } }), [`${at}/timing`]],
    ['with a timing in numbers', booking({}, { timing: { after: 5 } }), [`${at}/timing`]],
    ['with an empty timing', booking({}, { timing: {} }), [`${at}/timing`]],
    ['with a timing of unknown kind', booking({}, { timing: { after: 'PT1S', field: 'x' } }), [`${at}/timing`]],
    ['whose templates are no list', booking({}, { templates: {} }), [`${at}/templates`]],
    ['with a template that is text', booking({}, { templates: ['Hi'] }), [`${at}/templates/0`]],
    [
      'with a template for an unknown channel',
      booking({}, { templates: [{ channel: 'fax', body: '' }] }),
      [`${at}/templates/0/channel`],
    ],
    ['with a template without a body', booking({}, { templates: [{ channel: 'sms' }] }), [`${at}/templates/0/body`]],
    [
      'with a body that is a number',
      booking({}, { templates: [{ channel: 'sms', body: 5 }] }),
      [`${at}/templates/0/body`],
    ],
    [
      'with a body that cannot even be printed',
      booking({}, { templates: [{ channel: 'sms', body: { toString: 1, valueOf: 2 } }] }),
      [`${at}/templates/0/body`],
    ],
    [
      'with a subject that is null',
      booking({}, { templates: [{ channel: 'email', subject: null, body: '' }] }),
      [`${at}/templates/0/subject`],
    ],
    [
      'with a template locale that is none',
      booking({}, { templates: [{ channel: 'sms', body: '', locale: '!' }] }),
      [`${at}/templates/0/locale`],
    ],
    [
      'with an unknown key of a template',
      booking({}, { templates: [{ channel: 'sms', body: '', html: '' }] }),
      [`${at}/templates/0/html`],
    ],
    [
      'with several mistakes, all of them named',
      booking({ name: '!', version: 2 }, { once: 'never', timing: 'soon', templates: [{ channel: 'fax' }] }),
      ['/name', '/version', `${at}/once`, `${at}/timing`, `${at}/templates/0/channel`, `${at}/templates/0/body`],
    ],
  ]
  for (const [what, json, paths] of BAD)
    it(`${what} is refused, naming where`, () => {
      const read = parseCatalogue(json)

      assert.ok('problems' in read, 'was taken')
      assert.deepEqual(read.problems.map(({ path }) => path).sort(), [...paths].sort())
      for (const { message } of read.problems) assert.notEqual(message, '')
    })

  it('never throws, whatever JSON it is', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), nearlyCatalogue), (json) => {
        const read = parseCatalogue(json)
        if ('problems' in read) assert.ok(read.problems.length > 0)
        else assert.ok(read.catalogue.eventTypes.length > 0)
      }),
      { numRuns: 500 },
    )
  })
})

/** The right names with plausible and absurd values. */
const nearlyCatalogue = fc.record(
  {
    name: fc.oneof(fc.constant('atlas'), fc.jsonValue()),
    defaultLocale: fc.oneof(fc.constant('de-DE'), fc.jsonValue()),
    entities: fc.oneof(fc.constant({ booking: 'bookings' }), fc.jsonValue()),
    eventTypes: fc.dictionary(
      fc.oneof(fc.constantFrom('a', 'a.b', 'toString', '__proto__'), fc.string()),
      fc.oneof(
        fc.record(
          {
            entity: fc.oneof(fc.constant('booking'), fc.jsonValue()),
            once: fc.oneof(fc.constantFrom('per-entity', 'per-event'), fc.jsonValue()),
            recipients: fc.oneof(fc.array(fc.record({ phone: fc.jsonValue() }, { requiredKeys: [] })), fc.jsonValue()),
            delivery: fc.oneof(
              fc.constantFrom({ all: true }, { channels: ['sms'] }, { fallback: ['x'] }),
              fc.jsonValue(),
            ),
            timing: fc.oneof(fc.record({ after: fc.jsonValue() }), fc.jsonValue()),
            templates: fc.oneof(
              fc.array(
                fc.record(
                  {
                    channel: fc.constantFrom('sms', 'fax'),
                    locale: fc.jsonValue(),
                    subject: fc.jsonValue(),
                    body: fc.jsonValue(),
                  },
                  { requiredKeys: [] },
                ),
              ),
              fc.jsonValue(),
            ),
          },
          { requiredKeys: [] },
        ),
        fc.jsonValue(),
      ),
    ),
  },
  { requiredKeys: [] },
)
