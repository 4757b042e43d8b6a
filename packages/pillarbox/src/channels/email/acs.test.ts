import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { acsError, startAcsServer } from '@pillarbox/vendors'
import { account, closedOutbound, sendRequest, testOutbound } from '../../../../../test/support/providers.ts'
import { until } from '../../../../../test/support/until.ts'
import { told } from '../../../../../test/support/vendor-facts.ts'
import type { Outcome } from '../../model/outcome.ts'
import { acsProvider } from './acs.ts'
import { ACS_CODES, ACS_STATUSES } from './acs-errors.ts'

const OTHER_KEY = Buffer.from('another access key').toString('base64')

const CODES = {
  Denied: 'unauthorized',
  DomainNotLinked: 'unauthorized',
  EmailDroppedAllRecipientsSuppressed: 'permanent invalid_recipient, dead',
  InvalidEmailAddress: 'permanent invalid_recipient',
  InvalidSenderUserName: 'unauthorized',
  TooManyRequests: 'throttled 60 s',
}

const STATUSES = {
  400: 'permanent permanent_refusal',
  401: 'unauthorized',
  403: 'unauthorized',
  404: 'unauthorized',
  408: 'transient',
  409: 'unknown',
  413: 'permanent content_rejected',
  429: 'throttled 60 s',
  500: 'transient',
  502: 'transient',
  503: 'transient',
  504: 'transient',
}

const TEXTS: readonly [words: string, fact: string][] = [
  ['Invalid format for email address', 'permanent invalid_recipient'],
  ['The specified sender domain has not been linked.', 'unauthorized'],
]

async function setup(t: TestContext) {
  const server = await startAcsServer()
  t.after(server.close)
  const provider = acsProvider(testOutbound(t))
  const sender = account('email', 'acs', {
    settings: { fromAddress: 'Example Tours <info@example.com>' },
    secrets: { connectionString: server.connectionString },
  })
  const request = sendRequest(sender, {
    to: { email: 'guest@example.org', name: 'Guest' },
    content: { subject: 'Booked', body: 'See you, Guest!' },
  })
  return { server, provider, sender, request }
}

