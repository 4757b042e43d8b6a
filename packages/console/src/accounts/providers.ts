import type { Provider } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { get } from '../app/api.ts'
import type { Scope } from '../app/session.ts'

/** What accounts can be made of. */
export function useProviders(scope: Scope) {
  return useQuery({
    queryKey: ['providers', scope.tenantId],
    queryFn: () => get<{ items: Provider[] }>('/api/providers', scope.query),
    enabled: scope.tenantId !== null,
    staleTime: Number.POSITIVE_INFINITY,
  })
}
