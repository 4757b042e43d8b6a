import type { FastifyInstance, FastifyReply } from 'fastify'
import { PillarboxError } from '../model/errors.ts'
import type { HttpConfig } from './context.ts'

/**
 * More than `maxInFlight` at once are turned away before anything is done for them; health is always answered, and
 * streams have a limit of their own. Answers leave a connection in the order of the requests, so whoever sends many
 * without waiting has them all under way at once: of those only some count, and the others are turned away.
 */
export function limitInFlight(
  app: FastifyInstance,
  { maxInFlight, maxInFlightPerConnection }: Pick<HttpConfig, 'maxInFlight' | 'maxInFlightPerConnection'>,
): void {
  let inFlight = 0
  const perConnection = new WeakMap<object, number>()
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.url?.startsWith('/health') || request.routeOptions.config.isStream) return
    const { socket } = request.raw
    const onSocket = perConnection.get(socket) ?? 0
    if (inFlight >= maxInFlight || onSocket >= maxInFlightPerConnection)
      throw new PillarboxError('overloaded', 'Too many requests are being answered. Try again shortly.')
    inFlight += 1
    perConnection.set(socket, onSocket + 1)
    whenOver(reply, () => {
      inFlight -= 1
      perConnection.set(socket, (perConnection.get(socket) ?? 1) - 1)
    })
  })
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
