import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { interaktError, startInteraktServer } from '@pillarbox/vendors'
import { account, sendRequest, testOutbound } from '../../../../../test/support/providers.ts'
import { told } from '../../../../../test/support/vendor-facts.ts'
import { interaktProvider } from './interakt.ts'

/** Interakt gives no codes: a status and words. */
const FACTS: readonly [status: number, words: string, fact: string][] = [
  [400, 'No message from the customer within 24 hours', 'permanent unreachable'],
  [400, 'No approved template found with the name', 'permanent template_rejected'],
  [400, 'Expected 2 bodyValues, received 1', 'permanent template_rejected'],
  [400, 'The phone number is not valid', 'permanent invalid_recipient'],
  [400, 'Bad request', 'permanent permanent_refusal'],
  [401, 'Unauthorized', 'unauthorized'],
  [403, 'Forbidden', 'unauthorized'],
  [404, 'Not found', 'unauthorized'],
  [429, 'Resource rate limit exceeded', 'throttled'],
  [500, 'Internal server error', 'transient'],
  [502, 'Bad gateway', 'unknown'],
  [503, 'Service unavailable', 'transient'],
  [504, 'Gateway timeout', 'unknown'],
]

async function setup(t: TestContext) {
  const server = await startInteraktServer({ apiKey: 'a2V5' })
  t.after(server.close)
  const provider = interaktProvider(testOutbound(t))
  const sender = account('whatsapp', 'interakt', { settings: { endpoint: server.url }, secrets: { apiKey: 'a2V5' } })
  const request = sendRequest(sender, { to: { phone: '+919876543210' }, content: { body: 'Hello' } })
  return { server, provider, sender, request }
}

describe('interakt', () => {
  it('sends text to the number without its plus, with our id to come back in receipts', async (t) => {
    const { server, provider, request } = await setup(t)

    const outcome = await provider.send(request)

    assert.deepEqual(outcome, { kind: 'accepted', providerMessageId: server.messages[0]?.id })
    assert.deepEqual(server.messages[0]?.body, {
      fullPhoneNumber: '919876543210',
      callbackData: request.notificationId,
      type: 'Text',
      data: { message: 'Hello' },
    })
  })

  it('sends a template with Meta’s components as Interakt’s lists of values', async (t) => {
    const { server, provider, request } = await setup(t)
    const providerTemplate = {
      name: 'booking_confirmed',
      language: 'en',
      components: [
        { type: 'header', parameters: [{ type: 'text', text: 'Cozy Studio' }] },
        {
          type: 'body',
          parameters: [
            { type: 'text', text: 'Guest' },
            { type: 'text', text: '15-Mar-2026' },
          ],
        },
        { type: 'button', sub_type: 'url', index: '0', parameters: [{ type: 'text', text: '12345' }] },
      ],
    }

    await provider.send({ ...request, content: { ...request.content, providerTemplate } })

    assert.deepEqual(server.messages[0]?.body['template'], {
      name: 'booking_confirmed',
      languageCode: 'en',
      headerValues: ['Cozy Studio'],
      bodyValues: ['Guest', '15-Mar-2026'],
      buttonValues: { 0: ['12345'] },
    })
  })

  for (const [status, words, fact] of FACTS)
    it(`takes ${status} “${words}” for ${fact}`, async (t) => {
      const { server, provider, request } = await setup(t)
      server.answerWith(interaktError(status, words))

      assert.deepEqual(told(await provider.send(request)), [fact, String(status), `Interakt says: ${words}`])
    })

  it('does not take an answer without an id, or none, for success', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith('no_id', 'garbage', 'reset_after_accept')

    const kinds = [await provider.send(request), await provider.send(request), await provider.send(request)]

    assert.deepEqual(
      kinds.map(({ kind }) => kind),
      ['unknown', 'unknown', 'unknown'],
    )
    await server.close()
    assert.equal((await provider.send(request)).kind, 'transient')
  })

  it('verifies the key without sending anything', async (t) => {
    const { server, provider, sender, request } = await setup(t)

    assert.deepEqual(await provider.verify?.(sender, request.signal), {
      isGood: true,
      detail: 'Interakt knows the key.',
    })
    assert.deepEqual(await provider.verify?.({ ...sender, secrets: { apiKey: 'no' } }, request.signal), {
      isGood: false,
      error: 'Interakt says: Invalid API key',
    })
    assert.equal(server.messages.length, 0)
  })
})
