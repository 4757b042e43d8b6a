import type { SandboxFaults } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { get } from '../app/api.ts'
import type { Scope } from '../app/session.ts'

export function useFaults(scope: Scope) {
  return useQuery({
    queryKey: ['live', 'faults', scope.tenantId],
    queryFn: () => get<SandboxFaults>('/api/sandbox/faults', scope.query),
    enabled: scope.tenantId !== null,
    refetchInterval: 30_000,
    staleTime: 10_000,
  })
}

/** How a fault reads: what happens, and when. */
export function faultWords({
  kind,
  times,
  ratio,
  to,
  channel,
  delayMs,
  retryAfterMs,
}: SandboxFaults['items'][number]['fault']): string {
  const parts = [
    kind.replaceAll('_', ' '),
    times !== undefined && `${times} times`,
    ratio !== undefined && `${Math.round(ratio * 100)}% of calls`,
    to !== undefined && `to ${to}`,
    channel !== undefined && `on ${channel}`,
    delayMs !== undefined && `after ${delayMs} ms`,
    retryAfterMs !== undefined && `asking for ${retryAfterMs} ms`,
  ]
  return parts.filter((part) => part !== false).join(', ')
}
