import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { startWnsServer, wnsError } from '@pillarbox/vendors'
import { account, sendRequest, testOutbound } from '../../../../../test/support/providers.ts'
import { outcomeOf } from '../vendor-answers.ts'
import { wnsProvider } from './wns.ts'
import { WNS_ANSWERS } from './wns-errors.ts'

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
      /<text id="1">Bus &lt;12&gt;<\/text><text id="2">leaves &quot;now&quot; &amp; here<\/text>/,
    )
    assert.match(notification?.xml ?? '', /launch="\{&quot;notificationId&quot;:.*&quot;tripId&quot;:7\}"/)
  })

  for (const [code, { words, ...rule }] of Object.entries(WNS_ANSWERS))
    it(`takes ${code} for ${rule.does}: ${words}`, async (t) => {
      const { server, provider, request } = await setup(t)
      const isWord = code === 'dropped' || code === 'channelthrottled'
      const answer = isWord ? code : wnsError(Number(code), 'words')
      server.answerWith(answer, answer)

      assert.deepEqual(await provider.send(request), outcomeOf(rule, code, `WNS says: ${isWord ? words : 'words'}`))
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
