import SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { Account } from '../../model/account.ts'
import type { Clock } from '../../model/ports.ts'
import type { Dial, Outbound } from '../outbound.ts'
import { perAccount } from '../per-account.ts'
import { createTokenCache, type Token } from '../token-cache.ts'
import { at, type Failure, present, textAt } from '../vendor-answers.ts'

/** Why a message, or a login, did not succeed. */
export interface SmtpError {
  /** Whose words they are: the server's, or our own about the connection or about what we decided ourselves. */
  said: 'by server' | 'of connection' | 'by us'
  /** The server's reply code; null where it said nothing. */
  reply: number | null
  enhanced: string | null
  trouble: string
  words: string
  /** Where no access token could be had: what that comes to. */
  token?: Failure
}

export interface SmtpDeps {
  dial: Dial
  outbound: Outbound
  clock: Clock
  authorities?: string
}

const CONNECT_MS = 10_000
/** No answer to a command within this time is a loss; servers may scan a message for a while. */
const ANSWER_MS = 60_000

/** Makes connections that are logged in, until the signal aborts. */
export function createSmtpConnector({ dial, outbound, clock, authorities }: SmtpDeps) {
  const tokens = createTokenCache({ outbound, clock })
  const tokenRequestOf = perAccount(({ id, settings, secrets }) => {
    const oauth2 = at(settings, 'oauth2')
    const secret = secrets['oauth2ClientSecret'] ?? ''
    return {
      of: [id, secret, JSON.stringify(oauth2 ?? null)],
      url: textAt(oauth2, 'tokenUrl') ?? '',
      form: () => ({
        grant_type: 'client_credentials',
        client_id: textAt(oauth2, 'clientId') ?? '',
        client_secret: secret,
        ...present({ scope: textAt(oauth2, 'scope') }),
      }),
    }
  })

  async function connect(account: Account, signal: AbortSignal): Promise<SMTPConnection | SmtpError> {
    const host = textAt(account.settings, 'host') ?? ''
    const port = Number(account.settings['port'])
    const mode = account.settings['tls']
    if (mode !== 'none' && mode !== 'starttls' && mode !== 'implicit')
      return trouble('ECONFIG', 'by us', `tls must be none, starttls or implicit`)
    const socket = await dial({ host, port, timeoutMs: CONNECT_MS, signal })
    if ('kind' in socket) return signal.aborted ? givenUp() : undialled(socket.code, socket.error)
    const connection = new SMTPConnection({
      host,
      port,
      connection: socket,
      secure: mode === 'implicit',
      requireTLS: mode === 'starttls',
      ignoreTLS: mode === 'none',
      connectionTimeout: CONNECT_MS,
      greetingTimeout: CONNECT_MS,
      socketTimeout: ANSWER_MS,
      tls: { servername: host, ...present({ ca: authorities }) },
    })
    // Trouble is told to whoever waits for the connection; an idle one's is of no interest.
    connection.on('error', () => {})
    const refused =
      (await smtpStep(connection, signal, (done) => connection.connect(done))) ??
      (await login(account, connection, signal))
    if (refused === null) return connection
    connection.close()
    return refused
  }

  async function login(account: Account, connection: SMTPConnection, signal: AbortSignal): Promise<SmtpError | null> {
    const user = textAt(account.settings, 'user')
    if (user === null) return null
    const oauth2 = at(account.settings, 'oauth2') ?? null
    if (oauth2 !== null) return await loginByToken(account, user, connection, signal)
    const credentials = { user, pass: account.secrets['password'] ?? '' }
    return await smtpStep(connection, signal, (done) => connection.login({ user, credentials }, done))
  }

  /**
   * A token may be refused that was good a moment ago: then another one is tried, once. Where the server says in the
   * middle of the login that it is, as Gmail does, the driver asks for the other; where it refuses outright, we do.
   */
  async function loginByToken(
    account: Account,
    user: string,
    connection: SMTPConnection,
    signal: AbortSignal,
  ): Promise<SmtpError | null> {
    const request = { ...tokenRequestOf(account), signal }
    const latest = { token: await tokens.get(request), isRenewed: false }
    const renew = async (): Promise<Token> => {
      tokens.forget(request.of)
      latest.isRenewed = true
      latest.token = await tokens.get(request)
      return latest.token
    }
    const withoutToken = ({ token }: { token: Token }): SmtpError | null =>
      token.kind === 'token' ? null : { ...trouble('EOAUTH2', 'by us', token.error), token }
    const attempt = async (): Promise<SmtpError | null> => {
      if (latest.token.kind !== 'token') return withoutToken(latest)
      const accessToken = latest.token.token
      const auth = { user, method: 'XOAUTH2', accessToken, oauth2: xoauth2(user, accessToken, renew) }
      const refused = await smtpStep(connection, signal, (done) => connection.login(auth, done))
      return withoutToken(latest) ?? refused
    }
    const refused = await attempt()
    if (refused === null || refused.reply === null || latest.isRenewed) return refused
    await renew()
    return await attempt()
  }

  return connect
}

