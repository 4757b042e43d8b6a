import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { PillarboxError } from '../model/errors.ts'
import type { Clock, Logger } from '../model/ports.ts'

/**
 * Server-sent events: who may have how many streams, and how one is kept going. What a stream says, and when there is something
 * new, is its source's to know.
 */
export interface EventStreams {
  /** Takes a place for one more, or refuses: 429 for too many of one holder or tenant, 503 for too many in all. */
  reserve(holder: StreamHolder): StreamPlace
  /** Ends all streams; resolves when they are gone. */
  close(): Promise<void>
}

export interface StreamHolder {
  tenantId: string
  /** Whoever of the tenant it is. */
  name: string
}

export interface StreamPlace {
  release(): void
  /** Writes events until the client leaves, the source is over or the server stops; then the place is free again. Never rejects. */
  run(response: ServerResponse, source: StreamSource): Promise<void>
}

export interface StreamSource {
  /** Until when it may go on. */
  expiresAt: number
  /** Sends what is new. `isMore`: there is more at once. */
  tell(send: Send): Promise<{ isSent: boolean; isMore: boolean; isOver?: boolean }>
  /** Waits until there may be something new, `ms` at most. */
  wait(ms: number, over: AbortSignal): Promise<void>
  /** What it says when there is nothing to say, where that is to be heard by scripts. Default: a comment, which they do not hear. */
  beat?: () => string
  close(): void
}

/** False where the client has left. */
export type Send = (text: string) => Promise<boolean>

export interface StreamLimits {
  /** Streams at the same time in this process. */
  most: number
  mostPerHolder: number
  /** A stream with nothing to say says so this often. */
  beatMs: number
  /** A client that takes nothing for so long is let go. */
  slowReaderMs: number
}

export interface EventStreamDeps {
  clock: Clock
  logger: Logger
  limits: StreamLimits
  /** What holders are called in refusals. */
  holder: string
}

/** A tenant has at most so many times the places that are still free, so that there are always some for others. */
const SHARE_OF_FREE = 4
/** How long a client waits before it comes again. */
const COME_AGAIN_MS = 3_000
/** After a source that could not be asked. */
const PAUSE_MS = 1_000
/** How long the end of a stream may take to reach its client when the server stops. */
const GOODBYE_MS = 500

export function createEventStreams(deps: EventStreamDeps): EventStreams {
  const { clock, limits } = deps
  const perHolder = createTally()
  const perTenant = createTally()
  const running = new Set<Promise<void>>()
  const closing = new AbortController()
  let count = 0

  return {
    reserve({ tenantId, name }) {
      const key = `${tenantId} ${name}`
      const ofHolder = perHolder.of(key)
      const ofTenant = perTenant.of(tenantId)
      const wait = { retryAfterSeconds: 10 }
      if (ofHolder >= limits.mostPerHolder)
        throw new PillarboxError(
          'rate_limited',
          `This ${deps.holder} has ${ofHolder} streams open; close one first.`,
          wait,
        )
      if (count >= limits.most || closing.signal.aborted)
        throw new PillarboxError('overloaded', 'Too many streams are open. Try again shortly.', wait)
      if (ofTenant >= SHARE_OF_FREE * (limits.most - count))
        throw new PillarboxError(
          'rate_limited',
          `This tenant has ${ofTenant} streams open, and others need some too.`,
          wait,
        )
      perHolder.add(key, 1)
      perTenant.add(tenantId, 1)
      count += 1
      let isHeld = true
      const release = (): void => {
        if (!isHeld) return
        isHeld = false
        count -= 1
        perHolder.add(key, -1)
        perTenant.add(tenantId, -1)
      }
      return {
        release,
        run(response, source) {
          const done = runStream(deps, { response, source, tenantId }, closing.signal)
            .catch((error: unknown) => deps.logger.error({ error: String(error) }, 'a stream broke'))
            .finally(() => {
              release()
              running.delete(done)
            })
          running.add(done)
          return done
        },
      }
    },

    async close() {
      closing.abort()
      const over = new AbortController()
      await Promise.race([Promise.all(running), clock.sleep(GOODBYE_MS, over.signal)])
      over.abort()
    },
  }
}

/** Counts by key; those at none are forgotten. */
function createTally() {
  const counts = new Map<string, number>()
  const of = (key: string): number => counts.get(key) ?? 0
  return {
    of,
    add(key: string, change: number): void {
      const count = of(key) + change
      if (count > 0) counts.set(key, count)
      else counts.delete(key)
    },
  }
}

