import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify'
import { PillarboxError } from '../model/errors.ts'
import type { Seal, SealedPlace } from '../security/seal.ts'
import { isViewer } from './masking.ts'

/**
 * A cursor is only good for the list it came from: all that leave begin with a mark of their list's path, and one with
 * another mark is refused. Lists themselves see neither. A cursor may hold the id of the last event, and a host may know
 * people by such ids: for a viewer it is sealed.
 */
export function bindCursors(app: FastifyInstance, seal: Seal): void {
  app.addHook('preValidation', async (request) => {
    const query = request.query as { cursor?: unknown }
    if (!takesCursor(request.routeOptions.schema) || typeof query.cursor !== 'string') return
    const mark = markOf(request)
    if (!query.cursor.startsWith(mark)) throw foreignCursor()
    const cursor = query.cursor.slice(mark.length)
    query.cursor = isViewer(request) ? opened(seal, cursor, request) : cursor
  })
  app.addHook('preSerialization', async (request, _reply, payload) => {
    if (!takesCursor(request.routeOptions.schema) || !isPage(payload)) return payload
    const cursor = isViewer(request) ? seal.seal(payload.nextCursor, placeOf(request)) : payload.nextCursor
    return { ...payload, nextCursor: `${markOf(request)}${cursor}` }
  })
}

function opened(seal: Seal, cursor: string, request: FastifyRequest): string {
  try {
    return seal.open(cursor, placeOf(request))
  } catch {
    throw foreignCursor()
  }
}

/** The mark ties a cursor to its list already. */
function placeOf({ caller }: FastifyRequest): SealedPlace {
  return { tenantId: caller?.key.tenantId ?? '', table: 'cursors', rowId: '' }
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
