import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { Account } from '../../model/account.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Clock } from '../../model/ports.ts'
import type { Dial, Outbound, OutboundFailure } from '../outbound.ts'
import { perAccount } from '../per-account.ts'
import { createTokenCache, type Token } from '../token-cache.ts'
import { at, textAt } from '../vendor-answers.ts'

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
  token?: Exclude<Outcome, { kind: 'accepted' }>
}

export interface Envelope {
  from: string
  to: string[]
  size: number
}

/** Connections to mail servers, a bounded number per account, kept and used by one message after another. */
export interface SmtpPool {
  /** Null when the server took the message for at least one recipient. */
  send(account: Account, envelope: Envelope, message: Readable, signal: AbortSignal): Promise<SmtpError | null>
  /** Connects and logs in. */
  verify(account: Account, signal: AbortSignal): Promise<SmtpError | null>
  close(): void
}

const CONNECT_MS = 10_000
/** No answer to a command within this time is a loss; servers may scan a message for a while. */
const ANSWER_MS = 60_000
/** Servers close idle connections after minutes; one that is about to be closed would cost us an attempt. */
const IDLE_MS = 5_000
const MOST_MESSAGES = 100
const GIVEN_UP = 'given up before anything was sent'
/** How many connections an account may have at once where it does not say. */
const DEFAULT_CONNECTIONS = 20

