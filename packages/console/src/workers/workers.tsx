import { Stack, Text, Title } from '@mantine/core'
import type { Worker } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { get } from '../app/api.ts'
import { useSession } from '../app/session.ts'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { Heads } from '../parts/heads.tsx'
import { Mark, SHAPES } from '../parts/mark.tsx'
import { Panel } from '../parts/panel.tsx'
import { channelWord } from '../parts/to.tsx'
import { When } from '../parts/when.tsx'
import { Alerts } from './alerts.tsx'
import { TenantNumbers } from './tenant-numbers.tsx'

/** The processes that send, what is wrong, and how each tenant is doing: for those who run the server. */
export function Workers() {
  const { data: session } = useSession()
  const isOps = session?.tenantId === null
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'workers'],
    queryFn: () => get<{ items: Worker[] }>('/ops/workers'),
    enabled: isOps,
    refetchInterval: 5_000,
  })
  if (!isOps)
    return (
      <Blank title="Workers are for those who run the server">
        They send for all tenants. Sign in with an ops key to see them; whether your own notifications are sent, the
        overview tells.
      </Blank>
    )
  return (
    <Stack gap="md">
      <Title order={1}>Workers</Title>
      <Panel title="Processes that send">
        {!data ? (
          error ? (
            <Trouble error={error} retry={() => void refetch()} />
          ) : (
            <Loading lines={2} />
          )
        ) : data.items.length === 0 ? (
          <Blank title="No worker lives">
            Nothing is sent. Start one: <span className="mono">pillarbox worker</span>, or{' '}
            <span className="mono">npm start</span>, which has one beside the API.
          </Blank>
        ) : (
          <WorkerTable workers={data.items} />
        )}
      </Panel>
      <Alerts />
      <TenantNumbers />
    </Stack>
  )
}

const ALIVE = { tone: 'good', shape: SHAPES.tick, means: 'It was heard of within the worker TTL.' } as const
const SILENT = {
  tone: 'bad',
  shape: SHAPES.cross,
  means: 'It says nothing. What it held is taken over by another.',
} as const

function WorkerTable({ workers }: { workers: readonly Worker[] }) {
  const versions = new Set(workers.map(({ version }) => version))
  return (
    <>
      {versions.size > 1 && (
        <Text p="sm" style={{ color: 'var(--pbx-warn)' }}>
          ▲ Workers of {versions.size} versions run at the same time: {[...versions].join(', ')}.
        </Text>
      )}
      <table className="rows cards">
        <Heads names={['state', 'where', 'version', 'sends on', 'under way', 'last beat', 'since']} />
        <tbody>
          {workers.map((worker) => (
            <tr key={worker.id}>
              <td>{worker.isAlive ? <Mark look={ALIVE} word="alive" /> : <Mark look={SILENT} word="silent" />}</td>
              <td>
                {worker.host} <span style={{ color: 'var(--mantine-color-dimmed)' }}>{worker.pid}</span>
              </td>
              <td data-label="version">{worker.version}</td>
              <td data-wide="">
                {worker.channels === null ? 'all channels' : worker.channels.map(channelWord).join(', ')}
              </td>
              <td data-label="under way">{worker.inFlight}</td>
              <td data-label="beat">
                <When at={worker.lastBeatAt} />
              </td>
              <td data-label="since">
                <When at={worker.startedAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}
