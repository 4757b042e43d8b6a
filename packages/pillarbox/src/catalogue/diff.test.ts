import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Catalogue } from '../model/catalogue.ts'
import { changesAnything, diffCatalogue, type TemplateNow } from './diff.ts'
import { parseCatalogue } from './parse.ts'

type Json = Record<string, unknown>

function catalogue(types: Json, rest: Json = {}): Catalogue {
  const read = parseCatalogue({ name: 'shop', entities: { order: 'orders' }, eventTypes: types, ...rest })
  assert.ok('catalogue' in read, JSON.stringify(read))
  return read.catalogue
}

const sms = { channel: 'sms', body: 'Paid.' }
const PAID = { entity: 'order', recipients: [{ phone: 'phone' }], templates: [sms] }

/** The templates as an import of that catalogue leaves them. */
const seeded = ({ templates }: Catalogue, isEdited = false): TemplateNow[] =>
  templates.map((template) => ({ ...template, isEdited }))

const texts = (...args: Parameters<typeof diffCatalogue>): string[] => diffCatalogue(...args).map(({ text }) => text)

describe('what an import will change', () => {
  it('is nothing when it is the same again', () => {
    const now = catalogue({ 'order.paid': PAID })

    assert.deepEqual(diffCatalogue(now, catalogue({ 'order.paid': PAID }), seeded(now)), [])
    assert.equal(changesAnything([]), false)
  })

  it('is everything the first time', () => {
    assert.deepEqual(diffCatalogue(null, catalogue({ 'order.paid': PAID }), []), [
      {
        kind: 'entity_added',
        text: 'adds the entity order (orders)',
        entity: 'order',
        fields: [{ field: 'plural', to: 'orders' }],
      },
      { kind: 'event_type_added', text: 'adds the event type order.paid', eventType: 'order.paid' },
      {
        kind: 'template_added',
        text: 'adds the template order.paid (sms, en)',
        eventType: 'order.paid',
        channel: 'sms',
        locale: 'en',
      },
    ])
  })

  it('names the event types that come, go and change, and which of their fields', () => {
    const now = catalogue({ 'order.paid': PAID, 'order.lost': PAID })
    const next = catalogue({
      'order.paid': {
        ...PAID,
        timing: { after: 'PT12H' },
        approval: true,
        payload: { properties: { a: { description: 'x'.repeat(80) } } },
      },
      'order.sent': { ...PAID, templates: [] },
    })

    const changes = diffCatalogue(now, next, seeded(catalogue({ 'order.paid': PAID })))

    assert.deepEqual(
      changes.map(({ kind, text }) => [kind, text]),
      [
        [
          'event_type_changed',
          'changes order.paid: payload; timing {"after":"PT0S"} → {"after":"PT12H"}; approval none → true',
        ],
        ['event_type_added', 'adds the event type order.sent'],
        ['event_type_removed', 'removes the event type order.lost: events of that type will be refused'],
      ],
    )
    assert.deepEqual(changes[0]?.fields?.at(-1), { field: 'approval', to: true })
  })

  it('names entities and settings', () => {
    const now = catalogue({ a: { recipients: [] } }, { entities: { order: 'orders', trip: 'trips' } })
    const hasura = { t: { eventType: 'a', entityId: 'new.id' } }
    const next = catalogue(
      { a: { recipients: [] } },
      { entities: { order: 'purchases', bus: 'buses' }, defaultLocale: 'de', sources: { hasura } },
    )

    assert.deepEqual(texts(now, next, []), [
      'changes defaultLocale "en" → "de"',
      'changes sources',
      'renames the plural of order: orders → purchases',
      'adds the entity bus (buses)',
      'removes the entity trip',
    ])
  })

  it('names the domain events that come, go and change, the first time too', () => {
    const types = { a: { recipients: [] }, b: { recipients: [] } }
    const now = catalogue(types, { domainEvents: { Both: ['a', 'b'], Quiet: [], Gone: ['a'] } })
    const next = catalogue(types, { domainEvents: { Both: ['b'], Quiet: [], Constructed: ['a', 'b'] } })

    const first = diffCatalogue(null, now, []).filter(({ kind }) => kind === 'domain_event_added')
    assert.deepEqual(first, [
      {
        kind: 'domain_event_added',
        text: 'adds the domain event Both, which becomes a, b',
        domainEvent: 'Both',
        fields: [{ field: 'becomes', to: ['a', 'b'] }],
      },
      {
        kind: 'domain_event_added',
        text: 'adds the domain event Quiet, which becomes nothing',
        domainEvent: 'Quiet',
        fields: [{ field: 'becomes', to: [] }],
      },
      {
        kind: 'domain_event_added',
        text: 'adds the domain event Gone, which becomes a',
        domainEvent: 'Gone',
        fields: [{ field: 'becomes', to: ['a'] }],
      },
    ])
    assert.deepEqual(
      diffCatalogue(now, next, []).map(({ kind, text }) => [kind, text]),
      [
        ['domain_event_changed', 'changes the domain event Both, which becomes b instead of a, b'],
        ['domain_event_added', 'adds the domain event Constructed, which becomes a, b'],
        ['domain_event_removed', 'removes the domain event Gone: events of that name will be refused'],
      ],
    )
    assert.deepEqual(diffCatalogue(now, now, []), [])
  })

  it('updates templates that nobody edited, and keeps those that somebody did', () => {
    const now = catalogue({ 'order.paid': PAID })
    const next = catalogue({ 'order.paid': { ...PAID, templates: [{ ...sms, body: 'Thank you.' }] } })

    assert.deepEqual(texts(now, next, seeded(now)), ['updates the template order.paid (sms, en): body'])
    const kept = diffCatalogue(now, next, seeded(now, true))
    assert.deepEqual(
      kept.map(({ kind, text }) => [kind, text]),
      [['template_kept', 'keeps the template order.paid (sms, en) as it was edited here']],
    )
    assert.deepEqual(kept[0]?.fields, [{ field: 'body', from: 'Paid.', to: 'Thank you.' }])
    assert.equal(changesAnything(kept), false)
    assert.deepEqual(texts(now, now, seeded(now, true)), [])
  })

  it('leaves templates that it no longer names, and says nothing of those that were written by hand', () => {
    const now = catalogue({ 'order.paid': PAID, 'order.lost': PAID })
    const next = catalogue({ 'order.paid': { ...PAID, templates: [{ ...sms, locale: 'de' }] } })

    assert.deepEqual(texts(now, next, seeded(now)).slice(1), [
      'adds the template order.paid (sms, de)',
      'leaves the template order.paid (sms, en), which the catalogue no longer names: it is still used',
      'leaves the template order.lost (sms, en), which the catalogue no longer names: nothing uses it',
    ])
    assert.deepEqual(texts(now, next, seeded(now, true)).slice(1), ['adds the template order.paid (sms, de)'])
  })

  it('tells templates of different scopes apart', () => {
    const scoped = { ...sms, scope: { type: 'listing', id: '10' } }
    const now = catalogue({ 'order.paid': PAID })
    const next = catalogue({ 'order.paid': { ...PAID, scopes: { listing: 'listingId' }, templates: [sms, scoped] } })

    const [, added] = diffCatalogue(now, next, seeded(now))

    assert.deepEqual(
      [added?.text, added?.scope],
      ['adds the template order.paid (sms, en, listing 10)', { type: 'listing', id: '10' }],
    )
  })
})