export function createSmtpPool(deps: { dial: Dial; outbound: Outbound; clock: Clock; authorities?: string }): SmtpPool {
  const tokens = createTokenCache(deps)
  const idle = new Map<string, Kept[]>()
  const open = new Set<SMTPConnection>()
  const places = new Map<string, Places>()
  const closing = new AbortController()
  let isSweeping = false

  interface Kept {
    connection: SMTPConnection
    sent: number
    idleSince: number
  }

  /** How many messages of an account have a connection, or are getting one, and who waits for a place. */
  interface Places {
    taken: number
    waiting: Set<() => void>
  }

  const keyOf = perAccount(connectionDependsOn)
  const ofAccount = perAccount(tokenDependsOn)

  async function connect(account: Account, signal: AbortSignal): Promise<Kept | SmtpError> {
    const host = textAt(account.settings, 'host') ?? ''
    const number = Number(account.settings['port'])
    const mode = account.settings['tls']
    if (mode !== 'none' && mode !== 'starttls' && mode !== 'implicit')
      return trouble('ECONFIG', 'by us', `tls must be none, starttls or implicit`)
    const socket = await dialled({ host, port: number, timeoutMs: CONNECT_MS }, signal)
    if (socket === null) return trouble('ETIMEDOUT', 'by us', GIVEN_UP)
    if ('kind' in socket)
      return socket.code === 'address_refused'
        ? trouble('ECONFIG', 'by us', socket.error)
        : trouble('ECONNECTION', 'of connection', socket.error)
    const connection = new SMTPConnection({
      host,
      port: number,
      connection: socket,
      secure: mode === 'implicit',
      requireTLS: mode === 'starttls',
      ignoreTLS: mode === 'none',
      connectionTimeout: CONNECT_MS,
      greetingTimeout: CONNECT_MS,
      socketTimeout: ANSWER_MS,
      tls: { servername: host, ...(deps.authorities === undefined ? {} : { ca: deps.authorities }) },
    })
    open.add(connection)
    connection.once('end', () => open.delete(connection))
    // Trouble is told to whoever waits for the connection; an idle one's is of no interest.
    connection.on('error', () => {})
    const onAbort = (): void => connection.close()
    signal.addEventListener('abort', onAbort, { once: true })
    const failed = await outcome(connection, (done) => connection.connect(done))
    const refused = failed ?? (await login(account, connection, signal))
    signal.removeEventListener('abort', onAbort)
    if (signal.aborted) return trouble('ETIMEDOUT', 'by us', GIVEN_UP)
    if (refused === null) return { connection, sent: 0, idleSince: deps.clock.monotonic() }
    connection.close()
    return refused
  }

  /** Null where the caller gave up first; a socket that comes all the same is closed again. */
  async function dialled(to: Parameters<Dial>[0], signal: AbortSignal): Promise<Socket | OutboundFailure | null> {
    if (signal.aborted) return null
    const { promise: givenUp, resolve } = Promise.withResolvers<null>()
    const onAbort = (): void => resolve(null)
    signal.addEventListener('abort', onAbort, { once: true })
    const dialling = deps.dial(to)
    const first = await Promise.race([dialling, givenUp])
    signal.removeEventListener('abort', onAbort)
    if (first === null) void dialling.then((late) => 'kind' in late || late.destroy())
    return first
  }

  async function login(account: Account, connection: SMTPConnection, signal: AbortSignal): Promise<SmtpError | null> {
    const user = textAt(account.settings, 'user')
    if (user === null) return null
    const oauth2 = at(account.settings, 'oauth2')
    if (oauth2 === undefined || oauth2 === null) {
      const credentials = { user, pass: account.secrets['password'] ?? '' }
      return await outcome(connection, (done) => connection.login({ user, credentials }, done))
    }
    return await loginByToken(account, user, connection, signal)
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
    const latest = { token: await tokenFor(account, signal), isRenewed: false }
    const renew = async (): Promise<Token> => {
      tokens.forget(ofAccount(account))
      latest.isRenewed = true
      latest.token = await tokenFor(account, signal)
      return latest.token
    }
    const withoutToken = ({ token }: { token: Token }): SmtpError | null =>
      token.kind === 'token' ? null : { ...trouble('EOAUTH2', 'by us', token.error), token }
    const attempt = async (): Promise<SmtpError | null> => {
      const { token } = latest
      if (token.kind !== 'token') return withoutToken(latest)
      const { token: accessToken } = token
      const auth = { user, method: 'XOAUTH2', accessToken, oauth2: xoauth2(user, accessToken, renew) }
      const refused = await outcome(connection, (done) => connection.login(auth, done))
      return withoutToken(latest) ?? refused
    }
    const refused = await attempt()
    if (refused === null || refused.reply === null || latest.isRenewed) return refused
    await renew()
    return await attempt()
  }

  async function tokenFor(account: Account, signal: AbortSignal): Promise<Token> {
    const oauth2 = at(account.settings, 'oauth2')
    return await tokens.get({
      of: ofAccount(account),
      url: textAt(oauth2, 'tokenUrl') ?? '',
      form: () => ({
        grant_type: 'client_credentials',
        client_id: textAt(oauth2, 'clientId') ?? '',
        client_secret: account.secrets['oauth2ClientSecret'] ?? '',
        ...(textAt(oauth2, 'scope') === null ? {} : { scope: textAt(oauth2, 'scope') ?? '' }),
      }),
      signal,
    })
  }

  /** A connection that is idle, or a new one. */
  async function take(account: Account, signal: AbortSignal): Promise<Kept | SmtpError> {
    const kept = idle.get(keyOf(account)) ?? []
    for (let last = kept.pop(); last; last = kept.pop()) {
      if (open.has(last.connection) && deps.clock.monotonic() - last.idleSince < IDLE_MS) return last
      last.connection.close()
    }
    return await connect(account, signal)
  }

  /** After a refusal the server must first forget what it was told of the message. */
  async function giveBack(account: Account, kept: Kept, wasRefused: boolean): Promise<void> {
    const { connection, sent } = kept
    const failed = wasRefused ? await outcome(connection, (done) => connection.reset(done)) : null
    const isOver = closing.signal.aborted || sent >= MOST_MESSAGES || !open.has(connection)
    if (failed !== null || isOver) {
      connection.quit()
      return
    }
    const list = idle.get(keyOf(account)) ?? []
    idle.set(keyOf(account), list)
    list.push({ ...kept, idleSince: deps.clock.monotonic() })
    if (!isSweeping) void sweep()
  }

  /** Ends connections that nobody needed for a while; one for all of them, and only while there are any. */
  async function sweep(): Promise<void> {
    isSweeping = true
    while (idle.size > 0 && !closing.signal.aborted) {
      await deps.clock.sleep(IDLE_MS, closing.signal)
      for (const [key, list] of idle) {
        const stale = list.findLastIndex(({ idleSince }) => deps.clock.monotonic() - idleSince >= IDLE_MS)
        // The longest idle are in front: those given back last are taken first.
        for (const { connection } of list.splice(0, stale + 1)) connection.quit()
        if (list.length === 0) idle.delete(key)
      }
    }
    isSweeping = false
  }

  async function send(
    account: Account,
    envelope: Envelope,
    message: Readable,
    signal: AbortSignal,
  ): Promise<SmtpError | null> {
    const leave = await place(account, signal)
    if (leave === null) return trouble('EBUSY', 'by us', GIVEN_UP)
    const kept = await take(account, signal)
    if ('words' in kept) {
      leave()
      return kept
    }
    const refused = await sendOver(kept.connection, envelope, message, signal)
    // A refusal leaves the connection usable; a loss does not.
    if (refused === null || refused.reply !== null)
      void giveBack(account, { ...kept, sent: kept.sent + 1 }, refused !== null).finally(leave)
    else {
      kept.connection.close()
      leave()
    }
    return refused
  }

  /**
   * Waits until the account may have one more connection; answers how to leave again, or null where the caller gave up
   * first. Who came first goes first.
   */
  async function place(account: Account, signal: AbortSignal): Promise<(() => void) | null> {
    const key = keyOf(account)
    const found = places.get(key) ?? { taken: 0, waiting: new Set() }
    places.set(key, found)
    const leave = (): void => {
      const [next] = found.waiting
      if (next) {
        found.waiting.delete(next)
        next()
        return
      }
      found.taken -= 1
      if (found.taken === 0) places.delete(key)
    }
    if (found.taken < mostConnections(account)) {
      found.taken += 1
      return leave
    }
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const onTurn = (): void => resolve(true)
    const onAbort = (): void => {
      if (found.waiting.delete(onTurn)) resolve(false)
    }
    found.waiting.add(onTurn)
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    const hasPlace = await promise
    signal.removeEventListener('abort', onAbort)
    return hasPlace ? leave : null
  }

  async function sendOver(
    connection: SMTPConnection,
    envelope: Envelope,
    message: Readable,
    signal: AbortSignal,
  ): Promise<SmtpError | null> {
    const onAbort = (): void => connection.close()
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      if (signal.aborted) return trouble('ETIMEDOUT', 'by us', GIVEN_UP)
      return await outcome(connection, (done) => connection.send(envelope, message, done))
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  return {
    send,
    async verify(account, signal) {
      const kept = await connect(account, signal)
      if ('words' in kept) return kept
      kept.connection.quit()
      return null
    },
    close() {
      for (const connection of open) connection.close()
      idle.clear()
      closing.abort()
    },
  }
}

function mostConnections({ settings }: Account): number {
  const most = settings['maxConnections']
  return typeof most === 'number' && most >= 1 ? most : DEFAULT_CONNECTIONS
}

function tokenDependsOn({ id, settings, secrets }: Account): string[] {
  return [id, secrets['oauth2ClientSecret'] ?? '', JSON.stringify(at(settings, 'oauth2') ?? null)]
}

/** What a connection depends on: changed credentials need another one. Hashed, so that no secret is kept as a key. */
function connectionDependsOn({ id, settings, secrets }: Account): string {
  return createHash('sha256')
    .update(JSON.stringify([id, settings, secrets]))
    .digest('base64')
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

/** What one step of the conversation came to: null, or why it failed, also where the connection ends meanwhile. */
async function outcome(
  connection: SMTPConnection,
  step: (done: (error?: Error | null) => void) => void,
): Promise<SmtpError | null> {
  const { promise, resolve } = Promise.withResolvers<SmtpError | null>()
  const onError = (error: Error): void => resolve(errorOf(error))
  const onEnd = (): void => resolve(trouble('ECONNECTION', 'of connection', 'the server closed the connection'))
  connection.once('error', onError).once('end', onEnd)
  step((error) => resolve(error ? errorOf(error) : null))
  const failed = await promise
  connection.off('error', onError).off('end', onEnd)
  return failed
}

function trouble(code: string, said: SmtpError['said'], words: string): SmtpError {
  return { said, reply: null, enhanced: null, trouble: code, words }
}

/** The driver calls a certificate that cannot be trusted a broken socket; it will not mend itself. */
const NOT_TRUSTED = /CERT|SELF_SIGNED|UNABLE_TO|ALTNAME|ERR_TLS|ERR_SSL/

function errorOf(error: Error): SmtpError {
  const told = error as Error & ToldByDriver
  const { code = 'ESOCKET', originalCode = '', responseCode, response, command = '' } = told
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

interface ToldByDriver {
  code?: string
  originalCode?: string
  responseCode?: number
  response?: string
  /** What was said last; `API` where the driver refused before it said anything. */
  command?: string
}

/** What the driver finds by itself where the server has not answered. */
const OURS = new Set(['EENVELOPE', 'EMESSAGE', 'EREQUIRETLS', 'ENOAUTH', 'ECONFIG'])
