import { isSealed } from './sealed-value.ts'

/** A value at a secret path of a payload: where it stands, as a JSON pointer, and how to put another in its place. */
export interface FoundSecret {
  pointer: string
  value: unknown
  replace(value: unknown): void
}

/**
 * Every value of `payload` that a secret path leads to, sealed or not; absent ones and null are none. `guests[].token`
 * goes through a list, and a list is gone through whether the path says so or not. Names are compared as templates
 * compare them, without regard to letter case and whether they are nested or run together (`guest.pin`, `guestPin`): what
 * could be rendered must not stay in clear.
 */
export function findSecrets(payload: object, paths: readonly string[]): FoundSecret[] {
  const found = new Map<string, FoundSecret>()
  for (const path of paths) walk(payload, runTogether(path), { isEach: path.endsWith('[]'), pointer: '', found })
  return [...found.values()]
}

/** A path or a name as it is compared. */
function runTogether(name: string): string {
  return name.replaceAll('[]', '').replaceAll('.', '').toLowerCase()
}

interface Search {
  /** Each element of the list at the path's end is a secret of its own. */
  isEach: boolean
  pointer: string
  found: Map<string, FoundSecret>
}

/** `wanted` is what is left of the path. */
function walk(at: unknown, wanted: string, search: Search): void {
  const { isEach, pointer, found } = search
  if (Array.isArray(at)) {
    for (const [index, element] of at.entries()) walk(element, wanted, { ...search, pointer: `${pointer}/${index}` })
    return
  }
  if (typeof at !== 'object' || at === null || isSealed(at)) return
  const fields = at as Record<string, unknown>
  for (const [name, value] of Object.entries(fields)) {
    const step = runTogether(name)
    if (step === '' || !wanted.startsWith(step)) continue
    const here = `${pointer}/${escaped(name)}`
    const isEnd = wanted === step
    if (isEnd && isEach && Array.isArray(value)) elements(value, here, found)
    // A whole that was sealed as one holds what the rest of the path would lead to.
    else if (isEnd || isSealed(value))
      add(found, here, value, (replacement) => void Object.assign(fields, { [name]: replacement }))
    else walk(value, wanted.slice(step.length), { ...search, pointer: here })
  }
}

/** A path that ends in `[]`: each element is a secret of its own. */
function elements(list: unknown[], pointer: string, found: Map<string, FoundSecret>): void {
  for (const [index, value] of list.entries())
    add(found, `${pointer}/${index}`, value, (replacement) => void list.splice(index, 1, replacement))
}

function add(found: Map<string, FoundSecret>, pointer: string, value: unknown, replace: FoundSecret['replace']): void {
  if (value !== null && value !== undefined) found.set(pointer, { pointer, value, replace })
}

/** One step of a JSON pointer (RFC 6901). */
export function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
