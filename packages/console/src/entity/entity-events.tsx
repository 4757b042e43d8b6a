import { Text } from '@mantine/core'
import type { EventDetail, EventView } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { get } from '../app/api.ts'
import type { Scope } from '../app/session.ts'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { PagedList, usePaged } from '../parts/paged.tsx'
import { Panel } from '../parts/panel.tsx'
import { At, When } from '../parts/when.tsx'
import type { EntityQuery } from './entity-notifications.tsx'

/** What was published about it, and of each event what was decided: why somebody was told, or was not. */
export function EntityEvents({ of, scope }: { of: EntityQuery; scope: Scope }) {
  const list = usePaged<EventView>('/api/events', scope, { ...of, limit: 10 })
  return (
    <Panel title="Why it was told, or not">
      <PagedList
        list={list}
        lines={3}
        blank={
          <Blank title="No event about it was published">
            Nothing was to be told. Check the type and the id in the address, or whether the application published at
            all.
          </Blank>
        }
      >
        {(events) => (
          <div className="inside">
            {events.map((event, place) => (
              <details key={event.id} open={place === 0} style={{ marginBottom: 10 }}>
                <summary>
                  <strong>{event.type}</strong>{' '}
                  <Text span c="dimmed">
                    <When at={event.createdAt} />
                  </Text>
                </summary>
                <Explanation id={event.id} scope={scope} />
              </details>
            ))}
          </div>
        )}
      </PagedList>
    </Panel>
  )
}

function Explanation({ id, scope }: { id: string; scope: Scope }) {
  const { data, error } = useQuery({
    queryKey: ['live', 'event', id, scope.tenantId],
    queryFn: () => get<EventDetail>(`/api/events/${encodeURIComponent(id)}`, scope.query),
  })
  if (!data) return error ? <Trouble error={error} /> : <Loading lines={2} />
  return (
    <ol className="steps" style={{ marginTop: 8 }}>
      {data.explanation.map(({ at, code, text }) => (
        <li key={`${at} ${code} ${text}`}>
          <span aria-hidden="true" style={{ color: 'var(--pbx-calm)', textAlign: 'center' }}>
            ●
          </span>
          <div>
            {text}
            <Text size="xs" c="dimmed">
              <At at={at} />
            </Text>
          </div>
        </li>
      ))}
    </ol>
  )
}
