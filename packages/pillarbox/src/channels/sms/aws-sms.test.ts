import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type AwsSmsOptions, awsSmsError, startAwsSmsServer } from '@pillarbox/vendors'
import { account, closedOutbound, sendRequest, testOutbound } from '../../../../../test/support/providers.ts'
import { AWS_FACTS, STATUS_FACTS, told } from '../../../../../test/support/vendor-facts.ts'
import { awsSmsProvider } from './aws-sms.ts'
import { AWS_SMS_ERRORS } from './aws-sms-errors.ts'

const KEY = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'kept-very-secret' }
const SAYS = 'AWS End User Messaging says:'

const FACTS: Readonly<Record<string, string>> = {
  ...AWS_FACTS,
  'AccessDeniedException/ACCOUNT_DISABLED': 'unauthorized',
  'AccessDeniedException/INSUFFICIENT_ACCOUNT_REPUTATION': 'unauthorized',
  ConflictException: 'permanent permanent_refusal',
  'ConflictException/DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION': 'permanent unreachable',
  'ConflictException/DESTINATION_PHONE_NUMBER_BLOCKED_BY_PROTECT_NUMBER_OVERRIDE': 'permanent unreachable',
  'ConflictException/DESTINATION_PHONE_NUMBER_NOT_VERIFIED': 'unauthorized',
  'ConflictException/DESTINATION_PHONE_NUMBER_OPTED_OUT': 'permanent invalid_recipient, dead',
  'ConflictException/MESSAGE_TYPE_MISMATCH': 'unauthorized',
  'ConflictException/NO_ORIGINATION_IDENTITIES_FOUND': 'unauthorized',
  'ConflictException/NUMBER_CAPABILITIES_MISMATCH': 'unauthorized',
  'ConflictException/RESOURCE_NOT_ACTIVE': 'unauthorized',
  InternalServerException: 'transient',
  ResourceNotFoundException: 'permanent permanent_refusal',
  ServiceQuotaExceededException: 'deferred 3600 s',
  'ServiceQuotaExceededException/MONTHLY_SPEND_LIMIT_REACHED_FOR_RCS': 'unauthorized',
  'ServiceQuotaExceededException/MONTHLY_SPEND_LIMIT_REACHED_FOR_TEXT': 'unauthorized',
  'ValidationException/COUNTRY_NOT_ENABLED': 'permanent permanent_refusal',
  'ValidationException/DESTINATION_COUNTRY_BLOCKED': 'permanent permanent_refusal',
  'ValidationException/INTERNATIONAL_SENDING_NOT_SUPPORTED': 'permanent permanent_refusal',
  'ValidationException/INVALID_IDENTITY_FOR_DESTINATION_COUNTRY': 'permanent permanent_refusal',
  'ValidationException/MAXIMUM_SIZE_EXCEEDED': 'permanent content_rejected',
  'ValidationException/PRICE_OVER_THRESHOLD': 'permanent permanent_refusal',
  'ValidationException/SENDER_ID_NOT_REGISTERED': 'permanent permanent_refusal',
  'ValidationException/SENDER_ID_NOT_SUPPORTED': 'permanent permanent_refusal',
  'ValidationException/SENDER_ID_REQUIRES_REGISTRATION': 'permanent permanent_refusal',
}

const TEXTS: readonly [codes: readonly string[], words: string, fact: string][] = [
  [
    ['ValidationException'],
    'The request is not valid; DestinationPhoneNumber: is not a valid phone number',
    'permanent invalid_recipient, dead',
  ],
]

async function setup(t: TestContext, options: AwsSmsOptions = {}) {
  const server = await startAwsSmsServer({ ...KEY, region: 'eu-central-1', ...options })
  t.after(server.close)
  const provider = awsSmsProvider(testOutbound(t))
  const sender = account('sms', 'aws-sms', {
    settings: { region: 'eu-central-1', endpoint: server.url },
    secrets: { ...KEY },
  })
  const request = sendRequest(sender, { to: { phone: '+491701234567' }, content: { body: 'Booked, Grüße 👋' } })
  return { server, provider, sender, request }
}

