import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { loopbackCertificate } from './certificates.ts'

/** A mail that the server took. */
export interface SmtpMail {
  from: string
  to: string[]
  /** The whole message, headers and all. */
  raw: string
  /** Whether it came over TLS, and as whom. */
  isSecure: boolean
  user: string | null
}

/** One reply in place of the usual one, at a step of the conversation. */
export interface SmtpReply {
  at: 'auth' | 'mail' | 'rcpt' | 'data'
  code: number
  /** Without the reply code; may begin with an enhanced status, such as `5.1.1 No such user`. */
  text: string
}

/** Cuts the connection: before the message is asked for, or after it was taken and before that is said. */
export type SmtpFault = 'cut_before_data' | 'cut_after_accept' | 'silence_after_accept'

export interface SmtpServer {
  readonly host: string
  readonly port: number
  readonly mails: readonly SmtpMail[]
  /** How many connections were made. */
  connections(): number
  /** The next mails get these replies or faults, one each; then all is taken again. */
  answerWith(...answers: readonly (SmtpReply | SmtpFault)[]): void
  close(): Promise<void>
}

export interface SmtpOptions {
  /** As accounts name it. Default: none. */
  tls?: 'none' | 'starttls' | 'implicit'
  /** Who may log in: user → password. Default: nobody has to. */
  users?: Readonly<Record<string, string>>
  /** Access tokens that XOAUTH2 takes. */
  accessTokens?: ReadonlySet<string>
  port?: number
}

const STEPS: readonly unknown[] = ['auth', 'mail', 'rcpt', 'data'] satisfies SmtpReply['at'][]
const FAULTS: readonly SmtpFault[] = ['cut_before_data', 'cut_after_accept', 'silence_after_accept']

function checked(wanted: SmtpReply | SmtpFault): SmtpReply | SmtpFault {
  const isKnown =
    typeof wanted === 'string'
      ? FAULTS.includes(wanted)
      : STEPS.includes((wanted as SmtpReply | null)?.at) && Number.isInteger(wanted.code)
  if (isKnown) return wanted
  throw new Error(`an answer is {at: ${STEPS.join(' | ')}, code, text} or one of ${FAULTS.join(', ')}`)
}

/** An SMTP server on the loopback interface: a real conversation, with TLS, logins and scripted replies. */
export async function startSmtpServer(options: SmtpOptions = {}): Promise<SmtpServer> {
  const { tls = 'none', users, accessTokens, port = 0 } = options
  const mails: SmtpMail[] = []
  const script: (SmtpReply | SmtpFault)[] = []
  let connections = 0
  const needsLogin = users !== undefined || accessTokens !== undefined

  /** The next answer, if it belongs to this step; it is then used up. */
  const replyAt = (step: SmtpReply['at']): Error | null => {
    const next = script[0]
    if (next === undefined || typeof next === 'string' || next.at !== step) return null
    script.shift()
    return Object.assign(new Error(next.text), { responseCode: next.code })
  }
  const faultAt = (...faults: SmtpFault[]): SmtpFault | null => {
    const next = script[0]
    if (typeof next !== 'string' || !faults.includes(next)) return null
    script.shift()
    return next
  }

  const server = new SMTPServer({
    secure: tls === 'implicit',
    ...(tls === 'none' ? { hideSTARTTLS: true, disabledCommands: ['STARTTLS'] } : {}),
    cert: loopbackCertificate.certificate,
    key: loopbackCertificate.key,
    authOptional: !needsLogin,
    allowInsecureAuth: true,
    authMethods: accessTokens ? ['PLAIN', 'LOGIN', 'XOAUTH2'] : ['PLAIN', 'LOGIN'],
    disableReverseLookup: true,
    onConnect(_session, callback) {
      connections += 1
      callback()
    },
    onAuth(auth, _session, callback) {
      const scripted = replyAt('auth')
      if (scripted) return callback(scripted)
      const isGood =
        auth.method === 'XOAUTH2'
          ? accessTokens?.has(auth.accessToken ?? '') === true
          : users !== undefined && auth.username !== undefined && users[auth.username] === auth.password
      if (isGood) return callback(null, { user: auth.username ?? 'somebody' })
      // As Google and Microsoft do: first what is wrong, as a challenge, then the refusal.
      if (auth.method === 'XOAUTH2') return callback(null, { data: { status: '401', schemes: 'bearer' } })
      return callback(Object.assign(new Error('5.7.8 Authentication credentials invalid'), { responseCode: 535 }))
    },
    onMailFrom: (_address, _session, callback) => callback(replyAt('mail')),
    onRcptTo: (_address, _session, callback) => callback(replyAt('rcpt')),
    onData(stream, session, callback) {
      const socketOf = (): { destroy(): void } | undefined =>
        [...(server as unknown as { connections: Set<{ id: string; _socket: { destroy(): void } }> }).connections].find(
          ({ id }) => id === session.id,
        )?._socket
      if (faultAt('cut_before_data')) {
        stream.resume()
        socketOf()?.destroy()
        return
      }
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const scripted = replyAt('data')
        if (scripted) return callback(scripted)
        const { mailFrom, rcptTo } = session.envelope
        mails.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks).toString('utf8'),
          isSecure: session.secure === true,
          user: typeof session.user === 'string' ? session.user : null,
        })
        const fault = faultAt('cut_after_accept', 'silence_after_accept')
        if (fault === 'cut_after_accept') socketOf()?.destroy()
        else if (fault === null) callback()
        return undefined
      })
    },
  })
  await new Promise<void>((resolve, reject) => {
    // Before it listens, a port that is taken; afterwards, the troubles of single connections.
    server.on('error', reject)
    server.listen(port, '127.0.0.1', () => resolve())
  })
  const address = server.server.address() as AddressInfo
  return {
    host: 'localhost',
    port: address.port,
    mails,
    connections: () => connections,
    answerWith: (...answers) => void script.push(...answers.map(checked)),
    close: () =>
      new Promise((resolve) => {
        for (const { _socket: socket } of (server as unknown as { connections: Set<{ _socket: { destroy(): void } }> })
          .connections)
          socket.destroy()
        server.close(() => resolve())
      }),
  }
}
