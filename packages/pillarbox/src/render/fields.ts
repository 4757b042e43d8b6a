import type { DateFields, DateKind } from '../model/schema-paths.ts'

/** What is known beforehand of a payload's fields, as a tree that is walked along with the payload. */
export interface PayloadField {
  /** Null: it is no date. */
  date: DateKind | null
  /** Secret itself, or with a secret somewhere within. */
  hasSecret: boolean
  /** By name in small letters: whoever spells a secret's name in another way has a secret all the same. */
  fields: Map<string, PayloadField>
  /** Of a list: what is known of each element. */
  element: PayloadField | null
}

const NOTHING: DateFields = new Map()
const NONE: readonly string[] = []
const trees = new WeakMap<DateFields, WeakMap<readonly string[], { tree: PayloadField | null }>>()

/** Null where nothing is known. Made once for the same sets. */
export function fieldsOf(dateFields: DateFields | null, secrets: readonly string[] | undefined): PayloadField | null {
  const dates = dateFields ?? NOTHING
  const hidden = secrets ?? NONE
  if (dates.size === 0 && hidden.length === 0) return null
  const bySecrets = trees.get(dates) ?? new WeakMap<readonly string[], { tree: PayloadField | null }>()
  trees.set(dates, bySecrets)
  const known = bySecrets.get(hidden)
  if (known) return known.tree
  const tree = grow(dates, hidden)
  bySecrets.set(hidden, { tree })
  return tree
}

function grow(dates: DateFields, secrets: readonly string[]): PayloadField {
  const root = newField()
  for (const [path, kind] of dates) fieldAt(root, path).date = kind
  for (const path of secrets) fieldAt(root, path, (field) => (field.hasSecret = true))
  return root
}

function fieldAt(root: PayloadField, path: string, visit?: (field: PayloadField) => void): PayloadField {
  let field = root
  for (const step of path.replaceAll('[]', '.[]').split('.')) {
    if (step === '') continue
    if (step === '[]') field = field.element ??= newField()
    else {
      const name = step.toLowerCase()
      const next = field.fields.get(name) ?? newField()
      field.fields.set(name, next)
      field = next
    }
    visit?.(field)
  }
  return field
}

function newField(): PayloadField {
  return { date: null, hasSecret: false, fields: new Map(), element: null }
}

/** What a preview shows in place of a secret. */
export const SECRET_COVER = '••••••'

/**
 * A copy in which the values at these dot paths are covered, whatever the case of their letters; `[]` goes through the
 * elements of a list.
 */
export function coverSecrets(payload: Record<string, unknown>, paths: readonly string[]): Record<string, unknown> {
  let covered: unknown = payload
  for (const path of paths) covered = cover(covered, path.replaceAll('[]', '.[]').split('.').filter(Boolean))
  return covered as Record<string, unknown>
}

function cover(value: unknown, steps: readonly string[]): unknown {
  const [step, ...rest] = steps
  if (step === undefined) return SECRET_COVER
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return step === '[]' ? value.map((element) => cover(element, rest)) : value
  const names = Object.keys(value).filter((name) => name.toLowerCase() === step.toLowerCase())
  if (names.length === 0) return value
  const fields = value as Record<string, unknown>
  return { ...fields, ...Object.fromEntries(names.map((name) => [name, cover(fields[name], rest)])) }
}
