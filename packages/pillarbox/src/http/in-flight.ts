import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PillarboxError } from '../model/errors.ts'
import type { Clock } from '../model/ports.ts'
import { clientOf } from './client-address.ts'
import type { HttpConfig } from './context.ts'
import { sendProblem } from './problems.ts'
import type { Turnstile } from './turnstile.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Reads much for one answer, and so waits for its turn (`list-turns.ts`). */
    takesTurn?: boolean
  }
  interface FastifyRequest {
    /** Has waited at the turnstile already. */
    hasPassed: boolean
    /** Of a stream: what ends its being counted, which it is only until it begins. */
    endArrival: (() => void) | null
  }
}

/** What the HTTP side is busy with. */
export interface InFlight {
  /** Whether something is under way for somebody with a key that we know, other than lists, or was just now. */
  isTakingIn(): boolean
}

/** Clients that wait for each answer are all idle for a moment when many are answered together. */
const JUST_NOW_MS = 50

/**
 * The book of what is being answered, and who has to wait for whom. Before anything else is done for a request it is one of:
 *
 * - somebody whose key or session we know from memory, who goes on at once; lists then take turns (`list-turns.ts`);
 * - somebody with a key or token that we do not know yet, who passes the turnstile first;
 * - somebody without one, at a path that needs none or does not exist, who passes it too, of whom one source gets a part,
 *   and whose body has a deadline.
 *
 * Each kind has its own number, beyond which requests are turned away, so that nobody with a key is turned away because of
 * those who have none. Health is always answered. Streams come in like everything else; while they run they have a limit of
 * their own. Answers leave a connection in the order of the requests, so whoever sends many without waiting has them all
 * under way at once: of those only some count, and the others are turned away. Whoever is turned away is told so at the
 * turnstile (`paceRefusals`).
 */
export function limitInFlight(
  app: FastifyInstance,
  { clock, turnstile, isKnown }: { clock: Clock; turnstile: Turnstile; isKnown: (request: FastifyRequest) => boolean },
  config: InFlightConfig,
): InFlight {
  const known = createCount()
  const unproven = createCount()
  const open = createCount()
  const lists = createCount()
  const perSource = createCount<string>()
  const perConnection = createCount<object>()
  let takenInAt = Number.NEGATIVE_INFINITY
  const note = (): void => {
    takenInAt = clock.monotonic()
  }
  app.decorateRequest('hasPassed', false)
  app.decorateRequest('endArrival', null)
  app.addHook('onRequest', async (request, reply) => {
    const { access, isStream, takesTurn } = request.routeOptions.config
    if (isHealthPath(request.routeOptions.url)) return
    const isOpen = access === 'public' || request.is404
    const isKeyKnown = !isOpen && isKnown(request)
    const { socket } = request.raw
    const source = clientOf(request)
    const pool = isOpen ? open : isKeyKnown ? known : unproven
    const most = isOpen ? config.maxPublicInFlight : config.maxInFlight
    if (pool.of(null) >= most || perConnection.of(socket) >= config.maxInFlightPerConnection)
      throw new PillarboxError('overloaded', 'Too many requests are being answered. Try again shortly.')
    if (isOpen && perSource.of(source) >= config.maxPublicInFlightPerSource)
      throw new PillarboxError('rate_limited', 'Too many requests from here are being answered. Try again shortly.')
    const ends = [pool.add(null), perConnection.add(socket)]
    if (isOpen) ends.push(perSource.add(source))
    if (isKeyKnown) ends.push(takesTurn || isStream ? lists.add(null) : note)
    const end = (): void => {
      for (const each of ends.splice(0)) each()
    }
    if (isStream) request.endArrival = end
    whenOver(reply, end)
    if (isOpen) void cutSlowBody(request, reply, clock, config.publicBodyTimeoutMs)
    if (isKeyKnown) return
    await turnstile.pass('arrival')
    request.hasPassed = true
  })
  // By now it is known who asks, and that they may.
  app.addHook('preHandler', async (request) => request.endArrival?.())
  return {
    isTakingIn: () => known.of(null) > lists.of(null) || clock.monotonic() - takenInAt < JUST_NOW_MS,
  }
}

/**
 * Every refusal, whatever it is for, is answered at the turnstile: it costs its sender nothing, and a client that repeats at
 * once what was refused would be answered as fast as we can, and nobody else. Where too many wait for theirs, the connection
 * is cut.
 */
export function paceRefusals(
  turnstile: Turnstile,
  answer: (error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply) => void,
) {
  return function answerInTurn(error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply) {
    if (request.hasPassed) return answer(error, request, reply)
    return turnstile.pass('refusal').then((isTold) => {
      if (isTold) answer(error, request, reply)
      else {
        reply.hijack()
        request.raw.socket.destroy()
      }
      return reply
    })
  }
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
