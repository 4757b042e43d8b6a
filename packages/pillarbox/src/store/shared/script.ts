import type { AuditHorizon } from '../../operate/audit-store.ts'

/**
 * Operations that both engines share are written once, as scripts: generators that yield statements and are handed
 * their rows. PostgreSQL runs a script on one connection, awaiting each statement; SQLite runs it synchronously inside
 * its group commit. A script therefore never awaits anything but its own statements.
 *
 * Statements are written in the SQL both engines know: `pillarbox.<table>` names, `returning`, `on conflict`. Values
 * have names: `:tenantId` stands for the value of that name. What else differs comes from the dialect.
 */
export interface Statement {
  text: string
  /** By name; or by place, for a text with `$1`. Values that the text does not name are not bound. */
  values: readonly Value[] | object
}

/** What may be bound. Instants are bound with `dialect.instant`, JSON is bound as its text. */
export type Value = string | number | boolean | null

export type Row = Record<string, unknown>

export type Script<T> = Generator<Statement, T, Row[]>

export interface Dialect {
  readonly engine: 'postgres' | 'sqlite'
  /** The store's time as an expression comparable with instant columns. */
  readonly now: string
  /** Milliseconds since 1970, an expression, as an instant of this engine. */
  instant(ms: string): string
  /** An instant moved by a number of milliseconds, both expressions. */
  plus(instant: string, ms: string): string
  /** How `GivenRows` stand behind `from`. Few parameters, which `add` gets, whatever the number of rows. */
  table(
    alias: string,
    columns: Readonly<Record<string, ColumnType>>,
    rows: readonly Readonly<Record<string, unknown>>[],
    add: (value: Value) => string,
  ): string
  /**
   * Behind `from :g`: the row of `table` that a condition on a whole key finds for each of them, as `alias`. Looked up one by
   * one, also where a plan was made while the table was nearly empty and is kept while it grows. `lock`: `share(alias)` or
   * its like.
   */
  lookedUp(table: string, alias: string, condition: string, lock?: string): string
  /** So many claim tokens that nobody has had before. */
  newTokens(count: number): Script<number[]>
  /** A text that nobody can guess, for a digest whose words may be erased: an expression. It decides nothing. */
  readonly salt: string
  /** Numbers of audit rows up to which, once all that was under way is over, no further row can appear. */
  auditHorizon(): Script<AuditHorizon>
  /** `write` where a horizon takes a transaction's id. */
  readonly horizonBy: 'read' | 'write'
  /** The highest number that an audit row was given, also by a transaction that is not over. */
  lastAuditId(): Script<number>
  /** Whether all that was under way at a horizon is over: an expression. */
  isOver(transaction: string): string
  /** Lets the transaction change what is on record, which only retention and erasure may do. */
  allowAuditUpkeep(): Script<void>
  /** An expression that SQLite neither looks rows up by nor reads them in the order of, though an index would have it. */
  unindexed(expression: string): string
  /** A text that is compared byte by byte, whatever the collation of the database. */
  bytewise(text: string): string
  /** Behind a select: its rows of `alias` are not deleted until the transaction ends. */
  keyShare(alias: string): string
  /** Behind a select: its rows of `alias` stay as they were read until the transaction ends. */
  share(alias: string): string
  /** Behind a select: its rows of `alias` are locked until the transaction ends; others who lock them wait. */
  lock(alias: string): string
  /** Behind a select: the same, without rows that another transaction has locked. */
  skipLocked(alias: string): string
  /** Behind a select of rows to be deleted: the same, also without rows that another has locked by `keyShare`. */
  deleteSkipLocked(alias: string): string
}

export type ColumnType = 'text' | 'uuid' | 'json' | 'bigint' | 'boolean' | 'float8'

