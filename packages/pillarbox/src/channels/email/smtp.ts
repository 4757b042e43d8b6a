import { Readable } from 'node:stream'
import type { Account } from '../../model/account.ts'
import type { FieldError } from '../../model/errors.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Provider, SendRequest, Verification } from '../channel.ts'
import { emailAddress, hostName, httpUrl, listUnsubscribe, oneOf, replyTo, wholeNumber } from '../fields.ts'
import { at, outcomeOf, textAt } from '../vendor-answers.ts'
import { mailOf } from './mail.ts'
import type { SmtpDeps, SmtpError } from './smtp-connection.ts'
import { SMTP_TROUBLES, smtpRule } from './smtp-errors.ts'
import type { SmtpPool } from './smtp-pool.ts'

const TLS_MODES = ['none', 'starttls', 'implicit'] as const

/**
 * Email by SMTP. Connections are kept and shared, a bounded number per account. A loss of the connection after the message's first
 * byte and before the server's answer leaves it in doubt; before, it is simply tried again. The message's id is ours and
 * the same for every attempt.
 */
export function smtpProvider(deps: SmtpDeps): Provider {
  // Loaded when first used, and then kept: most processes never send a mail this way.
  let opened: Promise<SmtpPool> | null = null
  const pool = (): Promise<SmtpPool> =>
    (opened ??= import('./smtp-pool.ts').then(({ createSmtpPool }) => createSmtpPool(deps)))
  let composing: Promise<typeof import('./compose.ts')> | null = null
  const composer = (): Promise<typeof import('./compose.ts')> => (composing ??= import('./compose.ts'))

  async function send(request: SendRequest): Promise<Outcome> {
    const mail = mailOf(request, 'SMTP')
    if ('kind' in mail) return mail
    const state = { hasLeft: false }
    const { compose } = await composer()
    const raw = await compose(mail)
    // Asked for its bytes only once the server has said that it takes them.
    const message = new Readable({
      read() {
        state.hasLeft = true
        this.push(raw)
        this.push(null)
      },
    })
    const envelope = { from: mail.from.address, to: [...mail.recipients], size: raw.byteLength }
    const error = await (await pool()).send(request, envelope, message)
    if (error?.said === 'by server') request.exchange.answer = error.words
    return error === null ? { kind: 'accepted', providerMessageId: mail.messageId } : judge(error, state.hasLeft)
  }

  async function verify(account: Account, signal: AbortSignal): Promise<Verification> {
    const error = await (await pool()).verify(account, signal)
    const host = textAt(account.settings, 'host') ?? ''
    if (error === null) return { isGood: true, detail: `${host} lets us in.` }
    return { isGood: false, error: inWords(error, host) }
  }

  return {
    name: 'smtp',
    channels: ['email'],
    words:
      'Email by any SMTP server, over connections that are kept and shared. HTML goes out with a text part, a list as one mail in BCC; where the server refuses some of its members, the others get it. Where a server greylists, the retry policy must last longer than its patience: `{"delays": ["PT1M", "PT5M", "PT15M"]}`.',
    capability: () => 'none',
    onUnmapped: 'park',
    fields: {
      settings: {
        host: { words: 'The server’s name.', isRequired: true, problem: hostName, dials: true },
        port: {
          words: 'Its port: 587 for STARTTLS, 465 for implicit TLS, 25 without.',
          isRequired: true,
          problem: wholeNumber(1, 65_535),
        },
        tls: {
          words: '`none`, `starttls` (no mail where it is not offered) or `implicit`.',
          isRequired: true,
          problem: oneOf(...TLS_MODES),
        },
        user: { words: 'The user to log in as; without one there is no login.' },
        fromAddress: { words: 'Who it is from, also as `Name <address>`.', isRequired: true, problem: emailAddress },
        replyTo,
        listUnsubscribe,
        maxConnections: {
          words:
            'How many connections each worker may have to the server at once for this account; 20 where it is not set. Mail beyond that waits for one to be free.',
          problem: wholeNumber(1, 1_000),
        },
        oauth2: {
          words: 'In place of a password: how to get access tokens (XOAUTH2).',
          parts: {
            tokenUrl: { words: 'The token endpoint.', isRequired: true, problem: httpUrl, dials: true },
            clientId: { words: 'The client’s id.', isRequired: true },
            scope: { words: 'The scope to ask for.' },
          },
        },
      },
      secrets: {
        password: { words: 'The user’s password.' },
        oauth2ClientSecret: { words: 'The secret of the OAuth2 client.' },
      },
    },
    checkSettings,
    send,
    verify,
    close: () => void opened?.then((smtp) => smtp.close()),
  }
}

/** Who logs in needs something to log in with. */
function checkSettings(settings: Record<string, unknown>, secretNames: readonly string[]): FieldError[] {
  const has = (name: string): boolean => settings[name] !== undefined && settings[name] !== null
  if (!has('user'))
    return has('oauth2') ? [{ path: '/settings/user', message: 'is missing: oauth2 logs a user in' }] : []
  const secret = has('oauth2') ? 'oauth2ClientSecret' : 'password'
  if (secretNames.includes(secret)) return []
  return [{ path: `/secrets/${secret}`, message: 'is missing: without it the user cannot log in' }]
}

function judge(error: SmtpError, hasLeft: boolean): Outcome {
  const { reply, enhanced, trouble, words } = error
  if (error.token) return error.token
  const said = inWords(error, 'the mail server')
  if (reply !== null) return outcomeOf(smtpRule(reply, enhanced, words), enhanced ?? String(reply), said)
  if (hasLeft) return { kind: 'unknown', code: trouble, error: `the connection broke before the answer: ${words}` }
  return outcomeOf(SMTP_TROUBLES[trouble] ?? { does: 'unmapped' }, trouble, said)
}

/** What went wrong, so that nobody looks for it at the server where it was our own decision. */
function inWords({ said, trouble, words }: SmtpError, server: string): string {
  if (said === 'by server') return `${server} says: ${words}`
  const known = at(SMTP_TROUBLES, trouble) === undefined ? '' : `${SMTP_TROUBLES[trouble]?.words} `
  return said === 'by us' ? `Pillarbox says: ${known}${words}` : `${known}${words}`
}
