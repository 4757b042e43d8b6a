import type { DerivedEvent, StoredEvent } from '../../model/event.ts'
import type { EventStore } from '../../plan/event-store.ts'
import { DERIVED_EVENT, NEW_EVENT } from '../shared/new-rows.ts'
import type { Connection } from './connection.ts'
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
const INSERT = insertOf(NEW_EVENT)

/** In the domain event's own place in the queue, and as old: what cancels or replaces goes by when it happened. */
export function insertDerived(connection: Connection, derived: DerivedEvent, domainEvent: StoredEvent): void {
  const values = Object.values(DERIVED_EVENT).map(({ of }) => of(derived))
  connection.prepare(INSERT_DERIVED).run(...values, domainEvent.nextAttemptAt, domainEvent.createdAt)
}

const INSERT_DERIVED = insertOf(DERIVED_EVENT)

function insertOf(columns: object): string {
  return `${insertText('events', [...Object.keys(columns), 'next_attempt_at', 'created_at'])}
    on conflict (tenant_id, id) do nothing`
}
