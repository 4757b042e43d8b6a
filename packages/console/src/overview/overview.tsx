import { SegmentedControl, Stack, Title, VisuallyHidden } from '@mantine/core'
import type { Cause, Kpis } from '@pillarbox/client'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { get } from '../app/api.ts'
import { type Scope, useScope } from '../app/session.ts'
import { Loading, Trouble } from '../parts/blank.tsx'
import { Panel } from '../parts/panel.tsx'
import { ByChannel } from './by-channel.tsx'
import { Chart } from './chart.tsx'
import { FirstRun } from './first-run.tsx'
import { NeedsYou } from './needs-you.tsx'
import { boundsOf, RANGES, type Range, rangeOf } from './ranges.ts'
import { Tiles } from './tiles.tsx'

/** How much waits, how much went out, and what needs somebody. */
export function Overview() {
  const scope = useScope()
  const { last, as } = useSearch({ from: '/shell/' })
  const navigate = useNavigate({ from: '/' })
  const range = rangeOf(last)
  const kpis = useKpis(scope, range)
  const causes = useCauses(scope)
  const { data: now } = useQuery<Kpis['total']>({ queryKey: ['now', scope.tenantId], enabled: false })

  if (!kpis.data) return kpis.error ? <Trouble error={kpis.error} retry={() => void kpis.refetch()} /> : <Loading />
  const total = { ...kpis.data.total, ...now }
  return (
    <Stack gap="md">
      <Title order={1}>Overview</Title>
      {kpis.error && <Trouble error={kpis.error} retry={() => void kpis.refetch()} />}
      <Tiles total={total} />
      <FirstRun kpis={kpis.data} scope={scope} />
      <NeedsYou causes={causes.data?.items ?? null} error={causes.error} />
      <Panel
        title={`Throughput, ${range.words}`}
        aside={
          <>
            <SegmentedControl
              size="xs"
              aria-label="Show as"
              value={as ?? 'chart'}
              data={[
                { value: 'chart', label: 'Chart' },
                { value: 'table', label: 'Table' },
              ]}
              onChange={(value) =>
                void navigate({ search: (old) => ({ ...old, as: value === 'table' ? 'table' : undefined }) })
              }
            />
            <SegmentedControl
              size="xs"
              aria-label="Range"
              value={range.name}
              data={RANGES.map(({ name, words }) => ({
                value: name,
                label: (
                  <>
                    {name}
                    <VisuallyHidden>: {words}</VisuallyHidden>
                  </>
                ),
              }))}
              onChange={(value) =>
                void navigate({ search: (old) => ({ ...old, last: value === '1h' ? undefined : value }) })
              }
            />
          </>
        }
      >
        <div className="inside">
          <Chart steps={kpis.data.total.series ?? []} isTable={as === 'table'} />
        </div>
      </Panel>
      <ByChannel scope={scope} range={range} />
    </Stack>
  )
}

function useKpis(scope: Scope, range: Range) {
  return useQuery({
    queryKey: ['live', 'kpis', scope.tenantId, range.name],
    queryFn: () => get<Kpis>('/api/kpis', { ...scope.query, ...boundsOf(range), step: range.step }),
    enabled: scope.tenantId !== null,
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  })
}

function useCauses({ tenantId, query }: Scope) {
  return useQuery({
    queryKey: ['live', 'causes', tenantId],
    queryFn: () => get<{ items: Cause[] }>('/api/notifications/causes', { ...query, status: ['parked', 'uncertain'] }),
    enabled: tenantId !== null,
    refetchInterval: 30_000,
  })
}
