import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type InteraktStatus, interaktCallback } from '@pillarbox/vendors'
import fc from 'fast-check'
import { callbackOf, keptOf, withBitTurned } from '../../../../test/support/callbacks.ts'
import { account } from '../../../../test/support/providers.ts'
import { assertHeard, META_FACTS } from '../../../../test/support/vendor-facts.ts'
import { INTERAKT_TYPES, interaktReceipts } from './interakt.ts'

const TYPES = {
  message_api_sent: 'sent',
  message_api_delivered: 'delivered',
  message_api_read: 'read',
  message_api_clicked: 'read',
}

const AT = Date.UTC(2026, 10, 15, 9, 30, 15, 123)
const NOTIFICATION = '018f0000-0000-7000-8000-0000000000ff'
const READ: InteraktStatus = { id: 'message-1', type: 'message_api_read', at: AT, callbackData: NOTIFICATION }

const source = interaktReceipts()
const signing = account('whatsapp', 'interakt', { secrets: { webhookSecret: 'secret', webhookToken: 'unused-token' } })
const plain = { ...signing, id: 'plain', secrets: { webhookToken: 'token' } }

describe('a callback of Interakt', () => {
  for (const header of ['interakt-signature', 'x-interakt-signature'] as const)
    it(`is believed when it is signed in ${header}`, async () => {
      const callback = callbackOf('interakt', interaktCallback(READ, { secret: 'secret', header }))

      assert.deepEqual(await source.verify(callback, [plain, signing]), {
        kind: 'good',
        account: signing,
        accounts: [signing],
      })
    })

  it('is believed by its token where the account has no secret', async () => {
    const callback = callbackOf('interakt', interaktCallback(READ), 'token=token')

    assert.deepEqual(await source.verify(callback, [signing, plain]), {
      kind: 'good',
      account: plain,
      accounts: [plain],
    })
  })

  it('is not believed by its token where the account has a secret', async () => {
    const callback = callbackOf('interakt', interaktCallback(READ), 'token=unused-token')

    assert.deepEqual(await source.verify(callback, [signing]), { kind: 'forged', why: 'signature_missing' })
  })

  it('is forged when any one bit of its body was turned', async () => {
    const genuine = callbackOf('interakt', interaktCallback(READ, { secret: 'secret' }))

    await fc.assert(
      fc.asyncProperty(fc.nat({ max: genuine.rawBody.length * 8 - 1 }), async (bit) => {
        const verified = await source.verify({ ...genuine, rawBody: withBitTurned(genuine.rawBody, bit) }, [signing])
        assert.deepEqual(verified, { kind: 'forged', why: 'signature_wrong' })
      }),
      { numRuns: 500 },
    )
  })

  for (const [what, query, why] of [
    ['another token', 'token=other', 'token_wrong'],
    ['an empty token', 'token=', 'token_wrong'],
    ['no token', '', 'token_wrong'],
  ] as const)
    it(`is forged with ${what}`, async () => {
      const callback = callbackOf('interakt', interaktCallback(READ), query)

      assert.deepEqual(await source.verify(callback, [plain, signing]), { kind: 'forged', why })
    })

  it('is forged when another’s secret signed it, for nobody’s account, and by any other method', async () => {
    const callback = callbackOf('interakt', interaktCallback(READ, { secret: 'other' }))

    assert.deepEqual(await source.verify(callback, [signing]), { kind: 'forged', why: 'signature_wrong' })
    assert.deepEqual(await source.verify(callback, []), { kind: 'forged', why: 'no_account' })
    assert.deepEqual(await source.verify({ ...callback, method: 'GET' }, [signing]), {
      kind: 'forged',
      why: 'wrong_method',
    })
  })
})

describe('Interakt’s statuses', () => {
  const parse = (status: InteraktStatus) => source.parse(keptOf(interaktCallback(status), AT + 1_000))

  it('name the message, our reference, the time and the recipient', () => {
    assert.deepEqual(parse(READ).events, [
      {
        provider: 'interakt',
        providerMessageId: 'message-1',
        notificationId: NOTIFICATION,
        at: AT,
        recipient: '+919876543210',
        isPartial: false,
        eventId: null,
        kind: 'read',
      },
    ])
  })

  it('has a fact for every line of its table', () => {
    assert.deepEqual(Object.keys(TYPES).sort(), Object.keys(INTERAKT_TYPES).sort())
  })

  for (const [type, fact] of Object.entries(TYPES))
    it(`${type} means ${fact}`, () => {
      const { events } = parse({ ...READ, type: type as InteraktStatus['type'] })

      assertHeard(events, fact, 'Interakt', type)
      assert.equal(events[0]?.at, AT)
    })

  for (const [code, fact] of Object.entries(META_FACTS))
    it(`message_api_failed with ${code} comes to what Meta’s error does (${fact})`, () => {
      const failed = { ...READ, type: 'message_api_failed' as const, errorCode: Number(code), reason: 'private' }

      assertHeard(parse(failed).events, `failed: ${fact}`, 'Interakt', code)
    })

  it('message_api_failed without a code leads to the next channel', () => {
    const [event] = parse({ ...READ, type: 'message_api_failed' }).events

    assert.ok(event?.kind === 'failed')
    assert.equal(event.failure.kind, 'permanent')
  })

  it('are none of an incoming message’s, a campaign’s, or the test of the webhook', () => {
    for (const type of ['message_received', 'message_campaign_delivered', 'Webhook Test'])
      assert.deepEqual(parse({ ...READ, type: type as InteraktStatus['type'] }), { events: [], unreadable: 0 }, type)
  })

  it('of a type nobody knows are counted', () => {
    const strange = { ...READ, type: 'message_api_teleported' } as unknown as InteraktStatus

    assert.deepEqual(parse(strange), { events: [], unreadable: 1 })
  })
})