describe('acs', () => {
  it('sends plain text as ACS wants it, under the notification’s id, in one request', async (t) => {
    const { server, provider, request } = await setup(t)

    const outcome = await provider.send(request)

    assert.deepEqual(outcome, { kind: 'accepted', providerMessageId: request.notificationId })
    assert.deepEqual(
      server.requests.map(({ method, path, query }) => [method, path, query.toString()]),
      [['POST', '/emails:send', 'api-version=2025-09-01']],
    )
    assert.equal(server.requests[0]?.headers['operation-id'], request.notificationId)
    assert.deepEqual(server.mails[0]?.body, {
      senderAddress: 'info@example.com',
      content: { subject: 'Booked', plainText: 'See you, Guest!' },
      recipients: { to: [{ address: 'guest@example.org', displayName: 'Guest' }] },
    })
  })

  it('sends HTML with a text part', async (t) => {
    const { server, provider, request } = await setup(t)

    await provider.send({
      ...request,
      content: { ...request.content, body: '<p>Grüße, <b>Gäste</b>!</p>', isHtml: true },
    })

    assert.equal(server.mails[0]?.html, '<p>Grüße, <b>Gäste</b>!</p>')
    assert.equal(server.mails[0]?.text, 'Grüße, Gäste!')
  })

  it('sends a list as one mail in which nobody sees the others, with how to leave it and where answers go', async (t) => {
    const { server, provider, sender, request } = await setup(t)
    const settings = {
      ...sender.settings,
      replyTo: '"The Desk" <desk@example.com>',
      listUnsubscribe: 'https://example.com/leave/{notificationId}',
    }

    await provider.send({
      ...request,
      account: { ...sender, settings },
      to: { bcc: ['one@example.org', 'two@example.org'] },
    })

    const { body } = server.mails[0] ?? {}
    assert.deepEqual(body?.['recipients'], { bcc: [{ address: 'one@example.org' }, { address: 'two@example.org' }] })
    assert.deepEqual(body?.['replyTo'], [{ address: 'desk@example.com', displayName: 'The Desk' }])
    assert.deepEqual(body?.['headers'], {
      'List-Unsubscribe': `<https://example.com/leave/${request.notificationId}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    })
  })

  it('calls the account’s endpoint in place of the connection string’s', async (t) => {
    const { server, provider, sender, request } = await setup(t)
    const connectionString = server.connectionString.replace(server.url, 'https://resource.invalid')
    const settings = { ...sender.settings, endpoint: server.url }

    const outcome = await provider.send({ ...request, account: { ...sender, settings, secrets: { connectionString } } })

    assert.equal(outcome.kind, 'accepted')
  })

  it('reads a connection string in any order and case', async (t) => {
    const { server, provider, sender, request } = await setup(t)
    const [endpoint = '', key = ''] = server.connectionString.split(';')
    const connectionString = ` ${key.replace('accesskey', 'AccessKey')};${endpoint.replace('endpoint', 'Endpoint')}; `

    const outcome = await provider.send({ ...request, account: { ...sender, secrets: { connectionString } } })

    assert.equal(outcome.kind, 'accepted')
  })

  it('does not send to more than fifty at once, or to nobody', async (t) => {
    const { server, provider, request } = await setup(t)
    const many = Array.from({ length: 51 }, (_, i) => `guest${i}@example.org`)

    const outcomes = [
      await provider.send({ ...request, to: { bcc: many } }),
      await provider.send({ ...request, to: {} }),
    ]

    assert.deepEqual(
      outcomes.map((outcome) => 'code' in outcome && outcome.code),
      ['too_many_recipients', 'no_recipient'],
    )
    assert.match(outcomes[0] && 'error' in outcomes[0] ? outcomes[0].error : '', /expand/)
    assert.equal(server.requests.length, 0)
  })

  it('has a fact for every line of its tables', () => {
    assert.deepEqual(Object.keys(CODES).sort(), Object.keys(ACS_CODES).sort())
    assert.deepEqual(Object.keys(STATUSES).sort(), Object.keys(ACS_STATUSES).sort())
  })

  for (const [code, fact] of Object.entries(CODES))
    it(`takes ${code} for ${fact}`, async (t) => {
      const { server, provider, request } = await setup(t)
      server.answerWith(acsError(400, code, 'words'))

      assert.deepEqual(told(await provider.send(request)), [fact, code, 'ACS says: words'])
    })

  for (const [status, fact] of Object.entries(STATUSES))
    it(`takes status ${status} for ${fact}`, async (t) => {
      const { server, provider, request } = await setup(t)
      server.answerWith(acsError(Number(status), 'SomeCode', 'words'), { status: Number(status), body: 'oh' })

      const outcomes = [await provider.send(request), await provider.send(request)]

      assert.deepEqual(outcomes.map(told), [
        [fact, 'SomeCode', 'ACS says: words'],
        [fact, status, `ACS says: status ${status}`],
      ])
    })

  for (const [words, fact] of TEXTS)
    it(`takes “${words}” for ${fact}`, async (t) => {
      const { server, provider, request } = await setup(t)
      server.answerWith(acsError(400, 'BadRequest', words))

      assert.deepEqual(told(await provider.send(request)), [fact, 'BadRequest', `ACS says: ${words}`])
    })

  it('waits as long as a refusal says, and tries nothing again by itself', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith('too_many')

    const outcome = await provider.send(request)

    assert.deepEqual([outcome.kind, 'retryAfterMs' in outcome && outcome.retryAfterMs], ['throttled', 90_000])
    assert.equal(server.requests.length, 1)
  })

  it('follows no redirect', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith({ status: 307, headers: { location: `${server.url}/emails:send?api-version=2025-09-01` } })

    assert.equal((await provider.send(request)).kind, 'unknown')
    assert.equal(server.requests.length, 1)
  })

  it('does not take an answer without an id, or none, for success', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith('no_id', 'not_json', 'garbage', 'reset_after_accept', 'silence')

    for (let i = 0; i < 5; i++) assert.equal((await provider.send(request)).kind, 'unknown')
    assert.equal(server.requests.length, 5)
    await server.close()
    assert.equal((await provider.send(request)).kind, 'transient')
  })

  it('leaves in doubt what the caller gave up on its way, and not what never left', async (t) => {
    const { server, provider, request } = await setup(t)
    server.alwaysAnswer('silence')
    const caller = new AbortController()

    const sending = provider.send({ ...request, signal: caller.signal })
    await until('the vendor has the request', () => server.requests.length > 0)
    caller.abort()
    const late = await sending
    const early = await provider.send({ ...request, signal: AbortSignal.abort() })

    assert.deepEqual([late.kind, early.kind], ['unknown', 'transient'])
  })

  it('finds out what became of a call without an answer', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith('reset_after_accept')

    assert.equal(await provider.lookup?.(request), null)
    await provider.send(request)

    const accepted = { kind: 'accepted', providerMessageId: request.notificationId }
    assert.deepEqual(await provider.lookup?.(request), accepted)
    server.settle(request.notificationId, 'Succeeded')
    assert.deepEqual(await provider.lookup?.(request), accepted)
    server.settle(request.notificationId, 'Failed', 'EmailDroppedAllRecipientsSuppressed')
    assert.deepEqual(told((await provider.lookup?.(request)) as Outcome), [
      'permanent invalid_recipient, dead',
      'EmailDroppedAllRecipientsSuppressed',
      'ACS says: error EmailDroppedAllRecipientsSuppressed',
    ])
    server.settle(request.notificationId, 'Canceled', 'Other')
    assert.equal((await provider.lookup?.(request))?.kind, 'permanent')
  })

  it('asks again later when it cannot find out', async (t) => {
    const { server, provider, sender, request } = await setup(t)
    const secrets = { connectionString: `endpoint=${server.url};accesskey=${OTHER_KEY}` }

    assert.equal((await provider.lookup?.({ ...request, account: { ...sender, secrets } }))?.kind, 'unauthorized')
    await server.close()
    assert.equal((await provider.lookup?.(request))?.kind, 'transient')
  })

  it('stops the account when its connection string is none, without quoting it', async (t) => {
    const { provider, sender, request } = await setup(t)

    for (const connectionString of [
      'kept-very-secret',
      'endpoint=kept-very-secret;accesskey=a2V5',
      'endpoint=https://x/',
    ]) {
      const broken = { ...sender, secrets: { connectionString } }
      const outcome = await provider.send({ ...request, account: broken })
      const verification = await provider.verify?.(broken, request.signal)

      assert.equal(outcome.kind, 'unauthorized')
      assert.equal(verification?.isGood, false)
      assert.doesNotMatch(JSON.stringify([outcome, verification]), /kept-very-secret|a2V5/)
    }
  })

  it('goes out by the outbound client alone, under a gateway’s prefix where there is one', async (t) => {
    const { server, sender, request } = await setup(t)
    const { outbound, asked } = closedOutbound()
    const provider = acsProvider({ ...testOutbound(t), outbound })
    const settings = { ...sender.settings, endpoint: 'https://gateway.example.com/acs/' }
    const outcome = await provider.send({ ...request, account: { ...sender, settings } })

    assert.deepEqual(outcome, { kind: 'transient', code: 'connect_failed', error: 'no way out' })
    assert.deepEqual(asked, ['https://gateway.example.com/acs/emails:send?api-version=2025-09-01'])
    assert.equal(server.requests.length, 0)
  })

  it('names the package to install when it is missing', async (t) => {
    const { sender, request } = await setup(t)
    const missing: string = 'pillarbox-has-no-such-package'
    const provider = acsProvider({ ...testOutbound(t), importSdk: () => import(missing) as Promise<never> })

    const outcome = await provider.send(request)
    const verification = await provider.verify?.(sender, request.signal)

    assert.equal(outcome.kind, 'unauthorized')
    assert.match('error' in outcome ? outcome.error : '', /npm install @azure\/communication-email$/)
    assert.match(verification?.isGood === false ? verification.error : '', /npm install @azure\/communication-email$/)
  })

  it('verifies the key with Azure’s own words', async (t) => {
    const { server, provider, sender, request } = await setup(t)
    const secrets = { connectionString: `endpoint=${server.url};accesskey=${OTHER_KEY}` }

    const good = await provider.verify?.(sender, request.signal)
    const bad = await provider.verify?.({ ...sender, secrets }, request.signal)
    const refused = await provider.send({ ...request, account: { ...sender, secrets } })

    assert.deepEqual(good, { isGood: true, detail: 'Azure Communication Services knows the access key.' })
    assert.deepEqual(bad, { isGood: false, error: 'ACS says: Denied by the resource provider.' })
    assert.equal(refused.kind, 'unauthorized')
    assert.doesNotMatch(JSON.stringify([bad, refused]), new RegExp(OTHER_KEY))
    assert.equal(server.mails.length, 0)
  })
})
