import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { metaError, startMetaServer } from '@pillarbox/vendors'
import { account, sendRequest, testOutbound } from '../../../../../test/support/providers.ts'
import { META_FACTS, STATUS_FACTS, told } from '../../../../../test/support/vendor-facts.ts'
import { metaProvider } from './meta.ts'
import { META_ERRORS } from './meta-errors.ts'

async function setup(t: TestContext) {
  const server = await startMetaServer({ accessToken: 'token' })
  t.after(server.close)
  const { outbound, clock } = testOutbound(t)
  const provider = metaProvider({ outbound, clock })
  const meta = account('whatsapp', 'meta', {
    settings: { phoneNumberId: '1234567890', endpoint: server.url },
    secrets: { accessToken: 'token', appSecret: 'app-secret' },
  })
  const request = sendRequest(meta, { to: { phone: '+919876543210' }, content: { body: 'Hello' } })
  return { server, provider, meta, request }
}

describe('meta', () => {
  it('sends a session message as Meta wants it, with the notification’s id to come back in receipts', async (t) => {
    const { server, provider, request } = await setup(t)

    const outcome = await provider.send(request)

    const [message] = server.messages
    assert.deepEqual(outcome, { kind: 'accepted', providerMessageId: message?.id })
    assert.equal(server.requests[0]?.path, '/v26.0/1234567890/messages')
    assert.deepEqual(message?.body, {
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: '+919876543210',
      biz_opaque_callback_data: request.notificationId,
      type: 'text',
      text: { body: 'Hello', preview_url: false },
    })
  })

  it('sends an approved template with its language and components', async (t) => {
    const { server, provider, request } = await setup(t)
    const components = [{ type: 'body', parameters: [{ type: 'text', text: 'Guest' }] }]

    await provider.send({
      ...request,
      content: { ...request.content, providerTemplate: { name: 'booking_confirmed', language: 'de', components } },
    })

    assert.deepEqual(server.messages[0]?.body['template'], {
      name: 'booking_confirmed',
      language: { code: 'de' },
      components,
    })
  })

  it('sends no session message for an account that sends templates only, so that another channel can take over', async (t) => {
    const { server, provider, meta, request } = await setup(t)
    const settings = { ...meta.settings, messageType: 'template' }
    const providerTemplate = { name: 'booking_confirmed', language: 'de' }

    const words = await provider.send({ ...request, account: { ...meta, settings } })
    const template = await provider.send({
      ...request,
      account: { ...meta, settings },
      content: { ...request.content, providerTemplate },
    })

    assert.deepEqual(told(words), [
      'permanent template_rejected',
      'no_template',
      'the account sends approved templates only, and this message has none',
    ])
    assert.equal(template.kind, 'accepted')
    assert.equal(server.requests.length, 1)
  })

  it('speaks the version of the Graph API that the account names', async (t) => {
    const { server, provider, meta, request } = await setup(t)

    await provider.send({ ...request, account: { ...meta, settings: { ...meta.settings, apiVersion: 'v24.0' } } })

    assert.equal(server.requests[0]?.path, '/v24.0/1234567890/messages')
  })

  it('has a fact for every line of its table', () => {
    assert.deepEqual(Object.keys(META_FACTS).sort(), Object.keys(META_ERRORS).sort())
  })

  for (const [code, fact] of Object.entries(META_FACTS))
    it(`takes error ${code} for ${fact}`, async (t) => {
      const { server, provider, request } = await setup(t)
      server.answerWith(metaError(Number(code), 'words', 'details'))

      assert.deepEqual(told(await provider.send(request)), [fact, code, `Meta says: (#${code}) words: details`])
    })

  it('takes a permission code for a broken account, and leaves an unknown code to the account', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith(metaError(294), metaError(139_999))

    const outcomes = [await provider.send(request), await provider.send(request)]

    assert.deepEqual(
      outcomes.map((outcome) => told(outcome)[0]),
      ['unauthorized', 'transient, unmapped'],
    )
  })

  it('tries an unknown code again that comes as a failure of Meta’s, and waits where it comes as too many', async (t) => {
    const { server, provider, request } = await setup(t)
    const { body } = metaError(139_999)
    server.answerWith({ status: 500, body }, { status: 502, body }, { status: 429, body })

    const outcomes = []
    for (let i = 0; i < 3; i++) outcomes.push(told(await provider.send(request))[0])

    assert.deepEqual(outcomes, ['transient', 'transient', 'throttled'])
  })

  it('writes down what Meta said, as it came, and no more than is kept of it', async (t) => {
    const { server, provider, request } = await setup(t)
    const long = 'x'.repeat(10_000)
    server.answerWith(metaError(131_026, long))
    const kept = []
    for (let i = 0; i < 2; i++) {
      const exchange = { answer: null as string | null, refused: null }
      await provider.send({ ...request, exchange })
      kept.push(exchange.answer ?? '')
    }

    assert.match(kept[0] ?? '', /^400 \{.*131026/)
    assert.ok((kept[0] ?? '').length <= 4_100)
    assert.match(kept[1] ?? '', /^200 \{.*"messages"/)
  })

  it('does not take a 200 without an id for success', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith('no_id', 'garbage')

    const outcomes = [await provider.send(request), await provider.send(request)]

    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['unknown', 'unknown'],
    )
  })

  it('reads statuses where there is no code', async (t) => {
    const { server, provider, request } = await setup(t)
    const html = '<html>oh</html>'
    server.answerWith({ status: 503, body: html }, 'too_many', { status: 404, body: html }, { status: 502, body: html })

    const outcomes = []
    for (let i = 0; i < 4; i++) outcomes.push(await provider.send(request))

    assert.deepEqual(
      outcomes.map((outcome) => [outcome.kind, 'retryAfterMs' in outcome ? outcome.retryAfterMs : undefined]),
      [
        ['transient', undefined],
        ['throttled', 7_000],
        ['transient', undefined],
        ['transient', undefined],
      ],
    )
  })

  for (const [status, fact] of Object.entries(STATUS_FACTS))
    it(`takes a bare ${status} for ${fact}`, async (t) => {
      const { server, provider, request } = await setup(t)
      server.answerWith({ status: Number(status), body: '<html>oh</html>' })

      assert.deepEqual(told(await provider.send(request)).slice(0, 2), [fact, status])
    })

  it('leaves in doubt what broke off, and not what never left', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith('reset_after_accept')

    assert.equal((await provider.send(request)).kind, 'unknown')
    await server.close()
    assert.equal((await provider.send(request)).kind, 'transient')
  })

  it('has Meta send the receipts of the business account to our address, and says so', async (t) => {
    const { server, provider, meta } = await setup(t)
    const { signal } = new AbortController()
    const url = 'https://pillarbox.example.com/api/webhooks/meta/acme'
    const named = { ...meta, settings: { ...meta.settings, wabaId: '4711' } }
    const whole = { ...named, secrets: { ...meta.secrets, verifyToken: 'ask-me' } }

    const done = await provider.connect?.(whole, url, signal)
    const errors = []
    for (const account of [meta, named, { ...whole, secrets: { ...whole.secrets, accessToken: 'old' } }]) {
      const refused = await provider.connect?.(account, url, signal)
      errors.push(refused?.isGood === false ? refused.error : '')
    }

    assert.deepEqual(server.subscriptions, [{ wabaId: '4711', callbackUrl: url, verifyToken: 'ask-me' }])
    assert.equal(server.requests[0]?.path, '/v26.0/4711/subscribed_apps')
    assert.match(done?.isGood === true ? done.detail : '', /business account 4711.*sends its receipts to https:\/\//)
    assert.match(errors.join('\n'), /^Set wabaId first.*\nSet the secret verifyToken first.*\nMeta says: .*OAuth/)
  })

  it('verifies the credentials with Meta’s own words', async (t) => {
    const { provider, meta } = await setup(t)
    const { signal } = new AbortController()

    const good = await provider.verify?.(meta, signal)
    const bad = await provider.verify?.({ ...meta, secrets: { accessToken: 'old' } }, signal)
    const deaf = await provider.verify?.({ ...meta, secrets: { accessToken: 'token' } }, signal)

    assert.deepEqual(good, { isGood: true, detail: 'Meta knows it as Example Tours, +1 555 0100.' })
    assert.match(
      deaf?.isGood === true ? deaf.detail : '',
      /0100\. Without the secret appSecret its callbacks cannot be/,
    )
    assert.match(bad?.isGood === false ? bad.error : '', /Meta says: .*Invalid OAuth access token/)
  })
})
