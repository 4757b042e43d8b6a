import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { startWnsServer, wnsError } from '@pillarbox/vendors'
import { account, sendRequest, testOutbound } from '../../../../../test/support/providers.ts'
import { told } from '../../../../../test/support/vendor-facts.ts'
import { wnsProvider } from './wns.ts'
import { WNS_ANSWERS } from './wns-errors.ts'

const FACTS = {
  400: 'permanent content_rejected',
  401: 'unauthorized',
  403: 'unauthorized',
  404: 'permanent invalid_recipient, dead',
  405: 'permanent permanent_refusal',
  406: 'throttled',
  410: 'permanent invalid_recipient, dead',
  413: 'permanent content_rejected',
  429: 'deferred 21600 s',
  500: 'transient',
  503: 'transient',
  dropped: 'permanent unreachable',
  channelthrottled: 'throttled recipient',
}

async function setup(t: TestContext) {
  const server = await startWnsServer({ clientId: 'app', clientSecret: 'secret' })
  t.after(server.close)
  const provider = wnsProvider(testOutbound(t))
  const sender = account('push', 'wns', {
    settings: { tenantId: 'directory', appId: 'app', endpoint: server.url, tokenUrl: server.tokenUrl },
    secrets: { clientSecret: 'secret' },
  })
  const request = sendRequest(sender, {
    to: { deviceToken: server.channelUri('abc/d='), platform: 'wns' },
    content: { subject: 'Bus <12>', body: 'leaves "now" & here', data: { tripId: 7 } },
  })
  return { server, provider, sender, request }
}

describe('wns', () => {
  it('sends a toast to the channel, with everything escaped that XML needs escaped', async (t) => {
    const { server, provider, request } = await setup(t)

    const outcome = await provider.send(request)

    const [notification] = server.notifications
    assert.deepEqual(outcome, { kind: 'accepted', providerMessageId: notification?.id })
    assert.deepEqual([notification?.channel, notification?.type], ['/?token=abc%2Fd%3D', 'wns/toast'])
    assert.match(
      notification?.xml ?? '',
      /<text id="1">Bus &lt;12&gt;<\/text><text id="2">leaves &#34;now&#34; &amp; here<\/text>/,
    )
    assert.match(notification?.xml ?? '', /launch="\{&#34;notificationId&#34;:.*&#34;tripId&#34;:7\}"/)
  })

  it('has a fact for every line of its table', () => {
    assert.deepEqual(Object.keys(FACTS).sort(), Object.keys(WNS_ANSWERS).sort())
  })

  for (const [code, fact] of Object.entries(FACTS))
    it(`takes ${code} for ${fact}`, async (t) => {
      const { server, provider, request } = await setup(t)
      const isWord = code === 'dropped' || code === 'channelthrottled'
      const answer = isWord ? code : wnsError(Number(code), 'words')
      server.answerWith(answer, answer)

      const [comesTo, toldCode, error] = told(await provider.send(request))

      assert.deepEqual([comesTo, toldCode], [fact, code])
      assert.match(error, isWord ? /^WNS says: [A-Z].*\.$/ : /^WNS says: words$/)
    })

  it('honours Retry-After on 406', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith('throttled')

    const outcome = await provider.send(request)

    assert.equal('retryAfterMs' in outcome && outcome.retryAfterMs, 11_000)
  })

  it('does not take a 200 without a status, or no answer, for success', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith('no_status', 'garbage', 'reset_after_accept')

    for (let i = 0; i < 3; i++) assert.equal((await provider.send(request)).kind, 'unknown')
  })

  it('asks for a new token when the old one is refused, once', async (t) => {
    const { server, provider, request } = await setup(t)
    await provider.send(request)
    server.revokeTokens()

    assert.equal((await provider.send(request)).kind, 'accepted')
    assert.equal(server.tokensGiven(), 2)
  })

  it('calls no host but Microsoft’s, unless the account says another', async (t) => {
    const { server, provider, request, sender } = await setup(t)
    const { endpoint: _, ...settings } = sender.settings

    for (const deviceToken of [
      'https://example.com/x',
      'https://notify.windows.com.example.com/',
      'http://db5.notify.windows.com/x',
      'nothing',
    ]) {
      const outcome = await provider.send({ ...request, account: { ...sender, settings }, to: { deviceToken } })
      assert.equal('code' in outcome && outcome.code, 'bad_channel', deviceToken)
    }
    assert.equal(server.tokensGiven(), 0)
  })

  it('verifies the app with Microsoft’s own words', async (t) => {
    const { provider, sender, request } = await setup(t)

    assert.equal((await provider.verify?.(sender, request.signal))?.isGood, true)
    assert.deepEqual(await provider.verify?.({ ...sender, secrets: { clientSecret: 'no' } }, request.signal), {
      isGood: false,
      error: 'the token endpoint says: The client secret is not valid.',
    })
  })
})
