type Schema = Record<string, unknown>

/** False only where the schema says which fields there are and this is none of them. */
export function mayHavePath(schema: Schema | null, path: string): boolean {
  if (schema === null) return true
  let places: unknown[] = [schema]
  for (const step of path.split('.')) {
    const name = step.replace(/\[\]$/, '')
    const named = stepInto(places, schema, name)
    if (named === 'open') return true
    if (named.length === 0) return false
    const next = step.endsWith('[]') ? elementsWithin(named, schema) : named
    if (next === 'open') return true
    if (next.length === 0) return false
    places = next
  }
  return true
}

function stepInto(places: readonly unknown[], root: Schema, name: string): unknown[] | 'open' {
  const parts = places.flatMap((place) => partsOf(place, root))
  const fields = parts.flatMap((part) => {
    const properties = objectOf(part['properties'])
    return properties && Object.hasOwn(properties, name) ? [properties[name]] : []
  })
  if (fields.length > 0) return fields
  const isOpen =
    parts.some(
      (part) => part['patternProperties'] !== undefined || (part['additionalProperties'] ?? false) !== false,
    ) || parts.every((part) => part['properties'] === undefined)
  return isOpen ? 'open' : []
}

function elementsWithin(places: readonly unknown[], root: Schema): unknown[] | 'open' {
  const parts = places.flatMap((place) => partsOf(place, root))
  const elements = parts.flatMap(elementsOf)
  if (elements.length > 0) return elements
  const isList = (part: Schema): boolean => part['type'] === undefined || [part['type']].flat().includes('array')
  return parts.every(isList) ? 'open' : []
}

function elementsOf(part: Schema): unknown[] {
  return [part['items'], part['prefixItems']].flat().filter((element) => objectOf(element) !== null)
}

/**
 * A schema and all that apply to the same value beside it: what it refers to and what it is combined of. Each is looked at
 * once, so that one that refers to itself in several ways has an end.
 */
function partsOf(schema: unknown, root: Schema, found = new Set<Schema>()): Schema[] {
  const part = objectOf(schema)
  if (!part || found.has(part)) return [...found]
  found.add(part)
  if (typeof part['$ref'] === 'string') partsOf(localTarget(root, part['$ref']), root, found)
  for (const name of ['allOf', 'anyOf', 'oneOf', 'then', 'else'])
    for (const beside of [part[name]].flat()) partsOf(beside, root, found)
  return [...found]
}

/** What `#/$defs/guest` leads to within `root`; undefined where it leads nowhere, or out of it. */
export function localTarget(root: Schema, ref: string): unknown {
  if (ref === '#') return root
  if (!ref.startsWith('#/')) return undefined
  let value: unknown = root
  for (const step of ref.slice(2).split('/')) {
    const name = unescapeStep(step)
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

function unescapeStep(step: string): string {
  let text = step
  try {
    text = decodeURIComponent(step)
  } catch {
    // Not a percent encoding: taken as it stands.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~')
}

function objectOf(value: unknown): Schema | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : null
}
