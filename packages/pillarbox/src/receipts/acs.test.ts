import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  cloudEventsHandshake,
  type EmailReport,
  type EventGridSchema,
  eventGridCallback,
  eventGridValidation,
} from '@pillarbox/vendors'
import { callbackOf, keptOf } from '../../../../test/support/callbacks.ts'
import { account } from '../../../../test/support/providers.ts'
import { assertHeard } from '../../../../test/support/vendor-facts.ts'
import { ACS_ENGAGEMENTS, ACS_STATUSES, acsReceipts } from './acs.ts'

const STATUSES = {
  Delivered: 'delivered',
  Expanded: 'sent',
  Bounced: 'bounced: permanent invalid_recipient, dead',
  Suppressed: 'bounced: permanent invalid_recipient, dead',
  FilteredSpam: 'failed: permanent content_rejected',
  Quarantined: 'failed: permanent content_rejected',
  Failed: 'failed: permanent unreachable',
}

const ENGAGEMENTS = {
  view: 'read',
  click: 'read',
}

const AT = Date.UTC(2026, 10, 15, 9, 30, 15, 123)
const OPERATION = '018f0000-0000-7000-8000-0000000000ff'
const SCHEMAS: readonly EventGridSchema[] = ['event-grid', 'cloud-events']
const DELIVERED: EmailReport = {
  id: 'event-1',
  messageId: OPERATION,
  recipient: 'guest@example.com',
  status: 'Delivered',
  at: AT,
}

const source = acsReceipts()
const first = account('email', 'acs', { secrets: { webhookToken: 'first' } })
const second = { ...first, id: 'second', secrets: { webhookToken: 'second' } }

describe('a callback of Event Grid', () => {
  for (const schema of SCHEMAS)
    it(`is believed by the token of an account, as ${schema}`, async () => {
      const callback = callbackOf('acs', eventGridCallback([DELIVERED], schema), 'token=second')

      assert.deepEqual(await source.verify(callback, [first, second]), {
        kind: 'good',
        account: second,
        accounts: [second],
      })
    })

  for (const query of ['token=third', 'token=', ''])
    it(`is forged with “${query}”, the handshakes as well`, async () => {
      for (const sent of [eventGridCallback([DELIVERED]), eventGridValidation('code'), cloudEventsHandshake()])
        assert.deepEqual(await source.verify(callbackOf('acs', sent, query), [first, second]), {
          kind: 'forged',
          why: 'token_wrong',
        })
    })

  it('is forged for nobody’s account, and by any other method', async () => {
    const callback = callbackOf('acs', eventGridCallback([DELIVERED]), 'token=first')

    assert.deepEqual(await source.verify(callback, []), { kind: 'forged', why: 'no_account' })
    assert.deepEqual(await source.verify({ ...callback, method: 'GET' }, [first]), {
      kind: 'forged',
      why: 'wrong_method',
    })
  })

  it('that asks whether the webhook is ours gets its code back, with or without its header', async () => {
    const asked = callbackOf('acs', eventGridValidation('512d38b6-c7b8-40c8-89fe-f46f9e9622b6'), 'token=first')

    for (const headers of [asked.headers, { 'content-type': 'application/json' }])
      assert.deepEqual(await source.verify({ ...asked, headers }, [first]), {
        kind: 'answer',
        status: 200,
        body: '{"validationResponse":"512d38b6-c7b8-40c8-89fe-f46f9e9622b6"}',
        contentType: 'application/json; charset=utf-8',
        headers: {},
        note: 'Event Grid set the webhook up',
      })
  })

  it('that asks without a code is refused', async () => {
    const asked = { ...eventGridValidation('code'), body: '[{}]' }

    assert.deepEqual(await source.verify(callbackOf('acs', asked, 'token=first'), [first]), {
      kind: 'forged',
      why: 'malformed',
    })
  })

  it('that asks in the CloudEvents way is told that its origin may send', async () => {
    const verified = await source.verify(callbackOf('acs', cloudEventsHandshake(), 'token=first'), [first])

    assert.ok(verified.kind === 'answer')
    assert.equal(verified.status, 200)
    assert.deepEqual(verified.headers, {
      allow: 'POST, OPTIONS',
      'webhook-allowed-origin': 'eventgrid.azure.net',
      'webhook-allowed-rate': '*',
    })
  })

  it('that asks in the CloudEvents way with something else for an origin is refused', async () => {
    for (const origin of ['', 'a\r\nset-cookie: b', 'x'.repeat(300)])
      assert.deepEqual(await source.verify(callbackOf('acs', cloudEventsHandshake(origin), 'token=first'), [first]), {
        kind: 'forged',
        why: 'malformed',
      })
  })
})

