import { isPillarboxError } from '../model/errors.ts'
import { sqlStateOf } from './postgres/unavailable.ts'
import { primaryCode } from './sqlite/connection.ts'

/** What keeps a store from doing what it was asked, as far as its engine says so. */
export type StoreTrouble = 'disk_full' | 'read_only' | 'forbidden' | 'unreachable'

const SQL_STATES: Readonly<Record<string, StoreTrouble>> = {
  '53100': 'disk_full',
  '25006': 'read_only',
  '42501': 'forbidden',
}
const RESULT_CODES: Readonly<Record<number, StoreTrouble>> = { 8: 'read_only', 13: 'disk_full' }

/** Of a call that was rejected. */
export function troubleIn(error: unknown): StoreTrouble {
  const cause = isPillarboxError(error) && error.cause !== undefined ? error.cause : error
  return SQL_STATES[sqlStateOf(cause) ?? ''] ?? RESULT_CODES[primaryCode(cause) ?? -1] ?? 'unreachable'
}
