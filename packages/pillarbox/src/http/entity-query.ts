import { type TSchema, Type } from 'typebox'
import { PillarboxError } from '../model/errors.ts'
import type { Store } from '../store/store.ts'

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
    entityType: Type.Optional(Type.String({ maxLength: 63 })),
    entityId: Type.Optional(Type.String({ maxLength: 200 })),
    ...parameters,
  }
  const ownIds = Object.keys(named).filter((name) => name.endsWith('Id'))
  const taken = [...ownIds, ...notEntities.map((name) => `${name}Id`)]
  const schema = Type.Object(named, {
    additionalProperties: false,
    patternProperties: {
      [`^(?!(?:${taken.join('|')})$)[A-Za-z][\\w-]{0,62}Id$`]: { type: 'string', maxLength: 200 },
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
    /** The same, where a `<entityType>Id` that the tenant's catalogue does not know is refused. */
    async knownEntityOf(query: object, tenantId: string, store: Pick<Store, 'catalogue'>): Promise<EntityFilter> {
      const name = shorthand(query)
      const filter = entityOf(query)
      if (name !== null && !(await isEntityType(store, tenantId, name.slice(0, -2))))
        throw invalidQuery(name, 'is not a known parameter, nor the id of an entity of the catalogue')
      return filter
    },
  }
}

/** An entity type may be listed among the catalogue's entities, or only be named by an event type. */
async function isEntityType({ catalogue }: Pick<Store, 'catalogue'>, tenantId: string, type: string): Promise<boolean> {
  if (Object.hasOwn(await catalogue.entities(tenantId), type)) return true
  return (await catalogue.eventTypes(tenantId)).some(({ entity }) => entity === type)
}

export function invalidQuery(path: string, message: string): PillarboxError {
  return new PillarboxError('invalid_query', `${path} ${message}.`, { errors: [{ path, message }] })
}
