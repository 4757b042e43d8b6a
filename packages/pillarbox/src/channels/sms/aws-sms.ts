import type * as SmsSdk from '@aws-sdk/client-pinpoint-sms-voice-v2'
import type { Account } from '../../model/account.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Clock } from '../../model/ports.ts'
import { awsName, awsSecrets, awsSettings, createAws, outcomeOfCall, verificationOf } from '../aws.ts'
import type { Provider, SendRequest, Verification } from '../channel.ts'
import { digits, matching, oneOf, phoneNumber, wholeNumber } from '../fields.ts'
import type { Outbound } from '../outbound.ts'
import { outcomeOf, textAt } from '../vendor-answers.ts'
import { AWS_SMS_ERRORS } from './aws-sms-errors.ts'

const LONGEST_TEXT = 1_600
const VENDOR = 'AWS End User Messaging'
const SDK = '@aws-sdk/client-pinpoint-sms-voice-v2'

/**
 * SMS by AWS End User Messaging (the API `pinpoint-sms-voice-v2`). Our notification's id travels in the context and comes
 * back in its events. There is no idempotency key.
 */
export function awsSmsProvider({
  outbound,
  clock,
  importSdk = () => import('@aws-sdk/client-pinpoint-sms-voice-v2'),
}: {
  outbound: Outbound
  clock: Clock
  importSdk?: () => Promise<typeof SmsSdk>
}): Provider {
  const aws = createAws({
    outbound,
    clock,
    sdk: SDK,
    importSdk,
    client: ({ PinpointSMSVoiceV2Client }, config) => new PinpointSMSVoiceV2Client(config),
  })

  async function send(request: SendRequest): Promise<Outcome> {
    const { account, content, signal } = request
    const message = messageOf(request)
    if (message === null) return outcomeOf({ does: 'dead' }, 'no_recipient', 'there is nobody to send it to')
    if (content.body.length > LONGEST_TEXT)
      return outcomeOf(
        { does: 'fail', reason: 'content_rejected' },
        'too_long',
        `longer than ${LONGEST_TEXT} characters`,
      )
    const answer = await aws.call(account, signal, ({ SendTextMessageCommand }, client, options) =>
      client.send(new SendTextMessageCommand(message), options),
    )
    return outcomeOfCall(VENDOR, AWS_SMS_ERRORS, answer, ({ MessageId }) => MessageId)
  }

  async function verify(account: Account, signal: AbortSignal): Promise<Verification> {
    const answer = await aws.call(account, signal, ({ DescribeAccountAttributesCommand }, client, options) =>
      client.send(new DescribeAccountAttributesCommand({}), options),
    )
    return verificationOf(VENDOR, answer, ({ AccountAttributes }) => {
      const tier = AccountAttributes?.find(({ Name }) => Name === 'ACCOUNT_TIER')?.Value
      const words = tier === 'SANDBOX' ? 'the sandbox: it sends to verified numbers only' : `tier ${tier ?? 'unknown'}`
      return { isGood: true, detail: `${VENDOR} knows the key; the account is in ${words}.` }
    })
  }

  return {
    name: 'aws-sms',
    channels: ['sms'],
    words: 'SMS by AWS End User Messaging (`pinpoint-sms-voice-v2`), the younger of Amazon’s two services.',
    sdk: SDK,
    capability: () => 'none',
    fields: {
      settings: {
        ...awsSettings,
        senderId: {
          words: 'What to send from: a number, a pool, a sender id, or the ARN of one. Without it AWS chooses.',
          problem: origin,
        },
        configurationSet: { words: 'The configuration set, which publishes the events.', problem: awsName },
        messageType: {
          words: '`TRANSACTIONAL` (default) or `PROMOTIONAL`.',
          problem: oneOf('TRANSACTIONAL', 'PROMOTIONAL'),
        },
        maxPrice: {
          words: 'What a part of a message may cost at most, in USD, as text.',
          problem: matching(/^[0-9]{0,2}\.[0-9]{1,5}$/, 'an amount as text, such as 0.50'),
        },
        timeToLive: {
          words: 'For how many seconds it is worth delivering: 5 to 259200.',
          problem: wholeNumber(5, 259_200),
        },
        protectConfigurationId: { words: 'The protect configuration to use.', problem: awsName },
        dltEntityId: { words: 'India: the principal entity’s id on the DLT platform.', problem: digits },
      },
      secrets: awsSecrets,
    },
    send,
    verify,
    close: aws.close,
  }
}

/** What begins with a plus is a number and nothing else. */
const origin = (value: unknown): string | null =>
  typeof value === 'string' && value.startsWith('+') ? phoneNumber(value) : awsName(value)

function messageOf(request: SendRequest): SmsSdk.SendTextMessageCommandInput | null {
  const { account, to, content, notificationId } = request
  if (to.phone === undefined) return null
  const optional = {
    OriginationIdentity: textAt(account.settings, 'senderId'),
    ConfigurationSetName: textAt(account.settings, 'configurationSet'),
    MaxPrice: textAt(account.settings, 'maxPrice'),
    ProtectConfigurationId: textAt(account.settings, 'protectConfigurationId'),
  }
  const timeToLive = account.settings['timeToLive']
  const country = countryParametersOf(request)
  return {
    DestinationPhoneNumber: to.phone,
    MessageBody: content.body,
    MessageType: textAt(account.settings, 'messageType') === 'PROMOTIONAL' ? 'PROMOTIONAL' : 'TRANSACTIONAL',
    Context: { notificationId },
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== null)),
    ...(typeof timeToLive === 'number' ? { TimeToLive: timeToLive } : {}),
    ...(Object.keys(country).length > 0 ? { DestinationCountryParameters: country } : {}),
  }
}

/** What India wants to know: the registered template, and whose it is. */
function countryParametersOf({
  account,
  content,
}: SendRequest): NonNullable<SmsSdk.SendTextMessageCommandInput['DestinationCountryParameters']> {
  const template = textAt(content.providerTemplate, 'dltTemplateId')
  const entity = textAt(content.providerTemplate, 'dltEntityId') ?? textAt(account.settings, 'dltEntityId')
  return {
    ...(entity === null ? {} : { IN_ENTITY_ID: entity }),
    ...(template === null ? {} : { IN_TEMPLATE_ID: template }),
  }
}
