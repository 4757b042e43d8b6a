import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { fcmError, startFcmServer } from '@pillarbox/vendors'
import { account, sendRequest, testOutbound } from '../../../../../test/support/providers.ts'
import { told } from '../../../../../test/support/vendor-facts.ts'
import { fcmProvider } from './fcm.ts'
import { FCM_ERRORS } from './fcm-errors.ts'

/** FCM’s codes with the status that each comes with. */
const FACTS: Readonly<Record<string, [status: number, fact: string]>> = {
  UNREGISTERED: [404, 'permanent invalid_recipient, dead'],
  UNREGISTERED_FID: [404, 'permanent invalid_recipient, dead'],
  NOT_FOUND: [404, 'permanent invalid_recipient'],
  INVALID_ARGUMENT: [400, 'permanent content_rejected'],
  SENDER_ID_MISMATCH: [403, 'permanent invalid_recipient'],
  PERMISSION_DENIED: [403, 'unauthorized'],
  THIRD_PARTY_AUTH_ERROR: [401, 'unauthorized'],
  APNS_AUTH_ERROR: [401, 'unauthorized'],
  UNAUTHENTICATED: [401, 'unauthorized'],
  QUOTA_EXCEEDED: [429, 'throttled 60 s'],
  RESOURCE_EXHAUSTED: [429, 'throttled 60 s'],
  UNAVAILABLE: [503, 'transient 10 s'],
  INTERNAL: [500, 'transient'],
  UNSPECIFIED_ERROR: [500, 'transient'],
}

async function setup(t: TestContext) {
  const server = await startFcmServer()
  t.after(server.close)
  const provider = fcmProvider(testOutbound(t))
  const sender = account('push', 'fcm', {
    settings: { projectId: 'example', endpoint: server.url },
    secrets: { serviceAccount: server.serviceAccount },
  })
  const request = sendRequest(sender, {
    to: { deviceToken: 'device-1', platform: 'fcm' },
    content: { subject: 'Bus 12', body: 'leaves at 9', data: { tripId: 7, from: 'not allowed' } },
  })
  return { server, provider, sender, request }
}

describe('fcm', () => {
  it('sends title, text and data as strings, without names FCM keeps for itself', async (t) => {
    const { server, provider, request } = await setup(t)

    const outcome = await provider.send(request)

    assert.deepEqual(outcome, { kind: 'accepted', providerMessageId: 'projects/example/messages/1' })
    assert.deepEqual(server.messages[0]?.message, {
      token: 'device-1',
      notification: { title: 'Bus 12', body: 'leaves at 9' },
      data: { notificationId: request.notificationId, tripId: '7' },
    })
  })

  it('asks for an access token once for many messages, also at the same time', async (t) => {
    const { server, provider, request } = await setup(t)

    await Promise.all([provider.send(request), provider.send(request), provider.send(request)])
    await provider.send(request)

    assert.deepEqual([server.messages.length, server.tokensGiven()], [4, 1])
  })

  it('asks for a new one when the vendor no longer takes the old', async (t) => {
    const { server, provider, request } = await setup(t)
    await provider.send(request)
    server.revokeTokens()

    const outcome = await provider.send(request)

    assert.deepEqual([outcome.kind, server.tokensGiven()], ['accepted', 2])
  })

  it('has a fact for every line of its table', () => {
    assert.deepEqual(Object.keys(FACTS).sort(), Object.keys(FCM_ERRORS).sort())
  })

  for (const [code, [status, fact]] of Object.entries(FACTS))
    it(`takes ${code} for ${fact}`, async (t) => {
      const { server, provider, request } = await setup(t)
      const answer = fcmError(code, status, code !== 'INVALID_ARGUMENT', 'words')
      server.answerWith(answer, answer)

      assert.deepEqual(told(await provider.send(request)), [fact, code, 'FCM says: words'])
    })

  it('takes an invalid argument that is about the device for a dead token', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith(fcmError('INVALID_ARGUMENT', 400, true))

    const outcome = await provider.send(request)

    assert.equal(outcome.kind === 'permanent' && outcome.isDead, true)
  })

  it('honours Retry-After', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith({ ...fcmError('QUOTA_EXCEEDED', 429), headers: { 'retry-after': '30' } })

    const outcome = await provider.send(request)

    assert.equal('retryAfterMs' in outcome && outcome.retryAfterMs, 30_000)
  })

  it('does not take an answer without a name, or none, for success', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith('no_name', 'garbage', 'reset_after_accept')

    for (let i = 0; i < 3; i++) assert.equal((await provider.send(request)).kind, 'unknown')
  })

  it('is in no doubt when no token can be had: the message never left', async (t) => {
    const { server, provider, request, sender } = await setup(t)
    const other = await startFcmServer()
    t.after(other.close)
    const wrong = {
      ...sender,
      secrets: { serviceAccount: other.serviceAccount },
      settings: { ...sender.settings, tokenUrl: server.tokenUrl },
    }
    await server.close()

    assert.equal((await provider.send(request)).kind, 'transient')
    assert.equal((await provider.send({ ...request, account: wrong })).kind, 'transient')
  })

  it('stops the account when its key file is refused or is none', async (t) => {
    const { server, provider, request, sender } = await setup(t)
    const other = await startFcmServer()
    t.after(other.close)
    const stranger = JSON.stringify({ ...(JSON.parse(other.serviceAccount) as object), token_uri: server.tokenUrl })

    const { privateKey } = generateKeyPairSync('ed25519')
    const private_key = privateKey.export({ type: 'pkcs8', format: 'pem' })
    const unfit = JSON.stringify({ ...(JSON.parse(server.serviceAccount) as object), private_key })

    for (const serviceAccount of [stranger, unfit, 'not JSON', '{}']) {
      const outcome = await provider.send({ ...request, account: { ...sender, secrets: { serviceAccount } } })
      assert.equal(outcome.kind, 'unauthorized', serviceAccount.slice(0, 20))
      assert.ok(!JSON.stringify(outcome).includes('PRIVATE KEY'))
    }
  })

  it('verifies credentials and project without sending anything', async (t) => {
    const { server, provider, sender, request } = await setup(t)

    const good = await provider.verify?.(sender, request.signal)
    const bad = await provider.verify?.({ ...sender, secrets: { serviceAccount: '{}' } }, request.signal)

    assert.deepEqual(good, { isGood: true, detail: 'FCM takes messages for project example.' })
    assert.equal(bad?.isGood, false)
    assert.equal(server.messages.length, 0)
  })
})
