import type { Schedule } from '@pillarbox/client'
import type { Scope } from '../app/session.ts'
import { Trouble } from '../parts/blank.tsx'
import { Heads } from '../parts/heads.tsx'
import { Older, usePaged } from '../parts/paged.tsx'
import { Panel } from '../parts/panel.tsx'
import { At, When } from '../parts/when.tsx'
import { ScheduleState, whyOf } from '../schedules/schedule-words.tsx'
import type { EntityQuery } from './entity-notifications.tsx'

/** What is to be told, and when. */
export function EntitySchedules({ of, scope }: { of: EntityQuery; scope: Scope }) {
  const list = usePaged<Schedule>('/api/automation-schedules', scope, { ...of })
  if (list.error) return <Trouble error={list.error} />
  if (!list.items || list.items.length === 0) return null
  const now = Date.now()
  return (
    <Panel title="Schedules">
      <table className="rows cards">
        <Heads names={['state', 'event', 'due', 'exactly', 'why']} />
        <tbody>
          {list.items.map((schedule) => (
            <tr key={schedule.id}>
              <td>
                <ScheduleState status={schedule.status} />
              </td>
              <td>{schedule.eventType}</td>
              <td>
                <When at={schedule.dueAt} />
              </td>
              <td>
                <At at={schedule.dueAt} />
              </td>
              <td data-wide="">{whyOf(schedule, now)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Older list={list} />
    </Panel>
  )
}