function undialled(code: string, error: string): SmtpError {
  return code === 'address_refused'
    ? trouble('ECONFIG', 'by us', error)
    : trouble('ECONNECTION', 'of connection', error)
}

/** The driver asks a token source for what to say; it knows the first token already. */
function xoauth2(user: string, accessToken: string, renew: () => Promise<Token>): never {
  return {
    async getToken(isRenewal: boolean, callback: (error: Error | null, token?: string) => void) {
      const renewed = isRenewal ? await renew() : null
      if (renewed === null) callback(null, accessToken)
      else if (renewed.kind === 'token') callback(null, renewed.token)
      else callback(new Error(renewed.error))
    },
    buildXOAuth2Token: (token: string) =>
      Buffer.from(`user=${user}\u0001auth=Bearer ${token}\u0001\u0001`).toString('base64'),
  } as unknown as never
}

/**
 * What one step of the conversation came to: null, or why it failed, also where the connection ends meanwhile. When the
 * signal aborts, the connection is closed.
 */
export async function smtpStep(
  connection: SMTPConnection,
  signal: AbortSignal,
  step: (done: (error?: Error | null) => void) => void,
): Promise<SmtpError | null> {
  if (signal.aborted) return givenUp()
  const { promise, resolve } = Promise.withResolvers<SmtpError | null>()
  const onError = (error: Error): void => resolve(signal.aborted ? givenUp() : errorOf(error))
  const ended = Object.assign(new Error('the server closed the connection'), { code: 'ECONNECTION' })
  // After a 421 the driver closes first, and tells what the server said only then: that goes before.
  const onEnd = (): void => queueMicrotask(() => onError(ended))
  const onAbort = (): void => connection.close()
  connection.once('error', onError).once('end', onEnd)
  signal.addEventListener('abort', onAbort, { once: true })
  step((error) => (error ? onError(error) : resolve(null)))
  const failed = await promise
  connection.off('error', onError).off('end', onEnd)
  signal.removeEventListener('abort', onAbort)
  return failed
}

function givenUp(): SmtpError {
  return trouble('ETIMEDOUT', 'by us', 'given up by the caller')
}

export function trouble(code: string, said: SmtpError['said'], words: string): SmtpError {
  return { said, reply: null, enhanced: null, trouble: code, words }
}

/** The driver calls a certificate that cannot be trusted a broken socket; it will not mend itself. */
const NOT_TRUSTED = /CERT|SELF_SIGNED|UNABLE_TO|ALTNAME|ERR_TLS|ERR_SSL/

/** What the driver finds by itself where the server has not answered. */
const OURS = new Set(['EENVELOPE', 'EMESSAGE', 'EREQUIRETLS', 'ENOAUTH', 'ECONFIG'])

interface DriverError extends Error {
  code?: string
  originalCode?: string
  responseCode?: number
  response?: string
  /** What was said last; `API` where the driver refused before it said anything. */
  command?: string
}

function errorOf(error: DriverError): SmtpError {
  const { code = 'ESOCKET', originalCode = '', responseCode, response, command = '' } = error
  const words = (response ?? error.message).replaceAll(/\s+/g, ' ').slice(0, 500)
  // Whatever the server says to it, that nothing goes out without TLS is our decision; a 4xx may be over in a moment.
  if (command === 'STARTTLS' && responseCode !== undefined && responseCode >= 500)
    return trouble('EREQUIRETLS', 'by us', `the account asks for STARTTLS; the server’s answer to it: ${words}`)
  if (responseCode !== undefined) {
    const enhanced = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response ?? '')?.[1] ?? null
    return { said: 'by server', reply: responseCode, enhanced, trouble: code, words }
  }
  if (NOT_TRUSTED.test(originalCode)) return trouble('ETLS', 'by us', words)
  if (code === 'EENVELOPE' && words.startsWith('Invalid sender')) return trouble('ECONFIG', 'by us', words)
  return trouble(code, command === 'API' || OURS.has(code) ? 'by us' : 'of connection', words)
}
