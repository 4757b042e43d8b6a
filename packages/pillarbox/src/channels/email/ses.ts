import { domainToASCII } from 'node:url'
import type * as SesSdk from '@aws-sdk/client-sesv2'
import { encodeWord } from 'nodemailer/lib/mime-funcs'
import type { Account } from '../../model/account.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Clock } from '../../model/ports.ts'
import { awsSecrets, awsSettings, createAws, outcomeOfCall, verificationOf } from '../aws.ts'
import type { Provider, SendRequest, Verification } from '../channel.ts'
import { emailAddress, listUnsubscribe, matching, replyTo } from '../fields.ts'
import type { Outbound } from '../outbound.ts'
import { outcomeOf, textAt } from '../vendor-answers.ts'
import { mailOf } from './mail.ts'
import { SES_ERRORS } from './ses-errors.ts'

const MOST_RECIPIENTS = 50
const SDK = '@aws-sdk/client-sesv2'

/**
 * Email by Amazon SES (API v2). SES composes the message from its parts; the notification's id travels as the tag
 * `notificationId` and comes back in events. There is no idempotency key.
 */
export function sesProvider({
  outbound,
  clock,
  importSdk = () => import('@aws-sdk/client-sesv2'),
}: {
  outbound: Outbound
  clock: Clock
  importSdk?: () => Promise<typeof SesSdk>
}): Provider {
  const aws = createAws({
    outbound,
    clock,
    sdk: SDK,
    importSdk,
    client: ({ SESv2Client }, config) => new SESv2Client(config),
  })

  async function send(request: SendRequest): Promise<Outcome> {
    const email = emailOf(request)
    if ('kind' in email) return email
    const answer = await aws.call(request.account, request.signal, ({ SendEmailCommand }, client, options) =>
      client.send(new SendEmailCommand(email), options),
    )
    return outcomeOfCall('SES', SES_ERRORS, answer, ({ MessageId }) => MessageId)
  }

  async function verify(account: Account, signal: AbortSignal): Promise<Verification> {
    const answer = await aws.call(account, signal, ({ GetAccountCommand }, client, options) =>
      client.send(new GetAccountCommand({}), options),
    )
    return verificationOf(
      'SES',
      answer,
      ({ SendingEnabled, EnforcementStatus, ProductionAccessEnabled, SendQuota }) => {
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
      },
    )
  }

  return {
    name: 'ses',
    channels: ['email'],
    words: `Email by Amazon SES, API v2. A list may have ${MOST_RECIPIENTS} members; send to a longer one with \`expand\`.`,
    sdk: SDK,
    capability: () => 'none',
    fields: {
      settings: {
        ...awsSettings,
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
      },
      secrets: awsSecrets,
    },
    send,
    verify,
    close: aws.close,
  }
}

/** The mail as SES wants it, or why it cannot have it. */
function emailOf(request: SendRequest): SesSdk.SendEmailCommandInput | Outcome {
  const { account, notificationId } = request
  const mail = mailOf(request)
  const recipients = [...(mail.to ? [mail.to.address] : []), ...mail.bcc]
  if (recipients.length === 0) return outcomeOf({ does: 'dead' }, 'no_recipient', 'there is nobody to send it to')
  if (recipients.length > MOST_RECIPIENTS)
    return outcomeOf(
      { does: 'fail', reason: 'permanent_refusal' },
      'too_many_recipients',
      `${recipients.length} recipients, and SES takes ${MOST_RECIPIENTS} a message: send to the list with expand`,
    )
  const unsendable = recipients.find((address) => !isAscii(localPart(address)))
  if (unsendable !== undefined)
    return outcomeOf(
      { does: 'fallback', reason: 'invalid_recipient' },
      'non_ascii_address',
      'SES takes only ASCII before the @ of an address',
    )
  const configurationSet = textAt(account.settings, 'configurationSet')
  const headers = Object.entries(mail.headers).map(([Name, Value]) => ({ Name, Value }))
  return {
    FromEmailAddress: mailboxOf(mail.from),
    Destination: {
      ...(mail.to ? { ToAddresses: [mailbox(mail.to.name, mail.to.address)] } : {}),
      ...(mail.bcc.length > 0 ? { BccAddresses: mail.bcc.map((address) => mailbox(null, address)) } : {}),
    },
    ...(mail.replyTo === null ? {} : { ReplyToAddresses: [mailboxOf(mail.replyTo)] }),
    Content: {
      Simple: {
        Subject: part(mail.subject),
        Body: { Text: part(mail.text), ...(mail.html === null ? {} : { Html: part(mail.html) }) },
        ...(headers.length > 0 ? { Headers: headers } : {}),
      },
    },
    EmailTags: [{ Name: 'notificationId', Value: notificationId }],
    ...(configurationSet === null ? {} : { ConfigurationSetName: configurationSet }),
  }
}

function part(words: string): { Data: string; Charset: string } {
  return { Data: words, Charset: 'UTF-8' }
}

/** `Name <address>`, or an address alone. */
function mailboxOf(given: string): string {
  const [, name, address] = /^([^<>]*)<([^<>]+)>\s*$/.exec(given) ?? [null, '', given]
  const bare = (name ?? '').trim().replace(/^"(.*)"$/, '$1')
  return mailbox(bare === '' ? null : bare, address ?? given)
}

/** SES wants ASCII: names as encoded words, domains in their ASCII form. */
function mailbox(name: string | null, address: string): string {
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
