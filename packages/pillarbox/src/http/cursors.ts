import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify'
import { Type } from 'typebox'
import { invalidBody, PillarboxError } from '../model/errors.ts'
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

/** Cursors in the body of a request, for walks that are asked for with POST. */
export interface BodyCursors {
  /** What an earlier answer to the very same request of the same key had sealed. Anything else is refused. */
  open(request: FastifyRequest, cursor: string | undefined): string | undefined
  seal(request: FastifyRequest, cursor: string | null): string | null
}

/**
 * Such a walk is put on record where it begins, and its cursor says how far it is: nobody may make one up, nor go on with it
 * in another walk, so that it is sealed for whoever asks and for everything that is asked but the cursor.
 */
export function bodyCursors(seal: Seal): BodyCursors {
  return {
    open(request, cursor) {
      if (cursor === undefined) return undefined
      try {
        return seal.open(cursor, placeInWalk(request))
      } catch {
        throw foreignBodyCursor()
      }
    },
    seal: (request, cursor) => (cursor === null ? null : seal.seal(cursor, placeInWalk(request))),
  }
}

export function foreignBodyCursor(): PillarboxError {
  return invalidBody([{ path: '/cursor', message: 'is not the nextCursor of an earlier answer to this request' }])
}

function placeInWalk(request: FastifyRequest): SealedPlace {
  const { cursor: _cursor, ...asked } = request.body as Record<string, unknown>
  const named = Object.entries(asked).sort(([a], [b]) => (a < b ? -1 : 1))
  const walk = JSON.stringify([pathOf(request), request.caller?.key.id, named])
  return { tenantId: request.tenantId, table: 'cursors', rowId: createHash('sha256').update(walk).digest('base64url') }
}

/** A sealed cursor is longer than what it seals: an event's id, or the key of a cancellation. */
export const BodyCursor = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 8_000,
    description: 'From the previous answer’s nextCursor; everything else as it was asked before.',
  }),
)

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
function markOf(request: FastifyRequest): string {
  return createHash('sha256').update(pathOf(request)).digest('base64url').slice(0, 6)
}

function isPage(payload: unknown): payload is { nextCursor: string } {
  return typeof payload === 'object' && payload !== null && 'nextCursor' in payload && payload.nextCursor !== null
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0] ?? ''
}
