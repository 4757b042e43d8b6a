import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock, Logger } from '../model/ports.ts'

/** Refusals of one kind that have a line each, in an interval; the others have one line together when it ends. */
const MOST_LINES = 10
const INTERVAL_MS = 10_000

/**
 * A line for each request. Whoever may not come in could otherwise fill the disk with what is said about him: of refusals of
 * one kind only the first few have a line of their own, and the rest are counted.
 */
export function logRequests(app: FastifyInstance, { clock, logger }: { clock: Clock; logger: Logger }): void {
  const kinds = new Map<string, { refused: { route: string | null; status: number }; count: number }>()
  const closing = new AbortController()

  function hasLine(request: FastifyRequest, { statusCode: status }: FastifyReply): boolean {
    if (!isRefusal(request, status)) return true
    if (kinds.size === 0) void clock.sleep(INTERVAL_MS, closing.signal).then(sumUp)
    const route = routeOf(request)
    const key = `${status} ${route}`
    const kind = kinds.get(key) ?? { refused: { route, status }, count: 0 }
    kind.count += 1
    kinds.set(key, kind)
    return kind.count <= MOST_LINES
  }

  function sumUp(): void {
    const ended = [...kinds.values()]
    kinds.clear()
    for (const { refused, count } of ended)
      if (count > MOST_LINES)
        logger.warn({ ...refused, count: count - MOST_LINES }, 'more requests were refused in the same way')
  }

  app.addHook('onResponse', async (request, reply) => {
    if (!hasLine(request, reply)) return
    // The route, not the URL: that may hold an address. No body, no header, no key.
    const fields = {
      requestId: request.id,
      method: request.method,
      route: routeOf(request),
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime * 10) / 10,
      tenantId: request.caller?.key.tenantId ?? request.user?.tenantId ?? null,
      keyId: request.caller?.key.id ?? null,
    }
    if (reply.statusCode >= 500) logger.warn(fields, 'request')
    else logger.info(fields, 'request')
  })
  app.addHook('onClose', async () => {
    closing.abort()
    sumUp()
  })
}

/** What costs its sender nothing: whatever comes without a key, and what is turned away for its number. */
function isRefusal({ caller, user }: FastifyRequest, status: number): boolean {
  return status === 429 || status === 503 || (status >= 400 && status < 500 && !caller && !user)
}

function routeOf({ routeOptions }: FastifyRequest): string | null {
  return routeOptions.url ?? null
}
