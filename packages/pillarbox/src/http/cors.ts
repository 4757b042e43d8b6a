import cors from '@fastify/cors'
import type { FastifyInstance, FastifyRequest } from 'fastify'

const PREFIX = '/api/inbox/'

/**
 * Lets pages of the named origins (`*`: any) call the inbox, and nothing else here. Only a token that the page was given
 * opens an inbox, never a cookie, so a page gains nothing by its origin alone. Registered before authentication: a browser
 * asks first, without a token, and must be able to read a refusal.
 */
export async function allowOrigins(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return
  const allowed = {
    origin: [...origins],
    methods: ['GET', 'POST', 'DELETE'],
    allowedHeaders: ['authorization', 'content-type', 'last-event-id'],
    exposedHeaders: ['retry-after', 'x-request-id'],
    maxAge: 600,
    strictPreflight: false,
  }
  await app.register(cors, {
    delegator: async ({ url }: FastifyRequest) => (url.startsWith(PREFIX) ? allowed : { origin: false }),
  })
}
