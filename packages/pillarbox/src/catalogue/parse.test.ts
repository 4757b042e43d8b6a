import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Catalogue, EventType, TemplateSeed } from '../model/catalogue.ts'
import type { FieldError } from '../model/errors.ts'
import { type CatalogueChecks, parseCatalogue } from './parse.ts'

type Json = Record<string, unknown>

/** A small catalogue without anything odd; each test changes what it is about. */
function booking(changes: Json = {}, type: Json = {}, others: Json = {}): Json {
  return {
    name: 'atlas',
    defaultLocale: 'en-IN',
    entities: { booking: 'bookings' },
    eventTypes: {
      'booking.confirmed': {
        entity: 'booking',
        recipients: [{ phone: 'guestPhone', email: 'guest.email', name: 'guestName' }],
        templates: [
          { channel: 'whatsapp', locale: 'de', body: 'Hallo {{guestName}}' },
          { channel: 'email', subject: 'Booking {{bookingId}}', body: '<p>Hi</p>' },
        ],
        ...type,
      },
      ...others,
    },
    ...changes,
  }
}

const CANCELLED = { 'booking.cancelled': { entity: 'booking', delivery: { none: true } } }

function read(json: unknown, checks?: CatalogueChecks): { catalogue: Catalogue; warnings: FieldError[] } {
  const answer = parseCatalogue(json, checks)
  assert.ok('catalogue' in answer, JSON.stringify('problems' in answer && answer.problems))
  return answer
}

function typeOf(type: Json, others: Json = {}): EventType {
  const [first] = read(booking({}, type, others)).catalogue.eventTypes
  assert.ok(first)
  return first
}

function problemsOf(json: unknown): FieldError[] {
  const answer = parseCatalogue(json)
  assert.ok('problems' in answer, 'was taken')
  return answer.problems
}

const AT = '/eventTypes/booking.confirmed'

