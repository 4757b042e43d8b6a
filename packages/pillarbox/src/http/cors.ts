import type { FastifyInstance, FastifyReply } from 'fastify'

const PREFIX = '/api/inbox/'

/**
 * Lets pages of the named origins (`*`: any) call the inbox, and nothing else here. Only a token that the page was given
 * opens an inbox, never a cookie, so a page gains nothing by its origin alone. Installed before authentication: a browser
 * asks first, without a token, and must be able to read a refusal.
 */
export function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return
  const isAllowed = (origin: string): boolean => origins.includes('*') || origins.includes(origin)

  app.addHook('onRequest', async (request, reply) => {
    const { origin } = request.headers
    if (!request.url.startsWith(PREFIX) || origin === undefined) return
    reply.header('vary', 'origin')
    if (!isAllowed(origin)) return
    reply.header('access-control-allow-origin', origin)
    reply.header('access-control-expose-headers', 'retry-after, x-request-id')
    if (request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined)
      return answerPreflight(reply)
  })
}

function answerPreflight(reply: FastifyReply): FastifyReply {
  return reply
    .status(204)
    .header('access-control-allow-methods', 'GET, POST, DELETE')
    .header('access-control-allow-headers', 'authorization, content-type, last-event-id')
    .header('access-control-max-age', '600')
    .send()
}
