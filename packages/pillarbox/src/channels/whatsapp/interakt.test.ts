import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { interaktError, startInteraktServer } from '@pillarbox/vendors'
import { account, sendRequest, testOutbound } from '../../../../../test/support/providers.ts'
import { outcomeOf } from '../vendor-answers.ts'
import { interaktProvider } from './interakt.ts'
import { INTERAKT_ERRORS } from './interakt-errors.ts'

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

  for (const { status, sample, words, ...rule } of INTERAKT_ERRORS)
    it(`takes ${status} “${sample}” for ${rule.does}`, async (t) => {
      const { server, provider, request } = await setup(t)
      server.answerWith(interaktError(status, sample))

      assert.match(sample, words)
      assert.deepEqual(await provider.send(request), outcomeOf(rule, String(status), `Interakt says: ${sample}`))
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
