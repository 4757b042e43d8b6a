import type { Content, SealedContent } from '../../model/notification.ts'

/** Column values as either engine returns them, turned into what the contract says. */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/**
 * The id in its stored form, or null where the text is no UUID. PostgreSQL refuses to compare a uuid column with such
 * text, and a caller asking for an id that cannot exist deserves "not there", not an error.
 */
export function uuidOrNull(text: string): string | null {
  const id = text.toLowerCase()
  return UUID.test(id) ? id : null
}

/** A boolean as either engine returns it: a boolean, or 0 and 1. */
export function booleanOf(value: unknown): boolean {
  return value === true || value === 1
}

export function textOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : (value as string)
}

/** JSON to be bound: its text, or null where there is nothing. */
export function jsonText(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value)
}

export function isSealed(content: Content | SealedContent | null): content is SealedContent {
  return content !== null && 'sealed' in content
}

/** Two columns that stand for one noun: both, or nothing. */
export function entityOrNull(type: unknown, id: unknown): { type: string; id: string } | null {
  return type === null || type === undefined || id === null || id === undefined
    ? null
    : { type: type as string, id: id as string }
}

/** A second row where only one may be: SQLSTATE 23505, or SQLite's unique and primary key constraints. */
export function isUniqueViolation(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  return code === '23505' || errcode === 2067 || errcode === 1555
}

/** A row that refers to one which is not there: SQLSTATE 23503, or SQLite's foreign key constraint. */
export function isForeignKeyViolation(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  return code === '23503' || errcode === 787
}

/** Text as it comes back from either engine: no NUL, and no half of a surrogate pair. */
export function storableText(text: string): string {
  // Nearly every text is fine, and looking is several times as cheap as making it anew.
  if (text.isWellFormed() && !text.includes('\0')) return text
  return text.toWellFormed().replaceAll('\0', '\u{fffd}')
}

/** The answer to a question that was asked alone. */
export function only<T>(answers: readonly T[]): T {
  return answers[0] as T
}
