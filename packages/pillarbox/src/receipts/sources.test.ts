import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  awsSmsEvent,
  eventGridCallback,
  interaktCallback,
  metaCallback,
  msg91Report,
  sesEvent,
  snsDelivery,
  snsMessage,
} from '@pillarbox/vendors'
import fc from 'fast-check'
import { callbackOf } from '../../../../test/support/callbacks.ts'
import { account } from '../../../../test/support/providers.ts'
import { PROVIDERS_WITH_RECEIPTS } from '../model/receipt.ts'
import { systemClock } from '../runtime/system.ts'
import { createOutbound } from '../security/outbound.ts'
import type { Parsed } from './receipt-source.ts'
import { createReceiptSources } from './sources.ts'

const AT = Date.UTC(2026, 10, 15, 9)
const ID = '018f0000-0000-7000-8000-0000000000ff'
const sources = createReceiptSources({
  outbound: createOutbound({ clock: systemClock, allowPrivate: false }),
  clock: systemClock,
  certHosts: [],
})

const sns = (message: unknown) =>
  snsMessage({ certificateUrl: 'https://sns.us-east-1.amazonaws.com/x.pem', topicArn: 'arn', at: AT, message })
const mail = { messageId: 'm', recipients: ['guest@example.com'], at: AT }
const sms = { messageId: 'm', phone: '+919876543210', at: AT }

/** A genuine body of every form there is. */
const GENUINE: [source: string, body: string][] = [
  ['meta', metaCallback('s', [{ id: 'a', status: 'failed', at: AT, errorCode: 131_026, callbackData: ID }]).body],
  ['interakt', interaktCallback({ id: 'a', type: 'message_api_failed', at: AT, errorCode: 131_026 }).body],
  ...(['v2', 'v3', 'v4', 'new'] as const).map((shape): [string, string] => [
    'msg91',
    msg91Report(shape, { requestId: 'a', number: '919876543210', status: 2, at: AT, crqid: ID }).body,
  ]),
  ['acs', eventGridCallback([{ messageId: ID, recipient: 'a@example.com', status: 'Bounced', at: AT }]).body],
  [
    'acs',
    eventGridCallback([{ messageId: ID, recipient: 'a@example.com', status: 'view', at: AT }], 'cloud-events').body,
  ],
  ['ses', sns(sesEvent('Bounce', mail)).body],
  ['ses', sns(sesEvent('Complaint', { ...mail, form: 'notification' })).body],
  ['sns-sms', sns(awsSmsEvent('TEXT_INVALID', sms)).body],
  ['sns-sms', sns(snsDelivery({ ...sms, status: 'FAILURE' })).body],
]

function parse(name: string, body: string | Buffer, headers: Record<string, string> = {}): Parsed {
  const source = sources.get(name) ?? assert.fail(name)
  const parsed = source.parse({ rawBody: Buffer.from(body), headers, receivedAt: AT + 1_000 })
  check(parsed)
  return parsed
}

/** What the store may rely on, whatever was sent. */
function check({ events, unreadable }: Parsed): void {
  assert.ok(Number.isInteger(unreadable) && unreadable >= 0)
  for (const event of events) {
    assert.ok(event.providerMessageId !== null || event.notificationId !== null)
    for (const id of [event.providerMessageId, event.eventId]) if (id !== null) assert.match(id, /^[\x21-\x7e]{1,512}$/)
    if (event.notificationId !== null) assert.match(event.notificationId, /^[\da-f-]{36}$/)
    if (event.recipient !== null) assert.match(event.recipient, /^(\+\d{7,15}|[^\s@]{1,64}@[^\s@]{1,255})$/)
    assert.ok(Number.isInteger(event.at) && event.at > 0 && event.at < AT + 2 * 86_400_000)
    if ('failure' in event) assert.match(event.failure.code, /^[\w ./-]{1,130}$/)
  }
}

