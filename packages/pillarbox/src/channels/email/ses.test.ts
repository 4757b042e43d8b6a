import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type SesOptions, sesError, startSesServer } from '@pillarbox/vendors'
import { account, closedOutbound, sendRequest, testOutbound } from '../../../../../test/support/providers.ts'
import { until } from '../../../../../test/support/until.ts'
import { AWS_FACTS, STATUS_FACTS, told } from '../../../../../test/support/vendor-facts.ts'
import { sesProvider } from './ses.ts'
import { SES_ERRORS } from './ses-errors.ts'

const KEY = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'kept-very-secret' }

const FACTS: Readonly<Record<string, string>> = {
  ...AWS_FACTS,
  AccountSuspendedException: 'unauthorized',
  BadRequestException: 'permanent permanent_refusal',
  ConcurrentModificationException: 'transient',
  ConfigurationSetDoesNotExistException: 'permanent permanent_refusal',
  ConflictException: 'transient',
  InternalServiceErrorException: 'transient',
  LimitExceededException: 'deferred 3600 s',
  MailFromDomainNotVerifiedException: 'unauthorized',
  MessageRejected: 'permanent content_rejected',
  NotFoundException: 'permanent permanent_refusal',
  SendingPausedException: 'transient',
  TooManyRequestsException: 'throttled',
}

const TEXTS: readonly [codes: readonly string[], words: string, fact: string][] = [
  [
    ['TooManyRequestsException', 'ThrottlingException', 'Throttling', 'LimitExceededException'],
    'Daily message quota exceeded',
    'deferred 3600 s',
  ],
  [
    ['TooManyRequestsException', 'ThrottlingException', 'Throttling', 'LimitExceededException'],
    'Maximum sending rate exceeded',
    'throttled',
  ],
  [
    ['MessageRejected', 'BadRequestException'],
    'Email address is not verified. The following identities failed the check in region EU-CENTRAL-1: info@example.com',
    'unauthorized',
  ],
  [
    ['MessageRejected', 'BadRequestException'],
    'Sending suspended for this account. For more information, please check the inbox of the email address',
    'unauthorized',
  ],
  [['MessageRejected', 'BadRequestException'], 'Sending is paused for the configuration set', 'transient'],
  [
    ['BadRequestException', 'MessageRejected'],
    'Local address contains control or whitespace',
    'permanent invalid_recipient',
  ],
]

async function setup(t: TestContext, options: SesOptions = {}) {
  const server = await startSesServer({ ...KEY, region: 'eu-central-1', ...options })
  t.after(server.close)
  const provider = sesProvider(testOutbound(t))
  const sender = account('email', 'ses', {
    settings: { region: 'eu-central-1', fromAddress: 'Example Tours <info@example.com>', endpoint: server.url },
    secrets: { ...KEY },
  })
  const request = sendRequest(sender, {
    to: { email: 'guest@example.org' },
    content: { subject: 'Booked', body: 'See you, Guest!' },
  })
  return { server, provider, sender, request }
}

