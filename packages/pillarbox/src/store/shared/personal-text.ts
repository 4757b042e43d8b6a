import { createEraser, type Eraser } from '../../model/personal-data.ts'
import type { ErasedStretch, Person, PersonalItem, PersonalStretch } from '../../operate/personal-store.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { booleanOf, textOrNull } from './fields.ts'
import { type SearchedKind, searchedColumns } from './personal-columns.ts'
import {
  type ColumnType,
  type Dialect,
  givenRows,
  instantOf,
  jsonOf,
  type Row,
  rows,
  type Script,
  type ScriptRunner,
} from './script.ts'

/** A table that is looked through for what names a person, a stretch at a time in the order of its key. */
export interface TextTable {
  table: string
  key: Readonly<Record<string, ColumnType>>
  /** Which rows are the tenant's, of the table under its own name. */
  where: string
  /** Bytes cannot be searched by the database: every row is read, and fewer at a time. */
  most?: number
}

const OF_TENANT = 'tenant_id = :tenantId'

/** A callback of a path for all tenants is the tenant's where it may speak for one of its accounts. */
const CALLBACK_OF_TENANT = `(${OF_TENANT} or (tenant_id is null and exists (select 1 from pillarbox.accounts a
  where a.tenant_id = :tenantId and cast(callbacks.account_ids as text) like '%' || cast(a.id as text) || '%')))`

export const TEXT_TABLES = {
  events: { table: 'events', key: { tenant_id: 'text', id: 'text' }, where: OF_TENANT },
  schedules: { table: 'schedules', key: { id: 'uuid' }, where: OF_TENANT },
  operations: { table: 'operations', key: { id: 'uuid' }, where: OF_TENANT },
  alerts: { table: 'alerts', key: { id: 'uuid' }, where: OF_TENANT },
  callbacks: { table: 'callbacks', key: { id: 'bigint' }, where: CALLBACK_OF_TENANT, most: 50 },
  conversations: { table: 'conversations', key: { id: 'uuid' }, where: OF_TENANT },
  cancellations: {
    table: 'cancellations',
    key: { tenant_id: 'text', entity_type: 'text', entity_id: 'text', event_type: 'text' },
    where: OF_TENANT,
  },
} as const satisfies Record<string, TextTable>

const FIRST: Record<ColumnType, string | number> = {
  text: '',
  uuid: '00000000-0000-0000-0000-000000000000',
  bigint: 0,
  json: '',
  boolean: '',
  float8: 0,
}

/** The rows of the next stretch that may name the person. What the database cannot judge is judged when they are read. */
export function* candidates(
  { table, key, where, most }: TextTable,
  { person, after, limit }: PersonalStretch,
): Script<{ keys: Row[]; next: string | null }> {
  const names = Object.keys(key)
  const begin = after === null ? null : decodeCursor(after, names.length)
  const from = Object.fromEntries(
    names.map((name, i) => {
      const type = key[name] ?? 'text'
      const given = begin?.[i] ?? FIRST[type]
      return [`after_${name}`, type === 'bigint' ? Number(given) : given]
    }),
  )
  const [columns, places] = [names.join(', '), names.map((name) => `:after_${name}`).join(', ')]
  const size = Math.min(limit, most ?? limit)
  const { condition, values } = most === undefined ? naming(table, person) : { condition: '1 = 1', values: {} }
  const found = yield* rows(
    `select ${columns}, case when ${condition} then 1 else 0 end as is_hit
      from (select * from pillarbox.${table} ${table} where ${where} and (${columns}) > (${places})
        order by ${columns} limit :size) t order by ${columns}`,
    { tenantId: person.tenantId, ...from, ...values, size },
  )
  const last = found.length === size ? found.at(-1) : undefined
  return {
    keys: found.filter((each) => booleanOf(each['is_hit'])),
    next: last ? encodeCursor(names.map((name) => String(last[name]))) : null,
  }
}

