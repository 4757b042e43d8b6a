import { localTarget, type PayloadSchema } from '../model/schema-paths.ts'

const SEALED: PayloadSchema = {
  type: 'object',
  required: ['$sealed'],
  properties: { $sealed: { type: 'string' } },
  additionalProperties: false,
}

/** Keywords whose schemas a path goes through without a step: they apply to the same value, or to elements of a list. */
const SAME_VALUE = ['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else']
const ELEMENTS = ['items', 'prefixItems', 'additionalItems', 'contains']

/**
 * The schema that also takes `{"$sealed": …}` wherever one of `secrets` leads: whether a sealed value is right is known
 * only to whoever sealed it. Names are compared, and lists gone through, as security/payload-paths.ts does it when it seals.
 */
export function sealable(schema: PayloadSchema, secrets: readonly string[]): PayloadSchema {
  if (secrets.length === 0) return schema
  return withSealed(
    schema,
    secrets.map((secret) => secret.split('.')),
    schema,
  ) as PayloadSchema
}

function withSealed(schema: unknown, paths: readonly (readonly string[])[], root: PayloadSchema): unknown {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema) || paths.length === 0) return schema
  const at = schema as PayloadSchema
  const next: PayloadSchema = { ...at }
  for (const keyword of [...SAME_VALUE, ...ELEMENTS]) {
    const part = at[keyword]
    if (part === undefined) continue
    next[keyword] = Array.isArray(part)
      ? part.map((one) => withSealed(one, paths, root))
      : withSealed(part, paths, root)
  }
  const { $ref: ref } = at
  if (typeof ref === 'string') {
    // Written out here, because the definition may be used for what is no secret elsewhere.
    delete next['$ref']
    const written = withSealed(localTarget(root, ref), paths, root)
    next['allOf'] = [...(Array.isArray(next['allOf']) ? (next['allOf'] as unknown[]) : []), written ?? false]
  }
  const properties = (at['properties'] ?? {}) as PayloadSchema
  const others = at['additionalProperties']
  const fields: PayloadSchema = { ...properties }
  for (const name of namesIn(properties, others, paths)) {
    const rests = paths.flatMap((path) => (isNamed(path[0], name) ? [path.slice(1)] : []))
    const field = Object.hasOwn(properties, name) ? properties[name] : others
    fields[name] = sealedField(field, paths, rests, name, root)
  }
  if (at['properties'] !== undefined || Object.keys(fields).length > 0) next['properties'] = fields
  return next
}

/** The named fields that a path leads to, and those it leads to through a schema for all other fields. */
function namesIn(properties: PayloadSchema, others: unknown, paths: readonly (readonly string[])[]): string[] {
  const wanted = paths.map(([first = '']) => first.replace(/\[\]$/, ''))
  const named = Object.keys(properties).filter((name) => wanted.some((first) => isNamed(first, name)))
  if (typeof others !== 'object' || others === null) return named
  return [...named, ...wanted.filter((first) => !named.some((name) => isNamed(first, name)))]
}

function sealedField(
  field: unknown,
  paths: readonly (readonly string[])[],
  rests: readonly (readonly string[])[],
  name: string,
  root: PayloadSchema,
): unknown {
  const deeper = withSealed(
    field,
    rests.filter((rest) => rest.length > 0),
    root,
  )
  const ends = paths.filter((path) => path.length === 1 && isNamed(path[0], name))
  if (ends.length === 0) return deeper
  // A path that ends in [] means each element; a whole list may be sealed all the same.
  const isList = ends.some(([last]) => last?.endsWith('[]'))
  return orSealed(isList ? elementsSealed(deeper, root) : deeper)
}

function elementsSealed(schema: unknown, root: PayloadSchema): unknown {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return schema
  const { $ref: ref, ...at } = schema as PayloadSchema
  if (typeof ref === 'string') return { ...at, allOf: [elementsSealed(localTarget(root, ref), root) ?? false] }
  return at['items'] === undefined || Array.isArray(at['items']) ? at : { ...at, items: orSealed(at['items']) }
}

/** By `if`, not `anyOf`: then only the value's own faults are reported. */
function orSealed(schema: unknown): PayloadSchema {
  return { if: SEALED, else: schema }
}

function isNamed(step: string | undefined, name: string): boolean {
  return step?.replace(/\[\]$/, '').toLowerCase() === name.toLowerCase()
}
