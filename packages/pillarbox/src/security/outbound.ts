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
    maxFreeSockets: 32,
  }
  const agents = {
    http: new HttpAgent({ ...pool, lookup: resolver.lookup }),
    https: new HttpsAgent({ ...pool, lookup: resolver.lookup }),
  }

  async function request(given: OutboundRequest): Promise<OutboundAnswer | OutboundFailure> {
    const url = parse(given.url)
    if (typeof url === 'string') return failure('invalid_request', url, false)
    const limits = { ...LIMITS, ...deps.limits, ...given.limits }
    const state: State = { hasLeft: false }
    const ended = new AbortController()
    const aborted = Promise.withResolvers<Failed>()
    const onAbort = () => aborted.resolve(new Failed('aborted', 'given up by the caller'))
    if (given.signal?.aborted) return failure('aborted', 'given up by the caller', false)
    given.signal?.addEventListener('abort', onAbort, { once: true })
    const late = (ms: number, what: string): Promise<Failed> =>
      clock.sleep(ms, ended.signal).then(() => new Failed('timeout', `${what} within ${ms} ms`))
    let open: ClientRequest | null = null
    try {
      const host = url.hostname.replace(/^\[|\]$/g, '')
      resolver.checkLiteral(host)
      open = start(url, given)
      const connected = standing(open, state)
      const exchange = (async () => {
        await orFailed(connected, late(limits.connectMs, `no connection to ${url.host}`))
        const response = await orFailed(answered(open, state), late(limits.firstByteMs, `no answer from ${url.host}`))
        return await wholeAnswer(response, limits.answerBytes)
      })()
      exchange.catch(() => {})
      const over = Promise.race([late(limits.totalMs, `no whole answer from ${url.host}`), aborted.promise])
      return await orFailed(exchange, over)
    } catch (error) {
      open?.destroy()
      return explain(error, url, state.hasLeft)
    } finally {
      ended.abort()
      given.signal?.removeEventListener('abort', onAbort)
    }
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
          ...headers,
          ...(bytes === null ? {} : { 'content-length': String(bytes.byteLength) }),
        },
      })
      // Every failure is also thrown by what waits for it; without a listener it would end the process.
      open.on('error', () => {})
      open.end(bytes ?? undefined)
      return open
    } catch (error) {
      throw new Failed('invalid_request', error instanceof Error ? error.message : String(error))
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

interface State {
  /** Set as soon as the connection stands: from then on bytes may be on their way. */
  hasLeft: boolean
}

/** Rejects with what `failed` resolves to, if that comes first. */
async function orFailed<T>(work: Promise<T>, failed: Promise<Failed>): Promise<T> {
  const first = await Promise.race([work, failed])
  if (first instanceof Failed) throw first
  return first
}

/** Resolves when the connection stands, TLS included. */
function standing(open: ClientRequest, state: State): Promise<void> {
  return new Promise((resolve, reject) => {
    open.once('error', reject)
    open.once('socket', (socket: Socket) => {
      const isSecure = 'encrypted' in socket
      const ready = (): void => {
        state.hasLeft = true
        resolve()
      }
      const isReady = isSecure ? (socket as TLSSocket).getProtocol() !== null && !socket.connecting : !socket.connecting
      if (isReady) ready()
      else socket.once(isSecure ? 'secureConnect' : 'connect', ready)
    })
  })
}

function answered(open: ClientRequest, state: State): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    open.once('response', (response) => {
      state.hasLeft = true
      resolve(response)
    })
    open.once('error', reject)
    open.once('close', () => reject(new Failed('connection_lost', 'the connection ended without an answer')))
  })
}

async function wholeAnswer(response: IncomingMessage, limit: number): Promise<OutboundAnswer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.byteLength
    if (size > limit) throw new Failed('answer_too_large', `the answer is longer than ${limit} bytes`)
    chunks.push(chunk)
  }
  if (!response.complete) throw new Failed('connection_lost', 'the connection ended in the middle of the answer')
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(response.headers))
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value
  return { kind: 'answer', status: response.statusCode ?? 0, headers, body: Buffer.concat(chunks) }
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
  const message = error instanceof Error ? error.message : String(error)
  if (code.startsWith('HPE_')) return failure('malformed_answer', `${url.host} does not speak HTTP (${code})`, hasLeft)
  if (hasLeft) return failure('connection_lost', `the connection to ${url.host} broke (${code || message})`, true)
  const isTls = /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO|ALTNAME/.test(code) || /certificate|ssl|tls/i.test(message)
  return failure(isTls ? 'tls_failed' : 'connect_failed', `no connection to ${url.host} (${code || message})`, false)
}

function failure(code: OutboundFailureCode, error: string, hasLeft: boolean): OutboundFailure {
  return { kind: 'failure', code, error: redact(error), hasLeft }
}
