import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { EventType } from '../model/catalogue.ts'
import { isPillarboxError } from '../model/errors.ts'
import { knownPaths, renderOptions } from '../render/render-options.ts'
import { createUntrustedInProcess } from '../untrusted/untrusted.ts'
import { previewTemplate, refuseUnreadable, templateWarnings } from './templates.ts'

const untrusted = createUntrustedInProcess()

const TYPE: EventType = {
  name: 'trip.booked',
  description: null,
  entity: 'trip',
  once: 'per-entity',
  payload: {
    type: 'object',
    properties: {
      departureDate: { type: 'string', format: 'date' },
      pin: { type: 'string' },
      passengers: {
        type: 'array',
        items: { type: 'object', properties: { phone: { type: 'string' }, seat: { type: 'string' } } },
      },
    },
  },
  recipients: [{ phone: 'passengers[].phone' }],
  delivery: { kind: 'channels', channels: ['sms'] },
  timing: { offsetMs: 0, field: null, at: null, ifPast: 'send' },
  replaces: false,
  cancelledBy: [],
  approval: false,
  secrets: ['pin'],
  scopes: [{ type: 'line', path: 'lineId' }],
  conversation: null,
  expiresAfterMs: null,
  retry: null,
  onUndeliverable: null,
}

const TENANT = { id: 'acme', name: 'Acme', defaultLocale: 'en', timeZone: 'Asia/Kolkata', settings: {}, createdAt: 0 }
const SMS = {
  eventType: TYPE.name,
  channel: 'sms',
  scope: null,
  subject: null,
  body: 'Hi',
  format: null,
  providerTemplate: null,
} as const

type Saved = Parameters<typeof templateWarnings>[2][number]

async function codes(template: Partial<Saved['template']>, type: EventType | null = TYPE) {
  const saved = { template: { ...SMS, ...template }, eventType: type }
  const [warnings = []] = await templateWarnings(untrusted, 'acme', [saved])
  return warnings.map(({ code, key }) => [code, key])
}

describe('what a template may name', () => {
  it('is the payload, and the recipient with the fields of the list they were found in', async () => {
    const body =
      '{{departureDate}} {{recipient.name}} {{recipient.seat}} {% for p in passengers %}{{p.seat}}{% endfor %}'

    assert.deepEqual(await codes({ body }), [])
    assert.deepEqual(await codes({ body: '{{recipient.sead}}' }), [['unknown_placeholder', 'recipient.sead']])
  })

  it('is the entity, and the only kind of recipient where the payload is expected to have them', async () => {
    const type = { ...TYPE, recipients: [{ email: 'guest.email', name: 'guestName' }] }
    const body = '{{tripId}} {{entity.id}} {{guestName}} {{ guest.name }} {{guestEmail}}'

    assert.deepEqual(await codes({ body }, type), [])
    assert.deepEqual(await codes({ body: '{{bookingId}} {{hostName}}' }, type), [
      ['unknown_placeholder', 'bookingId'],
      ['unknown_placeholder', 'hostName'],
    ])
  })

  it('is anything where the event type has no schema', async () => {
    assert.equal(knownPaths({ ...TYPE, payload: null }), null)
    assert.deepEqual(await codes({ body: '{{whatever}}' }, { ...TYPE, payload: null }), [])
  })
})

describe('a template that can be saved', () => {
  it('is warned about with the nearest name, also in the subject and in what the provider gets', async () => {
    const template = { ...SMS, subject: '{{departureDat}}', providerTemplate: { components: ['{{pinn}}'] } }
    const [warnings = []] = await templateWarnings(untrusted, 'acme', [{ template, eventType: TYPE }])

    assert.deepEqual(
      warnings.map(({ key, message }) => [key, message]),
      [
        ['departureDat', 'The payload has no departureDat; did you mean departureDate?'],
        ['pinn', 'The payload has no pinn; did you mean pin?'],
      ],
    )
  })

  it('is warned about where nothing would be made from it', async () => {
    assert.deepEqual(await codes({ channel: 'email', subject: 'Hi' }), [['unused_channel', 'email']])
    assert.deepEqual(await codes({}, { ...TYPE, delivery: { kind: 'none' } }), [['unused_channel', 'sms']])
    assert.deepEqual(await codes({ channel: 'email', subject: 'Hi' }, { ...TYPE, delivery: { kind: 'all' } }), [])
    assert.deepEqual(await codes({ scope: { type: 'line', id: '7' } }), [])
    assert.deepEqual(await codes({ scope: { type: 'town', id: '7' } }), [['unknown_scope', 'town']])
    assert.deepEqual(await codes({}, null), [['unknown_event_type', TYPE.name]])
  })
})

describe('a mail without a subject', () => {
  it('is warned about, and nothing else without one is', async () => {
    const all: EventType = { ...TYPE, delivery: { kind: 'all' } }

    for (const subject of [null, '', ' '])
      assert.deepEqual(await codes({ channel: 'email', subject }, all), [['missing_subject', undefined]])
    for (const channel of ['sms', 'push'] as const) assert.deepEqual(await codes({ channel, subject: null }, all), [])
  })
})

describe('a template that cannot be read', () => {
  it('is refused with every part at fault', async () => {
    const words = { subject: '{{', body: 'fine', providerTemplate: { name: 'x', parameters: ['{% if %}'] } }

    await assert.rejects(
      () => refuseUnreadable(untrusted, 'acme', words),
      (error) => {
        assert.ok(isPillarboxError(error, 'invalid_template'))
        assert.deepEqual(
          error.details.errors?.map(({ path }) => path),
          ['/subject', '/providerTemplate'],
        )
        return true
      },
    )
  })
})

describe('how words are rendered', () => {
  it('follows the tenant’s settings, and has defaults where there are none', () => {
    const { dateFields, ...defaults } = renderOptions(TENANT, TYPE, 'en')
    assert.ok(dateFields?.has('departureDate'))
    assert.deepEqual(defaults, {
      locale: 'en',
      timeZone: 'Asia/Kolkata',
      dateFormat: 'medium',
      missing: 'empty',
      secrets: ['pin'],
    })
    const settings = { dateFormat: 'iso', currency: 'INR', missingPlaceholder: 'keep', region: 5 }
    assert.deepEqual(renderOptions({ ...TENANT, settings }, null, 'de'), {
      locale: 'de',
      timeZone: 'Asia/Kolkata',
      dateFormat: 'iso',
      currency: 'INR',
      missing: 'keep',
      dateFields: null,
    })
  })

  it('is previewed with secrets covered', async () => {
    const preview = await previewTemplate(untrusted, {
      words: { subject: null, body: '{{departureDate}} {{pin}}{{seat}}' },
      channel: 'sms',
      context: { departureDate: '2026-03-15', pin: 'canary' },
      locale: 'en',
      tenant: { ...TENANT, settings: { dateFormat: 'dd.MM.yyyy' } },
      eventType: TYPE,
      now: 0,
    })

    assert.match(preview.body, /^15\.03\.2026 /)
    assert.ok(!preview.body.includes('canary'))
    assert.deepEqual([preview.missing, preview.unknown], [['seat'], ['seat']])
    assert.deepEqual(
      preview.warnings.map(({ code }) => code),
      ['unknown_placeholder', 'missing_placeholder'],
    )
  })
})
