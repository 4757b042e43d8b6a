import type { Store } from '../store/store.ts'

/** What a tenant's events can be about: a type may be among the catalogue's entities, or only be named by an event type. */
export async function entityTypesOf({ catalogue }: Pick<Store, 'catalogue'>, tenantId: string): Promise<string[]> {
  const types = await catalogue.eventTypes(tenantId)
  return [...new Set([...Object.keys(await catalogue.entities(tenantId)), ...types.map(({ entity }) => entity)])]
}
