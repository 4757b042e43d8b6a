import { createHash } from 'node:crypto'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { CONSOLE_FILES } from './console-pages.ts'
import { describeOperations, type OpenApiDocument, pathParameters, TAG_DESCRIPTIONS } from './openapi-operations.ts'

const DOCS = '/docs'

/**
 * True for the routes that are no part of the API: those that plugins bring, which are the documentation page's and the one by
 * which browsers ask whether a page of another origin may call; and the files of the console. None carries a secret.
 */
export function isPluginRoute(url: string): boolean {
  return url === '*' || url === DOCS || url.startsWith(`${DOCS}/`) || url === CONSOLE_FILES
}

/** Collects the document from the routes' own schemas. Registered before any route. */
export async function collectOpenApi(app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Pillarbox',
        version,
        description: 'A notification outbox. Times are UTC in ISO 8601, durations are ISO 8601, ids are UUIDv7.',
        contact: { name: 'The operator of this server' },
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/', description: 'The server that answered this document.' }],
      tags: TAG_DESCRIPTIONS,
    },
    transform: ({ schema, url }) => ({ schema: { ...schema, ...pathParameters(url) }, url }),
    transformObject: (documents) =>
      describeOperations(
        (documents as unknown as { openapiObject: OpenApiDocument }).openapiObject,
        app.routeTable,
      ) as never,
  })
}

/**
 * The page at `/docs` and the document at `/openapi.json`. Both are open: they say nothing about any tenant. Anybody may
 * ask for the document, so it is written once, and whoever has it already gets nothing.
 */
export async function serveOpenApi(app: FastifyInstance): Promise<void> {
  let made: { bytes: Buffer; etag: string } | null = null
  function document(): { bytes: Buffer; etag: string } {
    if (made) return made
    const bytes = Buffer.from(JSON.stringify(app.swagger()))
    made = { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` }
    return made
  }
  app.route({
    method: 'GET',
    url: '/openapi.json',
    config: { access: 'public' },
    schema: { hide: true },
    handler: async (request, reply) => {
      const { bytes, etag } = document()
      reply.header('etag', etag).header('cache-control', 'no-cache')
      const isKnown = request.headers['if-none-match']
        ?.split(/\s*,\s*/)
        .some((known) => known.replace(/^W\//, '') === etag)
      return isKnown ? reply.status(304).send() : reply.type('application/json').send(bytes)
    },
  })
  await app.register(swaggerUi, {
    routePrefix: DOCS,
    staticCSP: {
      'default-src': "'none'",
      'base-uri': "'none'",
      'connect-src': "'self'",
      'font-src': "'self' data:",
      'form-action': "'none'",
      'frame-ancestors': "'none'",
      'img-src': "'self' data:",
      'object-src': "'none'",
      'script-src': "'self'",
      // The page's own scripts set style attributes.
      'style-src': "'self' 'unsafe-inline'",
    },
    uiHooks: {
      // The page's own copy would be written anew for everybody who asks.
      onRequest: (request, reply, done) => {
        if (request.routeOptions.url === `${DOCS}/json`) reply.redirect('../openapi.json')
        else done()
      },
    },
    uiConfig: { deepLinking: true, persistAuthorization: false, validatorUrl: null },
  })
}
