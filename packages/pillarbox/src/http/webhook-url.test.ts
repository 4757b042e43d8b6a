import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { eventGridCallback, interaktCallback, msg91Report } from '@pillarbox/vendors'
import { closedOutbound } from '../../../../test/support/providers.ts'
import { storedAccount } from '../../../../test/support/samples.ts'
import { withSns } from '../../../../test/support/sns.ts'
import { acsProvider } from '../channels/email/acs.ts'
import { sesProvider } from '../channels/email/ses.ts'
import { createRegistry } from '../channels/registry.ts'
import { msg91Provider } from '../channels/sms/msg91.ts'
import { interaktProvider } from '../channels/whatsapp/interakt.ts'
import { metaProvider } from '../channels/whatsapp/meta.ts'
import { systemClock } from '../runtime/system.ts'
import { openAccountSecrets } from '../security/account-secrets.ts'
import type { AppDeps } from './context.ts'
import { type AnswerJson, openFixture } from './fixture.ts'

const TOPIC = 'arn:aws:sns:us-east-1:123456789012:ses'
const BASE = 'https://notify.example.com/box'

const META = {
  channel: 'whatsapp',
  provider: 'meta',
  name: 'meta',
  settings: { phoneNumberId: '1', wabaId: '2' },
  secrets: { accessToken: 'a', appSecret: 'b', verifyToken: 'c' },
}
const INTERAKT = { channel: 'whatsapp', provider: 'interakt', name: 'interakt', secrets: { apiKey: 'a' } }
const MSG91 = {
  channel: 'sms',
  provider: 'msg91',
  name: 'msg91',
  settings: { senderId: 'PILBOX' },
  secrets: { authKey: 'a' },
}
const ACS = {
  channel: 'email',
  provider: 'acs',
  name: 'acs',
  settings: { fromAddress: 'sender@example.com' },
  secrets: { connectionString: 'endpoint=https://a.example.com/;accesskey=YW4gYWNjZXNzIGtleQ==' },
}
const SES = {
  channel: 'email',
  provider: 'ses',
  name: 'ses',
  settings: { region: 'us-east-1', fromAddress: 'sender@example.com' },
  secrets: { accessKeyId: 'a', secretAccessKey: 'b' },
}

async function setup(t: TestContext, publicUrl: string | null = BASE, more: Partial<AppDeps> = {}) {
  const deps = { ...closedOutbound(), clock: systemClock }
  const registry = createRegistry([
    metaProvider(deps),
    interaktProvider(deps),
    msg91Provider(deps),
    acsProvider(deps),
    sesProvider(deps),
  ])
  const f = await openFixture({ config: { publicUrl }, deps: { registry, ...more } })
  t.after(() => f.app.close())
  const { keys } = await f.tenant('acme')
  const make = async (body: object): Promise<AnswerJson & { webhookUrl: string }> => {
    const answer = await f.call(keys.admin, 'POST', '/api/channel-accounts', body)
    assert.equal(answer.statusCode, 201, answer.body)
    return answer.json() as AnswerJson & { webhookUrl: string }
  }
  const urlFor = async (key: string, id: string) =>
    ((await f.call(key, 'GET', `/api/channel-accounts/${id}`)).json() as { webhookUrl?: unknown }).webhookUrl
  const secretsOf = async (id: string) => {
    const account = (await f.store.accounts.find('acme', id)) ?? assert.fail()
    return openAccountSecrets(f.deps.seal, account)
  }
  return { f, keys, make, urlFor, secretsOf }
}

