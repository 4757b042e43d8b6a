import type { NewEvent } from '../../model/event.ts'
import type { EventStore } from '../../plan/event-store.ts'
import { NEW_EVENT } from '../shared/new-rows.ts'
import { columnArrays, givenColumns, plainArray, storable } from './arrays.ts'
import { grouped } from './group.ts'
import type { Session } from './session.ts'

/** Writing events. Concurrent calls share a commit; one that is refused spoils no other. */
export function openEvents(intake: Session): Pick<EventStore, 'insert'> {
  return { insert: grouped((events: readonly NewEvent[]) => insertEvents(intake, events)) }
}

/**
 * Planned in the order they were given, which is not that of the rows: the last has this moment for its time, those
 * before it a microsecond less each.
 */
const GIVEN = givenColumns(NEW_EVENT)
const FOLLOWERS = `$${Object.keys(NEW_EVENT).length + 1}::int[]`
const INSERT = `
  insert into pillarbox.events (${GIVEN.names}, next_attempt_at, created_at)
  select ${GIVEN.selected}, now() - followers * interval '1 microsecond', now() - followers * interval '1 microsecond'
  from unnest(${GIVEN.arrays}, ${FOLLOWERS}) as given (${GIVEN.names}, followers)
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
    values: [...columnArrays(NEW_EVENT, events), plainArray(sorted.map(([, i]) => given.length - 1 - i))],
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
