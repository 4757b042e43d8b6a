import type { Tenant } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { get } from './api.ts'
import type { Scope } from './session.ts'

/** The tenant that the page is about, with its settings. */
export function useTenant(scope: Scope) {
  return useQuery({
    queryKey: ['tenant', scope.tenantId],
    queryFn: () => get<Tenant>('/api/tenant', scope.query),
    enabled: scope.tenantId !== null,
    staleTime: 60_000,
  })
}
