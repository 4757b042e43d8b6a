import { PillarboxError } from '../../model/errors.ts'

/** The place after which the next page begins, opaque to the caller. */
export function encodeCursor(key: readonly string[]): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url')
}

/** The key that `encodeCursor` was given. A text that `encodeCursor` did not make is refused as `invalid_query`. */
export function decodeCursor(cursor: string, length: number): string[] {
  try {
    const key: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (
      Array.isArray(key) &&
      key.length === length &&
      key.every((part) => typeof part === 'string' && !part.includes('\0'))
    )
      return key as string[]
  } catch {
    // Not JSON: refused below like every other text that is no cursor.
  }
  throw invalidCursor()
}

export function invalidCursor(): PillarboxError {
  const message = 'is not the nextCursor of an earlier answer'
  return new PillarboxError('invalid_query', `The cursor ${message}`, { errors: [{ path: 'cursor', message }] })
}

/** A page out of one row more than was asked for: the extra row only tells that there is a next page. */
export function pageOf<T>(
  found: readonly T[],
  limit: number,
  keyOf: (item: T) => readonly string[],
): { items: T[]; nextCursor: string | null } {
  const items = found.slice(0, limit)
  const last = items.at(-1)
  return { items, nextCursor: found.length > limit && last !== undefined ? encodeCursor(keyOf(last)) : null }
}
