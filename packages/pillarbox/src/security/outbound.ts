import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type {
  Outbound,
  OutboundAnswer,
  OutboundFailure,
  OutboundFailureCode,
  OutboundLimits,
  OutboundRequest,
} from '../channels/outbound.ts'
import { traceHeaders } from '../channels/trace.ts'
import { errorText } from '../model/errors.ts'
import type { Clock } from '../model/ports.ts'
import { redact } from './redact.ts'
import { codeOf, createResolver, Failed, type ResolverDeps } from './resolver.ts'

export interface OutboundDeps extends ResolverDeps {
  clock: Clock
  limits?: Partial<OutboundLimits>
}

const LIMITS: OutboundLimits = { connectMs: 5_000, firstByteMs: 20_000, totalMs: 30_000, answerBytes: 1_000_000 }

/** Shorter than servers usually keep a connection: one that they are just closing would leave us in doubt. */
const IDLE_MS = 4_000
const MOST_SOCKETS = 256

/** What comes of waiting for something that no longer matters. One for all: an error of its own would cost every request. */
const OVER = new Failed('aborted', 'over')

/**
 * The real way out. A name's addresses are checked when it is dialled, and the very address that was checked is the one
 * connected to, so that a name cannot answer one thing to the check and another to the connection. Of several addresses
 * each must be public: a name that also points inside is up to something.
 */