describe('every source of receipts', () => {
  it('goes by the name of its webhook', () => {
    assert.deepEqual([...sources.keys()], ['meta', 'interakt', 'msg91', 'acs', 'ses', 'sns-sms'])
    const providers = [...sources.values()].flatMap((source) => source.providers)
    assert.deepEqual(providers.toSorted(), PROVIDERS_WITH_RECEIPTS.toSorted())
  })

  it('reads its own vendor’s callbacks', () => {
    for (const [name, body] of GENUINE) {
      const { events, unreadable } = parse(name, body)
      assert.deepEqual([events.length, unreadable], [1, 0], `${name}: ${body}`)
    }
  })

  it('takes anything for a body', () => {
    fc.assert(
      fc.property(fc.constantFrom(...sources.keys()), fc.uint8Array({ maxLength: 200 }), (name, bytes) => {
        parse(name, Buffer.from(bytes))
      }),
      { numRuns: 2_000 },
    )
  })

  it('takes any JSON for a body, inside SNS’s envelope too', () => {
    fc.assert(
      fc.property(fc.constantFrom(...sources.keys()), fc.json({ maxDepth: 5 }), (name, json) => {
        parse(name, json)
        parse(name, JSON.stringify({ Type: 'Notification', Message: json, MessageId: 1, Timestamp: {} }))
      }),
      { numRuns: 2_000 },
    )
  })

  it('takes a genuine body in which any one value was replaced by any other', () => {
    const strange = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom<unknown>(null, '', '__proto__', 'constructor', '\u0000', '\ud800', 1e308, -1, [[]], {
        length: 1e9,
      }),
    )
    fc.assert(
      fc.property(fc.constantFrom(...GENUINE), fc.nat(), strange, ([name, body], at, value) => {
        parse(name, spoilt(body, at, value))
      }),
      { numRuns: 5_000 },
    )
  })

  for (const [what, body] of [
    ['a list a million deep', `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`],
    ['an object a hundred thousand deep', `${'{"entry":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
    ['a list that never ends', '['.repeat(1_000_000)],
    ['ten million characters', 'x'.repeat(10_000_000)],
    ['a number without end', `[${'9'.repeat(100_000)}]`],
    ['keys of the prototype', '{"__proto__":{"object":"x","entry":[{}]},"constructor":{"prototype":{"data":[1]}}}'],
    ['a form of many fields', 'a=1&'.repeat(100_000)],
  ] as const)
    it(`survives ${what}`, () => {
      for (const name of sources.keys()) assert.deepEqual(parse(name, body).events, [], name)
    })

  it('reads a body of many thousands', () => {
    const statuses = Array.from({ length: 50_000 }, (_, i) => ({ id: `wamid.${i}`, status: 'read' as const, at: AT }))
    const reports = Array.from({ length: 20_000 }, () => 1).join(',')

    assert.equal(parse('meta', metaCallback('s', statuses).body).events.length, 50_000)
    for (const name of sources.keys()) assert.deepEqual(parse(name, `[${reports}]`).events, [])
  })

  it('never believes anything that proves nothing, whatever it is', async () => {
    const accounts = [...sources.values()].flatMap(({ providers }) =>
      providers.map((provider) => account('sms', provider, { secrets: { appSecret: '', webhookToken: '' } })),
    )
    const header = fc.dictionary(
      fc.constantFrom('x-hub-signature-256', 'interakt-signature', 'x-interakt-signature', 'aeg-event-type'),
      fc.oneof(fc.string(), fc.constant('sha256='), fc.constant(`sha256=${'0'.repeat(64)}`)),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...sources.values()),
        fc.constantFrom('GET', 'POST', 'OPTIONS', 'PUT', 'DELETE', ''),
        header,
        fc.oneof(fc.webQueryParameters(), fc.constantFrom('token=', 'token', 'hub.mode=subscribe&hub.challenge=1')),
        fc.oneof(fc.json(), fc.string()),
        async (source, method, headers, query, body) => {
          const callback = callbackOf(source.name, { method: 'POST', headers, body }, query)
          const verified = await source.verify(
            { ...callback, method },
            accounts.filter(({ provider }) => source.providers.includes(provider)),
          )
          assert.equal(verified.kind, 'forged')
        },
      ),
      { numRuns: 2_000 },
    )
  })
})

/** The body with one of its values replaced, counted from the front, the message inside SNS's envelope included. */
function spoilt(body: string, at: number, value: unknown): string {
  if (!body.startsWith('{') && !body.startsWith('[')) {
    const [form] = new URLSearchParams(body).values()
    return new URLSearchParams({ data: spoilt(form ?? '', at, value) }).toString()
  }
  const json = JSON.parse(body) as Record<string, unknown>
  if (typeof json['Message'] === 'string' && at % 2 === 0)
    return JSON.stringify({ ...json, Message: spoilt(json['Message'], at / 2, value) })
  const places: [holder: Record<string, unknown>, key: string][] = []
  const visit = (holder: Record<string, unknown>): void => {
    for (const [key, inner] of Object.entries(holder)) {
      places.push([holder, key])
      if (typeof inner === 'object' && inner !== null) visit(inner as Record<string, unknown>)
    }
  }
  visit(json)
  const [holder, key] = places[Math.floor(at) % places.length] ?? [json, '']
  holder[key] = value
  return JSON.stringify(json)
}