describe('a good catalogue', () => {
  it('is read whole, with defaults for what it leaves out', () => {
    const { catalogue, warnings } = read(booking())

    const type: EventType = {
      name: 'booking.confirmed',
      description: null,
      entity: 'booking',
      once: 'per-entity',
      payload: null,
      recipients: [{ phone: 'guestPhone', email: 'guest.email', name: 'guestName' }],
      delivery: { kind: 'all' },
      timing: { offsetMs: 0, field: null, at: null, ifPast: 'send' },
      replaces: false,
      cancelledBy: [],
      approval: false,
      secrets: [],
      scopes: [],
      conversation: null,
      expiresAfterMs: null,
      retry: null,
      onUndeliverable: null,
    }
    const seed = { eventType: 'booking.confirmed', scope: null, format: null, providerTemplate: null }
    const templates: TemplateSeed[] = [
      { ...seed, channel: 'whatsapp', locale: 'de', subject: null, body: 'Hallo {{guestName}}' },
      { ...seed, channel: 'email', locale: 'en-IN', subject: 'Booking {{bookingId}}', body: '<p>Hi</p>' },
    ]
    assert.deepEqual(catalogue, {
      name: 'atlas',
      defaultLocale: 'en-IN',
      tenantDefaults: {},
      entities: { booking: 'bookings' },
      eventTypes: [type],
      templates,
      domainEvents: {},
      sources: { hasura: {} },
    })
    assert.deepEqual(warnings, [])
  })

  it('is read with everything there is', () => {
    const payload = { type: 'object', properties: { listingId: {}, tripId: {}, departureDate: {}, token: {} } }
    const type = typeOf(
      {
        description: 'A booking was confirmed.',
        once: 'per-event',
        payload,
        recipients: [{ list: 'ops-team', expand: true }, { list: 'on call' }],
        delivery: { fallback: ['whatsapp', 'email'] },
        timing: { at: '09:00', field: 'departureDate', before: 'P1D', ifPast: 'skip' },
        replaces: true,
        cancelledBy: ['booking.cancelled'],
        approval: true,
        secrets: ['token'],
        scopes: { listing: 'listingId', trip: 'tripId' },
        conversation: { type: 'trip', id: 'tripId' },
        expiresAfter: 'PT6H',
        retry: { delays: ['PT1M', 'PT2M'] },
        onUndeliverable: 'fail',
      },
      CANCELLED,
    )

    assert.deepEqual(type, {
      name: 'booking.confirmed',
      description: 'A booking was confirmed.',
      entity: 'booking',
      once: 'per-event',
      payload,
      recipients: [{ list: 'ops-team', expand: true }, { list: 'on call' }],
      delivery: { kind: 'fallback', channels: ['whatsapp', 'email'] },
      timing: { offsetMs: -86_400_000, field: 'departureDate', at: '09:00', ifPast: 'skip' },
      replaces: true,
      cancelledBy: ['booking.cancelled'],
      approval: true,
      secrets: ['token'],
      scopes: [
        { type: 'listing', path: 'listingId' },
        { type: 'trip', path: 'tripId' },
      ],
      conversation: { type: 'trip', path: 'tripId' },
      expiresAfterMs: 21_600_000,
      retry: { delays: ['PT1M', 'PT2M'] },
      onUndeliverable: 'fail',
    })
  })

  for (const [timing, expected] of [
    [{ after: 'PT24H' }, { offsetMs: 86_400_000, field: null, at: null }],
    [
      { before: 'PT24H', field: 'd' },
      { offsetMs: -86_400_000, field: 'd', at: null },
    ],
    [
      { after: 'PT2H', field: 'a.d' },
      { offsetMs: 7_200_000, field: 'a.d', at: null },
    ],
    [{ at: '09:00' }, { offsetMs: 0, field: null, at: '09:00' }],
    [
      { at: '09:00', after: 'P1D' },
      { offsetMs: 86_400_000, field: null, at: '09:00' },
    ],
    [
      { at: '18:30', field: 'd' },
      { offsetMs: 0, field: 'd', at: '18:30' },
    ],
  ] as const)
    it(`may be timed ${JSON.stringify(timing)}`, () => {
      assert.deepEqual(typeOf({ timing }).timing, { ...expected, ifPast: 'send' })
    })

  it('may name channels, or a fallback chain in its order, or say nothing to anybody', () => {
    for (const kind of ['channels', 'fallback'] as const)
      assert.deepEqual(typeOf({ delivery: { [kind]: ['sms', 'email'] } }).delivery, {
        kind,
        channels: ['sms', 'email'],
      })
    assert.deepEqual(typeOf({ delivery: { none: true } }).delivery, { kind: 'none' })
  })

  it('needs no recipients where every event names its own, or where nothing is sent', () => {
    assert.deepEqual(typeOf({ recipients: [] }).recipients, [])
    assert.deepEqual(typeOf({ recipients: undefined, delivery: { none: true } }).recipients, [])
  })

  it('may go through one list of the payload, and take the rest from beside it', () => {
    const recipients = [{ phone: 'passengers[].phone', name: 'passengers[].name', locale: 'locale' }, { email: 'cc[]' }]

    assert.deepEqual(typeOf({ recipients }).recipients, recipients)
  })

  it('may be about the entity itself, in its conversation', () => {
    assert.equal(typeOf({ conversation: 'entity' }).conversation, 'entity')
  })

  it('may have templates per scope, and with what the provider is told', () => {
    const providerTemplate = { name: 'confirmed', language: 'en', components: [] }
    const templates = [
      { channel: 'whatsapp', body: 'x', scope: { type: 'listing', id: 10 }, providerTemplate },
      { channel: 'whatsapp', body: 'x' },
    ]

    const { catalogue } = read(booking({}, { templates, scopes: { listing: 'listingId' } }))

    assert.deepEqual(
      catalogue.templates.map(({ scope, providerTemplate: given }) => [scope, given]),
      [
        [{ type: 'listing', id: '10' }, providerTemplate],
        [null, null],
      ],
    )
  })

  it('may say what domain events become, and Hasura’s rows may be domain events', () => {
    const domainEvents = { BookingMade: ['booking.confirmed', 'mail'], LedgerClosed: [] }
    const mail = { entity: 'booking', recipients: [{ email: 'email' }] }
    const sources = { hasura: { made: { eventType: 'BookingMade', entityId: 'new.id', payload: {} } } }

    const { catalogue } = read(booking({ domainEvents, sources }, {}, { mail }))

    assert.deepEqual([catalogue.domainEvents, catalogue.sources], [domainEvents, sources])
  })

  it('may say how Hasura’s rows become events', () => {
    const confirmed = { eventType: 'booking.confirmed', entityId: 'new.id', payload: { bookingId: 'new.id' } }

    const { catalogue } = read(booking({ sources: { hasura: { booking_confirmed: confirmed } } }))

    assert.deepEqual(catalogue.sources, { hasura: { booking_confirmed: confirmed } })
  })

  it('hands schemas and templates to those who can judge them, and passes on what they say with its place', () => {
    const checks: CatalogueChecks = {
      schema: () => ({
        problems: [{ path: '/type', message: 'is wrong' }],
        warnings: [{ path: '/x', message: 'is odd' }],
      }),
      template: ({ channel }, type) => ({
        problems: channel === 'email' ? [{ path: '/body', message: `is wrong for ${type.name}` }] : [],
        warnings: [{ path: '', message: 'is odd' }],
      }),
    }

    const answer = parseCatalogue(booking({}, { payload: { type: 'objct' } }), checks)

    assert.ok('problems' in answer)
    assert.deepEqual(answer.problems, [
      { path: `${AT}/payload/type`, message: 'is wrong' },
      { path: `${AT}/templates/1/body`, message: 'is wrong for booking.confirmed' },
    ])
    assert.deepEqual(answer.warnings.map(({ path }) => path).sort(), [
      `${AT}/payload/x`,
      `${AT}/templates/0`,
      `${AT}/templates/1`,
    ])
  })
})

