import type { Schedule } from '@pillarbox/client'
import type { Scope } from '../app/session.ts'
import { Trouble } from '../parts/blank.tsx'
import { Heads } from '../parts/heads.tsx'
import { type Look, Mark, SHAPES } from '../parts/mark.tsx'
import { usePaged } from '../parts/paged.tsx'
import { Panel } from '../parts/panel.tsx'
import { At, When } from '../parts/when.tsx'
import type { EntityQuery } from './entity-notifications.tsx'

const LOOKS: Record<Schedule['status'], Look> = {
  awaiting_approval: { tone: 'warn', shape: SHAPES.hand, means: 'Somebody has to approve it.' },
  pending: { tone: 'busy', shape: SHAPES.clock, means: 'It waits for its time.' },
  completed: { tone: 'good', shape: SHAPES.tick, means: 'Its notifications were made.' },
  failed: { tone: 'bad', shape: SHAPES.cross, means: 'Nothing could be made of it.' },
  cancelled: { tone: 'calm', shape: SHAPES.dash, means: 'It will not be.' },
}

/** What is to be told, and when. */
export function EntitySchedules({ of, scope }: { of: EntityQuery; scope: Scope }) {
  const list = usePaged<Schedule>('/api/automation-schedules', scope, { ...of })
  if (list.error) return <Trouble error={list.error} />
  if (!list.items || list.items.length === 0) return null
  return (
    <Panel title="Schedules">
      <table className="rows cards">
        <Heads names={['state', 'event', 'due', 'exactly', 'why']} />
        <tbody>
          {list.items.map(({ id, status, eventType, dueAt, lastError }) => (
            <tr key={id}>
              <td>
                <Mark look={LOOKS[status]} word={status.replaceAll('_', ' ')} />
              </td>
              <td>{eventType}</td>
              <td>
                <When at={dueAt} />
              </td>
              <td>
                <At at={dueAt} />
              </td>
              <td data-wide="">{lastError}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  )
}
