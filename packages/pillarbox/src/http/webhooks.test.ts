import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import {
  cloudEventsHandshake,
  eventGridCallback,
  eventGridValidation,
  interaktCallback,
  metaCallback,
  metaChallenge,
  msg91Report,
  sesEvent,
  snsMessage,
  type VendorCallback,
} from '@pillarbox/vendors'
import { storedAccount } from '../../../../test/support/samples.ts'
import { withSns } from '../../../../test/support/sns.ts'
import type { Channel } from '../model/channel.ts'
import { PillarboxError } from '../model/errors.ts'
import type { ReceiptSource } from '../receipts/receipt-source.ts'
import type { RefusedCount } from '../receipts/receipt-store.ts'
import { sealAccountSecrets } from '../security/account-secrets.ts'
import type { Store } from '../store/store.ts'
import { type Fixture, openFixture } from './fixture.ts'

const NOW = Date.UTC(2026, 0, 15, 12)
const TOPIC = 'arn:aws:sns:us-east-1:123456789012:ses'
const APP_SECRET = 'secret of the app'
const TOKEN = 'a token that nobody can guess'
const DELIVERED = { id: 'wamid.1', status: 'delivered', at: NOW } as const

async function setup(t: TestContext, options: Parameters<typeof openFixture>[0] = {}) {
  const f = await openFixture(options)
  t.after(() => f.app.close())
  await f.tenant('acme')
  const account = (
    channel: Channel,
    provider: string,
    given: { tenantId?: string; secrets?: Record<string, string>; settings?: Record<string, unknown> } = {},
  ) => insertAccount(f, { channel, provider, ...given })
  const post = (url: string, { method, headers, body }: VendorCallback) =>
    f.inject({ method, url, headers, ...(body !== undefined && { payload: body }) })
  const kept = async () => (await f.store.receipts.callbacks({}, { limit: 50 })).items
  const refused = async (): Promise<RefusedCount[]> => {
    const { items } = (await f.call(f.opsKey, 'GET', '/ops/callbacks/refused')).json()
    return (items as unknown as RefusedCount[]).map(({ source, tenantId, why, count }) => ({
      source,
      tenantId,
      why,
      count,
    }))
  }
  return { f, account, post, kept, refused }
}

async function insertAccount(
  f: Fixture,
  {
    tenantId = 'acme',
    channel,
    provider,
    secrets = {},
    settings = {},
  }: {
    tenantId?: string
    channel: Channel
    provider: string
    secrets?: Record<string, string>
    settings?: Record<string, unknown>
  },
): Promise<string> {
  const id = f.deps.ids()
  const sealed = sealAccountSecrets(f.deps.seal, { tenantId, id }, secrets)
  await f.store.accounts.insert(storedAccount({ id, tenantId, channel, provider, name: id, settings, ...sealed }))
  return id
}