/** Whether one of the searched columns of a row, of whichever table, has one of the person's needles in it. */
export function naming(table: string, { needles }: Pick<Person, 'needles'>): { condition: string; values: Row } {
  const columns = searchedColumns(table).filter(([, kind]) => kind !== 'bytes')
  const whole = `lower(concat_ws(' ', ${columns.map(([name]) => `cast(${name} as text)`).join(', ')}))`
  const values: Row = {}
  const likes = needles.map(({ text }, i) => {
    values[`needle${i}`] = `%${text.replaceAll(/[!%_]/g, '!$&')}%`
    return `${whole} like :needle${i} escape '!'`
  })
  return { condition: likes.length > 0 ? `(${likes.join(' or ')})` : '1 = 0', values }
}

/** Rows by their keys, with all their columns, as they are and, with a dialect, stay until the transaction ends. */
export function* rowsByKey(
  { table, key }: Omit<TextTable, 'where'>,
  keys: readonly Row[],
  lockedBy?: Dialect,
): Script<Row[]> {
  if (keys.length === 0) return []
  const names = Object.keys(key)
  return yield* rows(
    `select t.* from :g join pillarbox.${table} t on ${names.map((name) => `t.${name} = g.${name}`).join(' and ')}
      order by ${names.map((name) => `t.${name}`).join(', ')} ${lockedBy?.lock('t') ?? ''}`,
    { g: givenRows(key, keys) },
  )
}

/** What a row becomes; null where it does not name the person. Only what changes is answered. Ids change alike everywhere. */
export function erasedRow(table: string, row: Row, eraser: Eraser, ids = eraser): Row | null {
  const changed: Row = {}
  for (const [name, kind] of searchedColumns(table)) {
    const before = row[name]
    if (before === null || before === undefined) continue
    const after = erasedValue(kind, before, kind === 'id' ? ids : eraser)
    if (after !== undefined) changed[name] = after
  }
  return Object.keys(changed).length > 0 ? changed : null
}

function erasedValue(kind: SearchedKind, before: unknown, eraser: Eraser): string | undefined {
  if (kind === 'json') {
    const value = jsonOf<unknown>(before)
    const [was, is] = [JSON.stringify(value), JSON.stringify(eraser.json(value))]
    return was === is ? undefined : is
  }
  const given = kind === 'bytes' ? readable(String(before)) : String(before)
  const erased = kind === 'id' ? eraser.id(given) : eraser.text(given)
  if (erased === given) return undefined
  return kind === 'bytes' ? Buffer.from(erased).toString('base64') : erased
}

/** Bytes as the text they are; those that are none are searched byte by byte. */
function readable(base64: string): string {
  const bytes = Buffer.from(base64, 'base64')
  const text = bytes.toString('utf8')
  return Buffer.from(text).equals(bytes) ? text : bytes.toString('latin1')
}

/** Writes changed columns of rows, whose keys may be among them. */
export function* writeChanges(
  { table, key }: Omit<TextTable, 'where'>,
  changes: readonly { row: Row; changed: Row }[],
): Script<void> {
  const names = Object.keys(key)
  // Rows that change in the same columns are written together.
  for (const group of Map.groupBy(changes, ({ changed }) => Object.keys(changed).join(' ')).values()) {
    const columns = Object.keys(group[0]?.changed ?? {})
    const types: Record<string, ColumnType> = {}
    for (const name of names) types[`old_${name}`] = key[name] ?? 'text'
    for (const name of columns) types[name] = columnType(table, name)
    const given = group.map(({ row, changed }) => ({
      ...changed,
      ...Object.fromEntries(names.map((name) => [`old_${name}`, row[name]])),
    }))
    yield* rows(
      `update pillarbox.${table} as t set ${columns.map((name) => `${name} = g.${name}`).join(', ')} from :g
        where ${names.map((name) => `t.${name} = g.old_${name}`).join(' and ')}`,
      { g: givenRows(types, given as Record<string, unknown>[]) },
    )
  }
}

