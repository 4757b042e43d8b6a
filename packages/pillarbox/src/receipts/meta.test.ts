import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type MetaStatus, metaCallback, metaChallenge } from '@pillarbox/vendors'
import fc from 'fast-check'
import { callbackOf, keptOf, withBitTurned } from '../../../../test/support/callbacks.ts'
import { account } from '../../../../test/support/providers.ts'
import { assertHeard, META_FACTS } from '../../../../test/support/vendor-facts.ts'
import { META_STATUSES, metaReceipts } from './meta.ts'

const STATUSES = {
  sent: 'sent',
  delivered: 'delivered',
  read: 'read',
  played: 'read',
  deleted: 'nothing',
}

const AT = Date.UTC(2026, 10, 15, 9)
const NOTIFICATION = '018f0000-0000-7000-8000-0000000000ff'
const DELIVERED: MetaStatus = { id: 'wamid.A', status: 'delivered', at: AT, recipient: '919876543210' }

const source = metaReceipts()
const first = account('whatsapp', 'meta', { secrets: { appSecret: 'first', verifyToken: 'verify-first' } })
const second = { ...first, id: 'second', secrets: { appSecret: 'second', verifyToken: 'verify-second' } }
const unset = { ...first, id: 'unset', secrets: { accessToken: 'token' } }
const verify = (callback: Parameters<typeof source.verify>[0], accounts = [unset, first, second]) =>
  source.verify(callback, accounts)

describe('a callback of Meta', () => {
  it('is believed for the account whose app secret signed it', async () => {
    const verified = await verify(callbackOf('meta', metaCallback('second', [DELIVERED])))

    assert.deepEqual(verified, { kind: 'good', account: second, accounts: [second] })
  })

  it('may speak for every account that shares the secret', async () => {
    const twin = { ...second, id: 'twin' }

    const verified = await verify(callbackOf('meta', metaCallback('second', [DELIVERED])), [first, second, twin])

    assert.deepEqual(verified, { kind: 'good', account: null, accounts: [second, twin] })
  })

  it('is forged when any one bit of its body was turned', async () => {
    const genuine = callbackOf('meta', metaCallback('first', [DELIVERED]))

    await fc.assert(
      fc.asyncProperty(fc.nat({ max: genuine.rawBody.length * 8 - 1 }), async (bit) => {
        const verified = await verify({ ...genuine, rawBody: withBitTurned(genuine.rawBody, bit) })
        assert.deepEqual(verified, { kind: 'forged', why: 'signature_wrong' })
      }),
      { numRuns: 500 },
    )
  })

  it('is forged when any one digit of its signature was changed', async () => {
    const genuine = callbackOf('meta', metaCallback('first', [DELIVERED]))
    const signature = genuine.headers['x-hub-signature-256'] ?? ''

    for (let at = 'sha256='.length; at < signature.length; at++) {
      const digit = signature[at] === '0' ? '1' : '0'
      const changed = `${signature.slice(0, at)}${digit}${signature.slice(at + 1)}`
      const verified = await verify({ ...genuine, headers: { 'x-hub-signature-256': changed } })
      assert.deepEqual(verified, { kind: 'forged', why: 'signature_wrong' }, changed)
    }
  })

  for (const [what, signature, why] of [
    ['no signature', undefined, 'signature_missing'],
    ['an empty signature', '', 'signature_missing'],
    ['a signature cut short', 'sha256=abcdef', 'signature_wrong'],
    ['a signature of the older kind', 'sha1=0123456789012345678901234567890123456789', 'signature_wrong'],
    ['nothing but the prefix', 'sha256=', 'signature_wrong'],
  ] as const)
    it(`is forged with ${what}`, async () => {
      const { headers: _, ...genuine } = callbackOf('meta', metaCallback('first', [DELIVERED]))
      const headers = signature === undefined ? {} : { 'x-hub-signature-256': signature }

      assert.deepEqual(await verify({ ...genuine, headers }), { kind: 'forged', why })
    })

  it('is forged when it is signed without the word before it, with another’s secret, or with none', async () => {
    const genuine = callbackOf('meta', metaCallback('first', [DELIVERED]))
    const bare = (genuine.headers['x-hub-signature-256'] ?? '').slice('sha256='.length)
    const empty = { ...unset, secrets: { appSecret: '' } }

    const answers = [
      await verify({ ...genuine, headers: { 'x-hub-signature-256': bare } }),
      await verify(callbackOf('meta', metaCallback('somebody else’s', [DELIVERED]))),
      await verify(callbackOf('meta', metaCallback('', [DELIVERED])), [empty, unset]),
    ]

    for (const verified of answers) assert.deepEqual(verified, { kind: 'forged', why: 'signature_wrong' })
  })

  it('is forged for a tenant without an account, and by any other method', async () => {
    const genuine = callbackOf('meta', metaCallback('first', [DELIVERED]))

    assert.deepEqual(await verify(genuine, []), { kind: 'forged', why: 'no_account' })
    assert.deepEqual(await verify({ ...genuine, method: 'PUT' }), { kind: 'forged', why: 'wrong_method' })
  })
})

