// Only on SQLite: the file is opened in this process. PostgreSQL's connections are in `postgres/session.ts`.

import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { PillarboxError } from '../../model/errors.ts'
import type { Row, Value } from '../shared/script.ts'

/** A connection with its prepared statements. */
export interface Connection {
  readonly db: DatabaseSync
  /** The statement for a text in the shared form (`pillarbox.<table>`, `$1`); prepared once. */
  prepare(text: string): StatementSync
  /** The same with rows as arrays in column order; see `claim.ts`, the only place where names cost too much. */
  prepareArrays(text: string): StatementSync
  all(text: string, values: readonly Value[]): Row[]
  close(): void
}

export interface ConnectionOptions {
  path: string
  readOnly: boolean
  /** What `pillarbox_now()` answers in SQL. */
  now: () => number
}

/** More than the store has texts of its own; lists with many different filters push the oldest out. */
const MAX_STATEMENTS = 500

/**
 * Opens a connection that never waits for a lock: the thread may itself hold the transaction that is in the way, and
 * would then wait for itself. The user of the connection waits in the event loop instead (`untilFree`, the writer).
 */
export function openConnection({ path, readOnly, now }: ConnectionOptions): Connection {
  const db = new DatabaseSync(path, { readOnly, timeout: 0, enableForeignKeyConstraints: true })
  db.function('pillarbox_now', { deterministic: true }, now)
  const statements = new Map<string, StatementSync>()

  const prepare = (text: string): StatementSync => {
    const known = statements.get(text)
    if (known) return known
    const statement = db.prepare(localText(text))
    const [oldest] = statements.keys()
    if (statements.size >= MAX_STATEMENTS && oldest !== undefined) statements.delete(oldest)
    statements.set(text, statement)
    return statement
  }
  const arrays = new Map<string, StatementSync>()
  const prepareArrays = (text: string): StatementSync => {
    const known = arrays.get(text)
    if (known) return known
    const statement = db.prepare(localText(text))
    statement.setReturnArrays(true)
    arrays.set(text, statement)
    return statement
  }
  return {
    db,
    prepare,
    prepareArrays,
    all: (text, values) => prepare(text).all(...values.map(bound)),
    close: () => db.close(),
  }
}

/**
 * What a connection that writes needs. FULL: a commit that was answered survives a power cut; the group commit shares
 * its price. The cache is in KiB (16 MiB): enough for the claim index and the ledger's newest pages, which are read again
 * and again; with four times as much a worker was 40 MB larger and no faster.
 * Throws while another connection uses a file that is not in WAL mode yet.
 */
export function applySettings({ db }: Connection): void {
  db.exec(`
    pragma journal_mode = wal;
    pragma synchronous = full;
    pragma foreign_keys = on;
    pragma temp_store = memory;
    pragma cache_size = -16384`)
}

/**
 * SQLite has no schemas to name tables in, and numbers its parameters with a question mark. A parameter that is the
 * whole of a limit is looked at by the planner, so that every new binding prepares the statement again (measured: 122 µs
 * instead of 10 for the due lanes); as part of a sum it is not.
 */
export function localText(text: string): string {
  return text
    .replaceAll('pillarbox.', 'pillarbox_')
    .replace(/\$(\d+)/g, '?$1')
    .replace(/\blimit \?(\d+)/g, 'limit ?$1 + 0')
}

export function bound(value: Value): SQLInputValue {
  return typeof value === 'boolean' ? Number(value) : value
}

const BUSY = 5
/** Primary result codes that say "the file cannot be used now", as opposed to "this is wrong". */
const UNAVAILABLE = new Set([
  BUSY,
  7 /* nomem */,
  8 /* readonly */,
  10 /* ioerr */,
  11 /* corrupt */,
  13 /* full */,
  14 /* cantopen */,
  26 /* notadb */,
])

/** Another connection holds the lock this one needs. */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === BUSY
}

/** Trouble with the file as `store_unavailable` with its cause; every other error as it is. */
export function translated(error: unknown): unknown {
  if (isClosed(error)) return new PillarboxError('store_unavailable', 'The store is closed', { cause: error })
  const code = primaryCode(error)
  return code !== null && UNAVAILABLE.has(code) ? unavailable(error) : error
}

function isClosed(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_INVALID_STATE'
}

export function unavailable(cause: unknown): PillarboxError {
  const detail = cause instanceof Error ? cause.message : String(cause)
  return new PillarboxError('store_unavailable', `SQLite cannot be used: ${detail}`, { cause })
}

/** What SQLite says is wrong, by its primary result code; null where it is not SQLite that says so. */
export function primaryCode(error: unknown): number | null {
  if (typeof error !== 'object' || error === null) return null
  const { errcode } = error as { errcode?: unknown }
  return typeof errcode === 'number' ? errcode & 0xff : null
}
