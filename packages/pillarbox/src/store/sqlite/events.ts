import type { NewEvent } from '../../model/event.ts'
import type { EventStore } from '../../plan/event-store.ts'
import { jsonText } from '../shared/fields.ts'
import type { Connection } from './connection.ts'
import type { Connections } from './scripts.ts'

export function sqliteEvents({ connection, writer }: Connections): Pick<EventStore, 'insert'> {
  return {
    insert: (events) => writer.write((now) => events.map((event) => insertEvent(connection, event, now))),
  }
}

const INSERT = `insert into pillarbox.events
  (tenant_id, id, type, entity_type, entity_id, payload, occurred_at, due_at, correlation_id, locale, recipients, channels,
   conversation, schema_version, next_attempt_at, created_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15)
  on conflict (tenant_id, id) do nothing`

function insertEvent(connection: Connection, event: NewEvent, now: number): { id: string; duplicate: boolean } {
  const written = connection
    .prepare(INSERT)
    .run(
      event.tenantId,
      event.id,
      event.type,
      event.entity.type,
      event.entity.id,
      JSON.stringify(event.payload),
      event.occurredAt,
      event.dueAt,
      event.correlationId,
      event.locale,
      jsonText(event.recipients),
      jsonText(event.channels),
      jsonText(event.conversation),
      event.schemaVersion,
      now,
    )
  return { id: event.id, duplicate: written.changes === 0 }
}
