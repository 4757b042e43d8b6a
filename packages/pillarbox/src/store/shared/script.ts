/**
 * Operations that both engines share are written once, as scripts: generators that yield statements and are handed
 * their rows. PostgreSQL runs a script on one connection, awaiting each statement; SQLite runs it synchronously inside
 * its group commit. A script therefore never awaits anything but its own statements.
 *
 * Statements are written in the SQL both engines know: `$1` parameters, `pillarbox.<table>` names, `returning`,
 * `on conflict`. What differs comes from the dialect.
 */
export interface Statement {
  text: string
  values: readonly Value[]
}

/** What may be bound. Instants are bound with `dialect.instant`, JSON is bound as its text. */
export type Value = string | number | boolean | null

export type Row = Record<string, unknown>

export type Script<T> = Generator<Statement, T, Row[]>

export interface Dialect {
  readonly engine: 'postgres' | 'sqlite'
  /** The store's time as an expression comparable with instant columns. */
  readonly now: string
  /** Milliseconds since 1970, bound as parameter `$n`, as an instant of this engine. */
  instant(parameter: string): string
  /** An instant moved by a number of milliseconds, both expressions. */
  plus(instant: string, ms: string): string
  /**
   * Any number of rows handed to a statement, as a table to be named behind `from`. Only a few parameters, which `add`
   * gets, whatever the number of rows; so the statement's text is always the same.
   */
  table<Column extends string>(
    alias: string,
    columns: Readonly<Record<Column, ColumnType>>,
    rows: readonly Readonly<Record<Column, Value>>[],
    add: (value: Value) => string,
  ): string
  /** Behind a select: its rows of `alias` stay as they were read until the transaction ends. */
  share(alias: string): string
  /** The same, and whoever else wants to lock them waits. */
  lock(alias: string): string
  /** The same, without those that somebody else has locked. */
  skipLocked(alias: string): string
}

export type ColumnType = 'text' | 'uuid' | 'json' | 'bigint'

/** How a store runs scripts: a read on any connection, a write in one transaction that is committed when it resolves. */
export interface ScriptRunner {
  readonly dialect: Dialect
  read<T>(script: () => Script<T>): Promise<T>
  write<T>(script: () => Script<T>): Promise<T>
}

/** One statement's rows. */
export function* rows(text: string, values: readonly Value[] = []): Script<Row[]> {
  return yield { text, values }
}

/** The single row of a statement, or null. */
export function* row(text: string, values: readonly Value[] = []): Script<Row | null> {
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
