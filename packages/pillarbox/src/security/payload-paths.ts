import { isSealed } from './sealed-value.ts'

/** A value at a secret path of a payload: where it stands, as a JSON pointer, and how to put another in its place. */
export interface Found {
  pointer: string
  value: unknown
  replace(value: unknown): void
}

/**
 * Every value of `payload` that a secret path leads to, sealed or not; absent ones and null are none. `guests[].token`
 * goes through a list. Names are compared as templates compare them, without regard to letter case, and a list is gone
 * through whether the path says so or not: what could be rendered must not stay in clear.
 */
export function findSecrets(payload: object, paths: readonly string[]): Found[] {
  const found = new Map<string, Found>()
  for (const path of paths) walk(payload, path.split('.'), '', found)
  return [...found.values()]
}

function walk(at: unknown, segments: readonly string[], pointer: string, found: Map<string, Found>): void {
  if (Array.isArray(at)) {
    for (const [index, element] of at.entries()) walk(element, segments, `${pointer}/${index}`, found)
    return
  }
  const [segment, ...rest] = segments
  if (segment === undefined || typeof at !== 'object' || at === null || isSealed(at)) return
  const isList = segment.endsWith('[]')
  const wanted = (isList ? segment.slice(0, -2) : segment).toLowerCase()
  const fields = at as Record<string, unknown>
  for (const [name, value] of Object.entries(fields)) {
    if (name.toLowerCase() !== wanted) continue
    const here = `${pointer}/${escaped(name)}`
    if (rest.length > 0 && !isSealed(value)) walk(value, rest, here, found)
    else if (isList && rest.length === 0 && Array.isArray(value)) elements(value, here, found)
    else add(found, here, value, (replacement) => void Object.assign(fields, { [name]: replacement }))
  }
}

/** A path that ends in `[]`: each element is a secret of its own. */
function elements(list: unknown[], pointer: string, found: Map<string, Found>): void {
  for (const [index, value] of list.entries())
    add(found, `${pointer}/${index}`, value, (replacement) => void list.splice(index, 1, replacement))
}

function add(found: Map<string, Found>, pointer: string, value: unknown, replace: Found['replace']): void {
  if (value !== null && value !== undefined) found.set(pointer, { pointer, value, replace })
}

/** One step of a JSON pointer (RFC 6901). */
export function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
