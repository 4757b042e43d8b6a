import type { Page, PageOf } from '../../model/page.ts'
import { decodeCursor, invalidCursor, pageOf } from './cursor.ts'
import { booleanOf, entityOrNull, uuidOrNull } from './fields.ts'
import { type Dialect, instantOf, jsonOf, type Row, row, rows, type Script, type Value } from './script.ts'

/**
 * How the rows of a table and the objects of the model correspond: each field has the column of the same name in snake
 * case, and a kind that says how the column is read. An `entity` has two columns, `<field>_type` and `<field>_id`.
 */
export interface Noun<T> {
  readonly table: string
  /** For `select` and `returning`. */
  readonly columns: string
  /** The same of a table that the statement calls `alias`. */
  columnsOf(alias: string): string
  of(found: Row): T
  /** `column = :field` for each field that has a value. */
  assignments(changes: Partial<T>): string[]
  /** Conditions for fields with these values; null where no row can match, since a UUID is asked for and none given. */
  matching(fields: FieldValues<T>): { where: string[]; values: Record<string, unknown> } | null
}

type FieldValues<T> = { readonly [Field in keyof T]?: Value | undefined }

type ColumnKind = 'text' | 'uuid' | 'number' | 'instant' | 'boolean' | 'json' | 'entity'

type ColumnKindOf<T> = [T] extends [boolean]
  ? 'boolean'
  : [T] extends [number]
    ? 'number' | 'instant'
    : [T] extends [string]
      ? 'text' | 'uuid'
      : 'json' | 'entity'

type ColumnKinds<T> = { readonly [Field in keyof T]-?: ColumnKindOf<NonNullable<T[Field]>> }

const READERS: Record<Exclude<ColumnKind, 'entity'>, (value: unknown) => unknown> = {
  text: String,
  uuid: String,
  number: Number,
  instant: instantOf,
  boolean: booleanOf,
  json: jsonOf,
}

/** `prefix`: what the columns' names begin with in a statement's answer, where another noun's stand beside them. */
export function nounOf<T>(table: string, kinds: ColumnKinds<T>, prefix = ''): Noun<T> {
  const fields = Object.entries<ColumnKind>(kinds).map(([name, kind]) => {
    const column = columnOf(name)
    return { name, kind, column, columns: kind === 'entity' ? [`${column}_type`, `${column}_id`] : [column] }
  })
  const all = fields.flatMap(({ columns }) => columns)
  const readers = fields.map(({ name, kind, column }) => {
    const [type, id] = [`${prefix}${column}_type`, `${prefix}${column}_id`]
    if (kind === 'entity') return { name, read: (found: Row): unknown => entityOrNull(found[type], found[id]) }
    const [key, reader] = [`${prefix}${column}`, READERS[kind]]
    return {
      name,
      read: (found: Row): unknown => (found[key] === null || found[key] === undefined ? null : reader(found[key])),
    }
  })
  return {
    table,
    columns: all.join(', '),
    columnsOf: (alias) =>
      all
        .map((column) => (prefix === '' ? `${alias}.${column}` : `${alias}.${column} as ${prefix}${column}`))
        .join(', '),
    of: (found) => {
      const noun: Record<string, unknown> = {}
      for (const { name, read } of readers) noun[name] = read(found)
      return noun as T
    },
    assignments: (changes) =>
      fields
        .filter(({ name }) => (changes as Record<string, unknown>)[name] !== undefined)
        .map(({ name, column }) => `${column} = :${name}`),
    matching: (wanted) => {
      const values: Record<string, unknown> = { ...wanted }
      // A forgotten tenant must not mean every tenant.
      if ('tenantId' in values && values['tenantId'] === undefined) throw new TypeError(`${table}: no tenant is named`)
      const where: string[] = []
      for (const { name, kind, column } of fields) {
        if (values[name] === undefined) continue
        if (kind === 'uuid') values[name] = uuidOrNull(values[name] as string)
        if (kind === 'uuid' && values[name] === null) return null
        where.push(`${column} = :${name}`)
      }
      return { where, values }
    },
  }
}

function columnOf(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** What is further asked of a row, and whether the row then stays as it is until the transaction ends. */
interface Further {
  and?: string
  lockedBy?: Dialect
}

/** The row with these fields, or null. */
export function* findBy<T>(noun: Noun<T>, fields: FieldValues<T>, { and, lockedBy }: Further = {}): Script<T | null> {
  const wanted = noun.matching(fields)
  if (!wanted) return null
  const where = and === undefined ? wanted.where : [...wanted.where, and]
  const found = yield* row(
    `select ${noun.columns} from pillarbox.${noun.table} t ${whereAll(where)} ${lockedBy?.lock('t') ?? ''}`,
    wanted.values,
  )
  return found && noun.of(found)
}

/** All rows with these fields, in the order named. */
export function* listBy<T>(noun: Noun<T>, fields: FieldValues<T>, order: string, { and }: Further = {}): Script<T[]> {
  const wanted = noun.matching(fields)
  if (!wanted) return []
  const where = and === undefined ? wanted.where : [...wanted.where, and]
  const found = yield* rows(
    `select ${noun.columns} from pillarbox.${noun.table} ${whereAll(where)} order by ${order}`,
    wanted.values,
  )
  return found.map(noun.of)
}

/** Takes away the row with these fields, and answers it; null where there is none. */
export function* removeBy<T>(noun: Noun<T>, fields: FieldValues<T>): Script<T | null> {
  const wanted = noun.matching(fields)
  if (!wanted) return null
  const removed = yield* row(
    `delete from pillarbox.${noun.table} ${whereAll(wanted.where)} returning ${noun.columns}`,
    wanted.values,
  )
  return removed && noun.of(removed)
}

/** A page of a noun whose ids are UUIDs, newest first. */
export function* newestFirst<T extends { id: string }>(
  noun: Noun<T>,
  where: readonly string[],
  values: object,
  page: Page,
): Script<PageOf<T>> {
  const before = page.cursor === undefined ? null : uuidOfCursor(page.cursor)
  const found = yield* rows(
    `select ${noun.columns} from pillarbox.${noun.table} ${whereAll(before === null ? where : [...where, 'id < :before'])}
      order by id desc limit :limit`,
    { ...values, before, limit: page.limit + 1 },
  )
  return pageOf(found.map(noun.of), page.limit, ({ id }) => [id])
}

/** The conditions of those fields of a filter that have a value. */
export function conditionsOf<Filter extends object>(
  filter: Filter,
  conditions: { readonly [Field in keyof Filter]?: string },
): string[] {
  return Object.entries<string | undefined>(conditions).flatMap(([field, condition]) =>
    condition !== undefined && filter[field as keyof Filter] !== undefined ? [condition] : [],
  )
}

export function whereAll(conditions: readonly string[]): string {
  return conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''
}

/** The id that a cursor with nothing else names. */
export function uuidOfCursor(cursor: string): string {
  const id = uuidOrNull(decodeCursor(cursor, 1)[0] ?? '')
  if (id === null) throw invalidCursor()
  return id
}
