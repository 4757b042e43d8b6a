import { random, sleep, timeoutSignal, wallClock } from '../host-process.ts'
import { httpError, PillarboxConnectionError, PillarboxHttpError } from './problem.ts'
import { baseUrl, type TransportOptions, urlOf } from './transport.ts'

/** One event of a stream as the server sent it. */
export interface ServerEvent {
  /** Where to go on after this one; empty where the server named nothing yet. */
  id: string
  name: string
  data: string
}

export interface StreamOptions {
  /** The `eventId` of the last event that was dealt with: goes on after it. Default: from now on. */
  lastEventId?: string
  /** Ends the stream; the loop over it then throws the signal's reason. */
  signal?: AbortSignal
}

export type EventStream = (path: string, options: StreamOptions) => AsyncGenerator<ServerEvent, void, undefined>

const CONNECT_MS = 10_000
/** The server says something every 15 s, if only that it is still there. */
const SILENCE_MS = 45_000
const FIRST_DELAY_MS = 250
const MAX_DELAY_MS = 30_000
/** More than any event of Pillarbox: somebody else is answering. */
const LONGEST_EVENT = 1_048_576

/**
 * Events of a path for as long as one asks for them. A connection that ends or breaks is made anew, and goes on after the
 * last event, so that none is lost and none comes twice. Only a refusal that would be repeated ends it, such as 401.
 */
export function eventStream(options: TransportOptions): EventStream {
  const base = baseUrl(options.url)
  const { timeoutMs = CONNECT_MS, sources = { now: wallClock, random, sleep } } = options

  async function connect(path: string, lastEventId: string, over: AbortSignal): Promise<Response> {
    const timeout = new AbortController()
    const deadline = timeoutSignal(timeoutMs)
    const expire = (): void => timeout.abort(deadline.reason)
    deadline.addEventListener('abort', expire, { once: true })
    const send = options.fetch ?? fetch
    try {
      const response = await send(urlOf(base, { path }, undefined), {
        headers: {
          accept: 'text/event-stream, application/problem+json',
          authorization: `Bearer ${options.key}`,
          ...(lastEventId === '' ? {} : { 'last-event-id': lastEventId }),
        },
        redirect: 'manual',
        signal: AbortSignal.any([over, timeout.signal]),
      })
      if (!response.ok) throw httpError(response.status, await response.text(), response.headers, sources.now())
      return response
    } catch (error) {
      if (error instanceof PillarboxHttpError) throw error
      throw new PillarboxConnectionError(
        deadline.aborted ? 'timeout' : 'unreachable',
        `GET ${path}: no stream could be opened`,
        error,
      )
    } finally {
      // From here on only silence ends it.
      deadline.removeEventListener('abort', expire)
    }
  }

  /** What arrives, until the server ends it. Silence is an error, like a connection that breaks. */
  async function* chunks(path: string, response: Response): AsyncGenerator<Uint8Array, void, undefined> {
    const reader = response.body?.getReader()
    if (!reader) return
    try {
      for (;;) {
        const heard = new AbortController()
        const silence = sources.sleep(SILENCE_MS, heard.signal).then(
          () => 'silence' as const,
          () => 'heard' as const,
        )
        const next = await Promise.race([reader.read(), silence])
        heard.abort()
        if (next === 'silence' || next === 'heard')
          throw new PillarboxConnectionError('timeout', `GET ${path}: nothing heard for ${SILENCE_MS} ms`, undefined)
        if (next.done) return
        yield next.value
      }
    } finally {
      await reader.cancel().catch(() => {})
    }
  }

  return async function* stream(path, { lastEventId = '', signal }) {
    const leaving = new AbortController()
    const over = signal ? AbortSignal.any([signal, leaving.signal]) : leaving.signal
    let last = lastEventId
    let comeAgainMs = FIRST_DELAY_MS
    let failures = 0
    try {
      for (;;) {
        signal?.throwIfAborted()
        try {
          const response = await connect(path, last, over)
          const parser = createEventParser(last)
          for await (const chunk of chunks(path, response)) {
            for (const event of parser.take(chunk)) {
              failures = 0
              last = event.id
              yield event
            }
            last = parser.lastEventId
            comeAgainMs = parser.retryMs ?? comeAgainMs
          }
          failures = 0
        } catch (error) {
          signal?.throwIfAborted()
          if (isFinal(error)) throw error
          failures += 1
          const asked = error instanceof PillarboxHttpError ? (error.retryAfterMs ?? 0) : 0
          comeAgainMs = Math.max(asked, Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** failures))
        }
        await sources.sleep(comeAgainMs * (0.5 + sources.random() / 2), over)
      }
    } finally {
      leaving.abort()
    }
  }
}

/** A refusal that the same request would meet again. */
function isFinal(error: unknown): boolean {
  if (error instanceof PillarboxConnectionError) return error.code === 'unreadable'
  return !(error instanceof PillarboxHttpError) || (error.status < 500 && error.status !== 429)
}

export interface EventParser {
  /** The events that are complete with this chunk. */
  take(chunk: Uint8Array): ServerEvent[]
  readonly lastEventId: string
  /** How long the server asks to wait before coming again. */
  readonly retryMs: number | null
}

/** The stream format of the HTML standard, §9.2.6, chunk by chunk. */
export function createEventParser(lastEventId = ''): EventParser {
  const decoder = new TextDecoder()
  let rest = ''
  let id = lastEventId
  let name = ''
  let data: string[] = []
  let retryMs: number | null = null

  function takeLine(line: string): ServerEvent | null {
    if (line === '') {
      const event = data.length === 0 ? null : { id, name: name || 'message', data: data.join('\n') }
      name = ''
      data = []
      return event
    }
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') data.push(value)
    else if (field === 'event') name = value
    else if (field === 'id' && !value.includes('\0')) id = value
    else if (field === 'retry' && /^\d{1,9}$/.test(value)) retryMs = Number(value)
    return null
  }

  return {
    take(chunk) {
      rest += decoder.decode(chunk, { stream: true })
      // A carriage return at the end may be half of a line break.
      const lines = rest.split(/\r\n|\n|\r(?!$)/)
      rest = lines.pop() ?? ''
      const length = rest.length + data.reduce((sum, line) => sum + line.length, 0)
      if (length > LONGEST_EVENT)
        throw new PillarboxConnectionError('unreadable', 'an event of the stream is too long to be one', undefined)
      return lines.map(takeLine).filter((event) => event !== null)
    },
    get lastEventId() {
      return id
    },
    get retryMs() {
      return retryMs
    },
  }
}
