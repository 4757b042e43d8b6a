import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PillarboxError } from '../model/errors.ts'
import type { Clock } from '../model/ports.ts'
import { clientOf } from './client-address.ts'
import type { HttpConfig } from './context.ts'
import { sendProblem } from './problems.ts'

/**
 * Turns requests away while too many are under way, before anything is done for them. Whoever has a key is never turned
 * away because of those who have none: public routes have a pool of their own, of which one source gets a part, and a
 * deadline for the body. Health is always answered, and streams have a limit of their own. Answers leave a connection in
 * the order of the requests, so whoever sends many without waiting has them all under way at once: of those only some
 * count, and the others are turned away.
 */
export function limitInFlight(app: FastifyInstance, clock: Clock, config: InFlightConfig): void {
  const keyed = createCount()
  const open = createCount()
  const perSource = createCount<string>()
  const perConnection = createCount<object>()
  app.addHook('onRequest', async (request, reply) => {
    const { access, isStream } = request.routeOptions.config
    if (isHealthPath(request.routeOptions.url) || isStream) return
    const isOpen = access === 'public' || request.is404
    const { socket } = request.raw
    const source = clientOf(request)
    const [pool, most] = isOpen ? [open, config.maxPublicInFlight] : [keyed, config.maxInFlight]
    if (pool.of(null) >= most || perConnection.of(socket) >= config.maxInFlightPerConnection)
      throw new PillarboxError('overloaded', 'Too many requests are being answered. Try again shortly.')
    if (isOpen && perSource.of(source) >= config.maxPublicInFlightPerSource)
      throw new PillarboxError('rate_limited', 'Too many requests from here are being answered. Try again shortly.')
    const ends = [pool.add(null), perConnection.add(socket), ...(isOpen ? [perSource.add(source)] : [])]
    whenOver(reply, () => {
      for (const end of ends) end()
    })
    if (isOpen) void cutSlowBody(request, reply, clock, config.publicBodyTimeoutMs)
  })
}

type InFlightConfig = Pick<
  HttpConfig,
  | 'maxInFlight'
  | 'maxInFlightPerConnection'
  | 'maxPublicInFlight'
  | 'maxPublicInFlightPerSource'
  | 'publicBodyTimeoutMs'
>

/** Health is answered whatever else is going on. */
export function isHealthPath(url: string | undefined): boolean {
  return url !== undefined && (url === '/health' || url.startsWith('/health/'))
}

/** How many are under way, of each. */
function createCount<Of = null>() {
  const counts = new Map<Of, number>()
  return {
    of: (one: Of): number => counts.get(one) ?? 0,
    /** Answers what takes it away again. */
    add(one: Of): () => void {
      counts.set(one, (counts.get(one) ?? 0) + 1)
      return () => {
        const left = (counts.get(one) ?? 0) - 1
        if (left > 0) counts.set(one, left)
        else counts.delete(one)
      }
    },
  }
}

/** A byte now and then keeps a connection from being idle, so the body as a whole has a time. */
async function cutSlowBody(
  { raw, id }: FastifyRequest,
  reply: FastifyReply,
  clock: Clock,
  timeoutMs: number,
): Promise<void> {
  if (raw.headers['transfer-encoding'] === undefined && !(Number(raw.headers['content-length']) > 0)) return
  const read = new AbortController()
  raw.once('end', () => read.abort())
  whenOver(reply, () => read.abort())
  await clock.sleep(timeoutMs, read.signal)
  if (read.signal.aborted || reply.sent) return
  const detail = `The body was not sent within ${timeoutMs / 1_000} seconds.`
  sendProblem(reply.header('connection', 'close'), new PillarboxError('request_timeout', detail), id)
}

/** Calls `over` once when the answer is out. A client that goes away ends the response without finishing it. */
export function whenOver(reply: FastifyReply, over: () => void): void {
  let isOver = false
  const end = (): void => {
    if (!isOver) over()
    isOver = true
  }
  reply.raw.once('finish', end).once('close', end)
}