describe('Meta’s challenge', () => {
  const ask = (query: string, accounts = [unset, first, second]) =>
    verify(callbackOf('meta', { method: 'GET', headers: {} }, query), accounts)

  it('is answered with the bare words, by any account’s token', async () => {
    const verified = await ask(metaChallenge('verify-second', '1158201444'))

    assert.deepEqual(verified, {
      kind: 'answer',
      status: 200,
      body: '1158201444',
      contentType: 'text/plain; charset=utf-8',
      headers: {},
      note: 'Meta set the webhook up',
    })
  })

  for (const [what, query, why] of [
    ['another token', metaChallenge('verify-third'), 'token_wrong'],
    ['an empty token', metaChallenge(''), 'token_wrong'],
    ['another mode', 'hub.mode=unsubscribe&hub.verify_token=verify-first&hub.challenge=1', 'malformed'],
    ['no challenge', 'hub.mode=subscribe&hub.verify_token=verify-first', 'malformed'],
    ['a challenge of any length', metaChallenge('verify-first', '1'.repeat(2_000)), 'malformed'],
    ['nothing', '', 'malformed'],
  ] as const)
    it(`is refused with ${what}`, async () => {
      assert.deepEqual(await ask(query), { kind: 'forged', why })
    })

  it('is refused where no account has a token', async () => {
    assert.deepEqual(await ask(metaChallenge(''), [unset]), { kind: 'forged', why: 'token_wrong' })
  })
})

describe('Meta’s statuses', () => {
  const parse = (...statuses: MetaStatus[]) => source.parse(keptOf(metaCallback('first', statuses), AT + 1_000))

  it('name the message, our reference, the time and the recipient', () => {
    assert.deepEqual(parse({ ...DELIVERED, callbackData: NOTIFICATION }), {
      events: [
        {
          provider: 'meta',
          providerMessageId: 'wamid.A',
          notificationId: NOTIFICATION,
          at: AT,
          recipient: '+919876543210',
          isPartial: false,
          eventId: null,
          kind: 'delivered',
        },
      ],
      unreadable: 0,
    })
  })

  it('has a fact for every line of its table', () => {
    assert.deepEqual(Object.keys(STATUSES).sort(), Object.keys(META_STATUSES).sort())
  })

  for (const [status, fact] of Object.entries(STATUSES))
    it(`${status} means ${fact}`, () => {
      const { events, unreadable } = parse({ ...DELIVERED, status: status as MetaStatus['status'] })

      assertHeard(events, fact, 'Meta', status)
      assert.equal(unreadable, 0)
    })

  for (const [code, fact] of Object.entries(META_FACTS))
    it(`failed with ${code} comes to what the same answer to a call does (${fact})`, () => {
      const failed = { ...DELIVERED, status: 'failed' as const, errorCode: Number(code), errorTitle: 'private words' }

      assertHeard(parse(failed).events, `failed: ${fact}`, 'Meta', code)
    })

  it('failed with a code that nobody knows may be tried again, and with none leads to the next channel', () => {
    const failed: MetaStatus = { ...DELIVERED, status: 'failed' }
    const { events } = parse({ ...failed, errorCode: 139_999 }, { ...failed, errorCode: 294 }, failed)

    assert.deepEqual(
      events.map((event) => event.kind === 'failed' && [event.failure.kind, event.failure.code]),
      [
        ['transient', '139999'],
        ['unauthorized', '294'],
        ['permanent', 'unknown'],
      ],
    )
  })

  it('are read by the thousand, and those that cannot be read are counted', () => {
    const many = Array.from({ length: 5_000 }, (_, i): MetaStatus => ({ ...DELIVERED, id: `wamid.${i}` }))
    const strange = { ...DELIVERED, status: 'teleported' } as unknown as MetaStatus
    const nameless = { ...DELIVERED, id: '' }

    const { events, unreadable } = parse(...many, strange, nameless)

    assert.equal(events.length, 5_000)
    assert.equal(unreadable, 2)
  })

  it('are none of an incoming message’s', () => {
    const body = JSON.stringify({
      object: 'whatsapp_business_account',
      entry: [{ id: '1', changes: [{ field: 'messages', value: { messages: [{ id: 'wamid.in', from: '91987' }] } }] }],
    })

    assert.deepEqual(source.parse(keptOf({ headers: {}, body }, AT)), { events: [], unreadable: 0 })
  })

  it('have the time they came at where theirs cannot be believed', () => {
    for (const at of [0, Date.UTC(2400, 0)]) assert.equal(parse({ ...DELIVERED, at }).events[0]?.at, AT + 1_000)
  })

  it('have no recipient where the recipient hides the number', () => {
    assert.equal(parse({ ...DELIVERED, recipient: 'US.13491208655302741918' }).events[0]?.recipient, null)
  })
})
