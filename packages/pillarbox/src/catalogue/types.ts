import type { DomainEvents, EventType } from '../model/catalogue.ts'
import { localTarget, type PayloadSchema } from '../model/schema-paths.ts'

/** Secret paths from here on, each as its remaining steps. */
type Secrets = readonly (readonly string[])[]

interface Place {
  root: PayloadSchema
  secrets: Secrets
  indent: string
}

/**
 * TypeScript for `publish<Events>(…)`: an interface with each event type's payload, from its JSON Schema. The same
 * catalogue gives the same text. Secret fields are `Sealed`: one in clear does not compile.
 */
export function eventTypesSource(
  catalogueName: string,
  eventTypes: readonly EventType[],
  domainEvents: DomainEvents = {},
): string {
  const members = eventTypes.map((type) => {
    const payload = payloadType(type)
    return `${comment(type.description, '  ')}  ${propertyName(type.name)}: ${payload}\n`
  })
  for (const [name, types] of Object.entries(domainEvents)) {
    const payloads = types.map((type) => `Events[${quoted(type)}]`)
    members.push(`  ${propertyName(name)}: ${payloads.join(' & ') || 'object'}\n`)
  }
  const hasSecrets = members.some((member) => /\bSealed\b/.test(member))
  return [
    `// Written by "pillarbox catalogue types" from the catalogue ${catalogueName}. Changes made here are lost.\n`,
    hasSecrets ? `import type { Sealed } from '@pillarbox/client'\n` : '',
    `\n/** What each event type's payload holds: publish<Events>(…) refuses another. */\n`,
    `export interface Events {\n${members.join('')}}\n`,
  ].join('')
}

const COMBINED = ['$ref', 'allOf', 'anyOf', 'oneOf']

function payloadType({ payload, secrets }: EventType): string {
  if (payload === null) return 'object'
  const place: Place = { root: payload, secrets: secrets.map((secret) => secret.split('.')), indent: '  ' }
  // A payload is an object, whether its schema says so or not.
  const hasForm = ['type', 'properties', ...COMBINED].some((keyword) => payload[keyword] !== undefined)
  if (!hasForm) return 'object'
  const type = typeOf({ type: 'object', ...payload }, place)
  return type === 'unknown' ? 'object' : type
}

/** `unknown` where nothing is said; an intersection leaves it out. */
function typeOf(schema: unknown, place: Place): string {
  if (schema === false) return 'never'
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return 'unknown'
  const at = schema as PayloadSchema
  const within = (keyword: string): string[] =>
    Array.isArray(at[keyword]) ? at[keyword].map((part) => typeOf(part, place)) : []
  const choices = ['anyOf', 'oneOf'].filter((keyword) => Array.isArray(at[keyword]))
  const type = intersection([
    ...(typeof at['$ref'] === 'string' ? [typeOf(localTarget(place.root, at['$ref']), place)] : []),
    ownType(at, place),
    ...choices.map((keyword) => union(within(keyword))),
    ...within('allOf'),
  ])
  return at['nullable'] === true ? union([type, 'null']) : type
}

/** What `const`, `enum`, `type` and the keywords that imply one say. */
function ownType(at: PayloadSchema, place: Place): string {
  if ('const' in at) return literal(at['const'])
  if (Array.isArray(at['enum'])) return union(at['enum'].map(literal))
  const isObject = at['properties'] !== undefined || at['required'] !== undefined
  const isList = at['items'] !== undefined || at['prefixItems'] !== undefined
  const named = [at['type'] ?? (isObject ? 'object' : isList ? 'array' : 'any')].flat()
  return union(named.map((name) => typeNamed(name, at, place)))
}

const PLAIN: Readonly<Record<string, string>> = {
  integer: 'number',
  number: 'number',
  string: 'string',
  boolean: 'boolean',
  null: 'null',
}

function typeNamed(name: unknown, at: PayloadSchema, place: Place): string {
  if (name === 'array') return arrayType(at, place)
  if (name === 'object') return objectType(at, place)
  return typeof name === 'string' && Object.hasOwn(PLAIN, name) ? String(PLAIN[name]) : 'unknown'
}

