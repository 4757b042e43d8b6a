import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Fixture } from '../../packages/pillarbox/src/http/fixture.ts'
import { documentedPath } from '../../packages/pillarbox/src/http/openapi-operations.ts'
import type { RouteEntry } from '../../packages/pillarbox/src/http/operation.ts'
import { withoutReferences } from './openapi-document.ts'

interface Answered {
  method: string
  url: string
  status: number
  type: string
  /** Of a problem: its code, where the body was seen. */
  code?: string | undefined
}

interface Documented {
  paths: Record<string, Record<string, { responses: Record<string, { content?: Record<string, object> }> }>>
}

/** The same for the apps of a process, unless one has a route of its own, and takes a while to make. */
let document: Documented | undefined

/**
 * Holds every answer of an app against its OpenAPI document: a status, content type or problem that the document does not
 * have fails the call that got it, and where the call came over a socket, `app.close()`.
 */
export function holdToDocument(app: Fixture['app']): void {
  const undocumented: string[] = []
  const inject = app.inject.bind(app) as unknown as (options: object) => Promise<Injected>
  app.inject = (async (options: { method?: string; url: string }) => {
    const answer = await inject(options)
    const { statusCode: status, headers, body } = answer
    const type = mediaType(headers['content-type'])
    // The body of an answer that is taken as a stream is not here yet.
    const isProblem = type === 'application/problem+json' && typeof body === 'string'
    const problem = isProblem ? (JSON.parse(body) as { code: string }) : undefined
    const fault = faultOf(app, { method: options.method ?? 'GET', url: options.url, status, type, code: problem?.code })
    assert.equal(fault, null)
    return answer
  }) as unknown as typeof app.inject
  app.server.on('request', ({ method = '', url = '' }: IncomingMessage, response: ServerResponse) => {
    response.once('finish', () => {
      const type = mediaType(response.getHeader('content-type'))
      const fault = faultOf(app, { method, url, status: response.statusCode, type })
      if (fault !== null) undocumented.push(fault)
    })
  })
  const close = app.close.bind(app)
  app.close = (async () => {
    await close()
    assert.deepEqual(undocumented, [])
  }) as typeof app.close
}

interface Injected {
  statusCode: number
  headers: Record<string, unknown>
  body: string
}

/** Null where the document has it, or where no route answered. */
function faultOf(app: Fixture['app'], { method, url, status, type, code }: Answered): string | null {
  const route = routeOf(app.routeTable, method, url.split('?', 1)[0] ?? '')
  if (!route || route.operationId === null) return null
  const path = documentedPath(route.url)
  if (document?.paths[path] === undefined) document = withoutReferences(app.swagger() as unknown as Documented)
  const response = document.paths[path]?.[method.toLowerCase()]?.responses[status]
  const what = `${method} ${route.url} answered ${status} ${type} ${code ?? ''}`.trim()
  if (!response) return `${what}: the document does not have this status`
  if (type !== '' && !(type in (response.content ?? {}))) return `${what}: the document does not have this content type`
  const isKnown = code === undefined || (route.problems as readonly string[]).includes(code)
  return isKnown ? null : `${what}: the operation does not name this problem`
}

/** The one with the fewest parameters goes before the others, as in the router. */
function routeOf(routes: readonly RouteEntry[], method: string, path: string): RouteEntry | undefined {
  const given = path.split('/')
  const parameters = ({ url }: RouteEntry): number => url.split(':').length
  return routes
    .filter(({ method: taken, url }) => {
      const parts = url.split('/')
      const isPart = (part: string, i: number): boolean => part.startsWith(':') || part === given[i]
      return taken === method && parts.length === given.length && parts.every(isPart)
    })
    .toSorted((a, b) => parameters(a) - parameters(b))[0]
}

function mediaType(header: unknown): string {
  return typeof header === 'string' ? header.replace(/;.*$/, '') : ''
}
