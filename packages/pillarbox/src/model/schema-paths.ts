import { unescapedStep } from './json-pointer.ts'

/** The paths of a payload by its JSON Schema: dot paths, with `[]` for the elements of a list (`guests[].name`). */

export type PayloadSchema = Record<string, unknown>

/** Of a date: whether it may come without a time of day, or always has one. */
export type DateKind = 'date' | 'date-time'

/** Which fields of a payload are dates. */
export type DateFields = ReadonlyMap<string, DateKind>

/** The fields that a schema marks with format `date` or `date-time`; null where there is no schema. Remembered per schema. */
export function dateFieldsOf(schema: PayloadSchema | null): DateFields | null {
  return schema && pathsIn(schema).dates
}

/**
 * Every path that a schema names, and `meta.*` for an object of which it does not say what is in it; null where there is
 * no schema. Remembered per schema.
 */
export function pathsOf(schema: PayloadSchema | null): string[] | null {
  return schema && pathsIn(schema).paths
}

/** False only where the schema says what there is and `path` is none of it. */
export function mayHavePath(schema: PayloadSchema | null, path: string): boolean {
  if (schema === null) return true
  let places: unknown[] = [schema]
  for (const step of path.replaceAll('[]', '.[]').split('.')) {
    const parts = places.flatMap((place) => [...partsOf(place, schema)])
    const fields = parts.map(fieldsOf).filter((named) => named.has(step))
    places = step === '[]' ? parts.flatMap(elementsOf) : fields.map((named) => named.get(step))
    if (places.length === 0) return step === '[]' ? parts.every(mayBeList) : isOpen(parts)
  }
  return true
}

/** What `#/$defs/guest` leads to within `root`; undefined where it leads nowhere, or out of it. */
export function localTarget(root: PayloadSchema, ref: string): unknown {
  if (ref !== '#' && !ref.startsWith('#/')) return undefined
  let value: unknown = root
  // Steps are taken apart before they are decoded, as Ajv does it: both must come to the same part of a schema.
  for (const step of ref.split('/').slice(1)) {
    const name = unescapedStep(percentDecoded(step))
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as PayloadSchema)[name]
  }
  return value
}

/** A text that is no percent encoding stays as it is. */
function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

interface SchemaPaths {
  dates: Map<string, DateKind>
  paths: string[]
}

const remembered = new WeakMap<PayloadSchema, SchemaPaths>()

function pathsIn(schema: PayloadSchema): SchemaPaths {
  const known = remembered.get(schema)
  if (known) return known
  const paths = readPaths(schema)
  remembered.set(schema, paths)
  return paths
}

/** Schemas may refer to themselves without end: so deep, and so many steps in all, is far enough. */
const MAX_DEPTH = 12
const MAX_STEPS = 20_000

function readPaths(root: PayloadSchema): SchemaPaths {
  const dates = new Map<string, DateKind>()
  const paths = new Set<string>()
  const steps = { left: MAX_STEPS }

  function walk(schema: unknown, path: string, depth: number): void {
    steps.left -= 1
    if (depth > MAX_DEPTH || steps.left < 0) return
    const parts = [...partsOf(schema, root, steps)]
    const kind = (['date', 'date-time'] as const).find((format) => parts.some((part) => part['format'] === format))
    // A list may have elements of several kinds.
    if (kind && dates.get(path) !== 'date') dates.set(path, kind)
    if (isOpen(parts)) paths.add(path === '' ? '*' : `${path}.*`)
    for (const part of parts) {
      for (const [name, field] of fieldsOf(part)) {
        const fieldPath = path === '' ? name : `${path}.${name}`
        paths.add(fieldPath)
        walk(field, fieldPath, depth + 1)
      }
      for (const element of elementsOf(part)) walk(element, `${path}[]`, depth + 1)
    }
  }

  walk(root, '', 0)
  return { dates, paths: [...paths] }
}

/**
 * A schema and all that apply to the same value beside it: what it refers to and what it is combined of. Each is looked at
 * once, so that one that refers to itself in several ways has an end.
 */
function partsOf(
  schema: unknown,
  root: PayloadSchema,
  steps = { left: Infinity },
  found = new Set<PayloadSchema>(),
): Set<PayloadSchema> {
  const part = objectOf(schema)
  steps.left -= 1
  if (!part || found.has(part) || steps.left < 0) return found
  found.add(part)
  if (typeof part['$ref'] === 'string') partsOf(localTarget(root, part['$ref']), root, steps, found)
  for (const name of ['allOf', 'anyOf', 'oneOf', 'then', 'else'])
    for (const beside of [part[name]].flat()) partsOf(beside, root, steps, found)
  return found
}

function fieldsOf(part: PayloadSchema): Map<string, unknown> {
  return new Map(Object.entries(objectOf(part['properties']) ?? {}))
}

function elementsOf(part: PayloadSchema): unknown[] {
  return [part['items'], part['prefixItems']].flat().filter((element) => objectOf(element) !== null)
}

function mayBeList(part: PayloadSchema): boolean {
  return part['type'] === undefined || [part['type']].flat().includes('array')
}

/** An object of any fields: none are named, or others are expressly welcome. Text, numbers and lists have none. */
function isOpen(parts: readonly PayloadSchema[]): boolean {
  if (parts.some((part) => part['patternProperties'] !== undefined || isWelcome(part['additionalProperties'])))
    return true
  const types = parts.flatMap((part) => part['type'] ?? [])
  return (types.length === 0 || types.includes('object')) && parts.every(saysNothingOfFields)
}

function isWelcome(additional: unknown): boolean {
  return additional === true || objectOf(additional) !== null
}

function saysNothingOfFields(part: PayloadSchema): boolean {
  return ['properties', 'items', 'prefixItems', 'format', 'enum', 'const'].every((name) => part[name] === undefined)
}

function objectOf(value: unknown): PayloadSchema | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as PayloadSchema) : null
}
