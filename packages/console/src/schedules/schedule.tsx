import { Group, Stack, Text, Title } from '@mantine/core'
import type { EventDetail, Schedule as ScheduleOf } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { get } from '../app/api.ts'
import { type Scope, useScope } from '../app/session.ts'
import { useTenant } from '../app/tenant.ts'
import { NotificationTable } from '../notifications/notification-table.tsx'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { Panel } from '../parts/panel.tsx'
import { At, When } from '../parts/when.tsx'
import { clockIn, dayIn, dayWords } from '../parts/zoned.ts'
import { ScheduleActs } from './schedule-acts.tsx'
import { isOverdue, ScheduleState, scheduleMeaning, whyOf } from './schedule-words.tsx'

/** One schedule: when it is due, what it came of, and what came of it. */
export function Schedule() {
  const { id } = useParams({ from: '/shell/schedules/$id' })
  const scope = useScope()
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'schedule', id, scope.tenantId],
    queryFn: () => get<ScheduleOf>(`/api/automation-schedules/${encodeURIComponent(id)}`, scope.query),
    enabled: scope.tenantId !== null,
    refetchInterval: 10_000,
  })
  if (!data) return error ? <Trouble error={error} retry={() => void refetch()} /> : <Loading />
  const why = whyOf(data, Date.now())
  const isTrouble = data.status === 'failed' || isOverdue(data, Date.now())
  return (
    <Stack gap="md">
      <Text size="sm">
        <Link to="/schedules">Schedules</Link>
      </Text>
      <Group justify="space-between" align="start">
        <div>
          <Title order={1} style={{ overflowWrap: 'anywhere' }}>
            {data.eventType} · {data.entity.type} {data.entity.id}
          </Title>
          <Group gap="xs" mt={4}>
            <ScheduleState status={data.status} />
            <Text c="dimmed">{scheduleMeaning(data.status)}</Text>
          </Group>
        </div>
        <ScheduleActs schedule={data} scope={scope} />
      </Group>
      {error && <Trouble error={error} retry={() => void refetch()} />}
      {why !== null && <Text style={isTrouble ? { color: 'var(--pbx-bad)' } : undefined}>{why}</Text>}
      <div className="two">
        <Told schedule={data} scope={scope} />
        <Panel title="Facts">
          <div className="inside">
            <ScheduleFacts schedule={data} scope={scope} />
          </div>
        </Panel>
      </div>
    </Stack>
  )
}

function ScheduleFacts({ schedule, scope }: { schedule: ScheduleOf; scope: Scope }) {
  const { data: tenant } = useTenant(scope)
  const { dueAt, eventId, attemptCount, createdAt, completedAt, approvedBy, approvedAt, progress } = schedule
  const dueMs = Date.parse(dueAt)
  const facts: Record<string, ReactNode> = {
    due: (
      <>
        <At at={dueAt} /> (<When at={dueAt} />)
      </>
    ),
    'for the tenant':
      tenant && `${dayWords(dayIn(dueMs, tenant.timeZone), '')} ${clockIn(dueMs, tenant.timeZone)} ${tenant.timeZone}`,
    event: (
      <Link to="/events/$id" params={{ id: eventId }}>
        {eventId}
      </Link>
    ),
    planned:
      progress && `${progress.planned.toLocaleString('en')} of ${progress.total.toLocaleString('en')} recipients`,
    'failed tries': attemptCount > 0 ? attemptCount : null,
    made: <At at={createdAt} />,
    completed: completedAt && <At at={completedAt} />,
    approved: approvedAt && (
      <>
        <At at={approvedAt} /> by {approvedBy}
      </>
    ),
    id: <span className="mono">{schedule.id}</span>,
  }
  return (
    <dl className="facts">
      {Object.entries(facts)
        .filter(([, value]) => value !== null && value !== undefined)
        .map(([name, value]) => (
          <div key={name} style={{ display: 'contents' }}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** Whom its event told so far. */
function Told({ schedule, scope }: { schedule: ScheduleOf; scope: Scope }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'event', schedule.eventId, scope.tenantId],
    queryFn: () => get<EventDetail>(`/api/events/${encodeURIComponent(schedule.eventId)}`, scope.query),
  })
  return (
    <Panel title="Notifications of its event">
      {!data ? (
        error ? (
          <Trouble error={error} retry={() => void refetch()} />
        ) : (
          <Loading />
        )
      ) : data.notifications.length === 0 ? (
        <Blank title={schedule.status === 'completed' ? 'It told nobody' : 'None yet'}>
          {data.explanation.at(-1)?.text ?? 'They are made when it is due.'}
        </Blank>
      ) : (
        <NotificationTable rows={data.notifications.map((row) => ({ ...row, hasMoved: false }))} isOfOneEvent />
      )}
    </Panel>
  )
}