describe('a genuine callback', () => {
  it('is kept as the bytes that came, answered, and the worker woken', async (t) => {
    const { f, account, post, kept } = await setup(t)
    const id = await account('whatsapp', 'meta', { secrets: { appSecret: APP_SECRET } })
    const callback = metaCallback(APP_SECRET, [DELIVERED])

    const answer = await post('/api/webhooks/meta/acme', callback)

    assert.deepEqual([answer.statusCode, answer.body], [200, ''])
    const [only, ...more] = await kept()
    assert.deepEqual(more, [])
    assert.deepEqual([only?.source, only?.tenantId, only?.accountIds], ['meta', 'acme', [id]])
    assert.equal(only?.body.toString(), callback.body)
    assert.deepEqual([only?.status, only?.result], ['pending', null])
    assert.deepEqual(f.nudges, ['receipts'])
  })

  it('is answered alike and kept once when the vendor repeats it', async (t) => {
    const { account, post, kept, refused } = await setup(t)
    await account('whatsapp', 'meta', { secrets: { appSecret: APP_SECRET } })

    for (let i = 0; i < 3; i++)
      assert.equal((await post('/api/webhooks/meta/acme', metaCallback(APP_SECRET, [DELIVERED]))).statusCode, 200)

    assert.equal((await kept()).length, 1)
    assert.deepEqual(await refused(), [{ source: 'meta', tenantId: 'acme', why: 'repeated', count: 2 }])
  })

  it('may say that it is anything, or nothing at all', async (t) => {
    const { f, account, kept } = await setup(t)
    await account('sms', 'msg91', { secrets: { webhookToken: TOKEN } })
    for (const [i, type] of [
      'application/json',
      'application/json; charset=utf-16',
      'text/plain; charset=UTF-8',
      'application/x-www-form-urlencoded',
      'application/cloudevents-batch+json',
      'multipart/form-data; boundary=x',
      'application/octet-stream',
      undefined,
    ].entries()) {
      // Neither UTF-8 nor JSON: nothing may happen to it on the way.
      const payload = Buffer.from([i, 0x00, 0xff, 0x7b, 0xc3, 0x28, 0x0d, 0x0a])

      const answer = await f.inject({
        method: 'POST',
        url: `/api/webhooks/msg91/acme?${new URLSearchParams({ token: TOKEN }).toString()}`,
        headers: { 'content-length': String(payload.length), ...(type !== undefined && { 'content-type': type }) },
        payload,
      })

      assert.equal(answer.statusCode, 200, `${type}: ${answer.body}`)
      assert.deepEqual((await kept())[0]?.body, payload, type)
    }
  })

  it('is kept with the headers that are read again and no other, and without the token', async (t) => {
    const { f, account, post } = await setup(t)
    await account('email', 'acs', { secrets: { webhookToken: TOKEN } })
    const headers = {
      'content-type': 'application/json',
      'ce-type': 'Microsoft.Communication.EmailDeliveryReportReceived',
      'ce-id': '1',
      authorization: 'Bearer stolen',
      cookie: 'session=1',
    }
    const token = new URLSearchParams({ token: TOKEN }).toString()

    await post(`/api/webhooks/acs/acme?${token}`, { method: 'POST', headers, body: '{}' })

    const [only] = (await f.store.receipts.callbacks({}, { limit: 1 })).items
    assert.deepEqual(only?.headers, { 'ce-type': headers['ce-type'], 'ce-id': '1' })
    assert.ok(!JSON.stringify(only).includes('token'))
    assert.ok(!f.log.join().includes('guess'), 'the log has no token')
  })

  it('speaks for the accounts that it proved to know, and for no other', async (t) => {
    const { account, post, kept } = await setup(t)
    const mine = await account('sms', 'msg91', { secrets: { webhookToken: TOKEN } })
    await account('sms', 'msg91', { secrets: { webhookToken: 'another' } })
    const report = msg91Report('v2', { requestId: 'r', number: '919876543210', status: 1, at: NOW })

    await post(`/api/webhooks/msg91/acme?${new URLSearchParams({ token: TOKEN }).toString()}`, report)

    assert.deepEqual((await kept())[0]?.accountIds, [mine])
  })

  it('counts for an account that is suspended or paused', async (t) => {
    const { f, account, post, kept } = await setup(t)
    const id = await account('whatsapp', 'meta', { secrets: { appSecret: APP_SECRET } })
    await f.store.accounts.setStatus(id, 'suspended', 'by hand', 'test')

    await post('/api/webhooks/meta/acme', metaCallback(APP_SECRET, [DELIVERED]))

    assert.equal((await kept()).length, 1)
  })

  it('of SNS is for everybody whose topic it is, whichever tenant', async (t) => {
    const { message, receiptSources } = await withSns(t, { now: NOW, topicArn: TOPIC })
    const { f, account, post, kept } = await setup(t, { deps: { receiptSources } })
    await f.tenant('other')
    const mine = await account('email', 'ses', { settings: { topicArn: TOPIC } })
    const theirs = await account('email', 'ses', { tenantId: 'other', settings: { topicArn: TOPIC } })
    await account('email', 'ses', { settings: { topicArn: `${TOPIC}-2` } })
    const event = sesEvent('Delivery', { messageId: 'm', recipients: ['guest@example.com'], at: NOW })

    const answer = await post('/api/webhooks/ses', message({ message: event }))

    assert.equal(answer.statusCode, 200)
    const [only] = await kept()
    assert.deepEqual([only?.source, only?.tenantId, only?.accountIds], ['ses', null, [mine, theirs]])
  })

  it('is asked for again with 503 while it cannot be kept', async (t) => {
    const down = (store: Store): Store => ({
      ...store,
      receipts: {
        ...store.receipts,
        keep: async () => {
          throw new PillarboxError('store_unavailable', 'away')
        },
      },
    })
    const { f, account, post } = await setup(t, { wrapStore: down })
    await account('whatsapp', 'meta', { secrets: { appSecret: APP_SECRET } })

    const answer = await post('/api/webhooks/meta/acme', metaCallback(APP_SECRET, [DELIVERED]))

    assert.deepEqual([answer.statusCode, answer.json().code], [503, 'store_unavailable'])
    assert.ok(answer.headers['retry-after'])
    assert.deepEqual(f.nudges, [])
  })
})

