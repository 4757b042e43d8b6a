import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { outcomeOf } from 'pillarbox'
import { EXAMPLE_SMS_ERRORS, exampleSmsProvider } from '../../docs/guides/examples/example-sms.ts'
import { exampleSmsError, startExampleSmsServer } from '../../docs/guides/examples/example-sms-server.ts'
import { account, sendRequest, testOutbound } from '../support/providers.ts'
import { BOTH, openWorld } from '../support/world.ts'

const API_KEY = 'key-of-the-example'

describe('the provider of the guide', () => {
  async function setup(t: TestContext) {
    const server = await startExampleSmsServer({ apiKey: API_KEY })
    t.after(server.close)
    const provider = exampleSmsProvider({ ...testOutbound(t), dial: () => assert.fail('it speaks HTTP') })
    const sender = account('sms', 'example-sms', {
      settings: { sender: 'EXAMPLE', endpoint: server.url },
      secrets: { apiKey: API_KEY },
    })
    const request = sendRequest(sender, { to: { phone: '+491701234567' }, content: { body: 'Hello' } })
    return { server, provider, sender, request }
  }

  it('sends what the vendor expects', async (t) => {
    const { server, provider, request } = await setup(t)

    const outcome = await provider.send(request)

    assert.deepEqual(outcome, { kind: 'accepted', providerMessageId: 'msg-1' })
    assert.equal(server.requests[0]?.headers['idempotency-key'], request.key)
    assert.deepEqual(server.messages[0]?.body, { to: '+491701234567', from: 'EXAMPLE', text: 'Hello' })
  })

  for (const [code, { words, ...rule }] of Object.entries(EXAMPLE_SMS_ERRORS))
    it(`takes ${code} for ${rule.does}: ${words}`, async (t) => {
      const { server, provider, request } = await setup(t)
      server.answerWith(exampleSmsError(code))

      assert.deepEqual(await provider.send(request), outcomeOf(rule, code, `Example SMS says: error ${code}`))
    })

  it('goes by the status for a code that is in no table, and waits as long as the vendor says', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith(
      exampleSmsError('new', 400),
      exampleSmsError('new', 403),
      exampleSmsError('new', 429, { 'retry-after': '7' }),
      { status: 502, body: 'Bad Gateway' },
    )

    const outcomes = []
    for (let i = 0; i < 4; i++) outcomes.push(await provider.send(request))

    assert.deepEqual(
      outcomes.map((outcome) => [outcome.kind, 'retryAfterMs' in outcome ? outcome.retryAfterMs : null]),
      [
        ['permanent', null],
        ['unauthorized', null],
        ['throttled', 7_000],
        ['transient', null],
      ],
    )
  })

  it('does not take an answer without an id, or none, for success', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith('no_id', 'garbage', 'reset_after_accept')

    for (let i = 0; i < 3; i++) assert.equal((await provider.send(request)).kind, 'unknown')
    await server.close()
    assert.equal((await provider.send(request)).kind, 'transient')
  })

  it('verifies the key with the vendor’s own words', async (t) => {
    const { provider, sender, request } = await setup(t)

    assert.deepEqual(await provider.verify?.(sender, request.signal), {
      isGood: true,
      detail: 'Known as Example Tours.',
    })
    assert.deepEqual(await provider.verify?.({ ...sender, secrets: { apiKey: 'no' } }, request.signal), {
      isGood: false,
      error: 'Example SMS says: error invalid_key',
    })
  })
})

describe('the provider of the guide, in a whole Pillarbox', () => {
  async function open(t: TestContext) {
    const server = await startExampleSmsServer({ apiKey: API_KEY })
    t.after(server.close)
    const world = await openWorld('sqlite')
    t.after(() => world[Symbol.asyncDispose]())
    await world.start(BOTH, { providers: (deps) => [exampleSmsProvider(deps)] })
    const tenant = await world.tenant()
    return {
      server,
      tenant,
      account: (changes: object = {}) => ({
        channel: 'sms',
        provider: 'example-sms',
        name: 'example',
        settings: { sender: 'EXAMPLE', endpoint: server.url, ...changes },
        secrets: { apiKey: API_KEY },
      }),
      send: async (phone: string) =>
        tenant.comesToRest(await tenant.submit({ channel: 'sms', to: { phone }, body: 'Hello' })),
    }
  }

  it('is set up over the API, which refuses what it cannot use, and verified', async (t) => {
    const {
      tenant: { call },
      account: example,
    } = await open(t)

    const refused = await call('POST', '/api/channel-accounts', example({ sender: 'two words' }))
    const made = await call('POST', '/api/channel-accounts', example())
    const url = `/api/channel-accounts/${String(made.body['id'])}`
    const verified = await call('POST', `${url}/verify`)
    await call('PATCH', url, { secrets: { apiKey: 'revoked-key' } })
    const unverified = await call('POST', `${url}/verify`)

    assert.deepEqual(
      [refused.status, (refused.body['errors'] as { path: string }[])[0]?.path],
      [422, '/settings/sender'],
    )
    assert.equal(made.status, 201, JSON.stringify(made.body))
    assert.deepEqual(verified.body, { isGood: true, detail: 'Known as Example Tours.' })
    assert.deepEqual(unverified.body, { isGood: false, detail: 'Example SMS says: error invalid_key' })
  })

  it('delivers a notification, and once only when an answer is lost', async (t) => {
    const { server, tenant, account: example, send } = await open(t)
    const retry = { maxAttempts: 3, fixed: 'PT0.05S' }
    await tenant.account({ ...example(), retry })
    server.answerWith('reset_after_accept')

    const sent = await send('+491701234567')

    assert.deepEqual([sent.status, sent.providerMessageId], ['sent', 'msg-1'])
    assert.equal(sent.attempts.length, 2)
    assert.deepEqual(
      server.messages.map(({ body }) => body['to']),
      ['+491701234567'],
    )
  })

  it('gives a dead number up at once', async (t) => {
    const { server, tenant, account: example, send } = await open(t)
    await tenant.account(example())
    server.answerWith(exampleSmsError('invalid_number'))

    const stopped = await send('+491701234567')

    assert.deepEqual([stopped.status, stopped.reason], ['parked', 'invalid_recipient'])
    assert.match(stopped.lastError ?? '', /Example SMS says: error invalid_number/)
  })
})

describe('docs/guides/providers.md', () => {
  it('shows nothing of the example that is not in its files', async () => {
    const read = (file: string) => readFile(new URL(`../../docs/guides/${file}`, import.meta.url), 'utf8')
    const guide = await read('providers.md')
    const sources = [await read('examples/example-sms.ts'), await read('examples/example-sms-server.ts')].join('\n')
    const shown = [...guide.matchAll(/```ts example\n([\s\S]*?)```/g)].map(([, code = '']) => code.trimEnd())

    assert.ok(shown.length >= 4)
    for (const code of shown) assert.ok(sources.includes(code), `not in the example:\n${code}`)
  })
})