function columnType(table: string, name: string): ColumnType {
  if (searchedColumns(table).some(([column, kind]) => column === name && kind === 'json')) return 'json'
  return name === 'contact_id' || name === 'conversation_id' ? 'uuid' : name === 'is_scrubbed' ? 'boolean' : 'text'
}

/** What of a row names the person, without what it says of others. */
export function mentionsOf(table: string, key: readonly string[], row: Row, eraser: Eraser): PersonalItem | null {
  const mentions = searchedColumns(table).flatMap(([column, kind]) => {
    const value = row[column]
    if (value === null || value === undefined) return []
    if (kind === 'json') return eraser.mentionsInJson(jsonOf(value)).map((mention) => ({ column, ...mention }))
    const text = kind === 'bytes' ? readable(value as string) : (value as string)
    return eraser.mentionsIn(text).map((mention) => ({ column, value: mention }))
  })
  if (mentions.length === 0) return null
  return { table, row: { ...Object.fromEntries(key.map((name) => [name, shown(name, row[name])])), mentions } }
}

/** A row as people read it. */
export function shownRow(table: string, row: Row): Row {
  const jsons = new Set(searchedColumns(table).flatMap(([name, kind]) => (kind === 'json' ? [name] : [])))
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      jsons.has(name) && value !== null ? jsonOf(value) : shown(name, value),
    ]),
  )
}

function shown(name: string, value: unknown): unknown {
  const isInstant = value instanceof Date || (typeof value === 'number' && /(^|_)at$/.test(name))
  return isInstant ? new Date(instantOf(value)).toISOString() : value
}

export async function findInText(
  { read }: ScriptRunner,
  table: TextTable,
  stretch: PersonalStretch,
): Promise<{ items: PersonalItem[]; next: string | null }> {
  const eraser = createEraser(searchOf(stretch.person))
  return await read(function* () {
    const { keys, next } = yield* candidates(table, stretch)
    const found = yield* rowsByKey(table, keys)
    const names = Object.keys(table.key)
    const items = found.flatMap((row) => mentionsOf(table.table, names, row, eraser) ?? [])
    return { items, next }
  })
}

/** Of rows that may be others', only what is unmistakable: a name or a user id may be somebody else's. */
export function searchOf({ needles, region }: Person): {
  needles: Person['needles']
  values: Map<string, string>
  region: string | null
} {
  return { needles, region, values: new Map() }
}

export async function eraseInText(
  { dialect, read, write }: ScriptRunner,
  table: TextTable,
  stretch: PersonalStretch,
): Promise<ErasedStretch> {
  const { keys, next } = await read(() => candidates(table, stretch))
  const eraser = createEraser(searchOf(stretch.person))
  const count = keys.length === 0 ? 0 : await write(() => eraseRows(dialect, table, keys, eraser))
  return { erased: { [table.table]: count }, remains: {}, next }
}

function* eraseRows(dialect: Dialect, table: TextTable, keys: readonly Row[], eraser: Eraser): Script<number> {
  const found = yield* rowsByKey(table, keys, dialect)
  const changes = found.flatMap((row) => {
    const changed = erasedRow(table.table, row, eraser)
    return changed ? [{ row, changed }] : []
  })
  yield* writeChanges(table, changes)
  if (table.table === 'events') yield* renameNotes(changes)
  return changes.length
}

/** What is noted of an event under its id is found again under its new one. */
function* renameNotes(changes: readonly { row: Row; changed: Row }[]): Script<void> {
  for (const { row, changed } of changes) {
    const id = textOrNull(changed['id'])
    if (id === null) continue
    for (const table of ['sealed_payloads', 'sealed_contents'])
      yield* rows(`update pillarbox.${table} set event_id = :id where tenant_id = :tenantId and event_id = :before`, {
        id,
        tenantId: row['tenant_id'],
        before: row['id'],
      })
  }
}
