import { Group, NativeSelect, Stack, TextInput, Title } from '@mantine/core'
import type { EventView } from '@pillarbox/client'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { useScope } from '../app/session.ts'
import { Blank } from '../parts/blank.tsx'
import { Heads } from '../parts/heads.tsx'
import { PagedList, usePaged } from '../parts/paged.tsx'
import { isStatus, State } from '../parts/state.tsx'
import { When } from '../parts/when.tsx'

/** What was published, and what came of it. */
export function Events() {
  const scope = useScope()
  const { type, status } = useSearch({ from: '/shell/events' })
  const navigate = useNavigate({ from: '/events' })
  const [text, setText] = useState(type ?? '')
  const list = usePaged<EventView>('/api/events', scope, { type, status }, { everyMs: 10_000 })
  const narrow = (changes: { type?: string | undefined; status?: string | undefined }): void =>
    void navigate({ search: (old) => ({ ...old, ...changes }), replace: true })
  return (
    <Stack gap="md">
      <Title order={1}>Events</Title>
      <Group gap="xs" align="end" role="search">
        <form
          onSubmit={(event) => {
            event.preventDefault()
            narrow({ type: text.trim() || undefined })
          }}
        >
          <TextInput
            label="Type"
            placeholder="booking.confirmed"
            value={text}
            onChange={({ currentTarget }) => setText(currentTarget.value)}
            onBlur={() => text.trim() !== (type ?? '') && narrow({ type: text.trim() || undefined })}
            data-filter=""
          />
        </form>
        <NativeSelect
          label="State"
          value={status ?? ''}
          data={[
            { value: '', label: 'any' },
            { value: 'pending', label: 'not planned yet' },
            { value: 'published', label: 'planned' },
            { value: 'failed', label: 'failed' },
          ]}
          onChange={({ currentTarget }) => narrow({ status: currentTarget.value || undefined })}
        />
      </Group>
      <section className="panel" aria-label="Found">
        <PagedList
          list={list}
          blank={
            <Blank title={type || status ? 'None match' : 'No event yet'}>
              An event is a fact of your own system, such as a booking that was confirmed. Publish it in the transaction
              that makes it true, or with <span className="mono">POST /api/events</span>.
            </Blank>
          }
        >
          {(events) => <EventTable events={events} />}
        </PagedList>
      </section>
    </Stack>
  )
}

function EventTable({ events }: { events: readonly EventView[] }) {
  return (
    <table className="rows cards">
      <Heads names={['event', 'about', 'state', 'published', 'what came of it']} />
      <tbody>
        {events.map(({ id, type, entity, status, createdAt, lastError, counts }) => (
          <tr key={id}>
            <td>
              <Link to="/events/$id" params={{ id }} data-row="">
                {type}
              </Link>
            </td>
            <td>
              {entity.type} {entity.id}
            </td>
            <td style={status === 'failed' ? { color: 'var(--pbx-bad)', fontWeight: 600 } : undefined}>
              {EVENT_WORDS[status]}
              {lastError !== null && <span className="clip">{lastError}</span>}
            </td>
            <td>
              <When at={createdAt} />
            </td>
            <td>
              <Counts counts={counts} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

export const EVENT_WORDS = { pending: '○ not planned yet', published: '✓ planned', failed: '✕ failed' }

export function Counts({ counts }: { counts: Record<string, number> }) {
  const some = Object.entries(counts).filter(([status, number]) => number > 0 && isStatus(status))
  if (some.length === 0) return <span style={{ color: 'var(--mantine-color-dimmed)' }}>nothing yet</span>
  return (
    <Group gap="sm">
      {some.map(([status, number]) => (
        <span key={status} className="count">
          {number} <State status={status} />
        </span>
      ))}
    </Group>
  )
}