describe('a handshake', () => {
  it('of Meta gets its own words back, as plain text', async (t) => {
    const { account, post, f, kept } = await setup(t)
    await account('whatsapp', 'meta', { secrets: { verifyToken: 'set up' } })

    const answer = await f.inject({
      method: 'GET',
      url: `/api/webhooks/meta/acme?${metaChallenge('set up', '<b>42</b>')}`,
    })
    const wrong = await f.inject({ method: 'GET', url: `/api/webhooks/meta/acme?${metaChallenge('else', '42')}` })

    assert.deepEqual([answer.statusCode, answer.body], [200, '<b>42</b>'])
    assert.match(String(answer.headers['content-type']), /^text\/plain/)
    assert.equal(answer.headers['x-content-type-options'], 'nosniff')
    assert.equal(wrong.statusCode, 403)
    assert.equal((await post('/api/webhooks/meta/acme', { method: 'POST', headers: {} })).statusCode, 403)
    assert.deepEqual(await kept(), [])
  })

  it('of Event Grid is answered in both of its schemas', async (t) => {
    const { account, post, kept } = await setup(t)
    await account('email', 'acs', { secrets: { webhookToken: TOKEN } })
    const url = `/api/webhooks/acs/acme?${new URLSearchParams({ token: TOKEN }).toString()}`

    const validation = await post(url, eventGridValidation('code-1'))
    const handshake = await post(url, cloudEventsHandshake())

    assert.deepEqual([validation.statusCode, validation.body], [200, '{"validationResponse":"code-1"}'])
    assert.match(String(validation.headers['content-type']), /^application\/json/)
    assert.equal(handshake.statusCode, 200)
    assert.equal(handshake.headers['webhook-allowed-origin'], 'eventgrid.azure.net')
    assert.equal((await post('/api/webhooks/acs/acme?token=x', eventGridValidation('code-1'))).statusCode, 403)
    assert.deepEqual(await kept(), [])
  })

  it('of SNS is confirmed at SNS, or asked for again', async (t) => {
    const { server, message, receiptSources } = await withSns(t, { now: NOW, topicArn: TOPIC })
    const { account, post, kept } = await setup(t, { deps: { receiptSources } })
    await account('email', 'ses', { settings: { topicArn: TOPIC } })
    const subscription = message({ type: 'SubscriptionConfirmation' })
    await post('/api/webhooks/ses', message())
    server.answerWith('unavailable')

    const failed = await post('/api/webhooks/ses', subscription)
    const confirmed = await post('/api/webhooks/ses', subscription)

    assert.deepEqual([failed.statusCode, confirmed.statusCode], [503, 200])
    assert.ok(failed.headers['retry-after'])
    assert.equal(server.confirmations.length, 1)
    assert.equal((await kept()).length, 1)
  })
})

