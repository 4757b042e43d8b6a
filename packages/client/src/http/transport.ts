import { random, sleep, timeoutSignal, wallClock } from '../host-process.ts'
import { answerText } from './answer-text.ts'
import { httpError, PillarboxConnectionError, PillarboxHttpError } from './problem.ts'

export interface TransportOptions {
  /** Where the server is, e.g. `https://pillarbox.example.com`; a path in front of `/api` is kept. */
  url: string
  /** An API key. It leaves in the `Authorization` header and is in no error. */
  key: string
  /** For an ops key: the tenant that requests are about. */
  tenantId?: string
  /** Default: the platform's. */
  fetch?: typeof fetch
  /** How long one try may take, until the whole answer is there. Default: 10 000. */
  timeoutMs?: number
  /**
   * How often a request is tried again after a connection error, 429 or 503, if repeating it is safe: it only reads, or
   * every item of it carries an id or an idempotency key. Waits as the server asks, else 250 ms doubling to 8 s, with
   * jitter. Default: 0.
   */
  retries?: number
  /** For tests. Default: the host's clock, timer and random source. */
  sources?: { now: () => number; random: () => number; sleep: (ms: number, signal?: AbortSignal) => Promise<void> }
}

export interface CallOptions {
  /** Ends the call, and any wait between its tries; the promise rejects with the signal's reason. */
  signal?: AbortSignal
  /** A W3C trace context that the server carries on to the provider. */
  traceparent?: string
}

export interface Request {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  query?: Record<string, string | readonly string[] | undefined>
  body?: unknown
  /** Whether sending it twice does no more than sending it once. */
  isRepeatable: boolean
  /** A status that is an answer here although it is an error elsewhere, unless a problem document comes with it. */
  alsoOk?: number
}

/** Answers the parsed body. */
export type Transport = (request: Request, options: CallOptions) => Promise<unknown>

const DEFAULT_TIMEOUT_MS = 10_000
const FIRST_DELAY_MS = 250
const MAX_DELAY_MS = 8_000
/** A server that asks for a longer pause is answered by giving up: the caller knows better what to do meanwhile. */
const MAX_RETRY_AFTER_MS = 60_000
const RETRIED_STATUSES = [429, 503]
/** No answer of the server comes near it. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
const NO_CONTENT = 204

/** Makes the one function that talks to the server. Throws on options that cannot work. */
export function transport(options: TransportOptions): Transport {
  const base = baseUrl(options.url)
  const { timeoutMs = DEFAULT_TIMEOUT_MS, retries = 0, tenantId, key } = options
  if (!/^[\x21-\x7e]+$/.test(key)) throw new TypeError('key must be an API key: visible ASCII characters, no spaces')
  if (!(timeoutMs > 0)) throw new TypeError(`timeoutMs must be a positive number, got ${timeoutMs}`)
  if (!Number.isInteger(retries) || retries < 0) throw new TypeError(`retries must be 0 or more, got ${retries}`)
  const sources = options.sources ?? { now: wallClock, random, sleep }

  async function tryOnce(
    request: Request,
    body: string | undefined,
    { signal, traceparent }: CallOptions,
  ): Promise<unknown> {
    signal?.throwIfAborted()
    const timeout = timeoutSignal(timeoutMs)
    const send = options.fetch ?? fetch
    const about = `${request.method} ${request.path}`
    let response: Response
    let text: string
    try {
      response = await send(urlOf(base, request, tenantId), {
        method: request.method,
        headers: {
          accept: 'application/json, application/problem+json',
          authorization: `Bearer ${key}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(traceparent === undefined ? {} : { traceparent }),
        },
        // A redirect would take the key elsewhere, or turn a POST into a GET: it is answered as an error instead.
        redirect: 'manual',
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
        ...(body === undefined ? {} : { body }),
      })
      text = await answerText(response, about, MAX_ANSWER_BYTES)
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof PillarboxConnectionError) throw error
      throw timeout.aborted
        ? new PillarboxConnectionError('timeout', `${about}: no answer within ${timeoutMs} ms`, error)
        : new PillarboxConnectionError('unreachable', `${about}: the server could not be reached`, error)
    }
    const isProblem = response.headers.get('content-type')?.startsWith('application/problem+json') ?? false
    if (!response.ok && (response.status !== request.alsoOk || isProblem)) {
      throw httpError(response.status, text, response.headers, sources.now())
    }
    return response.status === NO_CONTENT ? null : readJson(request, text)
  }

  return async (request, callOptions) => {
    const body = bodyText(request)
    for (let retriesLeft = request.isRepeatable ? retries : 0; ; retriesLeft -= 1) {
      try {
        return await tryOnce(request, body, callOptions)
      } catch (error) {
        const delayMs = retriesLeft > 0 ? delayBefore(error, retries - retriesLeft, sources.random) : null
        if (delayMs === null) throw error
        await sources.sleep(delayMs, callOptions.signal)
      }
    }
  }
}

/** How long to wait before the next try; null where another one would not help. */
function delayBefore(error: unknown, triesFailed: number, chance: () => number): number | null {
  const backoffMs = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** triesFailed) * (0.5 + chance() / 2)
  if (error instanceof PillarboxConnectionError) return error.code === 'unreadable' ? null : backoffMs
  if (!(error instanceof PillarboxHttpError) || !RETRIED_STATUSES.includes(error.status)) return null
  const { retryAfterMs } = error
  if (retryAfterMs === null) return backoffMs
  return retryAfterMs > MAX_RETRY_AFTER_MS ? null : retryAfterMs
}

export function baseUrl(url: string): URL {
  const base = URL.canParse(url) ? new URL(url) : null
  if (base === null || !['http:', 'https:'].includes(base.protocol)) {
    throw new TypeError('url must be the http or https address of a Pillarbox server')
  }
  if (base.username !== '' || base.password !== '')
    throw new TypeError('url must not hold a user or a password: the API key is all that is needed')
  base.search = ''
  base.hash = ''
  if (!base.pathname.endsWith('/')) base.pathname += '/'
  return base
}

export function urlOf(
  base: URL,
  { path, query = {} }: Pick<Request, 'path' | 'query'>,
  tenantId: string | undefined,
): string {
  const url = new URL(path.slice(1), base)
  for (const [name, value] of Object.entries({ ...query, tenantId })) {
    for (const item of value === undefined ? [] : [value].flat()) url.searchParams.append(name, item)
  }
  return url.href
}

/** Throws a `TypeError` over what JSON cannot hold, or would turn into null without a word. */
function bodyText({ body }: Request): string | undefined {
  return JSON.stringify(body, (key, value: unknown) => {
    if (typeof value === 'number' && !Number.isFinite(value))
      throw new TypeError(`"${key}" is ${value}, which JSON would turn into null`)
    return value
  })
}

function readJson({ method, path }: Request, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new PillarboxConnectionError('unreadable', `${method} ${path}: the answer is not JSON`, error)
  }
}
