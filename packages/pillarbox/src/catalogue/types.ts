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

function payloadType({ payload, secrets }: EventType): string {
  if (payload === null) return 'object'
  const place: Place = { root: payload, secrets: secrets.map((secret) => secret.split('.')), indent: '  ' }
  // A payload is an object, whether its schema says so or not.
  const hasForm = ['type', 'properties', '$ref', 'allOf', 'anyOf', 'oneOf'].some((key) => payload[key] !== undefined)
  if (!hasForm) return 'object'
  const type = typeOf({ type: 'object', ...payload }, place)
  return type === 'unknown' ? 'object' : type
}

function typeOf(schema: unknown, place: Place): string {
  if (schema === false) return 'never'
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return 'unknown'
  const at = schema as PayloadSchema
  const parts: string[] = []
  const { $ref: ref, nullable } = at
  if (typeof ref === 'string') parts.push(typeOf(localTarget(place.root, ref), place))
  if ('const' in at) parts.push(literal(at['const']))
  else if (Array.isArray(at['enum'])) parts.push(union(at['enum'].map(literal)))
  else {
    const own = ownType(at, place)
    if (own !== null) parts.push(own)
  }
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    const choices = at[keyword]
    if (Array.isArray(choices)) parts.push(union(choices.map((choice) => typeOf(choice, place))))
  }
  const { allOf } = at
  if (Array.isArray(allOf)) for (const part of allOf) parts.push(typeOf(part, place))
  const type = intersection(parts)
  return nullable === true ? union([type, 'null']) : type
}

/** What `type` and the keywords that imply one say; null where nothing does. */
function ownType(at: PayloadSchema, place: Place): string | null {
  const { type } = at
  const hasFields = at['properties'] !== undefined || at['required'] !== undefined
  const implied = hasFields ? ['object'] : at['items'] !== undefined || at['prefixItems'] !== undefined ? ['array'] : []
  const named = type === undefined ? implied : [type].flat()
  if (named.length === 0) return null
  return union(named.map((name) => typeNamed(name, at, place)))
}

function typeNamed(name: unknown, at: PayloadSchema, place: Place): string {
  switch (name) {
    case 'integer':
    case 'number':
      return 'number'
    case 'string':
    case 'boolean':
    case 'null':
      return name
    case 'array':
      return arrayType(at, place)
    case 'object':
      return objectType(at, place)
    default:
      return 'unknown'
  }
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
    if (isCombined(at)) return 'unknown'
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

function isCombined(at: PayloadSchema): boolean {
  return ['$ref', 'allOf', 'anyOf', 'oneOf'].some((keyword) => at[keyword] !== undefined)
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
  return different.map((type) => (type.includes(' & ') ? `(${type})` : type)).join(' | ')
}

function intersection(types: readonly string[]): string {
  const different = [...new Set(types)].filter((type) => type !== 'unknown')
  if (different.length <= 1) return different[0] ?? 'unknown'
  return different.map((type) => (isUnion(type) ? `(${type})` : type)).join(' & ')
}

/** Outside of braces, brackets and quotes: within them a bar is no union of this type. */
function isUnion(type: string): boolean {
  return / \| /.test(type)
}

function bracketed(type: string): string {
  return / [|&] /.test(type) ? `(${type})` : type
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
