import type { DateKind } from '../model/schema-paths.ts'
import { type DateSettings, isFullDateTime } from './dates.ts'
import type { PayloadField } from './fields.ts'
import { COST, type WorkBudget } from './limits.ts'
import { dateText } from './values.ts'

/** A step of a path: a key, or a place in a list. */
export type PathStep = string | number

export interface Payload {
  /** Undefined where there is nothing at that path. */
  find(path: readonly PathStep[]): unknown
  /** The same from a value that was found before, or that a template made. */
  findIn(base: unknown, path: readonly PathStep[]): unknown
  /** A secret, or something with a secret in it, has been found. */
  readonly hasSecrets: boolean
}

export interface PayloadOptions {
  /** What is known beside the payload, and found where the payload has nothing. */
  supplied: Readonly<Record<string, unknown>>
  fields: PayloadField | null
  /** Without a schema, whatever has the form of a full date-time is a date. */
  guessesDates: boolean
  dates: DateSettings
  work: WorkBudget
  /** What a value still sealed is shown as; null: it must not get here. */
  sealedAs: string | null
}

/** A key longer than that, or a path with more steps, is found as it is written or not at all. */
const MAX_RESPELLED_CHARACTERS = 200
const MAX_RESPELLED_STEPS = 20

/**
 * Finds what a placeholder names: first exactly; else whatever the case of its letters, and with `guest.phone` and
 * `guestPhone` the same, in both directions. Of several, the one whose first key is longest, then the first in the order
 * of the alphabet, so that the order of a payload's keys never decides. Own properties only; functions are nothing.
 */
