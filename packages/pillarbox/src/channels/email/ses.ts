import { domainToASCII } from 'node:url'
import type * as SesSdk from '@aws-sdk/client-sesv2'
import { encodeWord } from 'nodemailer/lib/mime-funcs'
import { type AwsDeps, awsProvider } from '../aws.ts'
import type { Field, Provider, SendRequest, Verification } from '../channel.ts'
import { emailAddress, listUnsubscribe, matching, replyTo } from '../fields.ts'
import { type Failure, outcomeOf, present, textAt } from '../vendor-answers.ts'
import { type Mailbox, mailOf } from './mail.ts'
import { SES_ERRORS } from './ses-errors.ts'

const MOST_RECIPIENTS = 50

/**
 * Email by Amazon SES (API v2). SES composes the message from its parts; the notification's id travels as the tag
 * `notificationId` and comes back in events. There is no idempotency key.
 */
export function sesProvider(deps: AwsDeps<typeof SesSdk>): Provider {
  return awsProvider(
    {
      name: 'ses',
      channel: 'email',
      words: `Email by Amazon SES, API v2. A list may have ${MOST_RECIPIENTS} members; send to a longer one with \`expand\`.`,
      vendor: 'SES',
      sdk: '@aws-sdk/client-sesv2',
      importSdk: () => import('@aws-sdk/client-sesv2'),
      client: ({ SESv2Client }, config) => new SESv2Client(config),
      errors: SES_ERRORS,
      settings: SETTINGS,
      inputOf: emailOf,
      send: ({ SendEmailCommand }, client, email, options) => client.send(new SendEmailCommand(email), options),
      idOf: ({ MessageId }) => MessageId,
      ask: ({ GetAccountCommand }, client, options) => client.send(new GetAccountCommand({}), options),
      judge: verificationOf,
    },
    deps,
  )
}

const SETTINGS: Readonly<Record<string, Field>> = {
  fromAddress: {
    words: 'Who it is from, also as `Name <address>`; verified at SES.',
    isRequired: true,
    problem: emailAddress,
  },
  replyTo,
  configurationSet: {
    words: 'The configuration set, which publishes the events.',
    problem: matching(/^[A-Za-z0-9_-]{1,64}$/, '1 to 64 letters, digits, _ and -'),
  },
  listUnsubscribe,
}

function verificationOf(account: SesSdk.GetAccountCommandOutput): Verification {
  const { SendingEnabled, EnforcementStatus, ProductionAccessEnabled, SendQuota } = account
  if (SendingEnabled === false)
    return {
      isGood: false,
      error: `SES says: the account may not send (${EnforcementStatus ?? 'no reason given'})`,
    }
  const quota = SendQuota?.Max24HourSend ?? -1
  const day = quota < 0 ? 'as many mails as it likes' : `${quota} mails`
  const place = ProductionAccessEnabled ? '' : ', in the sandbox: to verified recipients only'
  return {
    isGood: true,
    detail: `SES lets the account send ${day} a day, ${SendQuota?.MaxSendRate ?? '?'} a second${place}.`,
  }
}

/** The mail as SES wants it, or why it cannot have it. */
function emailOf(request: SendRequest): SesSdk.SendEmailCommandInput | Failure {
  const mail = mailOf(request, 'SES', MOST_RECIPIENTS)
  if ('kind' in mail) return mail
  if (!mail.recipients.every((address) => isAscii(localPart(address))))
    return outcomeOf(
      { does: 'fail', reason: 'invalid_recipient' },
      'non_ascii_address',
      'SES takes only ASCII before the @ of an address',
    )
  const headers = Object.entries(mail.headers).map(([Name, Value]) => ({ Name, Value }))
  return {
    FromEmailAddress: written(mail.from),
    Destination: {
      ...(mail.to ? { ToAddresses: [written(mail.to)] } : {}),
      ...(mail.bcc.length > 0 ? { BccAddresses: mail.bcc.map(asciiDomain) } : {}),
    },
    ...(mail.replyTo ? { ReplyToAddresses: [written(mail.replyTo)] } : {}),
    Content: {
      Simple: {
        Subject: part(mail.subject),
        Body: { Text: part(mail.text), ...(mail.html === null ? {} : { Html: part(mail.html) }) },
        ...(headers.length > 0 ? { Headers: headers } : {}),
      },
    },
    EmailTags: [{ Name: 'notificationId', Value: request.notificationId }],
    ...present({ ConfigurationSetName: textAt(request.account.settings, 'configurationSet') }),
  }
}

function part(words: string): { Data: string; Charset: string } {
  return { Data: words, Charset: 'UTF-8' }
}

/** SES wants ASCII: names as encoded words, domains in their ASCII form. */
function written({ name, address }: Mailbox): string {
  const asciiAddress = asciiDomain(address)
  const plain = name?.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim() ?? ''
  if (plain === '') return asciiAddress
  const shown = isAscii(plain) ? `"${plain.replaceAll(/["\\]/g, '\\$&')}"` : encodeWord(plain, 'B', 75)
  return `${shown} <${asciiAddress}>`
}

function asciiDomain(address: string): string {
  const domain = address.slice(address.lastIndexOf('@') + 1)
  if (isAscii(domain)) return address
  return `${address.slice(0, -domain.length)}${domainToASCII(domain) || domain}`
}

function localPart(address: string): string {
  return address.slice(0, Math.max(0, address.lastIndexOf('@')))
}

function isAscii(words: string): boolean {
  return /^\p{ASCII}*$/u.test(words)
}