describe('ses', () => {
  it('sends plain text as SES wants it, signed, with the notification’s id to come back in events', async (t) => {
    const { server, provider, request } = await setup(t)

    const outcome = await provider.send(request)

    const [mail] = server.mails
    assert.deepEqual(outcome, { kind: 'accepted', providerMessageId: mail?.id })
    assert.equal(server.requests[0]?.path, '/v2/email/outbound-emails')
    assert.deepEqual(mail?.body, {
      FromEmailAddress: '"Example Tours" <info@example.com>',
      Destination: { ToAddresses: ['guest@example.org'] },
      Content: {
        Simple: {
          Subject: { Data: 'Booked', Charset: 'UTF-8' },
          Body: { Text: { Data: 'See you, Guest!', Charset: 'UTF-8' } },
        },
      },
      EmailTags: [{ Name: 'notificationId', Value: request.notificationId }],
    })
  })

  it('sends HTML with a text part', async (t) => {
    const { server, provider, request } = await setup(t)

    await provider.send({
      ...request,
      content: { ...request.content, body: '<p>See you, <b>Guest</b>!</p>', isHtml: true },
    })

    assert.equal(server.mails[0]?.html, '<p>See you, <b>Guest</b>!</p>')
    assert.equal(server.mails[0]?.text, 'See you, Guest!')
  })

  it('sends a list as one mail in which nobody sees the others, with how to leave it and where answers go', async (t) => {
    const { server, provider, sender, request } = await setup(t)
    const settings = {
      ...sender.settings,
      replyTo: 'desk@example.com',
      configurationSet: 'events',
      listUnsubscribe: 'https://example.com/leave/{notificationId}',
    }
    const bcc = ['one@example.org', 'two@example.org']

    await provider.send({ ...request, account: { ...sender, settings }, to: { bcc } })

    const [mail] = server.mails
    assert.deepEqual([mail?.to, mail?.bcc], [[], bcc])
    assert.deepEqual([mail?.replyTo, mail?.configurationSet], [['desk@example.com'], 'events'])
    assert.deepEqual(mail?.headers, {
      'List-Unsubscribe': `<https://example.com/leave/${request.notificationId}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    })
  })

  it('sends names and domains beyond ASCII in their ASCII form', async (t) => {
    const { server, provider, sender, request } = await setup(t)
    const settings = { ...sender.settings, fromAddress: '"Käpt’n Reisen" <info@example.com>' }

    await provider.send({
      ...request,
      account: { ...sender, settings },
      to: { email: 'guest@bücher.example', name: 'Guest "G", Müller' },
    })

    const [mail] = server.mails
    assert.equal(mail?.from, `=?UTF-8?B?${Buffer.from('Käpt’n Reisen').toString('base64')}?= <info@example.com>`)
    assert.equal(
      mail?.to[0],
      `=?UTF-8?B?${Buffer.from('Guest "G", Müller').toString('base64')}?= <guest@xn--bcher-kva.example>`,
    )
  })

  it('quotes a name that would read as two addresses', async (t) => {
    const { server, provider, request } = await setup(t)

    await provider.send({ ...request, to: { email: 'guest@example.org', name: 'Guest, "the\\one"' } })

    assert.equal(server.mails[0]?.to[0], '"Guest, \\"the\\\\one\\"" <guest@example.org>')
  })

  it('does not send to more than fifty at once, to nobody, or to an address SES cannot have', async (t) => {
    const { server, provider, request } = await setup(t)
    const many = Array.from({ length: 51 }, (_, i) => `guest${i}@example.org`)

    const outcomes = await Promise.all(
      [{ bcc: many }, {}, { email: 'gäst@example.org' }].map((to) => provider.send({ ...request, to })),
    )

    assert.deepEqual(
      outcomes.map((outcome) => 'code' in outcome && outcome.code),
      ['too_many_recipients', 'no_recipient', 'non_ascii_address'],
    )
    assert.match(outcomes[0] && 'error' in outcomes[0] ? outcomes[0].error : '', /expand/)
    assert.equal(server.requests.length, 0)
  })

  it('has a fact for every line of its table', () => {
    assert.deepEqual(Object.keys(FACTS).sort(), Object.keys(SES_ERRORS.lines).sort())
  })

  for (const [code, fact] of Object.entries(FACTS))
    it(`takes ${code} for ${fact}`, async (t) => {
      const { server, provider, request } = await setup(t)
      server.answerWith(sesError(code, 'words'))

      assert.deepEqual(told(await provider.send(request)), [fact, code, 'SES says: words'])
    })

  for (const [codes, words, fact] of TEXTS)
    for (const code of codes)
      it(`takes ${code} with “${words}” for ${fact}`, async (t) => {
        const { server, provider, request } = await setup(t)
        server.answerWith(sesError(code, words))

        assert.deepEqual(told(await provider.send(request)), [fact, code, `SES says: ${words}`])
      })

  it('goes by the status for a code that is in no table, and for none', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith(sesError('NewException', 'words', 400), sesError('NewException', 'words', 403), 'server_error', {
      status: 429,
      body: '',
    })

    const outcomes = []
    for (let i = 0; i < 4; i++) outcomes.push(await provider.send(request))

    assert.deepEqual(
      outcomes.map((outcome) => [outcome.kind, 'code' in outcome && outcome.code]),
      [
        ['transient', 'NewException'],
        ['unauthorized', 'NewException'],
        ['transient', '502'],
        ['throttled', '429'],
      ],
    )
  })

  for (const [status, fact] of Object.entries(STATUS_FACTS))
    it(`takes a bare ${status} for ${fact}`, async (t) => {
      const { server, provider, request } = await setup(t)
      server.answerWith({ status: Number(status), body: '<html>oh</html>' })

      assert.deepEqual(told(await provider.send(request)).slice(0, 2), [fact, status])
    })

  it('waits as long as AWS says', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith('too_many', { status: 429, headers: { 'retry-after': '7' }, body: '' })

    const outcomes = [await provider.send(request), await provider.send(request)]

    assert.deepEqual(
      outcomes.map((outcome) => 'retryAfterMs' in outcome && outcome.retryAfterMs),
      [1_500, 7_000],
    )
  })

  it('does not take an answer without an id, or none, for success', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith('no_id', 'not_json', 'garbage', 'reset_after_accept', 'silence')

    for (let i = 0; i < 5; i++) assert.equal((await provider.send(request)).kind, 'unknown')
    assert.equal(server.requests.length, 5, 'the SDK tries nothing again')
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
    assert.equal(server.requests.length, 1)
  })

  it('signs with the credentials of each account, and with new ones once they are changed', async (t) => {
    const { provider, request } = await setup(t)
    const secrets = { ...KEY, secretAccessKey: 'another-secret' }

    const good = await provider.send(request)
    const bad = await provider.send({ ...request, account: { ...request.account, secrets } })
    const goodAgain = await provider.send(request)

    assert.deepEqual([good.kind, bad.kind, goodAgain.kind], ['accepted', 'unauthorized', 'accepted'])
    assert.doesNotMatch(JSON.stringify(bad), /another-secret|kept-very-secret/)
  })

  it('stops the account when its settings make no call possible', async (t) => {
    const { server, provider, sender, request } = await setup(t)

    for (const broken of [
      { ...sender, secrets: {} },
      { ...sender, settings: { ...sender.settings, endpoint: undefined, region: 'not a region' } },
    ]) {
      const outcome = await provider.send({ ...request, account: broken })
      assert.equal(outcome.kind, 'unauthorized')
    }
    assert.equal(server.requests.length, 0)
  })

  it('goes out by the outbound client alone, to the region’s own host whatever the environment says', async (t) => {
    const { server, sender, request } = await setup(t)
    process.env['AWS_ENDPOINT_URL_SESV2'] = server.url
    t.after(() => delete process.env['AWS_ENDPOINT_URL_SESV2'])
    const { endpoint: _, ...settings } = sender.settings
    const { outbound, asked } = closedOutbound()
    const provider = sesProvider({ ...testOutbound(t), outbound })

    const outcome = await provider.send({ ...request, account: { ...sender, settings } })

    assert.deepEqual(outcome, { kind: 'transient', code: 'connect_failed', error: 'no way out' })
    assert.deepEqual(asked, ['https://email.eu-central-1.amazonaws.com/v2/email/outbound-emails'])
    assert.equal(server.requests.length, 0)
  })

  it('names the package to install when it is missing', async (t) => {
    const { sender, request } = await setup(t)
    const missing: string = 'pillarbox-has-no-such-package'
    const importSdk = () => import(missing) as Promise<never>
    const provider = sesProvider({ ...testOutbound(t), importSdk })

    assert.deepEqual(await provider.send(request), {
      kind: 'unauthorized',
      code: 'sdk_missing',
      error: '@aws-sdk/client-sesv2 is not installed: install it with npm install @aws-sdk/client-sesv2',
    })
    assert.equal((await provider.verify?.(sender, request.signal))?.isGood, false)
  })

  it('verifies the credentials with SES’s own words', async (t) => {
    const { provider, sender, request } = await setup(t)

    const good = await provider.verify?.(sender, request.signal)
    const bad = await provider.verify?.({ ...sender, secrets: { ...KEY, accessKeyId: 'AKIDOTHER' } }, request.signal)

    assert.deepEqual(good, { isGood: true, detail: 'SES lets the account send 50000 mails a day, 14 a second.' })
    assert.deepEqual(bad, {
      isGood: false,
      error: 'SES says: The security token included in the request is invalid. (UnrecognizedClientException)',
    })
  })

  it('does not call an account good that may not send, and says which is in the sandbox', async (t) => {
    const paused = await setup(t, { account: { SendingEnabled: false, EnforcementStatus: 'SHUTDOWN' } })
    const young = await setup(t, {
      account: { SendingEnabled: true, SendQuota: { Max24HourSend: 200, MaxSendRate: 1, SentLast24Hours: 0 } },
    })

    assert.deepEqual(await paused.provider.verify?.(paused.sender, paused.request.signal), {
      isGood: false,
      error: 'SES says: the account may not send (SHUTDOWN)',
    })
    assert.deepEqual(await young.provider.verify?.(young.sender, young.request.signal), {
      isGood: true,
      detail: 'SES lets the account send 200 mails a day, 1 a second, in the sandbox: to verified recipients only.',
    })
  })
})
