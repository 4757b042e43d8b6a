import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { notifications as toasts } from '@mantine/notifications'
import type { EventDetail } from '@pillarbox/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { call, get } from '../app/api.ts'
import { useCanAct, useScope } from '../app/session.ts'
import { NotificationTable } from '../notifications/notification-table.tsx'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { Panel } from '../parts/panel.tsx'
import { At, When } from '../parts/when.tsx'
import { Counts, EVENT_WORDS } from './events.tsx'

/** One event: what was decided about it and why, and whom it told. */
export function Event() {
  const { id } = useParams({ from: '/shell/events/$id' })
  const scope = useScope()
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'event', id, scope.tenantId],
    queryFn: () => get<EventDetail>(`/api/events/${encodeURIComponent(id)}`, scope.query),
    enabled: scope.tenantId !== null,
    refetchInterval: 5_000,
  })
  if (!data) return error ? <Trouble error={error} retry={() => void refetch()} /> : <Loading />
  return (
    <Stack gap="md">
      <Text size="sm">
        <Link to="/events">Events</Link>
      </Text>
      <Group justify="space-between" align="start">
        <div>
          <Title order={1} style={{ overflowWrap: 'anywhere' }}>
            {data.type} · {data.entity.type} {data.entity.id}
          </Title>
          <Group gap="md" mt={4}>
            <Text fw={550}>{EVENT_WORDS[data.status]}</Text>
            <Counts counts={data.counts} />
            <Text c="dimmed">
              published <When at={data.createdAt} />
            </Text>
          </Group>
        </div>
        {data.status === 'failed' && <Replay id={id} />}
      </Group>
      {data.lastError !== null && (
        <Text style={{ color: 'var(--pbx-bad)', overflowWrap: 'anywhere' }}>{data.lastError}</Text>
      )}
      <div className="two">
        <Stack gap="md">
          <Panel title="What was decided, and why">
            <div className="inside">
              <Explanation event={data} />
            </div>
          </Panel>
          <Panel title="Notifications">
            {data.notifications.length === 0 ? (
              <Blank title="It told nobody">Why stands above.</Blank>
            ) : (
              <NotificationTable rows={data.notifications.map((row) => ({ ...row, hasMoved: false }))} isOfOneEvent />
            )}
          </Panel>
        </Stack>
        <Panel title="What it says">
          <div className="inside">
            <dl className="facts">
              <dt>id</dt>
              <dd className="mono">{data.id}</dd>
              {data.correlationId !== null && (
                <>
                  <dt>correlation id</dt>
                  <dd className="mono">{data.correlationId}</dd>
                </>
              )}
              {data.dueAt !== null && (
                <>
                  <dt>due</dt>
                  <dd>
                    <At at={data.dueAt} />
                  </dd>
                </>
              )}
            </dl>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
            <pre className="said mono" style={{ marginTop: 12 }} tabIndex={0}>
              {JSON.stringify(data.payload ?? null, null, 2)}
            </pre>
          </div>
        </Panel>
      </div>
    </Stack>
  )
}

function Explanation({ event: { explanation } }: { event: EventDetail }) {
  if (explanation.length === 0) return <Text c="dimmed">Nothing yet: it waits to be planned.</Text>
  return (
    <ol className="steps">
      {explanation.map(({ at, code, text, notificationId }) => (
        <li key={`${at} ${code} ${notificationId ?? text}`}>
          <span aria-hidden="true" style={{ color: 'var(--pbx-calm)', textAlign: 'center' }}>
            ●
          </span>
          <div>
            {notificationId === undefined ? (
              text
            ) : (
              <Link to="/notifications/$id" params={{ id: notificationId }}>
                {text}
              </Link>
            )}
            <div style={{ color: 'var(--mantine-color-dimmed)', fontSize: 'var(--mantine-font-size-xs)' }}>
              {code} · <At at={at} />
            </div>
          </div>
        </li>
      ))}
    </ol>
  )
}

function Replay({ id }: { id: string }) {
  const scope = useScope()
  const canAct = useCanAct()
  const queries = useQueryClient()
  const replay = useMutation({
    mutationFn: () => call('POST', `/api/events/${encodeURIComponent(id)}/replay`, scope.query),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['live'] }),
    onError: (error) => toasts.show({ color: 'red', title: 'It was not planned again', message: error.message }),
  })
  if (!canAct) return null
  return (
    <Button size="xs" onClick={() => replay.mutate()} loading={replay.isPending}>
      Plan it again
    </Button>
  )
}
