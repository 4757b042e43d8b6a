import type { CheckedEvent } from './check-event.ts'
import type { Parameter, Transaction } from './transaction.ts'

export interface Statement {
  sql: string
  parameters: Parameter[]
}

/**
 * A column, what PostgreSQL makes of the bound text, and its value: times in ms, the rest as it is stored. `shared` ones
 * are often the same for all events of a call; every event has those and its `own`, the other groups are optional.
 */
interface Column {
  name: string
  type: 'text' | 'json' | 'timestamptz' | 'integer'
  group: 'shared' | 'own' | 'correlation' | 'times' | 'overrides' | 'topic' | 'trace'
  of: (event: CheckedEvent) => Parameter
}

const COLUMNS: readonly Column[] = [
  { name: 'tenant_id', type: 'text', group: 'shared', of: (event) => event.tenantId },
  { name: 'id', type: 'text', group: 'own', of: (event) => event.id },
  { name: 'type', type: 'text', group: 'shared', of: (event) => event.type },
  { name: 'entity_type', type: 'text', group: 'shared', of: (event) => event.entity.type },
  { name: 'entity_id', type: 'text', group: 'own', of: (event) => event.entity.id },
  { name: 'payload', type: 'json', group: 'own', of: (event) => event.payloadText },
  { name: 'occurred_at', type: 'timestamptz', group: 'times', of: (event) => event.occurredAt },
  { name: 'due_at', type: 'timestamptz', group: 'times', of: (event) => event.dueAt },
  { name: 'correlation_id', type: 'text', group: 'correlation', of: (event) => event.correlationId },
  { name: 'locale', type: 'text', group: 'overrides', of: (event) => event.locale },
  { name: 'recipients', type: 'json', group: 'overrides', of: (event) => jsonText(event.recipients) },
  { name: 'channels', type: 'json', group: 'overrides', of: (event) => jsonText(event.channels) },
  { name: 'conversation', type: 'json', group: 'overrides', of: (event) => jsonText(event.conversation) },
  { name: 'schema_version', type: 'integer', group: 'overrides', of: (event) => event.schemaVersion },
  { name: 'topic', type: 'text', group: 'topic', of: (event) => event.topic },
  { name: 'traceparent', type: 'text', group: 'trace', of: (event) => event.traceparent },
]

function jsonText(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value)
}

/**
 * What most events do not have is left out, because PostgreSQL spends more on a column of an insert than on its value.
 * By groups, so that there are few statements: a host may have each of them prepared on every connection.
 */
interface Shape {
  /** The shared ones first. */
  columns: readonly Column[]
  sharedCount: number
  one: string
  many: string
  /** `many` for events that have the shared columns in common: these are bound once, as single values. */
  manyAlike: string
}

const CORRELATION_BIT = 1
const TIMES_BIT = 2
const OVERRIDES_BIT = 4
// Each apart from the others: a database that is not migrated yet has no such column, or a host no right to it, and neither
// needs one until it is used.
const TOPIC_BIT = 8
const TRACE_BIT = 16

const SHAPES: readonly Shape[] = Array.from({ length: 32 }, (_, bits) => {
  const isIn = {
    shared: false,
    own: true,
    correlation: (bits & CORRELATION_BIT) > 0,
    times: (bits & TIMES_BIT) > 0,
    overrides: (bits & OVERRIDES_BIT) > 0,
    topic: (bits & TOPIC_BIT) > 0,
    trace: (bits & TRACE_BIT) > 0,
  }
  const shared = COLUMNS.filter(({ group }) => group === 'shared')
  const rest = COLUMNS.filter(({ group }) => isIn[group])
  const columns = [...shared, ...rest]
  return {
    columns,
    sharedCount: shared.length,
    one: postgresOne(columns),
    many: postgresMany([], columns),
    manyAlike: postgresMany(shared, rest),
  }
})

// Everything is bound as text and cast here: left to themselves, some drivers would encode JSON text as JSON once more,
// and each has its own idea of times and arrays. PostgreSQL fills created_at and next_attempt_at from its own clock.

function postgresOne(columns: readonly Column[]): string {
  const values = columns.map(({ type }, index) => castFrom(index + 1, type))
  return `insert into pillarbox.events (${namesOf(columns)}) values (${values.join(', ')}) on conflict (tenant_id, id) do nothing`
}

function postgresMany(alike: readonly Column[], listed: readonly Column[]): string {
  const values = alike.map(({ type }, index) => castFrom(index + 1, type))
  // Each in a select of its own, because the planner would else read them all once more to guess how many rows there are.
  const lists = listed.map(({ type }, index) => `(select ${castFrom(alike.length + index + 1, `${type}[]`)})`)
  return `insert into pillarbox.events (${namesOf([...alike, ...listed])}) select ${[...values, 'given.*'].join(', ')} from unnest(${lists.join(', ')}) as given(${namesOf(listed)}) on conflict (tenant_id, id) do nothing`
}

function castFrom(parameter: number, type: string): string {
  return type === 'text' ? `$${parameter}::text` : `$${parameter}::text::${type}`
}

function namesOf(columns: readonly Column[]): string {
  return columns.map(({ name }) => name).join(', ')
}

