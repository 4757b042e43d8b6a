import { Group, Stack, Text, Title } from '@mantine/core'
import type { Operation as OperationOf } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { get } from '../app/api.ts'
import { useScope } from '../app/session.ts'
import { Loading, Trouble } from '../parts/blank.tsx'
import { Panel } from '../parts/panel.tsx'
import { At, When } from '../parts/when.tsx'
import { OperationItems } from './operation-items.tsx'
import { actionWord, isOver, OperationState, operationMeaning, Progress } from './operation-words.tsx'
import { Steering } from './steering.tsx'

const WATCH_MS = 1_000
const REST_MS = 15_000

/** One operation: how far it is, what it left alone, and a hand on it while it runs. */
export function Operation() {
  const { id } = useParams({ from: '/shell/operations/$id' })
  const scope = useScope()
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'operation', id, scope.tenantId],
    queryFn: () => get<OperationOf>(`/api/operations/${encodeURIComponent(id)}`, scope.query),
    enabled: scope.tenantId !== null,
    refetchInterval: ({ state }) => (state.data && isOver(state.data) ? REST_MS : WATCH_MS),
  })
  if (!data) return error ? <Trouble error={error} retry={() => void refetch()} /> : <Loading />
  return (
    <Stack gap="md">
      <Text size="sm">
        <Link to="/operations">Operations</Link>
      </Text>
      <Group justify="space-between" align="start">
        <div>
          <Title order={1}>
            {actionWord(data)} {data.total.toLocaleString('en')} notification{data.total === 1 ? '' : 's'}
          </Title>
          <Group gap="xs" mt={4}>
            <OperationState status={data.status} />
            <Text c="dimmed">{operationMeaning(data.status)}</Text>
          </Group>
        </div>
        <Steering operation={data} scope={scope} />
      </Group>
      {error && <Trouble error={error} retry={() => void refetch()} />}
      {data.problem !== null && (
        <Text style={{ color: 'var(--pbx-bad)', overflowWrap: 'anywhere' }}>{data.problem}</Text>
      )}
      <div className="two">
        <Stack gap="md">
          <Panel title="How far">
            <div className="inside">
              <Progress operation={data} />
            </div>
          </Panel>
          <OperationItems operation={data} scope={scope} />
        </Stack>
        <Panel title="Facts">
          <div className="inside">
            <OperationFacts operation={data} />
          </div>
        </Panel>
      </div>
    </Stack>
  )
}

function OperationFacts({ operation }: { operation: OperationOf }) {
  const { id, by, note, startedAt, endedAt, graceUntil, status, pace, canary } = operation
  const facts: Record<string, ReactNode> = {
    'started by': by,
    note,
    started: <At at={startedAt} />,
    begins: status === 'grace' && graceUntil !== null ? <When at={graceUntil} /> : null,
    ended: endedAt && <At at={endedAt} />,
    'first try': canary > 0 ? `${canary}, the rest once these are sent` : null,
    pace: pace ? `at most ${pace.perSecond} per second` : 'as fast as the accounts take them',
    id: <span className="mono">{id}</span>,
  }
  return (
    <dl className="facts">
      {Object.entries(facts)
        .filter(([, value]) => value !== null && value !== '')
        .map(([name, value]) => (
          <div key={name} style={{ display: 'contents' }}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}