export function createOutbound(deps: OutboundDeps): Outbound & { close(): void } {
  const { clock } = deps
  const resolver = createResolver(deps)
  const pool = {
    keepAlive: true,
    keepAliveMsecs: 1_000,
    timeout: IDLE_MS,
    maxSockets: MOST_SOCKETS,
    // Calls come in batches: whatever one of them opened, the next can use.
    maxFreeSockets: MOST_SOCKETS,
  }
  const agents = {
    http: new HttpAgent({ ...pool, lookup: resolver.lookup }),
    https: new HttpsAgent({ ...pool, lookup: resolver.lookup }),
  }

  async function request(given: OutboundRequest): Promise<OutboundAnswer | OutboundFailure> {
    const url = parse(given.url)
    if (typeof url === 'string') return failure('invalid_request', url, false)
    const limits = { ...LIMITS, ...deps.limits, ...given.limits }
    const state: RequestState = { step: 'connecting', since: clock.monotonic() }
    const ended = new AbortController()
    const aborted = Promise.withResolvers<Failed>()
    const onAbort = () => aborted.resolve(new Failed('aborted', 'given up by the caller'))
    if (given.signal?.aborted) return failure('aborted', 'given up by the caller', false)
    given.signal?.addEventListener('abort', onAbort, { once: true })
    let open: ClientRequest | null = null
    try {
      const host = url.hostname.replace(/^\[|\]$/g, '')
      resolver.checkLiteral(host)
      open = start(url, given)
      const enter = (step: RequestStep): void => {
        state.step = step
        state.since = clock.monotonic()
      }
      const exchange = exchanged(open, enter, limits.answerBytes)
      exchange.catch(() => {})
      const first = await Promise.race([exchange, overtime(url, limits, state, ended.signal), aborted.promise])
      if (first instanceof Failed) throw first
      return first
    } catch (error) {
      open?.destroy()
      // As soon as the connection stands, bytes may be on their way.
      return explain(error, url, state.step !== 'connecting')
    } finally {
      ended.abort(OVER)
      given.signal?.removeEventListener('abort', onAbort)
    }
  }

  /**
   * Resolves when a step, or all of it, has taken too long. There is one timer at a time, and none is longer than the
   * shortest limit: so none has to be set anew when the next step begins.
   */
  async function overtime(url: URL, limits: OutboundLimits, state: RequestState, ended: AbortSignal): Promise<Failed> {
    const { connectMs, firstByteMs, totalMs } = limits
    const longestMs = Math.min(connectMs, firstByteMs, totalMs)
    const endAt = state.since + totalMs
    while (!ended.aborted) {
      const now = clock.monotonic()
      if (endAt <= now) return new Failed('timeout', `no whole answer from ${url.host} within ${totalMs} ms`)
      const stepMs = { connecting: connectMs, waiting: firstByteMs, reading: Number.POSITIVE_INFINITY }[state.step]
      const what = state.step === 'connecting' ? 'connection to' : 'answer from'
      if (state.since + stepMs <= now) return new Failed('timeout', `no ${what} ${url.host} within ${stepMs} ms`)
      await clock.sleep(Math.min(longestMs, endAt - now, state.since + stepMs - now), ended)
    }
    return OVER
  }

  function start(url: URL, { method, headers, body }: OutboundRequest): ClientRequest {
    const isSecure = url.protocol === 'https:'
    const bytes = body === undefined ? null : typeof body === 'string' ? Buffer.from(body) : body
    try {
      const open = (isSecure ? httpsRequest : httpRequest)(url, {
        method,
        agent: isSecure ? agents.https : agents.http,
        headers: {
          'user-agent': 'pillarbox',
          ...traceHeaders(),
          ...headers,
          ...(bytes === null ? {} : { 'content-length': String(bytes.byteLength) }),
        },
      })
      // Every failure is also thrown by what waits for it; without a listener it would end the process.
      open.on('error', () => {})
      open.end(bytes ?? undefined)
      return open
    } catch (error) {
      throw new Failed('invalid_request', errorText(error))
    }
  }

  return {
    request,
    close() {
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}

type RequestStep = 'connecting' | 'waiting' | 'reading'

/** How far a request has come, and since when. */
interface RequestState {
  step: RequestStep
  since: number
}

/** Listens to everything from the start: nothing that happens between two steps is missed. */
function exchanged(open: ClientRequest, enter: (step: RequestStep) => void, limit: number): Promise<OutboundAnswer> {
  return new Promise((resolve, reject) => {
    const onClose = (): void => reject(new Failed('connection_lost', 'the connection ended without an answer'))
    open.on('error', reject)
    open.once('close', onClose)
    open.once('socket', (socket: Socket) => onceReady(socket, () => enter('waiting')))
    open.once('response', (response) => {
      open.off('close', onClose)
      enter('reading')
      bodyOf(response, limit).then((body) => resolve(answerOf(response, body)), reject)
    })
  })
}

/** When the connection stands, TLS included. */
function onceReady(socket: Socket, ready: () => void): void {
  const isSecure = 'encrypted' in socket
  const isReady = isSecure ? (socket as TLSSocket).getProtocol() !== null && !socket.connecting : !socket.connecting
  if (isReady) ready()
  else socket.once(isSecure ? 'secureConnect' : 'connect', ready)
}

function answerOf(response: IncomingMessage, body: Buffer): OutboundAnswer {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(response.headers))
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value
  return { kind: 'answer', status: response.statusCode ?? 0, headers, body }
}

/** By its events: an iterator would cost as much as all the rest of reading. */
function bodyOf(response: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const brokeOff = (): Failed => new Failed('connection_lost', 'the connection ended in the middle of the answer')
    response.on('data', (chunk: Buffer) => {
      size += chunk.byteLength
      if (size > limit) reject(new Failed('answer_too_large', `the answer is longer than ${limit} bytes`))
      else chunks.push(chunk)
    })
    response.once('end', () => (response.complete ? resolve(Buffer.concat(chunks)) : reject(brokeOff())))
    response.on('error', reject)
    response.once('close', () => {
      if (!response.readableEnded) reject(brokeOff())
    })
  })
}

function parse(text: string): URL | string {
  if (!URL.canParse(text)) return 'the address is not a URL'
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return `${url.protocol} is not http: or https:`
  if (url.username !== '' || url.password !== '') return 'the address must not hold a user or password'
  return url
}

function explain(error: unknown, url: URL, hasLeft: boolean): OutboundFailure {
  if (error instanceof Failed)
    return failure(
      error.code,
      error.message,
      hasLeft && error.code !== 'address_refused' && error.code !== 'dns_failed',
    )
  const code = codeOf(error) ?? ''
  const message = errorText(error)
  if (code.startsWith('HPE_')) return failure('malformed_answer', `${url.host} does not speak HTTP (${code})`, hasLeft)
  if (hasLeft) return failure('connection_lost', `the connection to ${url.host} broke (${code || message})`, true)
  const isTls = /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO|ALTNAME/.test(code) || /certificate|ssl|tls/i.test(message)
  return failure(isTls ? 'tls_failed' : 'connect_failed', `no connection to ${url.host} (${code || message})`, false)
}

function failure(code: OutboundFailureCode, error: string, hasLeft: boolean): OutboundFailure {
  return { kind: 'failure', code, error: redact(error), hasLeft }
}
