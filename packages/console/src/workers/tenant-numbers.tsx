import type { Kpis } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { get } from '../app/api.ts'
import { useTenants } from '../app/session.ts'
import { count } from '../overview/tiles.tsx'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { Heads } from '../parts/heads.tsx'
import { Panel } from '../parts/panel.tsx'
import { span } from '../parts/when.tsx'

/** Each tenant in one line; its name leads to its own overview. */
export function TenantNumbers() {
  const { data: tenants } = useTenants(true)
  const { data, error } = useQuery({
    queryKey: ['live', 'kpis-by-tenant'],
    queryFn: () => get<Kpis>('/ops/kpis', { by: 'tenantId' }),
    refetchInterval: 15_000,
  })
  const numbers = new Map((data?.groups ?? []).map((group) => [group.tenantId, group]))
  return (
    <Panel title="Tenants">
      {!data || !tenants ? (
        error ? (
          <Trouble error={error} />
        ) : (
          <Loading lines={3} />
        )
      ) : tenants.items.length === 0 ? (
        <Blank title="There is no tenant yet">
          Make one with <span className="mono">POST /ops/tenants</span>.
        </Blank>
      ) : (
        <table className="rows cards">
          <Heads names={['tenant', 'queue', 'scheduled', 'stuck', 'parked', 'uncertain', 'oldest']} />
          <tbody>
            {tenants.items.map(({ id, name }) => {
              const group = numbers.get(id)
              const oldest = group?.oldestPendingAgeSeconds ?? null
              return (
                <tr key={id}>
                  <td data-wide="">
                    <Link to="/" search={{ tenant: id }} data-row="">
                      {name === id ? id : `${name} (${id})`}
                    </Link>
                  </td>
                  <td data-label="queue">{count(group?.queueDepth ?? 0)}</td>
                  <td data-label="scheduled">{count(group?.scheduledDepth ?? 0)}</td>
                  <Alarming label="stuck" number={group?.stuckCount ?? 0} />
                  <Alarming label="parked" number={group?.parkedCount ?? 0} />
                  <Alarming label="uncertain" number={group?.uncertainCount ?? 0} />
                  <td data-label="oldest">{oldest === null ? '–' : span(oldest * 1_000)}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      )}
    </Panel>
  )
}

function Alarming({ label, number }: { label: string; number: number }) {
  return (
    <td data-label={label} style={number > 0 ? { color: 'var(--pbx-bad)', fontWeight: 600 } : undefined}>
      {count(number)}
    </td>
  )
}
