import type { Session, Tenant } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { useRouterState } from '@tanstack/react-router'
import { get, type PageOf, type Query } from './api.ts'

/** Once in a while the session is asked for, by which its secret is exchanged. */
const ASK_EVERY_MS = 15 * 60_000

export function useSession() {
  return useQuery({
    queryKey: ['session'],
    queryFn: () => get<Session>('/api/session'),
    refetchInterval: ASK_EVERY_MS,
    staleTime: ASK_EVERY_MS,
    retry: false,
  })
}

/** The tenants that an ops session may look at; nobody else asks. */
export function useTenants(isOps: boolean) {
  return useQuery({
    queryKey: ['tenants'],
    queryFn: () => get<PageOf<Tenant>>('/ops/tenants', { limit: 200 }),
    enabled: isOps,
    staleTime: 60_000,
  })
}

/** Which tenant the page is about, and what every request has to say of it. */
export interface Scope {
  tenantId: string | null
  query: Query
}

/** Of an ops session the address says it; everybody else has one. */
export function useScope(): Scope {
  const { data: session } = useSession()
  const chosen = useRouterState({ select: ({ location }) => (location.search as { tenant?: string }).tenant })
  const isOps = session?.tenantId === null
  const { data: tenants } = useTenants(isOps)
  if (!session) return { tenantId: null, query: {} }
  if (session.tenantId !== null) return { tenantId: session.tenantId, query: {} }
  const known = tenants?.items ?? []
  const tenantId = chosen ?? known.find(({ id }) => id === 'demo')?.id ?? known[0]?.id ?? null
  return { tenantId, query: { tenantId } }
}

const CAN_ACT = ['operator', 'admin', 'ops']

/** Whether whoever looks may do something about what they see. The server decides; the page only says so beforehand. */
export function useCanAct(): boolean {
  const { data } = useSession()
  return data !== undefined && CAN_ACT.includes(data.role)
}

const CAN_CONFIGURE = ['admin', 'ops']

/** Whether whoever looks may change accounts, templates and the catalogue. */
export function useCanConfigure(): boolean {
  const { data } = useSession()
  return data !== undefined && CAN_CONFIGURE.includes(data.role)
}
