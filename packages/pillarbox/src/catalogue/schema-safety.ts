import { closest } from '../model/closest.ts'
import { errorText, type FieldError } from '../model/errors.ts'
import { pointerTo } from '../model/json-pointer.ts'
import { localTarget, type PayloadSchema } from '../model/schema-paths.ts'

const MAX_SCHEMA = 65_536
/** With everything that is referred to written out. More would make checking one payload slow. */
const MAX_PARTS = 5_000
/** The longest pattern. */
const MAX_PATTERN = 200

export const DRAFTS = {
  'https://json-schema.org/draft/2020-12/schema': '2020-12',
  'http://json-schema.org/draft-07/schema': 'draft-07',
} as const
export type SchemaDraft = (typeof DRAFTS)[keyof typeof DRAFTS]

/** 2020-12 unless `$schema` says otherwise; null where it names one that is not known. */
export function draftOf({ $schema: named }: PayloadSchema): SchemaDraft | null {
  if (named === undefined) return '2020-12'
  const id = typeof named === 'string' ? named.replace(/#$/, '') : ''
  return Object.hasOwn(DRAFTS, id) ? DRAFTS[id as keyof typeof DRAFTS] : null
}

/**
 * What keeps a schema that anybody may have written from being compiled and used: references that lead out of it, nowhere,
 * or back to themselves; patterns that are none; too much of it. Paths are pointers into the schema.
 */
export function safetyProblems(schema: PayloadSchema): FieldError[] {
  const size = JSON.stringify(schema).length
  if (size > MAX_SCHEMA)
    return [{ path: '', message: `must have at most ${MAX_SCHEMA} characters of JSON (got ${size})` }]
  const problems: FieldError[] = []
  const wrong = (path: string, message: string): void => void problems.push({ path, message })
  if (draftOf(schema) === null)
    wrong('/$schema', `must be one of ${Object.keys(DRAFTS).join(', ')}, or be left out for the first`)
  const { type } = schema
  if (type !== undefined && ![type].flat().includes('object'))
    wrong('/type', 'must be object: a payload is one, such as { bookingId: 1 }')
  visit(schema, '', (part, path) => look(part, path, schema, wrong))
  if (problems.length > 0) return problems
  const weight = weigh(schema, schema, '', new Map(), wrong)
  if (problems.length === 0 && weight > MAX_PARTS)
    wrong('', `must have at most ${MAX_PARTS} parts with all references written out`)
  return problems
}

function look(
  part: PayloadSchema,
  path: string,
  root: PayloadSchema,
  wrong: (path: string, message: string) => void,
): void {
  for (const keyword of ['$dynamicRef', '$recursiveRef', '$async', ...(path === '' ? [] : ['$id'])])
    if (part[keyword] !== undefined) wrong(`${path}/${keyword}`, 'cannot be used here; refer to #/$defs/… with $ref')
  const { $ref: ref, pattern, patternProperties } = part
  if (ref !== undefined) {
    const target = typeof ref === 'string' ? localTarget(root, ref) : undefined
    if (typeof ref !== 'string' || !ref.startsWith('#'))
      wrong(`${path}/$ref`, 'must stay within this schema, such as #/$defs/guest; nothing is fetched from elsewhere')
    else if (!isSchema(target)) wrong(`${path}/$ref`, `leads nowhere: there is no ${ref} in this schema`)
  }
  for (const [at, text] of [
    [`${path}/pattern`, pattern] as const,
    ...Object.keys((patternProperties ?? {}) as PayloadSchema).map(
      (key) => [pointerTo(`${path}/patternProperties`, key), key] as const,
    ),
  ]) {
    const problem = typeof text === 'string' ? patternProblem(text) : null
    if (problem !== null) wrong(at, problem)
  }
}

function patternProblem(pattern: string): string | null {
  if (pattern.length > MAX_PATTERN) return `must have at most ${MAX_PATTERN} characters (got ${pattern.length})`
  try {
    new RegExp(pattern, 'u')
    return null
  } catch (error) {
    const text = errorText(error)
    return `must be a regular expression: ${text.slice(text.lastIndexOf(': ') + 2)}`
  }
}

/** Parts of a schema with its references written out; one that leads back to itself has no such number. */
function weigh(
  part: unknown,
  root: PayloadSchema,
  path: string,
  known: Map<unknown, number>,
  wrong: (path: string, message: string) => void,
): number {
  if (typeof part !== 'object' || part === null) return 1
  const before = known.get(part)
  if (before === -1) wrong(path, 'leads back to itself: write the levels out that an event can have')
  if (before !== undefined) return Math.max(1, before)
  known.set(part, -1)
  let weight = 1
  for (const [keyword, below, at] of subschemas(part as PayloadSchema, path))
    if (keyword !== '$defs' && keyword !== 'definitions') weight += weigh(below, root, at, known, wrong)
  const { $ref: ref } = part as PayloadSchema
  if (typeof ref === 'string') weight += weigh(localTarget(root, ref), root, `${path}/$ref`, known, wrong)
  known.set(part, weight)
  return weight
}

const ONE = [
  'additionalProperties',
  'additionalItems',
  'unevaluatedProperties',
  'unevaluatedItems',
  'contains',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
  'contentSchema',
] as const
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const
const NAMED = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'] as const

/** Every schema directly within one, with the keyword it stands under and its pointer. */
function subschemas(part: PayloadSchema, path: string): [string, unknown, string][] {
  const found: [string, unknown, string][] = []
  for (const keyword of ONE) if (isSchema(part[keyword])) found.push([keyword, part[keyword], `${path}/${keyword}`])
  for (const keyword of [...LISTS, 'items']) {
    const value = part[keyword]
    if (Array.isArray(value))
      for (const [i, one] of value.entries()) found.push([keyword, one, `${path}/${keyword}/${i}`])
    else if (keyword === 'items' && isSchema(value)) found.push([keyword, value, `${path}/items`])
  }
  for (const keyword of NAMED)
    for (const [name, one] of Object.entries(Object(part[keyword]) as PayloadSchema))
      if (isSchema(one)) found.push([keyword, one, pointerTo(`${path}/${keyword}`, name)])
  return found
}

function visit(part: unknown, path: string, seen: (part: PayloadSchema, path: string) => void): void {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return
  seen(part as PayloadSchema, path)
  for (const [, below, at] of subschemas(part as PayloadSchema, path)) visit(below, at, seen)
}

/** Keywords that look like slips, and formats that nobody checks: JSON Schema takes both without a word. */
export function schemaWarnings(
  schema: PayloadSchema,
  { keywords, formats }: { keywords: readonly string[]; formats: readonly string[] },
): FieldError[] {
  const warnings: FieldError[] = []
  visit(schema, '', (part, path) => {
    for (const keyword of Object.keys(part)) {
      if (keywords.includes(keyword)) continue
      const meant = closest(keyword, keywords)
      if (meant !== null)
        warnings.push({ path: pointerTo(path, keyword), message: `does nothing: did you mean "${meant}"?` })
    }
    const { format } = part
    if (typeof format !== 'string' || formats.includes(format)) return
    const meant = closest(format, formats)
    warnings.push({
      path: `${path}/format`,
      message: `is not checked: ${meant === null ? 'no such format is known' : `did you mean "${meant}"?`}`,
    })
  })
  return warnings.slice(0, 100)
}

function isSchema(value: unknown): boolean {
  return typeof value === 'boolean' || (typeof value === 'object' && value !== null && !Array.isArray(value))
}
