import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Msg91Report, type Msg91Shape, msg91Report } from '@pillarbox/vendors'
import { callbackOf, keptOf } from '../../../../test/support/callbacks.ts'
import { account } from '../../../../test/support/providers.ts'
import { assertHeard } from '../../../../test/support/vendor-facts.ts'
import { MSG91_STATUSES, msg91Receipts } from './msg91.ts'

/** MSG91’s statuses, and the words that stand for each. */
const STATUSES: Readonly<Record<string, [fact: string, also: string[]]>> = {
  1: ['delivered', ['delivered']],
  2: ['failed: permanent unreachable', ['failed', 'undelivered', 'expired']],
  9: ['failed: permanent suppressed', ['ndnc', 'dnd', 'ndnc number']],
  16: ['failed: permanent content_rejected', ['rejected']],
  17: ['failed: permanent invalid_recipient, dead', ['blocked number', 'blocked']],
  25: ['failed: permanent content_rejected', []],
  sent: ['sent', ['submitted', 'pending', 'queued', 'accepted']],
}

const AT = Date.UTC(2026, 10, 15, 20, 45, 30)
const NOTIFICATION = '018f0000-0000-7000-8000-0000000000ff'
const SHAPES: readonly Msg91Shape[] = ['v2', 'v3', 'v4', 'new']
const DELIVERED: Msg91Report = {
  requestId: '346f6c6b6d617478',
  number: '919876543210',
  status: 1,
  at: AT,
  crqid: NOTIFICATION,
}

const source = msg91Receipts()
const first = account('sms', 'msg91', { secrets: { authKey: 'key', webhookToken: 'first' } })
const second = { ...first, id: 'second', secrets: { authKey: 'key', webhookToken: 'second' } }
const unset = { ...first, id: 'unset', secrets: { authKey: 'key' } }

describe('a report of MSG91', () => {
  for (const shape of SHAPES)
    it(`is believed by the token of an account, as ${shape}`, async () => {
      const callback = callbackOf('msg91', msg91Report(shape, DELIVERED), 'token=second')

      assert.deepEqual(await source.verify(callback, [unset, first, second]), {
        kind: 'good',
        account: second,
        accounts: [second],
      })
    })

  for (const [what, query] of [
    ['another token', 'token=third'],
    ['a token that only begins right', 'token=firs'],
    ['an empty token', 'token='],
    ['no token', ''],
  ] as const)
    it(`is forged with ${what}`, async () => {
      const callback = callbackOf('msg91', msg91Report('v3', DELIVERED), query)

      assert.deepEqual(await source.verify(callback, [unset, first, second]), { kind: 'forged', why: 'token_wrong' })
    })

  it('is forged for nobody’s account, and by any other method', async () => {
    const callback = callbackOf('msg91', msg91Report('v3', DELIVERED), 'token=first')

    assert.deepEqual(await source.verify(callback, []), { kind: 'forged', why: 'no_account' })
    assert.deepEqual(await source.verify({ ...callback, method: 'GET' }, [first]), {
      kind: 'forged',
      why: 'wrong_method',
    })
  })
})

describe('MSG91’s statuses', () => {
  const parse = (shape: Msg91Shape, ...reports: [Msg91Report, ...Msg91Report[]]) =>
    source.parse(keptOf(msg91Report(shape, ...reports), AT + 60_000))
  const written = (body: unknown) => source.parse(keptOf({ headers: {}, body: JSON.stringify(body) }, AT + 60_000))

  for (const shape of SHAPES)
    it(`name the message, our reference, the time in India and the recipient, as far as ${shape} does`, () => {
      const isV4 = shape === 'v4'

      assert.deepEqual(parse(shape, DELIVERED), {
        events: [
          {
            provider: 'msg91',
            providerMessageId: isV4 ? null : DELIVERED.requestId,
            notificationId: NOTIFICATION,
            at: AT,
            recipient: isV4 ? null : '+919876543210',
            isPartial: false,
            eventId: null,
            kind: 'delivered',
          },
        ],
        unreadable: 0,
      })
    })

  it('has a fact for every line of its table', () => {
    assert.deepEqual(Object.keys(STATUSES).sort(), Object.keys(MSG91_STATUSES).sort())
  })

  for (const [status, [fact]] of Object.entries(STATUSES))
    for (const shape of SHAPES)
      it(`${status} means ${fact} in ${shape}`, () => {
        const { events } = parse(shape, { ...DELIVERED, status, reason: 'private words' })

        // 16 and 25 have the same word, which is all that v4 and the newer webhooks tell.
        const code = shape === 'v2' || shape === 'v3' || status !== '25' ? status : '16'
        assertHeard(events, fact, 'MSG91', code)
        assert.doesNotMatch(JSON.stringify(events), /private words/)
      })

  for (const [status, [fact, also]] of Object.entries(STATUSES))
    for (const word of also)
      it(`“${word}” means ${status}, in any case`, () => {
        assertHeard(parse('new', { ...DELIVERED, status: word.toUpperCase() }).events, fact, 'MSG91', status)
      })

  it('of several messages come in one v2 form', () => {
    const { events } = parse('v2', DELIVERED, { ...DELIVERED, requestId: 'other', status: 2 })

    assert.deepEqual(
      events.map(({ providerMessageId, kind }) => [providerMessageId, kind]),
      [
        [DELIVERED.requestId, 'delivered'],
        ['other', 'failed'],
      ],
    )
  })

  it('are read from v2 that was turned into JSON on its way', () => {
    const [form] = new URLSearchParams(msg91Report('v2', DELIVERED).body).values()

    assert.equal(written({ data: form }).events.length, 1)
    const list: unknown = JSON.parse(form ?? '')
    assert.equal(written({ data: list }).events.length, 1)
    assert.equal(written(list).events.length, 1)
  })

  it('are read from lists in a text, with times that name their zone, and under names of one’s own choice', () => {
    const [event] = written({
      request_id: '["346f"]',
      mobile: '["919876543210"]',
      status: 'Delivered',
      timestamp: '2026-11-15T20:45:30Z',
    }).events

    assert.deepEqual([event?.providerMessageId, event?.recipient, event?.at], ['346f', '+919876543210', AT])
  })

  it('take 0 for no reference', () => {
    const { crqid: _, ...without } = DELIVERED

    assert.equal(parse('v3', without).events[0]?.notificationId, null)
    assert.deepEqual(parse('v4', without), { events: [], unreadable: 1 })
  })

  it('are none of a request’s, and counted where nobody knows them', () => {
    assert.deepEqual(written({ requestId: '346f', telNum: '919876543210' }), { events: [], unreadable: 0 })
    assert.deepEqual(parse('v3', { ...DELIVERED, status: 99 }), { events: [], unreadable: 1 })
  })
})
