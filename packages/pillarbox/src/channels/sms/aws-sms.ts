import type * as SmsSdk from '@aws-sdk/client-pinpoint-sms-voice-v2'
import { type AwsDeps, awsName, awsProvider } from '../aws.ts'
import type { Field, Provider, SendRequest } from '../channel.ts'
import { digits, matching, oneOf, phoneNumber, wholeNumber } from '../fields.ts'
import { type Failure, nobodyToSendTo, present, textAt, tooLong } from '../vendor-answers.ts'
import { AWS_SMS_ERRORS } from './aws-sms-errors.ts'

const LONGEST_TEXT = 1_600
const VENDOR = 'AWS End User Messaging'

/**
 * SMS by AWS End User Messaging (the API `pinpoint-sms-voice-v2`). Our notification's id travels in the context and comes
 * back in its events. There is no idempotency key.
 */
export function awsSmsProvider(deps: AwsDeps<typeof SmsSdk>): Provider {
  return awsProvider(
    {
      name: 'aws-sms',
      channel: 'sms',
      words: 'SMS by AWS End User Messaging (`pinpoint-sms-voice-v2`), the younger of Amazon’s two services.',
      vendor: VENDOR,
      sdk: '@aws-sdk/client-pinpoint-sms-voice-v2',
      importSdk: () => import('@aws-sdk/client-pinpoint-sms-voice-v2'),
      client: ({ PinpointSMSVoiceV2Client }, config) => new PinpointSMSVoiceV2Client(config),
      errors: AWS_SMS_ERRORS,
      settings: SETTINGS,
      inputOf: messageOf,
      send: ({ SendTextMessageCommand }, client, message, options) =>
        client.send(new SendTextMessageCommand(message), options),
      idOf: ({ MessageId }) => MessageId,
      ask: ({ DescribeAccountAttributesCommand }, client, options) =>
        client.send(new DescribeAccountAttributesCommand({}), options),
      judge({ AccountAttributes }) {
        const tier = AccountAttributes?.find(({ Name }) => Name === 'ACCOUNT_TIER')?.Value
        const place =
          tier === 'SANDBOX' ? 'the sandbox: it sends to verified numbers only' : `tier ${tier ?? 'unknown'}`
        return { isGood: true, detail: `${VENDOR} knows the key; the account is in ${place}.` }
      },
    },
    deps,
  )
}

/** What begins with a plus is a number and nothing else. */
const origin = (value: unknown): string | null =>
  typeof value === 'string' && value.startsWith('+') ? phoneNumber(value) : awsName(value)

const SETTINGS: Readonly<Record<string, Field>> = {
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
}

function messageOf(request: SendRequest): SmsSdk.SendTextMessageCommandInput | Failure {
  const { account, to, content, notificationId } = request
  if (to.phone === undefined) return nobodyToSendTo()
  if (content.body.length > LONGEST_TEXT) return tooLong(`${LONGEST_TEXT} characters`)
  const timeToLive = account.settings['timeToLive']
  const country = countryParametersOf(request)
  return {
    DestinationPhoneNumber: to.phone,
    MessageBody: content.body,
    MessageType: textAt(account.settings, 'messageType') === 'PROMOTIONAL' ? 'PROMOTIONAL' : 'TRANSACTIONAL',
    Context: { notificationId },
    ...present({
      OriginationIdentity: textAt(account.settings, 'senderId'),
      ConfigurationSetName: textAt(account.settings, 'configurationSet'),
      MaxPrice: textAt(account.settings, 'maxPrice'),
      ProtectConfigurationId: textAt(account.settings, 'protectConfigurationId'),
      TimeToLive: typeof timeToLive === 'number' ? timeToLive : null,
      DestinationCountryParameters: Object.keys(country).length > 0 ? country : null,
    }),
  }
}

/** What India wants to know: the registered template, and whose it is. */
function countryParametersOf({
  account,
  content,
}: SendRequest): NonNullable<SmsSdk.SendTextMessageCommandInput['DestinationCountryParameters']> {
  return present({
    IN_ENTITY_ID: textAt(content.providerTemplate, 'dltEntityId') ?? textAt(account.settings, 'dltEntityId'),
    IN_TEMPLATE_ID: textAt(content.providerTemplate, 'dltTemplateId'),
  })
}
