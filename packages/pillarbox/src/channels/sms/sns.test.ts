import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { snsError, startSnsServer } from '@pillarbox/vendors'
import { account, closedOutbound, sendRequest, testOutbound } from '../../../../../test/support/providers.ts'
import { AWS_FACTS, STATUS_FACTS, told } from '../../../../../test/support/vendor-facts.ts'
import { snsProvider } from './sns.ts'
import { SNS_ERRORS } from './sns-errors.ts'

const KEY = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'kept-very-secret' }

const FACTS: Readonly<Record<string, string>> = {
  ...AWS_FACTS,
  AuthorizationError: 'unauthorized',
  EndpointDisabled: 'permanent invalid_recipient, dead',
  InternalError: 'transient',
  InvalidParameter: 'permanent permanent_refusal',
  InvalidSecurity: 'unauthorized',
  KMSAccessDenied: 'unauthorized',
  KMSDisabled: 'transient',
  KMSInvalidState: 'unauthorized',
  KMSNotFound: 'unauthorized',
  KMSOptInRequired: 'unauthorized',
  KMSThrottling: 'transient',
  NotFound: 'permanent permanent_refusal',
  OptedOut: 'permanent invalid_recipient, dead',
  ParameterValueInvalid: 'permanent permanent_refusal',
  PlatformApplicationDisabled: 'unauthorized',
  Throttled: 'throttled',
  UserError: 'permanent permanent_refusal',
}

const TEXTS: readonly [codes: readonly string[], words: string, fact: string][] = [
  [
    ['UserError', 'Throttled', 'InvalidParameter'],
    'The monthly spending limit of the account is reached',
    'deferred 21600 s',
  ],
  [
    ['InvalidParameter', 'ParameterValueInvalid', 'ValidationException'],
    'Invalid parameter: PhoneNumber Reason: +4912 is not valid to publish to',
    'permanent invalid_recipient',
  ],
  [
    ['InvalidParameter', 'ParameterValueInvalid', 'ValidationException'],
    'Invalid parameter: Message too long',
    'permanent content_rejected',
  ],
]

async function setup(t: TestContext) {
  const server = await startSnsServer({ ...KEY, region: 'ap-south-1' })
  t.after(server.close)
  const provider = snsProvider(testOutbound(t))
  const sender = account('sms', 'sns', {
    settings: { region: 'ap-south-1', senderId: 'EXAMPLE', endpoint: server.url },
    secrets: { ...KEY },
  })
  const request = sendRequest(sender, { to: { phone: '+919876543210' }, content: { body: 'Booked & paid, नमस्ते 👋' } })
  return { server, provider, sender, request }
}