describe('a topic of SNS that is somebody else’s', () => {
  const FOREIGN = 'arn:aws:sns:us-east-1:666666666666:ses'

  it('is neither believed nor confirmed, though SNS itself has signed for it', async (t) => {
    const { server, message, receiptSources } = await withSns(t, { now: NOW, topicArn: FOREIGN })
    const { f, account, post, kept } = await setup(t, { deps: { receiptSources } })
    await f.tenant('other')
    await account('email', 'ses', { settings: { topicArn: TOPIC }, secrets: { webhookToken: TOKEN } })
    await account('email', 'ses', { tenantId: 'other' })
    await account('email', 'ses', { tenantId: 'other', secrets: { webhookToken: 'of the other, and long enough' } })
    await account('sms', 'sns', { settings: { topicArn: TOPIC } })

    for (const type of ['Notification', 'SubscriptionConfirmation', 'UnsubscribeConfirmation'] as const)
      for (const path of ['ses', 'sns-sms', 'ses?token=guessed', `ses?token=${encodeURIComponent(TOKEN)}`]) {
        const answer = await post(`/api/webhooks/${path}`, message({ type }))
        assert.deepEqual([answer.statusCode, answer.json().code], [403, 'callback_refused'], `${type} ${path}`)
      }
    assert.deepEqual([server.confirmations, server.requests, await kept()], [[], [], []])
  })
})

