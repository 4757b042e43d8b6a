import type { EventRow } from './check-event.ts'
import type { Parameter, Transaction } from './transaction.ts'

export interface Statement {
  sql: string
  parameters: Parameter[]
}

/** Columns in the order of their parameters, with what PostgreSQL makes of the bound text. */
const COLUMNS = [
  ['tenant_id', 'text'],
  ['id', 'text'],
  ['type', 'text'],
  ['entity_type', 'text'],
  ['entity_id', 'text'],
  ['payload', 'json'],
  ['occurred_at', 'timestamptz'],
  ['due_at', 'timestamptz'],
  ['correlation_id', 'text'],
  ['locale', 'text'],
  ['recipients', 'json'],
  ['channels', 'json'],
  ['conversation', 'json'],
  ['schema_version', 'integer'],
] as const

const NAMES = COLUMNS.map(([name]) => name).join(', ')

// Everything is bound as text and cast here: left to themselves, some drivers would encode JSON text as JSON once more,
// and each has its own idea of times and arrays. PostgreSQL fills created_at and next_attempt_at from its own clock.
const POSTGRES_ONE = `insert into pillarbox.events (${NAMES}) values (${COLUMNS.map(([, type], index) =>
  type === 'text' ? `$${index + 1}::text` : `$${index + 1}::text::${type}`,
).join(', ')}) on conflict (tenant_id, id) do nothing`

const POSTGRES_MANY = `insert into pillarbox.events (${NAMES}) select ${COLUMNS.map(([name, type]) =>
  type === 'text' ? `given.${name}` : `given.${name}::${type}`,
).join(
  ', ',
)} from unnest(${COLUMNS.map((_, index) => `$${index + 1}::text::text[]`).join(', ')}) as given(${NAMES}) on conflict (tenant_id, id) do nothing`

const SQLITE_TIMES = 'created_at, next_attempt_at'
const SQLITE_ONE = `insert into pillarbox_events (${NAMES}, ${SQLITE_TIMES}) values (${COLUMNS.map(() => '?').join(', ')}, ?, ?) on conflict (tenant_id, id) do nothing`

// "where true" keeps SQLite's parser from taking "on conflict" for a join condition.
const SQLITE_MANY = `insert into pillarbox_events (${NAMES}, ${SQLITE_TIMES}) select ${COLUMNS.map((_, index) => `json_extract(value, '$[${index}]')`).join(', ')}, ?, ? from json_each(?) where true on conflict (tenant_id, id) do nothing`

/** One event; a known (tenant, id) writes nothing. `now` is the host's time, which only SQLite is told. */
export function insertEvent(engine: Transaction['engine'], row: EventRow, now: number): Statement {
  return engine === 'postgres'
    ? { sql: POSTGRES_ONE, parameters: postgresValues(row) }
    : { sql: SQLITE_ONE, parameters: [...valuesOf(row, asNumber), now, now] }
}

const MAX_ROWS = 1_000
const MAX_CHARACTERS = 16 * 1024 * 1024

/**
 * Several events in one statement, or in a few where they are more than 1,000 or very large. They go in by key, so that
 * two transactions which write some of the same ids wait for each other instead of deadlocking.
 */
export function insertEvents(engine: Transaction['engine'], rows: readonly EventRow[], now: number): Statement[] {
  const sorted = rows.toSorted((a, b) => compare(a.tenantId, b.tenantId) || compare(a.id, b.id))
  return chunks(sorted).map((chunk) =>
    engine === 'postgres'
      ? { sql: POSTGRES_MANY, parameters: columnArrays(chunk) }
      : { sql: SQLITE_MANY, parameters: [now, now, JSON.stringify(chunk.map((row) => valuesOf(row, asNumber)))] },
  )
}

function valuesOf(row: EventRow, instant: (ms: number) => Parameter): Parameter[] {
  return [
    row.tenantId,
    row.id,
    row.type,
    row.entityType,
    row.entityId,
    row.payload,
    row.occurredAt === null ? null : instant(row.occurredAt),
    row.dueAt === null ? null : instant(row.dueAt),
    row.correlationId,
    row.locale,
    row.recipients,
    row.channels,
    row.conversation,
    row.schemaVersion,
  ]
}

/** As text throughout, which is what the statements cast from. */
function postgresValues(row: EventRow): (string | null)[] {
  return valuesOf(row, isoText).map((value) => (typeof value === 'number' ? String(value) : value))
}

function isoText(ms: number): string {
  return new Date(ms).toISOString()
}

function asNumber(ms: number): number {
  return ms
}

function columnArrays(rows: readonly EventRow[]): string[] {
  const values = rows.map(postgresValues)
  return COLUMNS.map((_, index) => `{${values.map((row) => arrayElement(row[index] ?? null)).join(',')}}`)
}

/** An element of PostgreSQL's array text, quoted: https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO */
function arrayElement(value: string | null): string {
  return value === null ? 'NULL' : `"${value.replace(/["\\]/g, '\\$&')}"`
}

function chunks(rows: readonly EventRow[]): EventRow[][] {
  const result: EventRow[][] = []
  let characters = 0
  for (const row of rows) {
    const size = row.payload.length + (row.recipients?.length ?? 0)
    const last = result.at(-1)
    if (last === undefined || last.length >= MAX_ROWS || characters + size > MAX_CHARACTERS) {
      result.push([row])
      characters = size
    } else {
      last.push(row)
      characters += size
    }
  }
  return result
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