describe('aws-sms', () => {
  it('sends a transactional message, with the notification’s id to come back in events', async (t) => {
    const { server, provider, request } = await setup(t)

    const outcome = await provider.send(request)

    const [message] = server.messages
    assert.deepEqual(outcome, { kind: 'accepted', providerMessageId: message?.id })
    assert.equal(server.requests[0]?.headers['x-amz-target'], 'PinpointSMSVoiceV2.SendTextMessage')
    assert.deepEqual(message?.body, {
      DestinationPhoneNumber: '+491701234567',
      MessageBody: 'Booked, Grüße 👋',
      MessageType: 'TRANSACTIONAL',
      Context: { notificationId: request.notificationId },
    })
  })

  it('sends what the account says about the sender, and the DLT ids', async (t) => {
    const { server, provider, sender, request } = await setup(t)
    const settings = {
      ...sender.settings,
      senderId: 'pool-1',
      configurationSet: 'events',
      messageType: 'PROMOTIONAL',
      maxPrice: '0.50',
      timeToLive: 3_600,
      protectConfigurationId: 'protect-1',
      dltEntityId: '1101',
    }

    await provider.send({
      ...request,
      account: { ...sender, settings },
      content: { ...request.content, providerTemplate: { dltTemplateId: '1007', dltEntityId: '1102' } },
    })

    assert.deepEqual(server.messages[0]?.body, {
      DestinationPhoneNumber: '+491701234567',
      MessageBody: 'Booked, Grüße 👋',
      MessageType: 'PROMOTIONAL',
      Context: { notificationId: request.notificationId },
      OriginationIdentity: 'pool-1',
      ConfigurationSetName: 'events',
      MaxPrice: '0.50',
      ProtectConfigurationId: 'protect-1',
      TimeToLive: 3_600,
      DestinationCountryParameters: { IN_ENTITY_ID: '1102', IN_TEMPLATE_ID: '1007' },
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
    assert.deepEqual(Object.keys(FACTS).sort(), Object.keys(AWS_SMS_ERRORS.lines).sort())
  })

  for (const [key, fact] of Object.entries(FACTS))
    it(`takes ${key} for ${fact}`, async (t) => {
      const { server, provider, request } = await setup(t)
      const [code = '', reason] = key.split('/')
      server.answerWith(awsSmsError(code, 'words', reason === undefined ? {} : { reason }))

      assert.deepEqual(told(await provider.send(request)), [fact, key, `${SAYS} words`])
    })

  for (const [codes, words, fact] of TEXTS)
    for (const code of codes)
      it(`takes ${code} with “${words}” for ${fact}`, async (t) => {
        const { server, provider, request } = await setup(t)
        server.answerWith(awsSmsError(code, words))

        assert.deepEqual(told(await provider.send(request)), [fact, code, `${SAYS} ${words}`])
      })

  it('takes a number that AWS finds invalid for dead, whatever the reason it gives', async (t) => {
    const { provider, request } = await setup(t)

    const outcome = await provider.send({ ...request, to: { phone: '+0' } })

    assert.deepEqual(told(outcome), [
      'permanent invalid_recipient, dead',
      'ValidationException/FIELD_VALIDATION_FAILED',
      `${SAYS} The request is not valid.; DestinationPhoneNumber: is not valid`,
    ])
  })

  it('takes an unknown reason by its exception, and an unknown exception by its status', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith(
      awsSmsError('ConflictException', 'words', { reason: 'NEW_REASON' }),
      awsSmsError('NewException', 'words', { status: 500 }),
      'server_error',
      'too_many',
    )

    const outcomes = []
    for (let i = 0; i < 4; i++) outcomes.push(await provider.send(request))

    assert.deepEqual(
      outcomes.map((outcome) => [outcome.kind, 'code' in outcome && outcome.code]),
      [
        ['permanent', 'ConflictException/NEW_REASON'],
        ['transient', 'NewException'],
        ['transient', '503'],
        ['throttled', 'ThrottlingException'],
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
    server.answerWith('no_id', 'not_json', 'garbage', 'reset_after_accept', 'silence')

    for (let i = 0; i < 5; i++) assert.equal((await provider.send(request)).kind, 'unknown')
    assert.equal(server.requests.length, 5, 'the SDK tries nothing again')
    await server.close()
    assert.equal((await provider.send(request)).kind, 'transient')
  })

  it('calls the region’s own host where the account names no other', async (t) => {
    const { sender, request } = await setup(t)
    const { endpoint: _, ...settings } = sender.settings
    const { outbound, asked } = closedOutbound()
    const provider = awsSmsProvider({ ...testOutbound(t), outbound })

    await provider.send({ ...request, account: { ...sender, settings } })

    assert.deepEqual(asked, ['https://sms-voice.eu-central-1.amazonaws.com/'])
  })

  it('names the package to install when it is missing', async (t) => {
    const { request } = await setup(t)
    const missing: string = 'pillarbox-has-no-such-package'
    const provider = awsSmsProvider({ ...testOutbound(t), importSdk: () => import(missing) as Promise<never> })

    const outcome = await provider.send(request)

    assert.match('error' in outcome ? outcome.error : '', /npm install @aws-sdk\/client-pinpoint-sms-voice-v2$/)
  })

  it('verifies the credentials with AWS’s own words', async (t) => {
    const { server, provider, sender, request } = await setup(t)
    const young = await setup(t, { tier: 'SANDBOX' })

    const good = await provider.verify?.(sender, request.signal)
    const sandboxed = await young.provider.verify?.(young.sender, request.signal)
    const bad = await provider.verify?.({ ...sender, secrets: { ...KEY, accessKeyId: 'AKIDOTHER' } }, request.signal)

    assert.deepEqual(good, {
      isGood: true,
      detail: 'AWS End User Messaging knows the key; the account is in tier PRODUCTION.',
    })
    assert.match(sandboxed?.isGood === true ? sandboxed.detail : '', /sandbox: it sends to verified numbers only/)
    assert.deepEqual(bad, {
      isGood: false,
      error: `${SAYS} The security token included in the request is invalid. (UnrecognizedClientException)`,
    })
    assert.equal(server.messages.length, 0)
  })
})
