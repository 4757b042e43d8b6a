import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { msg91Error, startMsg91Server } from '@pillarbox/vendors'
import { account, sendRequest, testOutbound } from '../../../../../test/support/providers.ts'
import { told } from '../../../../../test/support/vendor-facts.ts'
import { msg91Provider } from './msg91.ts'
import { MSG91_ERRORS } from './msg91-errors.ts'

/** MSG91’s codes. 311 says that the same request was taken ten seconds ago. */
const FACTS = {
  101: 'permanent permanent_refusal',
  102: 'permanent content_rejected',
  103: 'permanent permanent_refusal',
  104: 'permanent permanent_refusal',
  105: 'permanent permanent_refusal',
  106: 'permanent template_rejected',
  107: 'permanent permanent_refusal',
  202: 'permanent invalid_recipient, dead',
  203: 'permanent permanent_refusal',
  207: 'unauthorized',
  208: 'unauthorized',
  301: 'unauthorized',
  302: 'unauthorized',
  303: 'unauthorized',
  306: 'deferred 3600 s',
  307: 'permanent permanent_refusal',
  310: 'permanent content_rejected',
  311: 'unknown',
  418: 'unauthorized',
}

async function setup(t: TestContext) {
  const server = await startMsg91Server({ authKey: 'key' })
  t.after(server.close)
  const provider = msg91Provider(testOutbound(t))
  const sender = account('sms', 'msg91', {
    settings: { endpoint: server.url, senderId: 'ATLASH', dltEntityId: '1101' },
    secrets: { authKey: 'key' },
  })
  const request = sendRequest(sender, {
    to: { phone: '+919876543210' },
    content: { body: 'Booking 12345 is confirmed.' },
  })
  return { server, provider, sender, request }
}

describe('msg91', () => {
  it('sends a flow with its variables, to the number without its plus', async (t) => {
    const { server, provider, request } = await setup(t)
    const providerTemplate = { flowId: 'flow1', variables: { VAR1: 'Guest', VAR2: '12345' } }

    const outcome = await provider.send({ ...request, content: { ...request.content, providerTemplate } })

    assert.deepEqual(outcome, { kind: 'accepted', providerMessageId: server.messages[0]?.requestId })
    assert.equal(server.requests[0]?.path, '/api/v5/flow')
    assert.deepEqual(server.messages[0]?.body, {
      template_id: 'flow1',
      sender: 'ATLASH',
      short_url: '0',
      recipients: [{ mobiles: '919876543210', CRQID: request.notificationId, VAR1: 'Guest', VAR2: '12345' }],
    })
  })

  it('sends the words with the DLT ids where there is no flow', async (t) => {
    const { server, provider, request } = await setup(t)

    await provider.send({ ...request, content: { ...request.content, providerTemplate: { dltTemplateId: '1007' } } })
    await provider.send({ ...request, content: { ...request.content, body: 'नमस्ते' } })

    assert.equal(server.requests[0]?.path, '/api/v2/sendsms')
    assert.deepEqual(server.messages[0]?.body, {
      sender: 'ATLASH',
      route: '4',
      country: '0',
      CRQID: request.notificationId,
      DLT_TE_ID: '1007',
      PE_ID: '1101',
      sms: [{ message: 'Booking 12345 is confirmed.', to: ['919876543210'] }],
    })
    assert.equal(server.messages[1]?.body['unicode'], '1')
  })

  it('has a fact for every line of its table', () => {
    assert.deepEqual(Object.keys(FACTS).sort(), Object.keys(MSG91_ERRORS).sort())
  })

  for (const [code, fact] of Object.entries(FACTS))
    it(`takes error ${code} for ${fact}`, async (t) => {
      const { server, provider, request } = await setup(t)
      server.answerWith(msg91Error(Number(code), 'words'), msg91Error(Number(code), 'words', 400))

      const outcomes = [await provider.send(request), await provider.send(request)]

      const expected = [fact, code, 'MSG91 says: words']
      assert.deepEqual(outcomes.map(told), [expected, expected])
    })

  it('goes by the status for a code that is in no table, whatever the code is called', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith({ status: 400, body: JSON.stringify({ type: 'error', code: 'constructor', message: 'words' }) })

    const outcome = await provider.send(request)

    assert.deepEqual(told(outcome), ['transient, unmapped', 'constructor', 'MSG91 says: words'])
  })

  it('reads statuses where there is no code', async (t) => {
    const { server, provider, request } = await setup(t)
    const statuses = [503, 504, 429, 403]
    server.answerWith(...statuses.map((status) => ({ status, body: '<html>oh</html>' })))

    const kinds: string[] = []
    for (const _ of statuses) kinds.push((await provider.send(request)).kind)

    // A gateway that got no answer in time does not know whether the message was taken behind it.
    assert.deepEqual(kinds, ['transient', 'unknown', 'throttled', 'unauthorized'])
  })

  it('does not take an answer without an id, or none, for success', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith('no_id', 'not_json', 'garbage', 'reset_after_accept')

    for (let i = 0; i < 4; i++) assert.equal((await provider.send(request)).kind, 'unknown')
    await server.close()
    assert.equal((await provider.send(request)).kind, 'transient')
  })

  it('verifies the key without sending anything', async (t) => {
    const { server, provider, sender, request } = await setup(t)

    assert.deepEqual(await provider.verify?.(sender, request.signal), { isGood: true, detail: 'MSG91 knows the key.' })
    assert.deepEqual(await provider.verify?.({ ...sender, secrets: { authKey: 'no' } }, request.signal), {
      isGood: false,
      error: 'MSG91 says: Invalid authkey',
    })
    assert.equal(server.messages.length, 0)
  })
})
