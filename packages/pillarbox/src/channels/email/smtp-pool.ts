import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { Account } from '../../model/account.ts'
import type { Exchange } from '../../model/outcome.ts'
import type { SendRequest } from '../channel.ts'
import { perAccount } from '../per-account.ts'
import { createSmtpConnector, type SmtpDeps, type SmtpError, smtpStep, trouble } from './smtp-connection.ts'

export interface SmtpEnvelope {
  from: string
  to: string[]
  size: number
}

type SmtpRequest = Pick<SendRequest, 'account' | 'signal' | 'exchange'>

/** Connections to mail servers, a bounded number per account, kept and used by one message after another. */
export interface SmtpPool {
  /** Null when the server took the message for at least one recipient; whom it would not take is written down. */
  send(request: SmtpRequest, envelope: SmtpEnvelope, message: Readable): Promise<SmtpError | null>
  /** Connects and logs in. */
  verify(account: Account, signal: AbortSignal): Promise<SmtpError | null>
  close(): void
}

/** Servers close idle connections after minutes; one that is about to be closed would cost us an attempt. */
const IDLE_MS = 5_000
const MOST_MESSAGES = 100
/** How many connections an account may have at once where it does not say. */
const DEFAULT_CONNECTIONS = 20

interface KeptConnection {
  connection: SMTPConnection
  sent: number
  idleSince: number
}

/** Of one account with its present settings and secrets. */
interface AccountConnections {
  /** How many messages have a connection, or are getting one. */
  taken: number
  /** Who waits for a place, first come first. */
  waiting: Set<() => void>
  /** The longest idle in front; those given back last are taken first. */
  idle: KeptConnection[]
}

export function createSmtpPool(deps: SmtpDeps): SmtpPool {
  const { clock } = deps
  const connector = createSmtpConnector(deps)
  const accounts = new Map<string, AccountConnections>()
  const open = new Set<SMTPConnection>()
  const closing = new AbortController()
  const keyOf = perAccount(connectionDependsOn)
  let isSweeping = false

  const connect = (account: Account, signal: AbortSignal): Promise<SMTPConnection | SmtpError> =>
    connector(account, AbortSignal.any([signal, closing.signal]))

  async function send(
    { account, signal, exchange }: SmtpRequest,
    envelope: SmtpEnvelope,
    message: Readable,
  ): Promise<SmtpError | null> {
    const connections = accounts.get(keyOf(account)) ?? { taken: 0, waiting: new Set(), idle: [] }
    accounts.set(keyOf(account), connections)
    if (!(await hasPlace(connections, mostConnections(account), signal)))
      return trouble('EBUSY', 'by us', 'given up before a connection was free')
    const kept = await take(connections, account, signal)
    if ('words' in kept) {
      leave(connections)
      return kept
    }
    const { connection } = kept
    const refused = await smtpStep(connection, signal, (done) =>
      connection.send(envelope, message, (error, info) => {
        if (info) note(exchange, info as SmtpInfo)
        done(error)
      }),
    )
    // A refusal leaves the connection usable; a loss does not.
    if (refused !== null && refused.reply === null) {
      connection.close()
      leave(connections)
    } else
      void giveBack(connections, { ...kept, sent: kept.sent + 1 }, refused !== null).finally(() => leave(connections))
    return refused
  }

  /** Waits until the account may have one more connection; false where the caller gave up first. */
  async function hasPlace(connections: AccountConnections, most: number, signal: AbortSignal): Promise<boolean> {
    if (connections.taken < most) {
      connections.taken += 1
      return true
    }
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const onTurn = (): void => resolve(true)
    const onAbort = (): void => {
      if (connections.waiting.delete(onTurn)) resolve(false)
    }
    connections.waiting.add(onTurn)
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    const isMine = await promise
    signal.removeEventListener('abort', onAbort)
    return isMine
  }

  /** Hands the place on to whoever waits for it. */
  function leave(connections: AccountConnections): void {
    const [next] = connections.waiting
    if (next) {
      connections.waiting.delete(next)
      next()
    } else connections.taken -= 1
    if (!isSweeping) void sweep()
  }

  /** A connection that is idle, or a new one. */
  async function take(
    connections: AccountConnections,
    account: Account,
    signal: AbortSignal,
  ): Promise<KeptConnection | SmtpError> {
    for (let last = connections.idle.pop(); last; last = connections.idle.pop()) {
      if (open.has(last.connection) && clock.monotonic() - last.idleSince < IDLE_MS) return last
      last.connection.close()
    }
    const connection = await connect(account, signal)
    if ('words' in connection) return connection
    open.add(connection)
    connection.once('end', () => open.delete(connection))
    return { connection, sent: 0, idleSince: clock.monotonic() }
  }

  /** After a refusal the server must first forget what it was told of the message. */
  async function giveBack(connections: AccountConnections, kept: KeptConnection, wasRefused: boolean): Promise<void> {
    const { connection, sent } = kept
    const failed = wasRefused && (await smtpStep(connection, closing.signal, (done) => connection.reset(done))) !== null
    if (failed || closing.signal.aborted || sent >= MOST_MESSAGES || !open.has(connection)) connection.quit()
    else connections.idle.push({ ...kept, idleSince: clock.monotonic() })
  }

  /** Ends connections that nobody needed for a while; one for all of them, and only while there are any. */
  async function sweep(): Promise<void> {
    isSweeping = true
    while (accounts.size > 0 && !closing.signal.aborted) {
      await clock.sleep(IDLE_MS, closing.signal)
      for (const [key, { taken, idle }] of accounts) {
        const stale = idle.findLastIndex(({ idleSince }) => clock.monotonic() - idleSince >= IDLE_MS)
        for (const { connection } of idle.splice(0, stale + 1)) connection.quit()
        if (taken === 0 && idle.length === 0) accounts.delete(key)
      }
    }
    isSweeping = false
  }

  return {
    send,
    async verify(account, signal) {
      const connection = await connect(account, signal)
      if ('words' in connection) return connection
      connection.quit()
      return null
    },
    close() {
      for (const connection of open) connection.close()
      closing.abort()
    },
  }
}

function mostConnections({ settings }: Account): number {
  const most = settings['maxConnections']
  return typeof most === 'number' && most >= 1 ? most : DEFAULT_CONNECTIONS
}

/** What a connection depends on: changed credentials need another one. Hashed, so that no secret is kept as a key. */
function connectionDependsOn({ id, settings, secrets }: Account): string {
  return createHash('sha256')
    .update(JSON.stringify([id, settings, secrets]))
    .digest('base64')
}

/** The server's last word, and its words about those it would not take. */
function note(exchange: Exchange, { response, rejectedErrors = [] }: SmtpInfo): void {
  exchange.answer = response ?? null
  const refused = rejectedErrors.map(({ recipient = 'unknown', response: words, message }) => ({
    recipient,
    error: words ?? message,
  }))
  if (refused.length > 0) exchange.refused = refused
}

/** What the driver tells of a message that was taken. */
interface SmtpInfo {
  response?: string
  rejectedErrors?: readonly (Error & { recipient?: string; response?: string })[]
}