function objectType(at: PayloadSchema, place: Place): string {
  const properties = (at['properties'] ?? {}) as PayloadSchema
  const required = Array.isArray(at['required']) ? (at['required'] as unknown[]).map(String) : []
  const others = at['additionalProperties']
  const isOpen = others !== undefined && others !== false
  const names = [...new Set([...Object.keys(properties), ...required])]
  if (names.length === 0) {
    if (others === false) return 'Record<string, never>'
    // Nothing is known of it beside what stands next to it.
    if (COMBINED.some((keyword) => at[keyword] !== undefined)) return 'unknown'
    return `Record<string, ${isOpen ? typeOf(others, inner(place)) : 'unknown'}>`
  }
  const within = inner(place)
  const lines = names.map((name) => {
    const schema = Object.hasOwn(properties, name) ? properties[name] : true
    const mark = required.includes(name) ? '' : '?'
    const about = typeof schema === 'object' ? (schema as PayloadSchema | null)?.['description'] : null
    return `${comment(about, within.indent)}${within.indent}${propertyName(name)}${mark}: ${fieldType(name, schema, within)}\n`
  })
  // A narrower index type would contradict the named fields.
  if (isOpen) lines.push(`${within.indent}[name: string]: unknown\n`)
  return `{\n${lines.join('')}${place.indent}}`
}

function fieldType(name: string, schema: unknown, place: Place): string {
  const rests = place.secrets.flatMap(([first = '', ...rest]) =>
    first.replace(/\[\]$/, '').toLowerCase() === name.toLowerCase() ? [{ rest, isList: first.endsWith('[]') }] : [],
  )
  const end = rests.find(({ rest }) => rest.length === 0)
  if (end) return end.isList ? 'Sealed[]' : 'Sealed'
  return typeOf(schema, { ...place, secrets: rests.map(({ rest }) => rest) })
}

function arrayType(at: PayloadSchema, place: Place): string {
  const tuple = [at['prefixItems'], at['items']].find((items) => Array.isArray(items)) as unknown[] | undefined
  if (!tuple) return `${bracketed(at['items'] === undefined ? 'unknown' : typeOf(at['items'], place))}[]`
  const rest = Array.isArray(at['items']) ? at['additionalItems'] : at['items']
  const needed = typeof at['minItems'] === 'number' ? at['minItems'] : 0
  const elements = tuple.map((item, i) => {
    const type = typeOf(item, place)
    return i < needed ? type : `${bracketed(type)}?`
  })
  if (rest !== false) elements.push(`...${bracketed(rest === undefined ? 'unknown' : typeOf(rest, place))}[]`)
  return `[${elements.join(', ')}]`
}

function inner(place: Place): Place {
  return { ...place, indent: `${place.indent}  ` }
}

function literal(value: unknown): string {
  if (typeof value === 'string') return quoted(value)
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value)
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  const fields = Object.entries(value as PayloadSchema).map(
    ([name, field]) => `${propertyName(name)}: ${literal(field)}`,
  )
  return `{ ${fields.join('; ')} }`
}

function union(types: readonly string[]): string {
  const different = [...new Set(types)].filter((type) => type !== 'never')
  if (different.includes('unknown')) return 'unknown'
  if (different.length <= 1) return different[0] ?? 'never'
  return different.map((type) => bracketed(type, / & /)).join(' | ')
}

function intersection(types: readonly string[]): string {
  const different = [...new Set(types)].filter((type) => type !== 'unknown')
  if (different.length <= 1) return different[0] ?? 'unknown'
  return different.map((type) => bracketed(type, / \| /)).join(' & ')
}

function bracketed(type: string, where = / [|&] /): string {
  return where.test(type) ? `(${type})` : type
}

function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)
}

/** In single quotes; whatever could end the text, or the line, is escaped. */
function quoted(text: string): string {
  const inside = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${inside.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}'`
}

function comment(text: unknown, indent: string): string {
  if (typeof text !== 'string' || text.trim() === '') return ''
  const line = text.replaceAll('*/', '*\u200b/').replaceAll(/\s+/g, ' ').trim()
  return `${indent}/** ${line} */\n`
}
