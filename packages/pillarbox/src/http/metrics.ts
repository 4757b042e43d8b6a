import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Meters } from '../model/ports.ts'
import { OPS_ONLY } from './auth.ts'
import type { App, Context } from './context.ts'
import { operationsOf } from './operation.ts'

const operation = operationsOf('Health', 'none')

/** `/metrics`: what this process has counted, and how the whole is doing, for Prometheus. */
export function metricsRoutes(app: App, { metrics }: Context): void {
  app.get(
    '/metrics',
    operation(OPS_ONLY, 'Metrics of this process, for Prometheus', {
      operationId: 'getMetrics',
      description:
        'In Prometheus’ text format, version 0.0.4. Numbers of the whole installation are at most five seconds old. Where PILLARBOX_METRICS_PORT is set, the same page is there without a key.',
      response: {
        200: { description: 'One line for each series.', content: { 'text/plain': { schema: Type.String() } } },
      },
    }),
    async (_request, reply) => {
      const page = await metrics.text()
      return reply.type(metrics.contentType).send(page)
    },
  )
}

/** Counts every answer by its route, never by its URL, which may hold anything. */
export function meterRequests(app: FastifyInstance, meters: Meters): void {
  app.addHook('onResponse', async (request, reply) => {
    const { statusCode } = reply
    const status = `${Math.floor(statusCode / 100)}xx`
    meters.count('http_requests', { method: request.method, route: routeOf(request), status })
    if (statusCode === 429 || statusCode === 503) meters.count('http_requests_refused', { status: String(statusCode) })
    // A stream lasts for as long as somebody listens.
    if (request.routeOptions.config.isStream !== true)
      meters.observe('http_request_duration', {}, [reply.elapsedTime / 1_000])
  })
}

function routeOf({ routeOptions }: FastifyRequest): string {
  return routeOptions.url ?? 'none'
}
