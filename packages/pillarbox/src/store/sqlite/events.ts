import type { EventStore } from '../../plan/event-store.ts'
import { NEW_EVENT } from '../shared/new-rows.ts'
import { type Connections, insertText } from './scripts.ts'

export function openEvents({ connection, writer }: Connections): Pick<EventStore, 'insert'> {
  return {
    insert: (events) =>
      writer.write((now) => {
        const insert = connection.prepare(INSERT)
        return events.map((event) => {
          const written = insert.run(...COLUMNS.map(({ of }) => of(event)), now, now)
          return { id: event.id, duplicate: written.changes === 0 }
        })
      }),
  }
}

const COLUMNS = Object.values(NEW_EVENT)
const INSERT = `${insertText('events', [...Object.keys(NEW_EVENT), 'next_attempt_at', 'created_at'])}
  on conflict (tenant_id, id) do nothing`