describe('a catalogue that would be silent after the first time', () => {
  const odd = (fields: Json): string[] => read(booking({}, fields)).warnings.map(({ path }) => path)
  const timing = { before: 'PT24H', field: 'departureDate' }

  it('is warned of where once per entity meets a date or replaces', () => {
    assert.deepEqual(odd({ timing }), [`${AT}/once`])
    assert.deepEqual(odd({ replaces: true, once: 'per-entity' }), [`${AT}/once`])
    assert.deepEqual(odd({ timing: { at: '09:00', after: 'P1D' } }), [])
    for (const once of ['per-event', 'per-occurrence']) assert.deepEqual(odd({ timing, replaces: true, once }), [])
  })

  it('is told what to write instead', () => {
    assert.deepEqual(read(booking({}, { timing })).warnings, [
      {
        path: `${AT}/once`,
        message:
          'is per-entity beside timing by departureDate: once it was sent, a later date for the same entity is not told; write once: per-occurrence',
      },
    ])
  })
})

describe('a bad catalogue', () => {
  const template = (fields: Json) => booking({}, { templates: [{ channel: 'sms', body: 'x', ...fields }] })
  const source = (fields: Json) =>
    booking({ sources: { hasura: { t: { eventType: 'booking.confirmed', entityId: 'new.id', ...fields } } } })
  const H = '/sources/hasura/t'
  const BAD: [string, unknown, string[]][] = [
    ['that is null', null, ['']],
    ['that is a list', [], ['']],
    ['that is text', 'name: atlas', ['']],
    ['without event types', { name: 'atlas' }, ['/eventTypes']],
    ['with no event type in it', booking({ eventTypes: {} }), ['/eventTypes']],
    ['whose event types are a list', booking({ eventTypes: [] }), ['/eventTypes']],
    ['whose event types are nothing', booking({ eventTypes: null }), ['/eventTypes']],
    ['with an unknown key', booking({ version: 1 }), ['/version']],
    ['with a name that is no word', booking({ name: 'at las' }), ['/name']],
    ['with a locale in words', booking({ defaultLocale: 'English' }), ['/defaultLocale']],
    ['with a locale that is null', booking({ defaultLocale: null }), ['/defaultLocale']],
    ['whose entities are a list', booking({ entities: ['booking'] }), ['/entities']],
    ['whose entities are text', booking({ entities: 'booking' }), ['/entities']],
    ['with a plural that is no path', booking({ entities: { booking: 'Book ings' } }), ['/entities/booking']],
    ['with a plural that is a number', booking({ entities: { booking: 2 } }), ['/entities/booking']],
    ['with one plural for two', booking({ entities: { booking: 'all', trip: 'all' } }), ['/entities/trip']],
    ['with an entity of a forbidden name', booking({ entities: { 'a/b': 'all' } }), ['/entities/a~1b']],
    ['with an event type that is null', booking({}, {}, { a: null }), ['/eventTypes/a']],
    ['with an event type of a forbidden name', booking({}, {}, { 'a b': { recipients: [] } }), ['/eventTypes/a b']],
    ['with an event type of no name', booking({}, {}, { '': { recipients: [] } }), ['/eventTypes/']],
    [
      'with an event type of a name of ours',
      booking({}, {}, { versions: { recipients: [] } }),
      ['/eventTypes/versions'],
    ],
    [
      'with an event type of an endless name',
      booking({}, {}, { ['a'.repeat(101)]: { recipients: [] } }),
      [`/eventTypes/${'a'.repeat(101)}`],
    ],
    ['with an unknown key of an event type', booking({}, { chanels: [] }), [`${AT}/chanels`]],
    ['with an entity that is no word', booking({}, { entity: '1 booking' }), [`${AT}/entity`]],
    ['with an unknown once', booking({}, { once: 'per-day' }), [`${AT}/once`]],
    ['with a payload that is no schema', booking({}, { payload: 'object' }), [`${AT}/payload`]],
    ['with recipients that are nothing', booking({}, { recipients: null }), [`${AT}/recipients`]],
    ['whose recipients are no list', booking({}, { recipients: { phone: 'p' } }), [`${AT}/recipients`]],
    ['with a recipient that is text', booking({}, { recipients: ['phone'] }), [`${AT}/recipients/0`]],
    ['with a recipient who is nobody', booking({}, { recipients: [{ name: 'n' }] }), [`${AT}/recipients/0`]],
    [
      'with an unknown recipient field',
      booking({}, { recipients: [{ email: 'e', fax: 'f' }] }),
      [`${AT}/recipients/0/fax`],
    ],
    [
      'with a recipient path that is none',
      booking({}, { recipients: [{ phone: 'a..b' }] }),
      [`${AT}/recipients/0/phone`],
    ],
    [
      'with a recipient path that is a number',
      booking({}, { recipients: [{ phone: 7 }] }),
      [`${AT}/recipients/0/phone`],
    ],
    [
      'with a path through two lists',
      booking({}, { recipients: [{ phone: 'a[].b[].c' }] }),
      [`${AT}/recipients/0/phone`],
    ],
    [
      'with one recipient out of two lists',
      booking({}, { recipients: [{ phone: 'a[].b', email: 'c[].d' }] }),
      [`${AT}/recipients/0`],
    ],
    ['with a recipient of empty fields', booking({}, { recipients: [{ email: null }] }), [`${AT}/recipients/0`]],
    ['with a list and more', booking({}, { recipients: [{ list: 'l', email: 'e' }] }), [`${AT}/recipients/0/email`]],
    [
      'with expand and no list',
      booking({}, { recipients: [{ email: 'e', expand: true }] }),
      [`${AT}/recipients/0/expand`],
    ],
    ['with a list of no name', booking({}, { recipients: [{ list: '' }] }), [`${AT}/recipients/0/list`]],
    ['with two deliveries at once', booking({}, { delivery: { all: true, channels: ['sms'] } }), [`${AT}/delivery`]],
    ['with an empty delivery', booking({}, { delivery: {} }), [`${AT}/delivery`]],
    ['with all: false', booking({}, { delivery: { all: false } }), [`${AT}/delivery/all`]],
    ['with an unknown channel', booking({}, { delivery: { channels: ['sms', 'fax'] } }), [`${AT}/delivery/channels/1`]],
    ['with a channel twice', booking({}, { delivery: { fallback: ['sms', 'sms'] } }), [`${AT}/delivery/fallback/1`]],
    ['with a chain that is nothing', booking({}, { delivery: { fallback: null } }), [`${AT}/delivery/fallback`]],
    ['with an empty chain', booking({}, { delivery: { fallback: [] } }), [`${AT}/delivery/fallback`]],
    ['whose delivery is text', booking({}, { delivery: 'all' }), [`${AT}/delivery`]],
    ['with a timing in words', booking({}, { timing: { after: 'a day' } }), [`${AT}/timing/after`]],
    ['with a timing in numbers', booking({}, { timing: { after: 5 } }), [`${AT}/timing/after`]],
    ['with an empty timing', booking({}, { timing: {} }), [`${AT}/timing`]],
    ['with a date and no time', booking({}, { timing: { field: 'd' } }), [`${AT}/timing`]],
    ['with a timing before nothing', booking({}, { timing: { before: 'PT1H' } }), [`${AT}/timing`]],
    [
      'with both before and after',
      booking({}, { timing: { before: 'PT1H', after: 'PT1H', field: 'd' } }),
      [`${AT}/timing`],
    ],
    ['with a time of day that is none', booking({}, { timing: { at: '25:00' } }), [`${AT}/timing/at`]],
    ['with a timing after nothing', booking({}, { timing: { after: null } }), [`${AT}/timing/after`]],
    ['with a date out of a list', booking({}, { timing: { after: 'PT0S', field: 'a[].d' } }), [`${AT}/timing/field`]],
    ['with an unknown ifPast', booking({}, { timing: { after: 'PT0S', ifPast: 'drop' } }), [`${AT}/timing/ifPast`]],
    ['with a delay of centuries', booking({}, { timing: { after: 'P99999D' } }), [`${AT}/timing/after`]],
    ['with a flag in words', booking({}, { approval: 'yes', replaces: 1 }), [`${AT}/approval`, `${AT}/replaces`]],
    [
      'cancelled by nothing it knows',
      booking({}, { cancelledBy: ['x', 5] }),
      [`${AT}/cancelledBy/0`, `${AT}/cancelledBy/1`],
    ],
    ['with a secret that is no path', booking({}, { secrets: ['a b'] }), [`${AT}/secrets/0`]],
    [
      'with a secret where it must be read',
      booking({}, { secrets: ['guest'], timing: { after: 'PT0S', field: 'guest.since' } }),
      [`${AT}/recipients/0/email`, `${AT}/timing/field`],
    ],
    ['with a secret that is nothing', booking({}, { secrets: [null] }), [`${AT}/secrets/0`]],
    ['with scopes in a list', booking({}, { scopes: ['listing'] }), [`${AT}/scopes`]],
    ['with a scope that is no path', booking({}, { scopes: { listing: 5 } }), [`${AT}/scopes/listing`]],
    ['with a conversation about nothing', booking({}, { conversation: { type: 'trip' } }), [`${AT}/conversation/id`]],
    ['with a conversation in words', booking({}, { conversation: 'trip' }), [`${AT}/conversation`]],
    ['that expires at once', booking({}, { expiresAfter: 'PT0S' }), [`${AT}/expiresAfter`]],
    ['with a retry that makes no sense', booking({}, { retry: { maxAttempts: 0 } }), [`${AT}/retry/maxAttempts`]],
    ['with a retry in words', booking({}, { retry: 'often' }), [`${AT}/retry`]],
    ['with an unknown onUndeliverable', booking({}, { onUndeliverable: 'retry' }), [`${AT}/onUndeliverable`]],
    ['whose templates are no list', booking({}, { templates: {} }), [`${AT}/templates`]],
    ['with a template that is text', booking({}, { templates: ['Hi'] }), [`${AT}/templates/0`]],
    ['with a template for an unknown channel', template({ channel: 'fax' }), [`${AT}/templates/0/channel`]],
    ['with a template for no channel', template({ channel: undefined }), [`${AT}/templates/0/channel`]],
    ['with a template without a body', template({ body: undefined }), [`${AT}/templates/0/body`]],
    ['with a body that is a number', template({ body: 5 }), [`${AT}/templates/0/body`]],
    ['with a body that cannot be printed', template({ body: { toString: 1, valueOf: 2 } }), [`${AT}/templates/0/body`]],
    ['with a body that is endless', template({ body: 'x'.repeat(100_001) }), [`${AT}/templates/0/body`]],
    ['with a subject that is null', template({ subject: null }), [`${AT}/templates/0/subject`]],
    ['with a template locale that is none', template({ locale: '!' }), [`${AT}/templates/0/locale`]],
    ['with an unknown key of a template', template({ html: '' }), [`${AT}/templates/0/html`]],
    ['with half a scope', template({ scope: { type: 'listing' } }), [`${AT}/templates/0/scope/id`]],
    ['with a provider template in words', template({ providerTemplate: 'x' }), [`${AT}/templates/0/providerTemplate`]],
    ['whose domain events are a list', booking({ domainEvents: ['a'] }), ['/domainEvents']],
    ['with a domain event that is text', booking({ domainEvents: { A: 'booking.confirmed' } }), ['/domainEvents/A']],
    [
      'with a domain event that has the name of an event type',
      booking({ domainEvents: { 'booking.confirmed': [] } }),
      ['/domainEvents/booking.confirmed'],
    ],
    [
      'with a domain event that becomes what is not there',
      booking({ domainEvents: { A: ['x'] } }),
      ['/domainEvents/A/0'],
    ],
    ['with a domain event that becomes itself', booking({ domainEvents: { A: ['A'] } }), ['/domainEvents/A/0']],
    [
      'with domain events in a circle',
      booking({ domainEvents: { A: ['B'], B: ['A'] } }),
      ['/domainEvents/A/0', '/domainEvents/B/0'],
    ],
    [
      'with a domain event about two kinds of things',
      booking(
        { domainEvents: { A: ['booking.confirmed', 'trip.left'] } },
        {},
        { 'trip.left': { entity: 'trip', recipients: [] } },
      ),
      ['/domainEvents/A/1'],
    ],
    [
      'with a domain event that becomes the same twice',
      booking({ domainEvents: { A: ['booking.confirmed', 'booking.confirmed'] } }),
      ['/domainEvents/A/1'],
    ],
    ['with sources it does not know', booking({ sources: { kafka: {} } }), ['/sources/kafka']],
    ['with a source of no known type', source({ eventType: 'booking.confirmd' }), [`${H}/eventType`]],
    ['with a source of an empty entity', source({ entityId: null }), [`${H}/entityId`]],
    ['with a source of no entity', source({ entityId: undefined }), [`${H}/entityId`]],
    ['with a source’s payload that is no path', source({ payload: { a: 5 } }), [`${H}/payload/a`]],
    [
      'with several mistakes, all of them named',
      booking({ name: '!', version: 2 }, { once: 'never', timing: 'soon', templates: [{ channel: 'fax' }] }),
      ['/name', '/version', `${AT}/once`, `${AT}/timing`, `${AT}/templates/0/channel`, `${AT}/templates/0/body`],
    ],
  ]
  for (const [what, json, paths] of BAD)
    it(`${what} is refused, naming where`, () => {
      const problems = problemsOf(json)

      assert.deepEqual(problems.map(({ path }) => path).sort(), [...paths].sort())
      for (const { message } of problems) assert.match(message, /^\S.{10,}/s)
    })

  it('is refused for two templates in one place, whatever the case of their locale', () => {
    const body = 'x'
    const templates = [
      { channel: 'sms', locale: 'de-DE', body },
      { channel: 'sms', locale: 'de', body },
      { channel: 'sms', locale: 'de-DE', body, scope: { type: 'listing', id: '1' } },
      { channel: 'sms', locale: 'de-de', body },
    ]

    assert.deepEqual(problemsOf(booking({}, { templates })), [
      {
        path: `${AT}/templates/3`,
        message:
          'is a second template for sms, de-de; the first is templates/0. Keep one, or give it another locale or scope',
      },
    ])
  })

  for (const [what, json, advice] of [
    ['a mistyped key', booking({}, { recipents: [] }), /did you mean "recipients"\?/],
    ['a mistyped channel', booking({}, { delivery: { channels: ['emial'] } }), /did you mean "email"\?/],
    [
      'a mistyped event type',
      booking({}, { cancelledBy: ['booking.canceled'] }, CANCELLED),
      /got "booking.canceled"; did you mean "booking.cancelled"\?/,
    ],
    ['a duration in everyday notation', booking({}, { timing: { after: '24h' } }), /\(got "24h"; write PT24H\)/],
    ['a duration in words', booking({}, { expiresAfter: '2 days' }), /\(got "2 days"; write P2D\)/],
    ['a duration without its P', booking({}, { expiresAfter: '1h30m' }), /write PT1H30M/],
    ['a duration in months', booking({}, { expiresAfter: 'P1M' }), /write days, such as P30D/],
    ['a time without its zero', booking({}, { timing: { at: '9:00' } }), /\(got "9:00"; write "09:00"\)/],
    ['a body without quotes', booking({}, { templates: [{ channel: 'sms', body: 5 }] }), /put it in quotes/],
    ['a list that is none', booking({}, { cancelledBy: 'x' }), /write \[ \] around it/],
  ] as const)
    it(`says how to mend ${what}`, () => {
      assert.match(problemsOf(json)[0]?.message ?? '', advice)
    })

  it('is refused for what no store could keep', () => {
    const deep: unknown = JSON.parse(`${'['.repeat(40)}${']'.repeat(40)}`)
    const hostile = JSON.parse('{"__proto__": {"polluted": true}}') as Json
    for (const [json, message] of [
      [booking({}, { description: 'a\0b' }), /NUL/],
      [booking({}, { description: '\ud800' }), /surrogate/],
      [booking({}, { payload: { x: deep } }), /deeper than 32/],
      [booking({}, { payload: { ['k'.repeat(300)]: 1 } }), /300 characters/],
      [booking({}, { payload: { minimum: Infinity } }), /cannot be kept/],
      [hostile, /cannot be used/],
      [booking({}, { payload: { properties: { constructor: {} } } }), /cannot be used/],
    ] as const)
      assert.match(problemsOf(json)[0]?.message ?? '', message)
    assert.equal(({} as Json)['polluted'], undefined)
  })

  it('is refused when it is more than anybody needs', () => {
    const many = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
    const types = (count: number, type: Json): Json => Object.fromEntries(many(count, (i) => [`t${i}`, type]))
    const templates = many(60, (i) => ({ channel: 'sms', locale: `de-X${String(i).padStart(2, '0')}`, body: 'x' }))

    assert.match(problemsOf({ eventTypes: types(501, { recipients: [] }) })[0]?.message ?? '', /at most 500/)
    assert.match(
      problemsOf({ eventTypes: types(100, { recipients: [], templates }) })[0]?.message ?? '',
      /at most 5000 templates/,
    )
    assert.match(
      problemsOf(booking({}, { recipients: many(21, () => ({ email: 'e' })) }))[0]?.message ?? '',
      /at most 20/,
    )
  })

  it('is not searched for slips without end', () => {
    const names = Array.from({ length: 500 }, (_, i) => `${'x'.repeat(90)}${i}`)
    const type = { recipients: [], cancelledBy: names.slice(0, 100).map((name) => `y${name}`) }

    const problems = problemsOf({ eventTypes: Object.fromEntries(names.map((name) => [name, type])) })

    assert.equal(problems.length, 1_000)
    assert.equal(problems.filter(({ message }) => message.includes('did you mean')).length, 50)
  })

  it('is not told what only follows from another mistake', () => {
    const none = { entity: 'booking', delivery: { nnoe: true } }
    const templates = [{ channel: 'email', subject: 'x', body: 'x' }]
    const sources = { hasura: { t: { eventType: 'gone', entityId: 'new.id' } } }
    const json = booking(
      { entities: { booking: 5 }, sources },
      { delivery: { channels: ['emial'] }, timing: { aftre: 'PT1H' }, templates, cancelledBy: ['none', 'gone'] },
      { none, gone: null },
    )

    const answer = parseCatalogue(json)

    assert.ok('problems' in answer)
    assert.deepEqual(answer.problems.map(({ path }) => path).sort(), [
      '/entities/booking',
      `${AT}/delivery/channels/0`,
      `${AT}/timing/aftre`,
      '/eventTypes/gone',
      '/eventTypes/none/delivery/nnoe',
    ])
    assert.deepEqual(answer.warnings, [])
  })

  it('is checked further where it has the right form, and told the places that its author wrote', () => {
    const secrets = ['a b', 'guestName']
    const recipients = [{ fax: 'f' }, { name: 'guestName', phone: 'guestPhone' }]

    const problems = problemsOf(booking({}, { secrets, recipients }))

    assert.deepEqual(problems.map(({ path }) => path).sort(), [
      `${AT}/recipients/0/fax`,
      `${AT}/recipients/1/name`,
      `${AT}/secrets/0`,
    ])
  })

  it('is not looked at where it has more values than any catalogue', () => {
    const endless = Array.from({ length: 1_000_000 }, () => 0)

    assert.deepEqual(problemsOf(booking({}, { secrets: endless })), [
      { path: '', message: 'has more parts than any catalogue; it is not read' },
    ])
  })

  it('never throws over a value that cannot be made text', () => {
    const stubborn = { toString: null }

    const problems = problemsOf(booking({}, { expiresAfter: stubborn, timing: { at: stubborn } }))

    assert.deepEqual(problems.map(({ path }) => path).sort(), [`${AT}/expiresAfter`, `${AT}/timing/at`])
  })

  it('never throws, whatever JSON it is', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), nearlyCatalogue), (json) => {
        const answer = parseCatalogue(json)
        if ('problems' in answer) assert.ok(answer.problems.length > 0)
        else assert.ok(answer.catalogue.eventTypes.length > 0)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('a catalogue that is probably not meant so', () => {
  const payload = {
    type: 'object',
    properties: {
      guest: { type: 'object', properties: { email: {} } },
      rooms: { type: 'array', items: { properties: { phone: {} } } },
    },
  }
  const ODD: [string, Json, string, RegExp][] = [
    ['without templates', booking({}, { templates: [] }), AT, /no templates/],
    ['without an entity', booking({}, { entity: undefined }), AT, /entity/],
    ['whose entity has no plural', booking({ entities: {} }), `${AT}/entity`, /\{ booking: bookings \}/],
    [
      'with a template that delivery never uses',
      booking({}, { delivery: { channels: ['email'] } }),
      `${AT}/templates/0/channel`,
      /never used/,
    ],
    [
      'with a channel that has no template',
      booking({}, { delivery: { fallback: ['email', 'sms', 'whatsapp'] } }),
      `${AT}/delivery/fallback/1`,
      /no template for sms/,
    ],
    [
      'with templates that say nothing to anybody',
      booking({}, { delivery: { none: true }, templates: [{ channel: 'sms', body: 'x' }] }),
      `${AT}/templates/0/channel`,
      /never used/,
    ],
    ['without recipients', booking({}, { recipients: undefined }), `${AT}/recipients`, /is missing/],
    [
      'with an empty body',
      booking({}, { templates: [{ channel: 'sms', body: ' ' }] }),
      `${AT}/templates/0/body`,
      /empty/,
    ],
    [
      'with an email without subject',
      booking({}, { templates: [{ channel: 'email', body: 'x' }] }),
      `${AT}/templates/0`,
      /subject/,
    ],
    [
      'with an SMS with subject',
      booking({}, { templates: [{ channel: 'sms', body: 'x', subject: 'y' }] }),
      `${AT}/templates/0/subject`,
      /no subject/,
    ],
    [
      'with a provider template where there are none',
      booking({}, { templates: [{ channel: 'push', body: 'x', providerTemplate: {} }] }),
      `${AT}/templates/0/providerTemplate`,
      /never used/,
    ],
    [
      'with a scope that never applies',
      booking({}, { templates: [{ channel: 'sms', body: 'x', scope: { type: 'listing', id: '1' } }] }),
      `${AT}/templates/0/scope`,
      /add scopes/,
    ],
    [
      'with a recipient that is not in the payload',
      booking({}, { payload, recipients: [{ email: 'guest.emial' }] }),
      `${AT}/recipients/0/email`,
      /no "guest.emial"/,
    ],
    [
      'with a list that is not in the payload',
      booking({}, { payload, recipients: [{ phone: 'beds[].phone' }] }),
      `${AT}/recipients/0/phone`,
      /leads nowhere/,
    ],
    [
      'with a date that is not in the payload',
      booking({}, { payload, recipients: [], once: 'per-event', timing: { after: 'PT1H', field: 'date' } }),
      `${AT}/timing/field`,
      /leads nowhere/,
    ],
    [
      'with a secret that is not in the payload',
      booking({}, { payload, recipients: [], secrets: ['token'] }),
      `${AT}/secrets/0`,
      /leads nowhere/,
    ],
    ['cancelled by itself', booking({}, { cancelledBy: ['booking.confirmed'] }), `${AT}/cancelledBy`, /replaces: true/],
    [
      'cancelled by what is about something else',
      booking(
        { entities: { booking: 'bookings', trip: 'trips' } },
        { cancelledBy: ['over'] },
        { over: { entity: 'trip', delivery: { none: true } } },
      ),
      `${AT}/cancelledBy`,
      /about a trip/,
    ],
  ]
  for (const [what, json, path, message] of ODD)
    it(`${what} is taken, with a warning there`, () => {
      const { warnings } = read(json)

      assert.deepEqual(
        warnings.map((warning) => warning.path),
        [path],
      )
      assert.match(warnings[0]?.message ?? '', message)
    })

  it('is not suspected where the schema leaves fields open', () => {
    const open = { type: 'object', properties: { guest: { type: 'object' }, rooms: { type: 'array' } } }

    assert.deepEqual(
      read(booking({}, { payload: open, recipients: [{ email: 'guest.email', phone: 'rooms[].phone' }] })).warnings,
      [],
    )
    assert.deepEqual(
      read(booking({}, { payload, recipients: [{ email: 'guest.email', phone: 'rooms[].phone' }] })).warnings,
      [],
    )
  })
})

/** The right names with plausible and absurd values. */
const either = (...values: unknown[]) => fc.oneof(...values.map((value) => fc.constant(value)), fc.jsonValue())
const nearlyType = fc.record(
  {
    entity: either('booking'),
    once: either('per-entity', 'per-event', 'per-occurrence'),
    payload: either({ type: 'object', properties: { a: { $ref: '#' } } }),
    recipients: either([], [{ phone: 'a' }], [{ list: 'l' }], [{ email: 'a[].b', phone: 5 }]),
    delivery: either({ all: true }, { channels: ['sms'] }, { fallback: ['x'] }, { none: true }),
    timing: either({ after: 'PT1H' }, { at: '09:00', field: 'a.b' }, { before: 5 }),
    cancelledBy: either(['a'], ['toString'], [null]),
    secrets: either(['a'], ['a.b[]']),
    scopes: either({ listing: 'a' }),
    conversation: either('entity', { type: 'a', id: 'b' }),
    retry: either({ delays: [] }, { fixed: 'PT1M' }),
    expiresAfter: either('PT1H'),
    templates: fc.oneof(
      fc.array(
        fc.record(
          {
            channel: either('sms', 'fax'),
            locale: either('de'),
            scope: either({ type: 'a', id: 1 }),
            subject: either('x'),
            body: either('x'),
            providerTemplate: either({ name: 'x' }),
          },
          { requiredKeys: [] },
        ),
      ),
      fc.jsonValue(),
    ),
  },
  { requiredKeys: [] },
)
const nearlyCatalogue = fc.record(
  {
    name: either('atlas'),
    defaultLocale: either('de-DE'),
    entities: either({ booking: 'bookings' }),
    sources: either({ hasura: { t: { eventType: 'a', entityId: 'new.id' } } }),
    eventTypes: fc.dictionary(
      fc.oneof(fc.constantFrom('a', 'a.b', 'toString', '__proto__'), fc.string()),
      fc.oneof(nearlyType, fc.jsonValue()),
    ),
  },
  { requiredKeys: [] },
)
