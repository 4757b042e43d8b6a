import { Group, Stack, Text, Title } from '@mantine/core'
import type { NotificationDetail } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { get } from '../app/api.ts'
import { useScope } from '../app/session.ts'
import { Loading, Trouble } from '../parts/blank.tsx'
import { Panel } from '../parts/panel.tsx'
import { meaningOf, State } from '../parts/state.tsx'
import { addressOf, channelWord } from '../parts/to.tsx'
import { Acts } from './acts.tsx'
import { Answers } from './answers.tsx'
import { AuditTrail } from './audit-trail.tsx'
import { Content } from './content.tsx'
import { Facts } from './facts.tsx'
import { storyOf } from './story.ts'
import { Timeline } from './timeline.tsx'

/** One notification: how it came about, where it stands, and what can be done about it. */
export function Notification() {
  const { id } = useParams({ from: '/shell/notifications/$id' })
  const scope = useScope()
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'notification', id, scope.tenantId],
    queryFn: () => get<NotificationDetail>(`/api/notifications/${encodeURIComponent(id)}`, scope.query),
    enabled: scope.tenantId !== null,
    refetchInterval: 30_000,
  })
  if (!data) return error ? <Trouble error={error} retry={() => void refetch()} /> : <Loading />
  return (
    <Stack gap="md">
      <Text size="sm">
        <Link to="/notifications">Notifications</Link>
      </Text>
      <Group justify="space-between" align="start">
        <div>
          <Title order={1} style={{ overflowWrap: 'anywhere' }}>
            {capital(channelWord(data.channel))} to {addressOf(data.to, data.channel)}
          </Title>
          <Group gap="xs" mt={4}>
            <State status={data.status} />
            <Text c="dimmed">{meaningOf(data.status)}</Text>
          </Group>
        </div>
        <Acts notification={data} scope={scope} />
      </Group>
      {error && <Trouble error={error} retry={() => void refetch()} />}
      {data.lastError !== null && (
        <Text style={{ color: 'var(--pbx-bad)', overflowWrap: 'anywhere' }}>{data.lastError}</Text>
      )}
      <div className="two">
        <Stack gap="md">
          <Panel title="What happened">
            <div className="inside">
              <Timeline steps={storyOf(data)} />
            </div>
          </Panel>
          <Answers attempts={data.attempts} />
          <AuditTrail audit={data.audit} />
        </Stack>
        <Stack gap="md">
          <Panel title="As the recipient sees it">
            <div className="inside">
              <Content notification={data} scope={scope} />
            </div>
          </Panel>
          <Panel title="Facts">
            <div className="inside">
              <Facts notification={data} />
            </div>
          </Panel>
        </Stack>
      </div>
    </Stack>
  )
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}