describe('a callback that is not believed', () => {
  const meta = (secret: string) => metaCallback(secret, [DELIVERED])
  const withoutHeaders = ({ method, body }: VendorCallback): VendorCallback => ({
    method,
    headers: {},
    ...(body !== undefined && { body }),
  })
  const CASES: [what: string, url: string, callback: VendorCallback, counted: Omit<RefusedCount, 'count'>][] = [
    ['has no signature', 'meta/acme', withoutHeaders(meta(APP_SECRET)), of('meta', 'acme', 'signature_missing')],
    ['is signed with another secret', 'meta/acme', meta('another'), of('meta', 'acme', 'signature_wrong')],
    ['is another tenant’s', 'meta/other', meta(APP_SECRET), of('meta', 'other', 'signature_wrong')],
    ['is for a tenant without an account', 'meta/empty', meta(APP_SECRET), of('meta', 'empty', 'no_account')],
    ['is for a tenant that is not there', 'meta/nobody', meta(APP_SECRET), of('meta', null, 'no_account')],
    ['is for what cannot be a tenant', 'meta/No%20Body', meta(APP_SECRET), of('meta', null, 'no_account')],
    ['has no token', 'msg91/acme', post('x=1'), of('msg91', 'acme', 'token_wrong')],
    ['has another token', 'msg91/acme?token=wrong', post('x=1'), of('msg91', 'acme', 'token_wrong')],
    ['has the token of another', 'acs/acme?token=other', eventGridCallback([]), of('acs', 'acme', 'token_wrong')],
    [
      'is not signed where the account signs',
      'interakt/acme?token=token',
      interaktCallback({ id: 'i', type: 'message_api_read', at: NOW }),
      of('interakt', 'acme', 'signature_missing'),
    ],
    ['is not what SNS sends', 'ses', post('{}'), of('ses', null, 'malformed')],
    [
      'is of a topic that nobody expects',
      'ses',
      snsMessage({ certificateUrl: 'https://sns.us-east-1.amazonaws.com/x.pem', topicArn: 'arn:other', at: NOW }),
      of('ses', null, 'unknown_topic'),
    ],
    [
      'was signed long ago',
      'ses',
      snsMessage({ certificateUrl: 'https://sns.us-east-1.amazonaws.com/x.pem', topicArn: TOPIC, at: NOW - 7_200_000 }),
      of('ses', null, 'replayed'),
    ],
    [
      'is signed by somebody’s own certificate',
      'ses',
      snsMessage({ certificateUrl: 'https://example.com/x.pem', topicArn: TOPIC, at: NOW }),
      of('ses', null, 'certificate_host'),
    ],
    ['is for a source without any account', 'sns-sms', post('{}'), of('sns-sms', null, 'no_account')],
  ]

  function of(source: string, tenantId: string | null, why: string): Omit<RefusedCount, 'count'> {
    return { source, tenantId, why }
  }
  function post(body: string): VendorCallback {
    return { method: 'POST', headers: { 'content-type': 'text/plain' }, body }
  }

  async function setupAccounts(t: TestContext, options: Parameters<typeof openFixture>[0] = {}) {
    const given = await setup(t, options)
    await given.f.tenant('other')
    await given.f.tenant('empty')
    await given.account('whatsapp', 'meta', { secrets: { appSecret: APP_SECRET } })
    await given.account('whatsapp', 'meta', { tenantId: 'other', secrets: { appSecret: 'theirs' } })
    await given.account('whatsapp', 'interakt', { secrets: { webhookSecret: 's', webhookToken: 'token' } })
    await given.account('sms', 'msg91', { secrets: { webhookToken: TOKEN } })
    await given.account('email', 'acs', { secrets: { webhookToken: TOKEN } })
    await given.account('email', 'acs', { tenantId: 'other', secrets: { webhookToken: 'other' } })
    await given.account('email', 'ses', { settings: { topicArn: TOPIC } })
    return given
  }

  it('is refused, counted by what is wrong with it, and changes nothing', async (t) => {
    const { f, post: send, kept, refused } = await setupAccounts(t)
    const countOf = async ({ source, tenantId, why }: Omit<RefusedCount, 'count'>): Promise<number> => {
      const same = (each: Omit<RefusedCount, 'count'>): boolean =>
        each.source === source && each.tenantId === tenantId && each.why === why
      return (await refused()).find(same)?.count ?? 0
    }
    for (const [what, url, callback, counted] of CASES) {
      const before = await countOf(counted)

      const answer = await send(`/api/webhooks/${url}`, callback)

      assert.equal(answer.statusCode, 403, `one that ${what}: ${answer.body}`)
      assert.equal(answer.json().code, 'callback_refused')
      assert.equal(await countOf(counted), before + 1, `one that ${what}: ${JSON.stringify(await refused())}`)
    }
    assert.deepEqual(await kept(), [])
    assert.deepEqual(f.nudges, [])
    assert.equal(
      (await refused()).reduce((sum, { count }) => sum + count, 0),
      CASES.length,
    )
  })

  it('gets the same answer whatever is wrong with it', async (t) => {
    const { post: send } = await setupAccounts(t)
    const answers = new Set<string>()
    for (const [, url, callback] of CASES) {
      const { requestId: _, ...rest } = (await send(`/api/webhooks/${url}`, callback)).json()
      answers.add(JSON.stringify(rest))
    }

    assert.equal(answers.size, 1, [...answers].join('\n'))
  })

  it('is 413 and counted where it is too large', async (t) => {
    const { f, post: send, refused } = await setupAccounts(t, { config: { batchBodyLimitBytes: 1_000 } })

    const answer = await send('/api/webhooks/meta/acme', { ...meta(APP_SECRET), body: 'x'.repeat(1_001) })

    assert.deepEqual([answer.statusCode, answer.json().code], [413, 'body_too_large'])
    assert.deepEqual(await refused(), [{ ...of('meta', 'acme', 'too_large'), count: 1 }])
    assert.ok(!f.log.join().includes('xxxx'))
  })

  it('is 415 where it is compressed, and 405 with a method that the vendor does not use', async (t) => {
    const { f, post: send } = await setupAccounts(t)
    const { headers, ...rest } = meta(APP_SECRET)

    const packed = await send('/api/webhooks/meta/acme', {
      ...rest,
      headers: { ...headers, 'content-encoding': 'gzip' },
    })

    assert.equal(packed.statusCode, 415)
    for (const [method, url] of [
      ['GET', 'ses'],
      ['PUT', 'meta/acme'],
      ['OPTIONS', 'msg91/acme'],
    ] as const)
      assert.equal((await f.inject({ method, url: `/api/webhooks/${url}` })).statusCode, 405, `${method} ${url}`)
  })

  it('makes the database do no work, however often it comes', async (t) => {
    let reads = 0
    const counting = (store: Store): Store => ({
      ...store,
      accounts: {
        ...store.accounts,
        list: (...given) => {
          reads += 1
          return store.accounts.list(...given)
        },
        listOfProviders: (...given) => {
          reads += 1
          return store.accounts.listOfProviders(...given)
        },
      },
      receipts: {
        ...store.receipts,
        keep: () => assert.fail('nothing is to be kept'),
        countRefused: async () => {
          reads += 1
        },
      },
    })
    const { f, post: send } = await setupAccounts(t, { wrapStore: counting, deps: { clock: stoodStill() } })

    for (let i = 0; i < 50; i++) {
      assert.equal((await send('/api/webhooks/meta/acme', meta('another'))).statusCode, 403)
      assert.equal((await send('/api/webhooks/meta/nobody', meta('another'))).statusCode, 403)
      assert.equal((await send('/api/webhooks/ses', post('{}'))).statusCode, 403)
    }

    assert.equal(reads, 3)
    assert.ok(f.log.length > 0)
  })

  it('is counted at the latest when the server stops', async (t) => {
    const written: RefusedCount[] = []
    const watched = (store: Store): Store => ({
      ...store,
      receipts: { ...store.receipts, countRefused: async (counts) => void written.push(...counts) },
    })
    const { f, post: send } = await setupAccounts(t, { wrapStore: watched, deps: { clock: stoodStill() } })
    for (let i = 0; i < 5; i++) await send('/api/webhooks/meta/acme', meta('another'))
    assert.deepEqual(written, [])

    await f.app.close()

    assert.deepEqual(written, [{ ...of('meta', 'acme', 'signature_wrong'), count: 5 }])
  })

  /** Nobody who sleeps by it wakes up before everything ends. */
  function stoodStill() {
    return {
      now: () => NOW,
      monotonic: () => NOW,
      sleep: (_ms: number, signal?: AbortSignal) =>
        new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true })),
    }
  }
})

