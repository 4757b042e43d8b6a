/** A dot path's value in a payload; own properties only, so that no path leads out of it. */
export function valueAt(payload: unknown, path: string): unknown {
  let value = payload
  for (const step of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<string, unknown>)[step]
  }
  return value
}

/** A field as text: trimmed words, or a number's digits. Null where it is blank or anything else. */
export function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value.trim() || null
  return typeof value === 'number' ? String(value) : null
}
