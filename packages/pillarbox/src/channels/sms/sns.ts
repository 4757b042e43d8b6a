import type * as SnsSdk from '@aws-sdk/client-sns'
import { type AwsDeps, awsProvider } from '../aws.ts'
import type { Field, Provider, SendRequest } from '../channel.ts'
import { digits, matching, oneOf, phoneNumber } from '../fields.ts'
import { type Failure, nobodyToSendTo, present, textAt, tooLong } from '../vendor-answers.ts'
import { SNS_ERRORS } from './sns-errors.ts'

/** What SNS sends in one Publish, in as many parts as it needs. */
const LONGEST_TEXT = 1_600
const TRANSACTIONAL = 'Transactional'

/**
 * SMS by Amazon SNS: Publish straight to a telephone number. It has neither an idempotency key nor a reference of ours to
 * come back; `aws-sms` is the younger service and has more to say about each message.
 */
export function snsProvider(deps: AwsDeps<typeof SnsSdk>): Provider {
  return awsProvider(
    {
      name: 'sns',
      channel: 'sms',
      words: 'SMS by Amazon SNS, straight to a telephone number.',
      vendor: 'SNS',
      sdk: '@aws-sdk/client-sns',
      importSdk: () => import('@aws-sdk/client-sns'),
      client: ({ SNSClient }, config) => new SNSClient(config),
      errors: SNS_ERRORS,
      settings: SETTINGS,
      inputOf: messageOf,
      send: ({ PublishCommand }, client, message, options) => client.send(new PublishCommand(message), options),
      idOf: ({ MessageId }) => MessageId,
      ask: ({ GetSMSAttributesCommand }, client, options) => client.send(new GetSMSAttributesCommand({}), options),
      judge({ attributes }) {
        const limit = attributes?.['MonthlySpendLimit']
        const words = limit === undefined ? 'its spending limit is AWS’s default' : `it may spend ${limit} USD a month`
        return { isGood: true, detail: `SNS knows the key; ${words}.` }
      },
    },
    deps,
  )
}

const sendingNumber = (value: unknown): string | null =>
  typeof value === 'string' && /^[0-9]{3,8}$/.test(value) ? null : phoneNumber(value)

const SETTINGS: Readonly<Record<string, Field>> = {
  senderId: {
    words: 'The name shown as sender where the country allows one: up to 11 letters, digits and hyphens.',
    problem: matching(
      /^(?=.*[A-Za-z])[A-Za-z0-9-]{1,11}$/,
      '1 to 11 letters, digits and hyphens, one of them a letter',
    ),
  },
  originationNumber: {
    words: 'The number to send from, with its plus, or a short code.',
    problem: sendingNumber,
  },
  messageType: {
    words: `\`${TRANSACTIONAL}\` (default) or \`Promotional\`.`,
    problem: oneOf(TRANSACTIONAL, 'Promotional'),
  },
  maxPrice: {
    words: 'What a message may cost at most, in USD, as text.',
    problem: matching(/^\d{1,4}(?:\.\d{1,5})?$/, 'an amount as text, such as 0.50'),
  },
  dltEntityId: { words: 'India: the principal entity’s id on the DLT platform.', problem: digits },
}

function messageOf(request: SendRequest): SnsSdk.PublishCommandInput | Failure {
  const { to, content } = request
  if (to.phone === undefined) return nobodyToSendTo()
  if (content.body.length > LONGEST_TEXT) return tooLong(`${LONGEST_TEXT} characters`)
  return { PhoneNumber: to.phone, Message: content.body, MessageAttributes: attributesOf(request) }
}

function attributesOf({ account, content }: SendRequest): Record<string, SnsSdk.MessageAttributeValue> {
  const { settings } = account
  const values = present({
    'AWS.SNS.SMS.SMSType': textAt(settings, 'messageType') ?? TRANSACTIONAL,
    'AWS.SNS.SMS.SenderID': textAt(settings, 'senderId'),
    'AWS.SNS.SMS.MaxPrice': textAt(settings, 'maxPrice'),
    'AWS.MM.SMS.OriginationNumber': textAt(settings, 'originationNumber'),
    'AWS.MM.SMS.EntityId': textAt(content.providerTemplate, 'dltEntityId') ?? textAt(settings, 'dltEntityId'),
    'AWS.MM.SMS.TemplateId': textAt(content.providerTemplate, 'dltTemplateId'),
  })
  const attributes: Record<string, SnsSdk.MessageAttributeValue> = {}
  for (const [name, StringValue] of Object.entries(values))
    attributes[name] = { DataType: name.endsWith('.MaxPrice') ? 'Number' : 'String', StringValue }
  return attributes
}