describe('the address that a vendor is given', () => {
  it('is the source’s path, below what the server is reached at', async (t) => {
    const { make } = await setup(t)

    assert.equal((await make(META)).webhookUrl, `${BASE}/api/webhooks/meta/acme`)
    const named = { ...SES, settings: { ...SES.settings, topicArn: TOPIC } }
    assert.equal((await make(named)).webhookUrl, `${BASE}/api/webhooks/ses`)
  })

  it('holds a token for SES where the account names no topic, by which anybody’s topic is believed', async (t) => {
    const now = Date.UTC(2026, 0, 15, 12)
    const { message, server, receiptSources } = await withSns(t, { now, topicArn: TOPIC })
    const { f, make } = await setup(t, BASE, { receiptSources })
    const { id, webhookUrl } = await make(SES)
    assert.match(webhookUrl, /\/api\/webhooks\/ses\?token=[\w-]{43}$/)
    const post = async (url: string, type: 'Notification' | 'SubscriptionConfirmation') => {
      const { headers, body } = message({ type, message: { eventType: 'Delivery' } })
      return (await f.inject({ method: 'POST', url, headers, payload: body })).statusCode
    }

    for (const type of ['Notification', 'SubscriptionConfirmation'] as const)
      assert.equal(await post('/api/webhooks/ses', type), 403, type)
    assert.deepEqual(server.confirmations, [])
    for (const type of ['Notification', 'SubscriptionConfirmation'] as const)
      assert.equal(await post(webhookUrl.slice(BASE.length), type), 200, type)
    assert.deepEqual(server.confirmations, [])
    assert.deepEqual(
      (await f.store.receipts.callbacks({}, { limit: 9 })).items.map(({ accountIds }) => accountIds),
      [[id], [id]],
    )
  })

  it('confirms no topic that the account does not name, and says what to name', async (t) => {
    const now = Date.UTC(2026, 0, 15, 12)
    const { message, server, receiptSources } = await withSns(t, { now, topicArn: TOPIC })
    const { f, keys, make } = await setup(t, BASE, { receiptSources })
    const { id, webhookUrl } = await make(SES)
    const asks = async (at: number) => {
      const { headers, body } = message({ type: 'SubscriptionConfirmation', at })
      const url = webhookUrl.slice(BASE.length)
      return (await f.inject({ method: 'POST', url, headers, payload: body })).statusCode
    }
    const warnings = async () =>
      (await f.call(keys.operator, 'GET', '/api/channel-accounts'))
        .json()
        .items.flatMap(({ warnings: found }) => found.filter(({ code }) => code === 'unconfirmed_topic'))

    assert.deepEqual(await warnings(), [])
    assert.equal(await asks(now), 200)
    assert.deepEqual(server.confirmations, [])
    const [warning] = await warnings()
    assert.match(String(warning?.message), new RegExp(`${TOPIC}.* set topicArn `))
    const [callback] = (await f.call(f.opsKey, 'GET', '/ops/callbacks')).json().items
    assert.deepEqual(callback?.note, warning?.message)
    assert.ok(f.log.some((line) => line.includes(TOPIC)))

    const settings = { ...SES.settings, topicArn: TOPIC }
    const saved = await f.call(keys.admin, 'PATCH', `/api/channel-accounts/${id}`, { settings })
    assert.equal(saved.statusCode, 200, saved.body)
    assert.deepEqual(await warnings(), [])
    assert.equal(await asks(now + 1), 200)
    assert.equal(server.confirmations.length, 1)
  })

  it('is none, and whoever looks is warned, while an account of an older version has neither topic nor token', async (t) => {
    const { f, keys } = await setup(t)
    const old = storedAccount({ id: f.deps.ids(), tenantId: 'acme', channel: 'email', provider: 'ses' })
    await f.store.accounts.insert(old)

    const shown = (await f.call(keys.admin, 'GET', `/api/channel-accounts/${old.id}`)).json() as AnswerJson & {
      webhookUrl: unknown
    }

    assert.equal(shown.webhookUrl, null)
    assert.deepEqual(
      shown.warnings.filter(({ key }) => key === 'webhookToken').map(({ code }) => code),
      ['missing_secret'],
    )
  })

  it('begins with where the server listens while nothing else is configured', async (t) => {
    const { f, make } = await setup(t, null)
    const url = await f.app.listen({ host: '127.0.0.1', port: 0 })

    assert.equal((await make(META)).webhookUrl, `${url}/api/webhooks/meta/acme`)
  })

  it('has no token that was taken back, whoever else changes secrets at the same time', async (t) => {
    const { f, keys, make, secretsOf } = await setup(t)
    const { id } = await make({ ...MSG91, secrets: { authKey: 'a', webhookToken: 'a-token-that-leaked' } })
    const patches = [{ webhookToken: null }, { authKey: 'k1' }, { authKey: 'k2' }, { authKey: 'k3' }]

    const answers = await Promise.all(
      patches.map((secrets) => f.call(keys.admin, 'PATCH', `/api/channel-accounts/${id}`, { secrets })),
    )

    assert.deepEqual(
      answers.map(({ statusCode }) => statusCode),
      [200, 200, 200, 200],
    )
    const { webhookToken, authKey } = await secretsOf(String(id))
    assert.notEqual(webhookToken, 'a-token-that-leaked')
    assert.match(String(authKey), /^k[123]$/)
  })

  it('is none where the vendor calls nobody back', async (t) => {
    const f = await openFixture()
    t.after(() => f.app.close())
    const { keys } = await f.tenant('acme')
    const body = { channel: 'email', provider: 'sandbox', name: 'mail' }
    const account = await f.call(keys.admin, 'POST', '/api/channel-accounts', body)

    assert.equal((account.json() as { webhookUrl?: unknown }).webhookUrl, null)
  })

  for (const [account, callback] of [
    [MSG91, msg91Report('v2', { requestId: 'r', number: '919876543210', status: 1, at: 0 })],
    [INTERAKT, interaktCallback({ id: 'i', type: 'message_api_read', at: 0 })],
    [ACS, eventGridCallback([])],
  ] as const)
    it(`holds a token of its own for ${account.provider}, by which a callback is believed at once`, async (t) => {
      const { f, make, secretsOf } = await setup(t)
      // Somebody was here before there was an account.
      await f.inject({ method: 'POST', url: `/api/webhooks/${account.provider}/acme` })

      const { id, webhookUrl } = await make(account)

      const { webhookToken = '' } = await secretsOf(id)
      assert.match(webhookToken, /^[\w-]{43}$/)
      assert.equal(webhookUrl, `${BASE}/api/webhooks/${account.provider}/acme?token=${webhookToken}`)
      const answer = await f.inject({
        method: 'POST',
        url: webhookUrl.slice(BASE.length),
        headers: callback.headers,
        payload: callback.body,
      })
      assert.equal(answer.statusCode, 200, answer.body)
      assert.deepEqual((await f.store.receipts.callbacks({}, { limit: 1 })).items[0]?.accountIds, [id])
    })

  it('holds the token that was given, whatever is in it', async (t) => {
    const { make } = await setup(t)
    const { webhookUrl } = await make({ ...MSG91, secrets: { ...MSG91.secrets, webhookToken: 'my-own&only=token?' } })

    assert.equal(new URL(webhookUrl).searchParams.get('token'), 'my-own&only=token?')
  })

  it('gets another token when the old one is taken away, and keeps it otherwise', async (t) => {
    const { f, keys, make, urlFor } = await setup(t)
    const { id, webhookUrl } = await make(MSG91)
    const change = (secrets: object) => f.call(keys.admin, 'PATCH', `/api/channel-accounts/${id}`, { secrets })

    await change({ authKey: 'new' })
    assert.equal(await urlFor(keys.admin, id), webhookUrl)
    const answer = await change({ webhookToken: null })

    const { webhookUrl: renewed } = answer.json() as unknown as { webhookUrl: string }
    assert.notEqual(renewed, webhookUrl)
    assert.match(renewed, /\?token=[\w-]{43}$/)
    const path = (url: string): string => url.slice(BASE.length)
    assert.equal((await f.inject({ method: 'POST', url: path(webhookUrl) })).statusCode, 403)
    assert.equal((await f.inject({ method: 'POST', url: path(renewed) })).statusCode, 200)
  })

  it('needs no token where Interakt signs', async (t) => {
    const { make } = await setup(t)
    const { webhookUrl } = await make({ ...INTERAKT, secrets: { ...INTERAKT.secrets, webhookSecret: 's' } })

    assert.equal(webhookUrl, `${BASE}/api/webhooks/interakt/acme`)
  })

  it('is shown with its token to admins only, and without one to everybody who may read', async (t) => {
    const { f, keys, make, urlFor } = await setup(t)
    const secret = await make(MSG91)
    const open = await make(META)

    for (const role of ['viewer', 'operator'] as const) {
      assert.equal(await urlFor(keys[role], secret.id), null, role)
      assert.equal(await urlFor(keys[role], open.id), open.webhookUrl, role)
      const list = await f.call(keys[role], 'GET', '/api/channel-accounts')
      assert.ok(!list.body.includes('token='), role)
    }
    const byOps = await f.call(f.opsKey, 'GET', `/api/channel-accounts/${secret.id}?tenantId=acme`)
    assert.equal((byOps.json() as { webhookUrl?: unknown }).webhookUrl, secret.webhookUrl)
    assert.ok(!f.log.join().includes('token='))
  })
})