interface RunningStream {
  response: ServerResponse
  source: StreamSource
  tenantId: string
}

async function runStream(deps: EventStreamDeps, stream: RunningStream, stop: AbortSignal): Promise<void> {
  const { clock, logger, limits } = deps
  const { response, source, tenantId } = stream
  const gone = new AbortController()
  const leave = (): void => gone.abort()
  response.once('close', leave)
  // A connection that breaks while something is written to it is a client that has left.
  response.on('error', leave)
  stop.addEventListener('abort', leave, { once: true })
  const over = gone.signal
  const send: Send = (text) => write(deps, response, text, over)
  const begunAt = clock.monotonic()
  let beatAt = begunAt + limits.beatMs

  try {
    await send(`retry: ${COME_AGAIN_MS}\n\n`)
    while (!over.aborted && clock.now() < source.expiresAt) {
      const told = await source.tell(send).catch((error: unknown) => {
        logger.debug({ error: String(error) }, 'a stream could not be continued yet; trying again')
        return null
      })
      if (told?.isOver) break
      if (told?.isSent) beatAt = clock.monotonic() + limits.beatMs
      if (told?.isMore) continue
      if (clock.monotonic() >= beatAt) {
        await send(source.beat?.() ?? ': still here\n\n')
        beatAt = clock.monotonic() + limits.beatMs
      }
      const waitMs = Math.min(beatAt - clock.monotonic(), source.expiresAt - clock.now())
      if (told) await source.wait(Math.max(0, waitMs), over)
      else await clock.sleep(Math.max(0, Math.min(PAUSE_MS, waitMs)), over)
    }
  } finally {
    source.close()
    stop.removeEventListener('abort', leave)
    await end(clock, response)
    const durationMs = Math.round(clock.monotonic() - begunAt)
    logger.info({ tenantId, durationMs }, 'stream ended')
  }
}

/** JSON has no line breaks of its own, so one line of data is enough. */
export function streamEvent(name: string, data: object, id: number): string {
  return `event: ${name}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`
}

/** The number that a client heard last; null where it begins. Throws `invalid_query` for what is none. */
export function lastEventId(header: string | string[] | undefined, parameter: string | undefined): number | null {
  const given = [header].flat()[0] || parameter
  if (given === undefined || given === '') return null
  if (/^\d{1,15}$/.test(given)) return Number(given)
  throw new PillarboxError('invalid_query', 'Last-Event-ID is not the id of an event of this stream.', {
    errors: [{ path: 'lastEventId', message: 'must be the id of an event of this stream' }],
  })
}

/** Takes the answer over from the framework, and begins it. */
export function beginStream(reply: FastifyReply): ServerResponse {
  const headers = reply.getHeaders() as OutgoingHttpHeaders
  reply.hijack()
  reply.raw.writeHead(200, {
    ...headers,
    'content-type': 'text/event-stream; charset=utf-8',
    // Proxies that gather an answer before they pass it on would defeat the purpose.
    'x-accel-buffering': 'no',
    // Nothing else comes on this connection; one that stayed open would hold a stop up.
    connection: 'close',
  })
  return reply.raw
}

/** Waits until the client has room again, so that no more than one event is ever held for it; a slow one is let go. */
async function write(
  { clock, limits }: EventStreamDeps,
  response: ServerResponse,
  text: string,
  over: AbortSignal,
): Promise<boolean> {
  if (over.aborted || response.destroyed) return false
  if (response.write(text)) return true
  const waited = new AbortController()
  const end = (): void => waited.abort()
  let isDrained = false
  const drained = (): void => {
    isDrained = true
    end()
  }
  response.once('drain', drained)
  over.addEventListener('abort', end, { once: true })
  await clock.sleep(limits.slowReaderMs, waited.signal)
  response.off('drain', drained)
  over.removeEventListener('abort', end)
  if (!isDrained) response.destroy()
  return isDrained
}

/** A client that does not take the end either must not hold the server up. */
async function end(clock: Clock, response: ServerResponse): Promise<void> {
  if (response.destroyed || response.writableFinished) return
  const over = new AbortController()
  response.once('close', () => over.abort())
  response.end()
  await clock.sleep(GOODBYE_MS, over.signal)
  if (!response.destroyed) response.destroy()
}
