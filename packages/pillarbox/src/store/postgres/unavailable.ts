// Only on PostgreSQL: a server can be away. What SQLite says of its file is in `sqlite/connection.ts`.

import { PillarboxError } from '../../model/errors.ts'

/** SQLSTATEs, or their classes, that say "the database cannot do this now" rather than "this is wrong". */
const UNAVAILABLE = [
  '08', // connection trouble
  '53', // out of memory, disk or connections
  '57P', // shut down, crashed, starting up, database dropped, idle session ended
  '57014', // statement_timeout
  '55P03', // lock_timeout
  '25P03', // idle_in_transaction_session_timeout
  '25006', // a standby: the primary has moved
  '58', // the server's own input and output
]

/** What the operating system, a stream or TLS says of a connection, such as ECONNRESET, ENETDOWN or ENOENT (no such socket). */
const CONNECTION_CODE = /^(?:E[A-Z]+|EAI_[A-Z]+|ERR_(?:SSL|TLS|STREAM|SOCKET)_.*)$/

/** The driver's own words; it gives these errors no code. */
const DRIVER_MESSAGES =
  /Connection terminated|timeout expired|Query read timeout|not queryable|connection error|server does not support SSL/i

/** A second try of a statement that PostgreSQL rolled back for these is safe, and usually succeeds. */
const ROLLED_BACK = new Set(['40001', '40P01'])

/** The five characters of an error that the server itself reported, or null. */
export function sqlStateOf(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || !('severity' in error)) return null
  return typeof error.code === 'string' && error.code.length === 5 ? error.code : null
}

/** A deadlock or serialization failure: nothing was written. */
export function isRolledBack(error: unknown): boolean {
  return ROLLED_BACK.has(sqlStateOf(error) ?? '')
}

/** Whether the database could not be reached or could not answer, as opposed to refusing what it was asked. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof PillarboxError) return error.code === 'store_unavailable'
  const state = sqlStateOf(error)
  if (state !== null) return UNAVAILABLE.some((prefix) => state.startsWith(prefix))
  if (!(error instanceof Error)) return false
  if ('code' in error && typeof error.code === 'string' && CONNECTION_CODE.test(error.code)) return true
  return DRIVER_MESSAGES.test(error.message)
}

/** Connection trouble as `store_unavailable` with its cause; any other error as it is. */
export function translated(error: unknown): unknown {
  if (error instanceof PillarboxError || !isUnavailable(error)) return error
  return new PillarboxError('store_unavailable', `PostgreSQL cannot be reached: ${(error as Error).message}`, {
    cause: error,
  })
}

/** The server has ended a statement that took longer than it may. */
export function isTimedOut(error: unknown): boolean {
  return sqlStateOf(error instanceof PillarboxError ? error.cause : error) === '57014'
}
