import { type TSchema, Type } from 'typebox'
import { closest } from '../model/closest.ts'
import { PillarboxError } from '../model/errors.ts'
import type { Store } from '../store/store.ts'
import { Exactly } from './schemas.ts'

/** One entity, or as much of it as a query names. */
export interface EntityFilter {
  entityType?: string
  entityId?: string
}

/**
 * The query of a list that can be narrowed to one entity: by `entityType` and `entityId`, or by `<entityType>Id`, e.g.
 * `bookingId=12345`. `notEntities` are names of fields that somebody might take for filters: as `<entityType>Id` they
 * would silently find nothing.
 */
export function entityQuery<T extends Record<string, TSchema>>(parameters: T, notEntities: readonly string[] = []) {
  const named = {
    entityType: Exactly(63, 'What they are about, such as booking.'),
    entityId: Exactly(200, 'Which one of those.'),
    ...parameters,
  }
  const ownIds = Object.keys(named).filter((name) => name.endsWith('Id'))
  const taken = [...ownIds, ...notEntities.map((name) => `${name}Id`)]
  const schema = Type.Object(named, {
    additionalProperties: false,
    patternProperties: {
      [`^(?!(?:${taken.join('|')})$)[A-Za-z][\\w-]{0,62}Id$`]: { type: 'string', minLength: 1, maxLength: 200 },
    },
  })

  /** The name of the parameter that is a `<entityType>Id`; null where there is none. */
  function shorthand(query: object): string | null {
    const [name, another] = Object.keys(query).filter((key) => key.endsWith('Id') && !ownIds.includes(key))
    if (name === undefined) return null
    if (another !== undefined || 'entityType' in query || 'entityId' in query)
      throw invalidQuery(another ?? name, 'cannot be combined with another entity')
    return name
  }

  function entityOf(query: object): EntityFilter {
    const name = shorthand(query)
    if (name !== null) return { entityType: name.slice(0, -2), entityId: String((query as never)[name]) }
    const { entityType, entityId } = query as EntityFilter
    return { ...(entityType !== undefined && { entityType }), ...(entityId !== undefined && { entityId }) }
  }

  return {
    schema,
    entityOf,
    /**
     * The same, where a `<entityType>Id` is refused that the tenant's catalogue does not know, or nobody's where no tenant
     * is named: a slip of the finger would silently find nothing. Without any catalogue there is none to compare with.
     */
    async knownEntityOf(
      query: object,
      tenantId: string | null,
      store: Pick<Store, 'catalogue'>,
    ): Promise<EntityFilter> {
      const name = shorthand(query)
      if (name === null) return entityOf(query)
      const types = await store.catalogue.entityTypes(tenantId)
      if (types.length === 0 || types.includes(name.slice(0, -2))) return entityOf(query)
      const meant = closest(name, [...Object.keys(named), ...types.map((type) => `${type}Id`)])
      const advice =
        meant === null ? 'name an entity of another type with entityType and entityId' : `did you mean ${meant}?`
      throw invalidQuery(name, `is not a known parameter, nor the id of an entity of the catalogue: ${advice}`)
    },
  }
}

export function invalidQuery(path: string, message: string): PillarboxError {
  return new PillarboxError('invalid_query', `${path} ${message}${message.endsWith('?') ? '' : '.'}`, {
    errors: [{ path, message }],
  })
}
