import fastify, { type FastifyInstance } from 'fastify'
import type { Metrics } from '../runtime/metrics.ts'

/**
 * A listener of its own for `/metrics`, without a key: whoever can reach its port may read it, and nothing else is there. It
 * does not compete with the API for anything, and a worker has no other.
 */
export function buildMetricsServer(metrics: Metrics): FastifyInstance {
  const server = fastify({
    logger: false,
    bodyLimit: 1_024,
    requestTimeout: 5_000,
    connectionTimeout: 15_000,
    keepAliveTimeout: 65_000,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    http: { headersTimeout: 5_000, maxHeaderSize: 8_192 },
  })
  server.server.maxConnections = 64
  server.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()))
  return server
}
