import type * as SnsSdk from '@aws-sdk/client-sns'
import type { Account } from '../../model/account.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Clock } from '../../model/ports.ts'
import { awsSecrets, awsSettings, createAws, outcomeOfCall, verificationOf } from '../aws.ts'
import type { Provider, SendRequest, Verification } from '../channel.ts'
import { digits, matching, oneOf, phoneNumber } from '../fields.ts'
import type { Outbound } from '../outbound.ts'
import { outcomeOf, textAt } from '../vendor-answers.ts'
import { SNS_ERRORS } from './sns-errors.ts'

/** What SNS sends in one Publish, in as many parts as it needs. */
const LONGEST_TEXT = 1_600
const TRANSACTIONAL = 'Transactional'
const SDK = '@aws-sdk/client-sns'

/**
 * SMS by Amazon SNS: Publish straight to a telephone number. It has neither an idempotency key nor a reference of ours to
 * come back; `aws-sms` is the younger service and has more to say about each message.
 */
export function snsProvider({
  outbound,
  clock,
  importSdk = () => import('@aws-sdk/client-sns'),
}: {
  outbound: Outbound
  clock: Clock
  importSdk?: () => Promise<typeof SnsSdk>
}): Provider {
  const aws = createAws({
    outbound,
    clock,
    sdk: SDK,
    importSdk,
    client: ({ SNSClient }, config) => new SNSClient(config),
  })

  async function send(request: SendRequest): Promise<Outcome> {
    const { account, to, content, signal } = request
    const { phone } = to
    if (phone === undefined) return outcomeOf({ does: 'dead' }, 'no_recipient', 'there is nobody to send it to')
    if (content.body.length > LONGEST_TEXT)
      return outcomeOf(
        { does: 'fail', reason: 'content_rejected' },
        'too_long',
        `longer than ${LONGEST_TEXT} characters`,
      )
    const answer = await aws.call(account, signal, ({ PublishCommand }, client, options) =>
      client.send(
        new PublishCommand({ PhoneNumber: phone, Message: content.body, MessageAttributes: attributesOf(request) }),
        options,
      ),
    )
    return outcomeOfCall('SNS', SNS_ERRORS, answer, ({ MessageId }) => MessageId)
  }

  async function verify(account: Account, signal: AbortSignal): Promise<Verification> {
    const answer = await aws.call(account, signal, ({ GetSMSAttributesCommand }, client, options) =>
      client.send(new GetSMSAttributesCommand({}), options),
    )
    return verificationOf('SNS', answer, ({ attributes }) => {
      const limit = attributes?.['MonthlySpendLimit']
      const words = limit === undefined ? 'its spending limit is AWS’s default' : `it may spend ${limit} USD a month`
      return { isGood: true, detail: `SNS knows the key; ${words}.` }
    })
  }

  return {
    name: 'sns',
    channels: ['sms'],
    words: 'SMS by Amazon SNS, straight to a telephone number.',
    sdk: SDK,
    capability: () => 'none',
    fields: {
      settings: {
        ...awsSettings,
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
      },
      secrets: awsSecrets,
    },
    send,
    verify,
    close: aws.close,
  }
}

const sendingNumber = (value: unknown): string | null =>
  typeof value === 'string' && /^[0-9]{3,8}$/.test(value) ? null : phoneNumber(value)

function attributesOf({ account, content }: SendRequest): Record<string, SnsSdk.MessageAttributeValue> {
  const { settings } = account
  const values: Record<string, string | null> = {
    'AWS.SNS.SMS.SMSType': textAt(settings, 'messageType') ?? TRANSACTIONAL,
    'AWS.SNS.SMS.SenderID': textAt(settings, 'senderId'),
    'AWS.SNS.SMS.MaxPrice': textAt(settings, 'maxPrice'),
    'AWS.MM.SMS.OriginationNumber': textAt(settings, 'originationNumber'),
    'AWS.MM.SMS.EntityId': textAt(content.providerTemplate, 'dltEntityId') ?? textAt(settings, 'dltEntityId'),
    'AWS.MM.SMS.TemplateId': textAt(content.providerTemplate, 'dltTemplateId'),
  }
  const attributes: Record<string, SnsSdk.MessageAttributeValue> = {}
  for (const [name, value] of Object.entries(values))
    if (value !== null)
      attributes[name] = { DataType: name.endsWith('.MaxPrice') ? 'Number' : 'String', StringValue: value }
  return attributes
}
