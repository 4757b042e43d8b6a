import { Readable } from 'node:stream'
import type { Account } from '../../model/account.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Clock } from '../../model/ports.ts'
import type { Provider, SendRequest, Verification } from '../channel.ts'
import { emailAddress, oneOf, text } from '../fields.ts'
import type { Dial, Outbound } from '../outbound.ts'
import { at, outcomeOf, textAt } from '../vendor-answers.ts'
import type { Mail } from './mail.ts'
import { SMTP_TROUBLES, smtpRule } from './smtp-errors.ts'
import type { SmtpError, SmtpPool } from './smtp-pool.ts'

const TLS_MODES = ['none', 'starttls', 'implicit'] as const

/**
 * Email by SMTP. Connections are kept and shared, a few per account. A loss of the connection after the message's first
 * byte and before the server's answer leaves it in doubt; before, it is simply tried again. The message's id is ours and
 * the same for every attempt.
 */
export function smtpProvider(deps: { dial: Dial; outbound: Outbound; clock: Clock; authorities?: string }): Provider {
  let opened: Promise<SmtpPool> | null = null
  // Loaded when first used: most processes never send a mail this way.
  const pool = (): Promise<SmtpPool> =>
    (opened ??= import('./smtp-pool.ts').then(({ createSmtpPool }) => createSmtpPool(deps)))

  async function send(request: SendRequest): Promise<Outcome> {
    const { mailOf } = await import('./mail.ts')
    const mail = mailOf(request)
    const recipients = [...(mail.to ? [mail.to.address] : []), ...mail.bcc]
    if (recipients.length === 0) return outcomeOf({ does: 'dead' }, 'no_recipient', 'there is nobody to send it to')
    const state = { hasLeft: false }
    const raw = await compose(mail)
    // Asked for its bytes only once the server has said that it takes them.
    const message = new Readable({
      read() {
        state.hasLeft = true
        this.push(raw)
        this.push(null)
      },
    })
    const envelope = { from: bareAddress(mail.from), to: recipients, size: raw.byteLength }
    const error = await (await pool()).send(request.account, envelope, message, request.signal)
    return error === null ? { kind: 'accepted', providerMessageId: mail.messageId } : judge(error, state.hasLeft)
  }

  async function verify(account: Account, signal: AbortSignal): Promise<Verification> {
    const error = await (await pool()).verify(account, signal)
    const host = textAt(account.settings, 'host') ?? ''
    if (error === null) return { isGood: true, detail: `${host} lets us in.` }
    return { isGood: false, error: `${host} says: ${error.words}` }
  }

  return {
    name: 'smtp',
    channels: ['email'],
    capability: () => 'none',
    fields: {
      settings: {
        host: { words: 'The server’s name.', isRequired: true, problem: text },
        port: {
          words: 'Its port: 587 for STARTTLS, 465 for implicit TLS, 25 without.',
          isRequired: true,
          problem: port,
        },
        tls: {
          words: 'none, starttls (refused if not offered) or implicit.',
          isRequired: true,
          problem: oneOf(...TLS_MODES),
        },
        user: { words: 'The user to log in as; without one there is no login.', problem: text },
        fromAddress: { words: 'Who it is from, also as "Name <address>".', isRequired: true, problem: emailAddress },
        replyTo: { words: 'Where answers go.', problem: emailAddress },
        listUnsubscribe: {
          words: 'An https or mailto address to leave the list by; {notificationId} is filled in.',
          problem: text,
        },
        oauth2: { words: 'In place of a password: {tokenUrl, clientId, scope}.', problem: oauth2 },
        onUndeliverable: {
          words: 'fail or park: what becomes of a notification whose address is no good.',
          problem: oneOf('fail', 'park'),
        },
      },
      secrets: {
        password: { words: 'The user’s password.' },
        oauth2ClientSecret: { words: 'The secret of the OAuth2 client.' },
      },
    },
    send,
    verify,
    close: () => void opened?.then((smtp) => smtp.close()),
  }
}

const port = (value: unknown): string | null =>
  Number.isInteger(value) && Number(value) > 0 && Number(value) < 65_536 ? null : 'must be a number from 1 to 65535'

const oauth2 = (value: unknown): string | null =>
  textAt(value, 'tokenUrl') !== null &&
  textAt(value, 'clientId') !== null &&
  URL.canParse(textAt(value, 'tokenUrl') ?? '')
    ? null
    : 'must be {tokenUrl, clientId, scope}'

function bareAddress(address: string): string {
  return /<([^<>]+)>\s*$/.exec(address)?.[1] ?? address
}

async function compose(mail: Mail): Promise<Buffer> {
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer')
  const composer = new MailComposer({
    from: mail.from,
    ...(mail.to
      ? { to: mail.to.name === null ? mail.to.address : { name: mail.to.name, address: mail.to.address } }
      : {}),
    ...(mail.replyTo === null ? {} : { replyTo: mail.replyTo }),
    subject: mail.subject,
    text: mail.text,
    ...(mail.html === null ? {} : { html: mail.html }),
    headers: { ...(mail.to ? {} : { To: 'undisclosed-recipients:;' }), ...mail.headers },
    messageId: mail.messageId,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return await new Promise((resolve, reject) => {
    composer.compile().build((error, raw) => (error ? reject(error) : resolve(raw)))
  })
}

function judge(error: SmtpError, hasLeft: boolean): Outcome {
  const { reply, enhanced, trouble, words } = error
  if (error.token) return error.token
  const said = `the mail server says: ${words}`
  if (reply !== null) return outcomeOf(smtpRule(reply, enhanced), enhanced ?? String(reply), said)
  if (hasLeft) return { kind: 'unknown', code: trouble, error: `the connection broke before the answer: ${words}` }
  const rule = SMTP_TROUBLES[trouble] ?? { does: 'retry' as const }
  return outcomeOf(
    rule,
    trouble,
    at(SMTP_TROUBLES, trouble) === undefined ? words : `${SMTP_TROUBLES[trouble]?.words} ${words}`,
  )
}