/** How a store runs scripts: a read on any connection, a write in one transaction that is committed when it resolves. */
export interface ScriptRunner {
  readonly dialect: Dialect
  read<T>(script: () => Script<T>): Promise<T>
  /**
   * A read that may take long: nobody waits for it but who asked. A statement that takes too long is ended, and the answer is
   * `overloaded`.
   */
  report<T>(script: () => Script<T>): Promise<T>
  write<T>(script: () => Script<T>): Promise<T>
  /** A write of one statement: it needs no transaction around it. */
  change(text: string, values: object): Promise<Row[]>
}

const GIVEN_ROWS = Symbol('given rows')
const GIVEN_LIST = Symbol('given list')

/**
 * Any number of rows handed to a statement under a name: `from :g` makes them a table called `g`. The statement's text is
 * the same however many rows there are. Objects in a row are bound as JSON.
 */
export function givenRows<Column extends string>(
  columns: Readonly<Record<Column, ColumnType>>,
  rowsOfColumns: readonly Readonly<Record<NoInfer<Column>, unknown>>[],
): object {
  return { [GIVEN_ROWS]: true, columns, rows: rowsOfColumns }
}

/** Rows with nothing but an id. */
export function givenIds(ids: readonly string[]): object {
  return givenRows(
    { id: 'uuid' },
    ids.map((id) => ({ id })),
  )
}

/** A few values behind `in`: `in (:names)`. */
export function givenList(values: readonly Value[]): object {
  return { [GIVEN_LIST]: true, values }
}

/** A statement as an engine's driver takes it: `$1` and so on in the text, the values in that order. */
export function boundStatement(dialect: Dialect, { text, values }: Statement): { text: string; values: Value[] } {
  if (Array.isArray(values)) return { text, values: values as Value[] }
  const bound: Value[] = []
  const places = new Map<string, string>()
  const add = (value: Value): string => `$${bound.push(value)}`
  const placed = text.replaceAll(/(?<![:\w]):([a-z]\w*)/gi, (_, name: string) => {
    const known = places.get(name)
    if (known !== undefined) return known
    const place = placeOf(dialect, name, (values as Record<string, unknown>)[name], add)
    places.set(name, place)
    return place
  })
  return { text: placed, values: bound }
}

function placeOf(dialect: Dialect, name: string, value: unknown, add: (value: Value) => string): string {
  if (value === undefined) throw new Error(`A statement names :${name}, which has no value`)
  if (typeof value !== 'object' || value === null) return add(value as Value)
  if (GIVEN_LIST in value) return (value as unknown as { values: Value[] }).values.map(add).join(', ')
  if (!(GIVEN_ROWS in value)) return add(JSON.stringify(value))
  const { columns, rows: given } = value as unknown as { columns: Record<string, ColumnType>; rows: Row[] }
  return dialect.table(name, columns, given, add)
}

/** Follows a script whose statements are run one by one, somewhere else. */
export async function follow<T>(script: Script<T>, run: (statement: Statement) => Promise<Row[]>): Promise<T> {
  let step = script.next()
  while (step.done !== true) {
    let found: Row[]
    try {
      found = await run(step.value)
    } catch (error) {
      // Into the script, so that it ends as a function that threw would.
      step = script.throw(error)
      continue
    }
    step = script.next(found)
  }
  return step.value
}

/** One statement's rows. */
export function* rows(text: string, values: Statement['values'] = []): Script<Row[]> {
  return yield { text, values }
}

/** The single row of a statement, or null. */
export function* row(text: string, values: Statement['values'] = []): Script<Row | null> {
  const found = yield { text, values }
  return found[0] ?? null
}

/** An instant as either engine returns it: a Date, or milliseconds. */
export function instantOf(value: unknown): number {
  return value instanceof Date ? value.getTime() : Number(value)
}

export function instantOrNull(value: unknown): number | null {
  return value === null || value === undefined ? null : instantOf(value)
}

/** JSON as either engine returns it: parsed, or text. */
export function jsonOf<T>(value: unknown): T {
  return (typeof value === 'string' ? JSON.parse(value) : value) as T
}

export function jsonOrNull<T>(value: unknown): T | null {
  return value === null || value === undefined ? null : jsonOf<T>(value)
}
