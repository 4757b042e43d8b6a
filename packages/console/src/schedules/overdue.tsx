import type { Schedule } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { get, type PageOf } from '../app/api.ts'
import { firstFound } from '../app/first-found.ts'
import type { Scope } from '../app/session.ts'
import { Panel } from '../parts/panel.tsx'
import { exact, useZone } from '../parts/when.tsx'
import { ScheduleTable } from './agenda.tsx'
import { isOverdue } from './schedule-words.tsx'

/** What should have been told by now and was not, with the cause: before everything else, however old it is. */
export function Overdue({ scope, eventType }: { scope: Scope; eventType: string | undefined }) {
  const zone = useZone()
  const { data } = useQuery({
    queryKey: ['live', 'schedules', 'overdue', scope.tenantId, eventType],
    queryFn: () =>
      firstFound((cursor) =>
        get<PageOf<Schedule>>('/api/automation-schedules', {
          ...scope.query,
          status: ['pending', 'awaiting_approval'],
          due: 'past',
          eventType,
          cursor,
        }),
      ),
    refetchInterval: 10_000,
  })
  const now = Date.now()
  const late = (data?.items ?? [])
    .filter((schedule) => isOverdue(schedule, now))
    .toSorted((a, b) => Date.parse(a.dueAt) - Date.parse(b.dueAt))
  if (late.length === 0) return null
  return (
    <Panel title={`Overdue: ${late.length}${data?.nextCursor ? '+' : ''}`}>
      <ScheduleTable schedules={late} scope={scope} now={now} timeOf={({ dueAt }) => exact(dueAt, zone)} isExact />
    </Panel>
  )
}
