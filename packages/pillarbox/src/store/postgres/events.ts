import type { NewEvent } from '../../model/event.ts'
import type { EventStore } from '../../plan/event-store.ts'
import { jsonArray, plainArray, storable, textArray } from './arrays.ts'
import { grouped } from './group.ts'
import type { Session } from './session.ts'

/** Writing events. Concurrent calls share a commit; one that is refused spoils no other. */
export function openEventInsert(intake: Session): Pick<EventStore, 'insert'> {
  return { insert: grouped((events: readonly NewEvent[]) => insertEvents(intake, events)) }
}

/**
 * Planned in the order they were given, which is not that of the rows: the last has this moment for its time, those
 * before it a microsecond less each.
 */
const INSERT = `
  insert into pillarbox.events (tenant_id, id, type, entity_type, entity_id, payload, occurred_at, due_at,
    correlation_id, locale, recipients, channels, conversation, schema_version, next_attempt_at, created_at)
  select tenant_id, id, type, entity_type, entity_id, payload, to_timestamp(occurred_ms / 1000),
    to_timestamp(due_ms / 1000), correlation_id, locale, recipients, channels, conversation, schema_version,
    now() - followers * interval '1 microsecond', now() - followers * interval '1 microsecond'
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::json[], $7::float8[], $8::float8[],
    $9::text[], $10::text[], $11::json[], $12::json[], $13::json[], $14::int[], $15::int[])
    as given (tenant_id, id, type, entity_type, entity_id, payload, occurred_ms, due_ms, correlation_id, locale,
      recipients, channels, conversation, schema_version, followers)
  on conflict (tenant_id, id) do nothing
  returning tenant_id, id`

async function insertEvents(
  { run }: Session,
  given: readonly NewEvent[],
): Promise<{ id: string; duplicate: boolean }[]> {
  const keys = given.map(({ tenantId, id }) => keyOf(tenantId, id))
  const firstAt = new Map<string, number>()
  for (const [i, key] of keys.entries()) if (!firstAt.has(key)) firstAt.set(key, i)
  // In the order of their keys: two calls with the same keys then wait for each other instead of deadlocking.
  const sorted = [...firstAt].sort(([a], [b]) => (a < b ? -1 : 1))
  const events = sorted.map(([, i]) => given[i] as NewEvent)
  const rows = await run<{ tenant_id: string; id: string }>({
    name: 'insert_events',
    text: INSERT,
    values: [
      textArray(events.map((event) => event.tenantId)),
      textArray(events.map((event) => event.id)),
      textArray(events.map((event) => event.type)),
      textArray(events.map((event) => event.entity.type)),
      textArray(events.map((event) => event.entity.id)),
      jsonArray(events.map((event) => event.payload)),
      plainArray(events.map((event) => event.occurredAt)),
      plainArray(events.map((event) => event.dueAt)),
      textArray(events.map((event) => event.correlationId)),
      textArray(events.map((event) => event.locale)),
      jsonArray(events.map((event) => event.recipients)),
      jsonArray(events.map((event) => event.channels)),
      jsonArray(events.map((event) => event.conversation)),
      plainArray(events.map((event) => event.schemaVersion)),
      plainArray(sorted.map(([, i]) => given.length - 1 - i)),
    ],
  })
  const written = new Set(rows.map((row) => keyOf(row.tenant_id, row.id)))
  return given.map(({ id }, i) => {
    const key = keys[i] as string
    return { id, duplicate: firstAt.get(key) !== i || !written.has(key) }
  })
}

/** A tenant's id has no space, so no two pairs give one key. */
function keyOf(tenantId: string, id: string): string {
  return `${tenantId} ${storable(id)}`
}