export function createPayload(root: unknown, options: PayloadOptions): Payload {
  const { supplied, fields, guessesDates, dates, work, sealedAs } = options
  let hasSecrets = false
  /** What is known of objects that were found: a loop variable is one of them. */
  let fieldsByValue: Map<object, PayloadField> | null = null
  /** An object's keys in small letters. Made only for objects in which a key is not found as it is written. */
  let spellings: Map<object, Map<string, string>> | null = null

  function reach(base: unknown, baseField: PayloadField | null, path: readonly PathStep[], from: number): unknown {
    let value = base
    let field = baseField
    for (let i = from; i < path.length; i++) {
      const key = path[i] as PathStep
      const next = ownProperty(value, key)
      if (next === undefined) return reachRespelled(base, baseField, path, from)
      if (field !== null) field = fieldOf(field, value, key)
      value = next
    }
    return found(value, field)
  }

  function reachRespelled(
    base: unknown,
    baseField: PayloadField | null,
    path: readonly PathStep[],
    from: number,
  ): unknown {
    if (typeof base !== 'object' || base === null) return undefined
    const first = path[from]
    if (first === undefined) return undefined
    if (Array.isArray(base)) {
      const element = ownProperty(base, first)
      if (element === undefined) return undefined
      return reach(element, baseField && fieldOf(baseField, base, first), path, from + 1)
    }
    let end = from
    while (end < path.length && end - from < MAX_RESPELLED_STEPS && typeof path[end] === 'string') end += 1
    for (let until = end; until > from; until--) {
      const hit = search(base, baseField, path.slice(from, until).join('').replaceAll('.', '').toLowerCase())
      if (hit === null) continue
      if (until === path.length) return found(hit.value, hit.field)
      // The search went through objects itself; what it does not know is elements, and how many there are.
      const isObject = typeof hit.value === 'object' && hit.value !== null && !Array.isArray(hit.value)
      if (isObject && typeof path[until] === 'string')
        return until === path.length - 1 && path[until] === 'size' ? sizeOf(hit.value as object) : undefined
      const value = reach(hit.value, hit.field, path, until)
      if (value !== undefined) return value
    }
    return end === from + 1 && base !== root && base !== supplied && first === 'size' ? sizeOf(base) : undefined
  }

  /** The value at `wanted`, which is keys run together in small letters. */
  function search(
    object: object,
    field: PayloadField | null,
    wanted: string,
  ): { value: unknown; field: PayloadField | null } | null {
    if (wanted.length > MAX_RESPELLED_CHARACTERS) return null
    const keys = spellingsOf(object)
    work.use(COST.part + wanted.length * COST.spelling)
    for (let length = wanted.length; length > 0; length--) {
      const key = keys.get(wanted.slice(0, length))
      if (key === undefined) continue
      const value = ownProperty(object, key)
      if (value === undefined) continue
      const inner = field && fieldOf(field, object, key)
      if (length === wanted.length) return { value, field: inner }
      if (typeof value !== 'object' || value === null || Array.isArray(value)) continue
      const hit = search(value, inner, wanted.slice(length))
      if (hit) return hit
    }
    return null
  }

  function spellingsOf(object: object): Map<string, string> {
    spellings ??= new Map()
    const known = spellings.get(object)
    if (known) return known
    const made = new Map<string, string>()
    for (const key of Object.keys(object)) {
      work.use(COST.spelling)
      if (key.length > MAX_RESPELLED_CHARACTERS) continue
      const small = key.replaceAll('.', '').toLowerCase()
      const other = made.get(small)
      if (other === undefined || key < other) made.set(small, key)
    }
    spellings.set(object, made)
    return made
  }

  function sizeOf(object: object): number {
    const { length } = Object.keys(object)
    work.use(length * COST.key)
    return length
  }

  function found(value: unknown, field: PayloadField | null): unknown {
    if (field?.hasSecret) hasSecrets = true
    if (typeof value === 'string') {
      work.weigh(value)
      const kind = kindOf(value, field)
      return kind ? dateText(value, kind, dates) : value
    }
    if (typeof value === 'object' && value !== null) return foundObject(value, field)
    return value
  }

  function kindOf(value: unknown, field: PayloadField | null): DateKind | null {
    return field?.date ?? (guessesDates && typeof value === 'string' && isFullDateTime(value) ? 'date' : null)
  }

  function foundObject(value: object, field: PayloadField | null): unknown {
    if (Array.isArray(value)) {
      work.weigh(value)
      if (field) remember(value, field)
      const kind = kindOf(value[0], field?.element ?? null)
      return kind
        ? value.map((element: unknown) => (typeof element === 'string' ? dateText(element, kind, dates) : element))
        : value
    }
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : dateText(value.toISOString(), 'date', dates)
    if (isSealed(value)) {
      if (sealedAs === null) throw new Error('a secret field of the payload is sealed, and was not opened')
      return sealedAs
    }
    sizeOf(value)
    if (field) remember(value, field)
    return value
  }

  function remember(value: object, field: PayloadField): void {
    fieldsByValue ??= new Map()
    fieldsByValue.set(value, field)
    if (!Array.isArray(value) || !field.element) return
    for (const element of value as unknown[])
      if (typeof element === 'object' && element !== null) fieldsByValue.set(element, field.element)
  }

  return {
    find(path) {
      const own = reach(root, fields, path, 0)
      return own === undefined ? reach(supplied, null, path, 0) : own
    },
    findIn: (base, path) => {
      const field = typeof base === 'object' && base !== null ? fieldsByValue?.get(base) : undefined
      return reach(base, field ?? null, path, 0)
    },
    get hasSecrets() {
      return hasSecrets
    },
  }
}

function ownProperty(value: unknown, key: PathStep): unknown {
  if (typeof value === 'string') return key === 'size' ? value.length : undefined
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) {
    if (key === 'size') return value.length
    if (key === 'first') return value[0] as unknown
    if (key === 'last') return value.at(-1) as unknown
    if (typeof key === 'number') return value.at(key) as unknown
  }
  if (!Object.hasOwn(value, key)) return undefined
  const own = (value as Record<PathStep, unknown>)[key]
  return typeof own === 'function' ? undefined : own
}

function fieldOf(field: PayloadField, container: unknown, key: PathStep): PayloadField | null {
  if (Array.isArray(container)) return key === 'size' ? null : field.element
  return typeof key === 'string' ? (field.fields.get(key.toLowerCase()) ?? null) : null
}

/** What stands for a secret: `{"$sealed": "…"}`, and `{"$scrubbed": true}` once it is gone. */
function isSealed(value: object): boolean {
  return Object.hasOwn(value, '$sealed') || Object.hasOwn(value, '$scrubbed')
}