describe('the statuses of Azure Communication Services', () => {
  const parse = (schema: EventGridSchema, ...reports: EmailReport[]) =>
    source.parse(keptOf(eventGridCallback(reports, schema), AT + 1_000))

  for (const schema of SCHEMAS) {
    it(`name the message, our reference, the time and the recipient, as ${schema}`, () => {
      assert.deepEqual(parse(schema, DELIVERED), {
        events: [
          {
            provider: 'acs',
            providerMessageId: OPERATION,
            notificationId: OPERATION,
            at: AT,
            recipient: 'guest@example.com',
            isPartial: false,
            eventId: 'event-1',
            kind: 'delivered',
          },
        ],
        unreadable: 0,
      })
    })

    it(`come several at a time, as ${schema}`, () => {
      assert.equal(parse(schema, DELIVERED, { ...DELIVERED, id: 'event-2' }).events.length, 2)
    })
  }

  it('has a fact for every line of its tables', () => {
    assert.deepEqual(Object.keys(STATUSES).sort(), Object.keys(ACS_STATUSES).sort())
    assert.deepEqual(Object.keys(ENGAGEMENTS).sort(), Object.keys(ACS_ENGAGEMENTS).sort())
  })

  for (const [status, fact] of Object.entries(STATUSES))
    it(`${status} means ${fact}`, () => {
      const { events } = parse('event-grid', { ...DELIVERED, status: status as EmailReport['status'] })

      assertHeard(events, fact, 'Azure', status)
    })

  for (const [engagement, fact] of Object.entries(ENGAGEMENTS))
    it(`${engagement} means ${fact}, in any case`, () => {
      const report = { ...DELIVERED, status: engagement as EmailReport['status'] }
      const body = eventGridCallback([report]).body.replace(`"${engagement}"`, `"${engagement.toUpperCase()}"`)

      assertHeard(parse('cloud-events', report).events, fact, 'Azure', engagement)
      assertHeard(source.parse(keptOf({ headers: {}, body }, AT)).events, fact, 'Azure', engagement)
    })

  it('are read with their attributes in headers', () => {
    const [event] = JSON.parse(eventGridCallback([DELIVERED]).body) as { data: unknown; eventType: string }[]
    const headers = { 'ce-type': event?.eventType ?? '', 'ce-id': 'event-9', 'ce-specversion': '1.0' }

    const { events } = source.parse(keptOf({ headers, body: JSON.stringify(event?.data) }, AT))

    assert.deepEqual([events[0]?.kind, events[0]?.eventId], ['delivered', 'event-9'])
  })

  it('are none of other events’, and counted where nobody knows them', () => {
    const other = [{ id: '1', eventType: 'Microsoft.Communication.SMSReceived', data: {} }]
    const strange = { ...DELIVERED, status: 'Teleported' } as unknown as EmailReport

    assert.deepEqual(source.parse(keptOf({ headers: {}, body: JSON.stringify(other) }, AT)), {
      events: [],
      unreadable: 0,
    })
    assert.deepEqual(parse('event-grid', strange), { events: [], unreadable: 1 })
  })
})