describe('a flood of callbacks that are not believed', () => {
  const LIMITS = { config: { failedKeysPerSecond: 1, failedKeysBurst: 3 } }

  async function flooded(t: TestContext) {
    const given = await setup(t, LIMITS)
    await given.account('whatsapp', 'meta', { secrets: { appSecret: APP_SECRET } })
    await given.account('email', 'ses', { settings: { topicArn: TOPIC } })
    const statuses: number[] = []
    for (let i = 0; i < 6; i++) {
      const answer = await given.post('/api/webhooks/meta/acme', metaCallback('wrong', [DELIVERED]))
      statuses.push(answer.statusCode)
    }
    return { ...given, statuses }
  }

  it('is told to slow down, and counted all the same', async (t) => {
    const { statuses, refused, f } = await flooded(t)

    assert.deepEqual(statuses, [403, 403, 403, 429, 429, 429])
    assert.deepEqual(await refused(), [{ source: 'meta', tenantId: 'acme', why: 'signature_wrong', count: 6 }])
    f.advance(1_000)
    const later = await f.inject({ method: 'POST', url: '/api/webhooks/meta/acme' })
    assert.equal(later.statusCode, 403)
  })

  it('keeps no genuine callback of a tenant it knows away', async (t) => {
    const { f, post, kept } = await flooded(t)
    f.advance(60_000)
    for (let i = 0; i < 6; i++) await post('/api/webhooks/meta/acme', metaCallback('wrong', [DELIVERED]))

    const answer = await post('/api/webhooks/meta/acme', metaCallback(APP_SECRET, [DELIVERED]))

    assert.equal(answer.statusCode, 200)
    assert.equal((await kept()).length, 1)
  })

  it('makes nobody ask the database about tenants, nor the vendor about certificates', async (t) => {
    const { post } = await flooded(t)

    const answers = [
      await post('/api/webhooks/meta/made-up', metaCallback('wrong', [DELIVERED])),
      await post('/api/webhooks/ses', { method: 'POST', headers: {}, body: '{}' }),
    ]

    for (const answer of answers) {
      assert.deepEqual([answer.statusCode, answer.json().code], [429, 'rate_limited'])
      assert.ok(answer.headers['retry-after'])
    }
  })
})