describe('sns', () => {
  it('publishes to the number, as a transactional message from the sender id', async (t) => {
    const { server, provider, request } = await setup(t)

    const outcome = await provider.send(request)

    const [message] = server.messages
    assert.deepEqual(outcome, { kind: 'accepted', providerMessageId: message?.id })
    assert.deepEqual([message?.to, message?.text], ['+919876543210', 'Booked & paid, नमस्ते 👋'])
    assert.deepEqual(message?.attributes, {
      'AWS.SNS.SMS.SMSType': 'Transactional',
      'AWS.SNS.SMS.SenderID': 'EXAMPLE',
    })
    assert.equal(message?.form['MessageAttributes.entry.1.Value.DataType'], 'String')
  })

  it('sends the DLT ids, the price limit and the number to send from', async (t) => {
    const { server, provider, sender, request } = await setup(t)
    const settings = {
      ...sender.settings,
      dltEntityId: '1101',
      maxPrice: '0.05',
      originationNumber: '+15550100',
      messageType: 'Promotional',
    }

    await provider.send({
      ...request,
      account: { ...sender, settings },
      content: { ...request.content, providerTemplate: { dltTemplateId: '1007' } },
    })

    assert.deepEqual(server.messages[0]?.attributes, {
      'AWS.SNS.SMS.SMSType': 'Promotional',
      'AWS.SNS.SMS.SenderID': 'EXAMPLE',
      'AWS.SNS.SMS.MaxPrice': '0.05',
      'AWS.MM.SMS.OriginationNumber': '+15550100',
      'AWS.MM.SMS.EntityId': '1101',
      'AWS.MM.SMS.TemplateId': '1007',
    })
  })

  it('does not send what is too long, or to nobody', async (t) => {
    const { server, provider, request } = await setup(t)

    const long = await provider.send({ ...request, content: { ...request.content, body: 'x'.repeat(1_601) } })
    const nobody = await provider.send({ ...request, to: {} })

    assert.deepEqual(['code' in long && long.code, 'code' in nobody && nobody.code], ['too_long', 'no_recipient'])
    assert.equal(server.requests.length, 0)
  })

  it('has a fact for every line of its table', () => {
    assert.deepEqual(Object.keys(FACTS).sort(), Object.keys(SNS_ERRORS.lines).sort())
  })

  for (const [code, fact] of Object.entries(FACTS))
    it(`takes ${code} for ${fact}`, async (t) => {
      const { server, provider, request } = await setup(t)
      server.answerWith(snsError(code, 'words'))

      assert.deepEqual(told(await provider.send(request)), [fact, code, 'SNS says: words'])
    })

  for (const [codes, words, fact] of TEXTS)
    for (const code of codes)
      it(`takes ${code} with “${words}” for ${fact}`, async (t) => {
        const { server, provider, request } = await setup(t)
        server.answerWith(snsError(code, words))

        assert.deepEqual(told(await provider.send(request)), [fact, code, `SNS says: ${words}`])
      })

  it('goes by the status for a code that is in no table, and for none', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith(snsError('New', 'words', 400), 'server_error', { status: 403, body: '' }, 'too_many')

    const outcomes = []
    for (let i = 0; i < 4; i++) outcomes.push(await provider.send(request))

    assert.deepEqual(
      outcomes.map((outcome) => [outcome.kind, 'code' in outcome && outcome.code]),
      [
        ['transient', 'New'],
        ['transient', '503'],
        ['unauthorized', '403'],
        ['throttled', 'Throttled'],
      ],
    )
    assert.equal(outcomes[3] && 'retryAfterMs' in outcomes[3] && outcomes[3].retryAfterMs, 1_500)
  })

  for (const [status, fact] of Object.entries(STATUS_FACTS))
    it(`takes a bare ${status} for ${fact}`, async (t) => {
      const { server, provider, request } = await setup(t)
      server.answerWith({ status: Number(status), body: '<html>oh</html>' })

      assert.deepEqual(told(await provider.send(request)).slice(0, 2), [fact, status])
    })

  it('does not take an answer without an id, or none, for success', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith('no_id', 'not_xml', 'garbage', 'reset_after_accept', 'silence')

    for (let i = 0; i < 5; i++) assert.equal((await provider.send(request)).kind, 'unknown')
    assert.equal(server.requests.length, 5, 'the SDK tries nothing again')
    await server.close()
    assert.equal((await provider.send(request)).kind, 'transient')
  })

  it('calls the region’s own host where the account names no other', async (t) => {
    const { sender, request } = await setup(t)
    const { endpoint: _, ...settings } = sender.settings
    const { outbound, asked } = closedOutbound()
    const provider = snsProvider({ ...testOutbound(t), outbound })

    await provider.send({ ...request, account: { ...sender, settings } })

    assert.deepEqual(asked, ['https://sns.ap-south-1.amazonaws.com/'])
  })

  it('names the package to install when it is missing', async (t) => {
    const { request } = await setup(t)
    const missing: string = 'pillarbox-has-no-such-package'
    const provider = snsProvider({ ...testOutbound(t), importSdk: () => import(missing) as Promise<never> })

    const outcome = await provider.send(request)

    assert.match('error' in outcome ? outcome.error : '', /npm install @aws-sdk\/client-sns$/)
  })

  it('verifies the credentials with SNS’s own words', async (t) => {
    const { server, provider, sender, request } = await setup(t)

    const good = await provider.verify?.(sender, request.signal)
    const bad = await provider.verify?.(
      { ...sender, secrets: { ...KEY, secretAccessKey: 'another-secret' } },
      request.signal,
    )

    assert.deepEqual(good, { isGood: true, detail: 'SNS knows the key; it may spend 50 USD a month.' })
    assert.match(bad?.isGood === false ? bad.error : '', /^SNS says: .*signature.*\(SignatureDoesNotMatch\)$/)
    assert.doesNotMatch(JSON.stringify(bad), /another-secret/)
    assert.equal(server.messages.length, 0)
  })
})