/** SQLite has a statement for events with and without each of the columns that came later, and all the others. */
const SQLITE = Array.from({ length: 4 }, (_, bits) => {
  const columns = COLUMNS.filter(
    ({ group }) => (group !== 'topic' || (bits & 1) > 0) && (group !== 'trace' || (bits & 2) > 0),
  )
  const into = `insert into pillarbox_events (${namesOf(columns)}, created_at, next_attempt_at)`
  const elements = columns.map((_, index) => `json_extract(value, '$[${index}]')`)
  return {
    columns,
    one: `${into} values (${columns.map(() => '?').join(', ')}, ?, ?) on conflict (tenant_id, id) do nothing`,
    // "where true" keeps SQLite's parser from taking "on conflict" for a join condition.
    many: `${into} select ${elements.join(', ')}, ?, ? from json_each(?) where true on conflict (tenant_id, id) do nothing`,
  }
})

/** One event; a known (tenant, id) writes nothing. `now` is the host's time, which only SQLite is told. */
export function insertEvent(engine: Transaction['engine'], event: CheckedEvent, now: number): Statement {
  const { columns, one } = engine === 'sqlite' ? sqliteOf([event]) : shapeOf([event])
  if (engine === 'sqlite') return { sql: one, parameters: [...columns.map(({ of }) => of(event)), now, now] }
  return { sql: one, parameters: columns.map((column) => postgresText(column, event)) }
}

const MAX_ROWS = 1_000
const MAX_CHARACTERS = 16 * 1024 * 1024

/**
 * Several events in one statement, or in a few where they are more than 1,000 or very large. They go in by key, so that
 * two transactions which write some of the same ids wait for each other instead of deadlocking.
 */
export function insertEvents(engine: Transaction['engine'], rows: readonly CheckedEvent[], now: number): Statement[] {
  const sorted = rows.every((row, index) => index === 0 || compareKeys(rows[index - 1] as CheckedEvent, row) <= 0)
    ? rows
    : rows.toSorted(compareKeys)
  return chunks(sorted).map((chunk) => (engine === 'postgres' ? postgresStatement(chunk) : sqliteStatement(chunk, now)))
}

function sqliteStatement(rows: readonly CheckedEvent[], now: number): Statement {
  const { columns, many } = sqliteOf(rows)
  const values = rows.map((row) => columns.map(({ of }) => of(row)))
  return { sql: many, parameters: [now, now, JSON.stringify(values)] }
}

function postgresStatement(rows: readonly CheckedEvent[]): Statement {
  const { columns, sharedCount, many, manyAlike } = shapeOf(rows)
  const [first] = rows
  const isAlike =
    first !== undefined &&
    rows.every(
      (row) => row.tenantId === first.tenantId && row.type === first.type && row.entity.type === first.entity.type,
    )
  if (!isAlike) return { sql: many, parameters: columns.map((column) => arrayText(column, rows)) }
  return {
    sql: manyAlike,
    parameters: columns.map((column, index) => (index < sharedCount ? column.of(first) : arrayText(column, rows))),
  }
}

function shapeOf(rows: readonly CheckedEvent[]): Shape {
  let bits = 0
  for (const row of rows) {
    if (row.correlationId !== null) bits |= CORRELATION_BIT
    if (row.occurredAt !== null || row.dueAt !== null) bits |= TIMES_BIT
    if (
      row.recipients !== null ||
      row.channels !== null ||
      row.conversation !== null ||
      row.locale !== null ||
      row.schemaVersion !== 1
    ) {
      bits |= OVERRIDES_BIT
    }
    if (row.topic !== null) bits |= TOPIC_BIT
    if (row.traceparent !== null) bits |= TRACE_BIT
  }
  return SHAPES[bits] as Shape
}

function sqliteOf(rows: readonly CheckedEvent[]): (typeof SQLITE)[number] {
  const hasTopic = rows.some(({ topic }) => topic !== null)
  const hasTrace = rows.some(({ traceparent }) => traceparent !== null)
  return SQLITE[(hasTopic ? 1 : 0) + (hasTrace ? 2 : 0)] as (typeof SQLITE)[number]
}

/** As text throughout, which is what the statements cast from. */
function postgresText({ type, of }: Column, row: CheckedEvent): string | null {
  const value = of(row)
  if (typeof value !== 'number') return value
  return type === 'timestamptz' ? new Date(value).toISOString() : String(value)
}

/**
 * PostgreSQL's array text (https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO), whose quoted elements are
 * JSON's as long as JSON escapes nothing but quotes and backslashes. It has nothing else to escape: no text of a row
 * holds a control character or half a surrogate pair, and in JSON text they are escaped already.
 */
function arrayText(column: Column, rows: readonly CheckedEvent[]): string {
  return `{${JSON.stringify(rows.map((row) => postgresText(column, row))).slice(1, -1)}}`
}

function chunks(rows: readonly CheckedEvent[]): CheckedEvent[][] {
  const result: CheckedEvent[][] = []
  let characters = 0
  for (const row of rows) {
    const size = row.payloadText.length + (jsonText(row.recipients)?.length ?? 0)
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

function compareKeys(a: CheckedEvent, b: CheckedEvent): number {
  return compare(a.tenantId, b.tenantId) || compare(a.id, b.id)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