describe('more genuine callbacks than an account may keep', () => {
  it('are put off, counted, and taken once there is room, while other accounts go on', async (t) => {
    const { f, account, kept, refused } = await setup(t, { config: { callbacksPerSecond: 1, callbacksBurst: 3 } })
    await account('sms', 'msg91', { secrets: { webhookToken: TOKEN } })
    await account('email', 'acs', { secrets: { webhookToken: TOKEN } })
    const send = (name: string, body: string) =>
      f.inject({ method: 'POST', url: `/api/webhooks/${name}/acme?token=${encodeURIComponent(TOKEN)}`, payload: body })
    const statuses = []
    for (let i = 0; i < 5; i++) statuses.push((await send('msg91', `[${i}]`)).statusCode)

    assert.deepEqual(statuses, [200, 200, 200, 429, 429])
    const late = await send('msg91', '[3]')
    assert.deepEqual([late.json().code, late.headers['retry-after']], ['rate_limited', '1'])
    assert.equal((await send('acs', '[]')).statusCode, 200)
    f.advance(1_000)
    assert.equal((await send('msg91', '[3]')).statusCode, 200)
    assert.equal((await kept()).length, 5)
    assert.deepEqual(await refused(), [{ source: 'msg91', tenantId: 'acme', why: 'too_many', count: 3 }])
  })

  it('may be few that are large', async (t) => {
    const { f, account } = await setup(t, { config: { callbacksPerSecond: 1, callbacksBurst: 3 } })
    await account('sms', 'msg91', { secrets: { webhookToken: TOKEN } })
    const send = async (body: string) => {
      const url = `/api/webhooks/msg91/acme?token=${encodeURIComponent(TOKEN)}`
      return (await f.inject({ method: 'POST', url, payload: body })).statusCode
    }

    assert.deepEqual([await send('x'.repeat(10 * 16_384)), await send('small')], [200, 429])
    f.advance(7_000)
    assert.equal(await send('small'), 429)
    f.advance(1_000)
    assert.equal(await send('small'), 200)
  })
})

describe('large callbacks', () => {
  it('are held in memory only so many at a time, while small ones go on, round after round', async (t) => {
    let inside = 0
    let onEnter = (): void => {}
    let held = Promise.withResolvers<void>()
    const slow: ReceiptSource = {
      name: 'slow',
      providers: ['msg91'],
      verify: async (callback, accounts) => {
        if (callback.rawBody.length > 1_000) {
          inside += 1
          onEnter()
          await held.promise
        }
        return { kind: 'good', account: null, accounts }
      },
      parse: () => ({ events: [], unreadable: 0 }),
    }
    const { account, post, kept } = await setup(t, { deps: { receiptSources: new Map([['slow', slow]]) } })
    await account('sms', 'msg91')
    const send = (body: string) => post('/api/webhooks/slow/acme', { method: 'POST', headers: {}, body })
    const large = (name: string) => send(`${name} ${'x'.repeat(100_000)}`)
    const entered = (count: number) =>
      new Promise<'let in'>((resolve) => {
        onEnter = () => inside === count && resolve('let in')
      })

    // What is answered gives its place back, and only its own.
    for (const round of ['first', 'second']) {
      inside = 0
      held = Promise.withResolvers<void>()
      const full = entered(16)
      const waiting = Array.from({ length: 16 }, (_, i) => large(`${round} ${i}`))
      await full

      const tooMany = await Promise.race([large(`${round} more`), entered(17)])
      const small = await send(`${round} small`)

      assert.ok(tooMany !== 'let in', round)
      assert.deepEqual([tooMany.statusCode, tooMany.json().code, small.statusCode], [503, 'overloaded', 200])
      held.resolve()
      for (const answer of await Promise.all(waiting)) assert.equal(answer.statusCode, 200)
    }
    assert.equal((await kept()).length, 34)
  })
})
