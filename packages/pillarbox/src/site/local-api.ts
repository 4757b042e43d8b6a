import {
  InvalidSiteNotificationError,
  PillarboxConnectionError,
  PillarboxHttpError,
  SiteBufferFullError,
  type SiteNotification,
  type SiteOutbox,
} from '@pillarbox/client'
import fastify, { type FastifyError, type FastifyInstance, type FastifyRequest } from 'fastify'
import { ERRORS, found, isPillarboxError, PillarboxError } from '../model/errors.ts'
import type { IdSource, Logger } from '../model/ports.ts'

/** What the local API needs of the outbox of a site. */
export type LocalOutbox = Pick<SiteOutbox, 'send' | 'status' | 'refused' | 'retry' | 'discard' | 'health'>

export interface LocalApiDeps {
  outbox: LocalOutbox
  ids: IdSource
  logger: Logger
}

const BODY_LIMIT_BYTES = 1_310_720
const MOST_CONNECTIONS = 256

/**
 * What scripts at a site call, in whatever language: without a key, on this machine alone. Pages that somebody opens in a
 * browser here are not scripts of the site, and are refused.
 */
export function buildLocalApi({ outbox, ids, logger }: LocalApiDeps): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: 10_000,
    connectionTimeout: 60_000,
    keepAliveTimeout: 65_000,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    http: { headersTimeout: 5_000, maxHeaderSize: 8_192 },
    genReqId: () => ids(),
  })
  app.server.maxConnections = MOST_CONNECTIONS
  app.removeContentTypeParser('text/plain')
  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    refuseBrowsers(request)
  })
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const known = knownError(error)
    if (known.code === 'internal') logger.error({ error }, 'the local API of a site failed')
    const { status, title } = ERRORS[known.code]
    const { errors } = known.details
    return reply
      .status(status)
      .type('application/problem+json')
      .send({
        type: `urn:pillarbox:problem:${known.code}`,
        title,
        status,
        code: known.code,
        detail: known.code === 'internal' ? 'Something went wrong here; the log has more.' : known.message,
        requestId: request.id,
        ...(errors && { errors }),
      })
  })
  app.setNotFoundHandler(() => {
    throw new PillarboxError('not_found', 'There is no such path; see POST /notifications and GET /health.')
  })

  app.post('/notifications', async ({ body }, reply) => reply.status(202).send(outbox.send(body as SiteNotification)))

  app.get('/notifications/refused', async () => ({ items: outbox.refused() }))

  app.get('/notifications/:id/status', async (request) => found(await outbox.status(idOf(request))))

  app.post('/notifications/:id/retry', async (request, reply) => {
    found(outbox.retry(idOf(request)))
    return reply.status(202).send({ notificationId: idOf(request), status: 'forwarding' })
  })

  app.delete('/notifications/:id', async (request, reply) => {
    found(outbox.discard(idOf(request)))
    return reply.status(204).send()
  })

  app.get('/health', async (_, reply) => {
    const health = outbox.health()
    const status = health.isFull ? 'full' : health.trouble === null ? 'ok' : 'waiting'
    // What waits is safe; only where nothing more can be kept is the site out of order.
    return reply.status(health.isFull ? 503 : 200).send({ status, ...health })
  })
  return app
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function idOf({ params }: FastifyRequest): string {
  const id = (params as { id: string }).id.toLowerCase()
  return found(UUID.test(id) && id)
}

const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i

/** A page can make a browser call this port, also under a name that it has made to lead here. */
function refuseBrowsers({ headers }: FastifyRequest): void {
  const isOfPage = headers.origin !== undefined || (headers['sec-fetch-site'] ?? 'none') !== 'none'
  if (isOfPage || !LOOPBACK.test(headers.host ?? ''))
    throw new PillarboxError('forbidden', 'Only programs on this machine may call this, as localhost or 127.0.0.1.')
}

const OF_FRAMEWORK: Record<string, PillarboxError> = {
  FST_ERR_CTP_BODY_TOO_LARGE: new PillarboxError('body_too_large', `Send at most ${BODY_LIMIT_BYTES} bytes.`),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: new PillarboxError('unsupported_media_type', 'Send the body as application/json.'),
  FST_ERR_CTP_EMPTY_JSON_BODY: new PillarboxError('malformed_json', 'The request has no body; this path needs one.'),
  FST_ERR_CTP_INVALID_JSON_BODY: new PillarboxError('malformed_json', 'The body is not valid JSON.'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: new PillarboxError('bad_request', 'The length of the body is not what it says.'),
}

function knownError(error: Error & { code?: string; statusCode?: number }): PillarboxError {
  if (isPillarboxError(error)) return error
  if (error instanceof InvalidSiteNotificationError)
    return new PillarboxError('invalid_body', `${error.message}.`, { errors: [...error.errors] })
  if (error instanceof SiteBufferFullError) return new PillarboxError('buffer_full', error.message)
  if (error instanceof PillarboxConnectionError || error instanceof PillarboxHttpError)
    return new PillarboxError('central_unreachable', error.message)
  const framework = OF_FRAMEWORK[error.code ?? '']
  if (framework) return framework
  if (error.statusCode === ERRORS.malformed_json.status)
    return new PillarboxError('malformed_json', 'The body is not valid JSON.')
  return new PillarboxError('internal', 'unexpected', { cause: error })
}
