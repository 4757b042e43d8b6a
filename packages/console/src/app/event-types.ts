import type { EventType } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { get } from './api.ts'
import type { Scope } from './session.ts'

/** The tenant's catalogue, as lists have it. */
export interface Catalogue {
  items: EventType[]
  entities: Record<string, string>
  /** 0 before the first import. */
  version: number
}

export function useCatalogue(scope: Scope) {
  return useQuery({
    queryKey: ['live', 'catalogue', scope.tenantId],
    queryFn: () => get<Catalogue>('/api/event-types', scope.query),
    enabled: scope.tenantId !== null,
    staleTime: 30_000,
  })
}
