import type { Kpis } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { get } from '../app/api.ts'
import type { Scope } from '../app/session.ts'

type AccountNumbers = NonNullable<Kpis['groups']>[number]

/** Over so many minutes the pace is told. */
export const PACE_MINUTES = 5

/** What waits on each account, and how fast it sends at present. */
export function useAccountNumbers(scope: Scope): ReadonlyMap<string, AccountNumbers> {
  const { data } = useQuery({
    queryKey: ['live', 'account numbers', scope.tenantId],
    queryFn: () => {
      const now = Math.floor(Date.now() / 60_000) * 60_000
      const [from, to] = [new Date(now - PACE_MINUTES * 60_000), new Date(now + 60_000)].map((at) => at.toISOString())
      return get<Kpis>('/api/kpis', { ...scope.query, by: 'accountId', from, to })
    },
    enabled: scope.tenantId !== null,
    refetchInterval: 15_000,
  })
  return new Map((data?.groups ?? []).flatMap((group) => (group.accountId ? [[group.accountId, group]] : [])))
}
