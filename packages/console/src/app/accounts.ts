import type { Account } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { get, type PageOf } from './api.ts'
import type { Scope } from './session.ts'

/** The names of the tenant's accounts by their ids, for screens that only know the ids. */
export function useAccountNames(scope: Scope): ReadonlyMap<string, string> {
  const { data } = useQuery({
    queryKey: ['account names', scope.tenantId],
    queryFn: () => get<PageOf<Account>>('/api/channel-accounts', { ...scope.query, limit: 200 }),
    enabled: scope.tenantId !== null,
    staleTime: 60_000,
  })
  return new Map((data?.items ?? []).map(({ id, name }) => [id, name]))
}
