import { localTarget } from '../model/schema-paths.ts'

type Schema = Record<string, unknown>

/** Which fields of a payload are dates: dot paths, `[]` for the elements of a list. */
export type DateFields = ReadonlySet<string>

/**
 * The fields that a payload schema marks with format `date` or `date-time`; null where there is no schema. Remembered
 * per schema object: asking again costs nothing.
 */
export function dateFieldsOf(schema: Schema | null): DateFields | null {
  return schema && fieldsOf(schema).dates
}

/**
 * Every path a payload schema names, and `meta.*` for an object of which it does not say what is in it; null where
 * there is no schema. Remembered as above.
 */
export function pathsOf(schema: Schema | null): string[] | null {
  return schema && fieldsOf(schema).paths
}

interface Fields {
  dates: Set<string>
  paths: string[]
}

const remembered = new WeakMap<Schema, Fields>()

function fieldsOf(schema: Schema): Fields {
  const known = remembered.get(schema)
  if (known) return known
  const fields = readFields(schema)
  remembered.set(schema, fields)
  return fields
}

/** Schemas may refer to themselves without end: so deep, and so many steps in all, is far enough. */
const MAX_DEPTH = 12
const MAX_STEPS = 20_000

function readFields(root: Schema): Fields {
  const dates = new Set<string>()
  const paths = new Set<string>()
  let steps = 0

  /** A schema and all that apply to the same value beside it: what it refers to and what it is combined of. */
  function partsOf(schema: unknown, found = new Set<Schema>()): Set<Schema> {
    const part = objectOf(schema)
    if (!part || found.has(part) || ++steps > MAX_STEPS) return found
    found.add(part)
    if (typeof part['$ref'] === 'string') partsOf(localTarget(root, part['$ref']), found)
    for (const name of ['allOf', 'anyOf', 'oneOf', 'then', 'else'])
      for (const beside of [part[name]].flat()) partsOf(beside, found)
    return found
  }

  function walk(schema: unknown, path: string, depth: number): void {
    if (depth > MAX_DEPTH || ++steps > MAX_STEPS) return
    const parts = [...partsOf(schema)]
    if (parts.some(({ format }) => format === 'date' || format === 'date-time')) dates.add(path)
    if (isOpen(parts)) paths.add(path === '' ? '*' : `${path}.*`)
    for (const part of parts) {
      for (const [name, field] of Object.entries(objectOf(part['properties']) ?? {})) {
        const fieldPath = path === '' ? name : `${path}.${name}`
        paths.add(fieldPath)
        walk(field, fieldPath, depth + 1)
      }
      for (const element of [part['items'], part['prefixItems']].flat())
        if (objectOf(element)) walk(element, `${path}[]`, depth + 1)
    }
  }

  walk(root, '', 0)
  return { dates, paths: [...paths] }
}

/** An object of any fields: none are named, or others are expressly welcome. Text, numbers and lists have none. */
function isOpen(parts: readonly Schema[]): boolean {
  if (parts.some((part) => part['patternProperties'] !== undefined || isWelcome(part['additionalProperties'])))
    return true
  const types = parts.flatMap((part) => part['type'] ?? [])
  return (types.length === 0 || types.includes('object')) && parts.every(saysNothingOfFields)
}

function isWelcome(additional: unknown): boolean {
  return additional === true || objectOf(additional) !== null
}

function saysNothingOfFields(part: Schema): boolean {
  return ['properties', 'items', 'prefixItems', 'format', 'enum', 'const'].every((name) => part[name] === undefined)
}

function objectOf(value: unknown): Schema | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : null
}
