import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify'
import { PillarboxError } from '../model/errors.ts'

/**
 * A cursor is only good for the list it came from: all that leave begin with a mark of their list's path, and one with
 * another mark is refused. Lists themselves see neither.
 */
export function bindCursors(app: FastifyInstance): void {
  app.addHook('preValidation', async (request) => {
    const query = request.query as { cursor?: unknown }
    if (!takesCursor(request.routeOptions.schema) || typeof query.cursor !== 'string') return
    const mark = markOf(request)
    if (!query.cursor.startsWith(mark)) throw foreignCursor()
    query.cursor = query.cursor.slice(mark.length)
  })
  app.addHook('preSerialization', async (request, _reply, payload) => {
    if (!takesCursor(request.routeOptions.schema) || !isPage(payload)) return payload
    return { ...payload, nextCursor: `${markOf(request)}${payload.nextCursor}` }
  })
}

export function foreignCursor(): PillarboxError {
  const message = 'is not the nextCursor of an earlier answer of this list'
  return new PillarboxError('invalid_query', `The cursor ${message}.`, { errors: [{ path: 'cursor', message }] })
}

/** Whether a route with this schema is a list. */
export function takesCursor(schema: FastifySchema | undefined): boolean {
  const query = schema?.querystring as { properties?: Record<string, unknown> } | undefined
  return query?.properties?.['cursor'] !== undefined
}

/** Of the path as it was asked for: the members of two lists are two lists. */
function markOf({ url }: FastifyRequest): string {
  const [path = ''] = url.split('?', 1)
  return createHash('sha256').update(path).digest('base64url').slice(0, 6)
}

function isPage(payload: unknown): payload is { nextCursor: string } {
  return typeof payload === 'object' && payload !== null && 'nextCursor' in payload && payload.nextCursor !== null
}
