import { writeFileSync } from 'node:fs'
import { CHANNELS } from '@pillarbox/client/contract'
import { openFixture } from '../../packages/pillarbox/src/http/fixture.ts'
import { withoutReferences } from '../support/openapi-document.ts'

/**
 * The types of the HTTP client's bodies and answers, made from the OpenAPI document of this server. `npm run client-types`
 * writes them to packages/client/src/http/wire.ts, and a test compares that file with the document. Why this is not
 * openapi-typescript: docs/decisions/0014-client-http-types.md.
 */
export const WIRE_FILE = new URL('../../packages/client/src/http/wire.ts', import.meta.url)

interface WireType {
  /** The operation, and its answer's status or `body`. */
  of: string
  /** The way from there into the schema. */
  into?: string
  about?: string
  /** Another type whose fields this one has as well. */
  base?: string
  omit?: readonly string[]
}

const LIST = 'properties.items.items'

/** A type that is part of another stands before it. */
const TYPES: Record<string, WireType> = {
  NotificationStatus: {
    of: 'GET /api/notifications/{id}/status 200',
    into: 'properties.status',
    about: 'Where a notification stands; `docs/reference/states.md` says who moves it.',
  },
  ScheduleStatus: { of: 'GET /api/automation-schedules/{id} 200', into: 'properties.status' },
  Warning: {
    of: 'GET /api/notifications 200',
    into: `${LIST}.properties.warnings.items`,
    about: 'What is legal and probably not meant.',
  },
  Address: {
    of: 'POST /api/notifications body',
    into: 'anyOf.0.properties.to',
    about: 'Where a notification is to go: what its channel needs.',
  },
  AddressView: {
    of: 'GET /api/notifications 200',
    into: `${LIST}.properties.to`,
    about: 'Where a notification goes; masked in lists, and for a viewer.',
  },
  NewNotification: {
    of: 'POST /api/notifications body',
    into: 'anyOf.0',
    about: 'A notification that needs no event: its words, or a template and what fills it.',
    omit: ['expand'],
  },
  NewPush: {
    of: 'POST /api/notifications body',
    into: 'anyOf.1',
    about: 'The push form: a title and a body for one device.',
  },
  AcceptedNotification: { of: 'POST /api/notifications 202', into: 'anyOf.0' },
  ExpandedNotifications: {
    of: 'POST /api/notifications 202',
    into: 'anyOf.1',
    about: 'What became of each member of a list.',
  },
  AcceptedEvent: { of: 'POST /api/events 202', about: '`duplicate`: the id was known, and nothing was written.' },
  BatchResult: {
    of: 'POST /api/notifications/batch 200',
    into: 'properties.results.items',
    about: 'What became of one item of a batch: 202 taken, 200 or 409 known already, 422 refused.',
  },
  NotificationStatusView: { of: 'GET /api/notifications/{id}/status 200' },
  Schedule: {
    of: 'GET /api/automation-schedules/{id} 200',
    about: 'When an event is to be turned into notifications.',
  },
  NotificationView: { of: 'GET /api/notifications 200', into: LIST },
  NotificationDetail: { of: 'GET /api/notifications/{id} 200', base: 'NotificationView' },
  CommunicationLog: {
    of: 'GET /api/communication-logs 200',
    into: LIST,
    about: 'A line of an entity’s panel: what was sent about it.',
  },
  RetryRequest: {
    of: 'POST /api/notifications/{id}/retry body',
    about: 'How a notification is sent again; as it is where nothing is said.',
  },
  ResendRequest: {
    of: 'POST /api/{plural}/{id}/resend-notification body',
    about: 'What an entity’s recipients are told again.',
  },
  Resent: { of: 'POST /api/{plural}/{id}/resend-notification 202' },
  Health: {
    of: 'GET /health 200',
    about:
      '`down` (its 503): nothing can be taken in; `degraded`: something is not sent, or not in time. `reasons` says what to do.',
  },
  NewTemplate: { of: 'POST /api/message-templates body', about: 'Words in Liquid, and where they apply.' },
  Template: { of: 'GET /api/message-templates/{id} 200' },
  TemplateVersion: { of: 'GET /api/message-templates/{id}/versions 200', into: LIST },
  TemplateDraft: {
    of: 'POST /api/message-templates/preview body',
    about: 'Words that need not be saved, and what to fill them with.',
  },
  TemplatePreview: { of: 'POST /api/message-templates/preview 200' },
  NewContact: {
    of: 'POST /api/contacts body',
    about: 'With at least one of profileId, userId, phone and email.',
  },
  Contact: { of: 'GET /api/contacts/{id} 200', about: 'Name, phone and email are masked for a viewer.' },
  ListMember: {
    of: 'POST /api/recipient-lists body',
    into: 'properties.members.items',
    about: 'With an email, a phone, or both.',
  },
  RecipientList: { of: 'GET /api/recipient-lists 200', into: LIST },
  Suppression: {
    of: 'GET /api/suppressions/{id} 200',
    about: 'An address that is not used on a channel until the suppression is lifted.',
  },
  InboxMessage: { of: 'GET /api/inbox/{userId}/messages 200', into: LIST },
  EventView: { of: 'GET /api/events 200', into: LIST, about: 'What was published, and where its notifications stand.' },
  EventDetail: { of: 'GET /api/events/{id} 200', about: 'The same with what it led to, and why.' },
  Kpis: { of: 'GET /api/kpis 200', about: 'What operators steer by; `docs/guides/numbers.md` says what each means.' },
  Cause: {
    of: 'GET /api/notifications/causes 200',
    into: LIST,
    about: 'What notifications that stopped have in common.',
  },
  BulkPreview: {
    of: 'POST /api/notifications/bulk/preview 200',
    about: 'What a bulk action would do; nothing is moved by asking.',
  },
  Operation: { of: 'GET /api/operations/{id} 200', about: 'One act on very many notifications.' },
  OperationItem: { of: 'GET /api/operations/{id}/items 200', into: LIST },
  EventType: { of: 'GET /api/event-types 200', into: LIST, about: 'What an event means: who is told, when, and how.' },
  CatalogueImport: { of: 'PUT /api/event-types 200', about: 'What importing a catalogue changed, or would change.' },
  CatalogueVersion: { of: 'GET /api/event-types/versions 200', into: LIST },
  SandboxMessage: { of: 'GET /api/sandbox/messages 200', into: LIST, about: 'What the pretend vendor took.' },
  SandboxFaults: { of: 'GET /api/sandbox/faults 200', about: 'How the sandbox accounts misbehave.' },
  TestClock: { of: 'GET /api/sandbox/clock 200', about: 'The time of a tenant that only tries things out.' },
  Conversation: { of: 'GET /api/conversations/{id} 200', about: 'The exchange with one contact about one entity.' },
  ListReach: { of: 'GET /api/recipient-lists/{id}/reach 200', about: 'Whom of a list each channel reaches.' },
  TriedMembers: {
    of: 'POST /api/recipient-lists/{id}/members/try 200',
    about: 'What adding members to a list would do.',
  },
  AuditEntry: { of: 'GET /api/audit 200', into: LIST, about: 'What was done, by whom and why.' },
  AuditChain: { of: 'GET /api/audit/chain 200', about: 'Whether the audit is as it was written.' },
  Key: { of: 'GET /api/keys 200', into: LIST, about: 'An API key, without what it opens with.' },
  IssuedKey: { of: 'POST /api/keys 201', about: 'A key as it is shown once.' },
  Worker: { of: 'GET /ops/workers 200', into: LIST, about: 'A process that sends.' },
  Alert: { of: 'GET /ops/alerts 200', into: LIST, about: 'Something that is wrong, or was.' },
  Session: { of: 'GET /api/session 200', about: 'Who is signed in at the console.' },
  Tenant: { of: 'GET /api/tenant 200' },
  Account: {
    of: 'GET /api/channel-accounts/{id} 200',
    about: 'A tenant’s credentials, pace and retry policy with a provider.',
  },
  Provider: { of: 'GET /api/providers 200', into: LIST, about: 'What an account of a provider is made of.' },
}

interface Schema {
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  patternProperties?: Record<string, Schema>
  additionalProperties?: boolean | Schema
  required?: string[]
  items?: Schema
  format?: string
  description?: string
}

interface OpenApi {
  paths: Record<string, Record<string, { requestBody?: Content; responses: Record<string, Content> }>>
}
interface Content {
  content?: Record<string, { schema: Schema }>
}

/** The whole file. */
export async function wireTypes(): Promise<string> {
  const fixture = await openFixture()
  const answer = await fixture.call(null, 'GET', '/openapi.json')
  const document = withoutReferences(answer.json() as unknown as OpenApi)
  await fixture.app.close()
  const names = new Map<string, string>([
    [formOf({ enum: [...CHANNELS] }), 'Channel'],
    [formOf(object({ type: {}, id: {} })), 'EntityRef'],
    [formOf(object({ path: {}, message: {} })), 'Problem'],
  ])
  const schemas = new Map(Object.entries(TYPES).map(([name, wanted]) => [name, schemaOf(document, wanted)]))
  const declarations = [...schemas].map(([name, schema]) => {
    const { of, about, base, omit = [] } = TYPES[name] as WireType
    const isBody = of.endsWith(' body')
    const inherited = Object.entries(schemas.get(base ?? '')?.properties ?? {})
    for (const [field, known] of inherited)
      if (formOf(schema.properties?.[field] ?? {}) !== formOf(known))
        throw new Error(`${name}.${field} is not ${base}'s`)
    const left = without(schema, [...omit, ...inherited.map(([field]) => field)])
    const text = declarationOf(name, left, { base, isBody, names })
    names.set(formOf(schema), name)
    return `${about === undefined ? '' : comment(about)}${text}`
  })
  return `${HEAD}\n${declarations.join('\n')}`
}

const HEAD = `// Made by \`npm run client-types\` from the OpenAPI document: change the routes' schemas instead.
import type { EntityRef, Instant } from '../event.ts'
import type { Channel } from '../event-rules.ts'
import type { Problem } from '../json-text.ts'
`

function object(properties: Record<string, Schema>): Schema {
  const texts = Object.keys(properties).map((name) => [name, { type: 'string' }])
  return { type: 'object', required: Object.keys(properties), properties: Object.fromEntries(texts) as never }
}

function schemaOf({ paths }: OpenApi, { of, into = '' }: WireType): Schema {
  const [method = '', url = '', part = ''] = of.split(' ')
  const operation = paths[url]?.[method.toLowerCase()]
  const found = part === 'body' ? operation?.requestBody : operation?.responses[part]
  let schema: unknown = found?.content?.['application/json']?.schema
  for (const step of into.split('.').filter(Boolean)) schema = (schema as Record<string, unknown> | undefined)?.[step]
  if (schema === undefined) throw new Error(`The OpenAPI document has no ${of} ${into}`)
  return schema as Schema
}

function without(schema: Schema, names: readonly string[]): Schema {
  const properties = Object.entries(schema.properties ?? {}).filter(([name]) => !names.includes(name))
  return schema.properties === undefined ? schema : { ...schema, properties: Object.fromEntries(properties) }
}

interface Writing {
  base?: string | undefined
  /** A body takes dates, and lists that are not to be changed. */
  isBody: boolean
  /** Types that have a name, by their form. */
  names: ReadonlyMap<string, string>
}

function declarationOf(name: string, schema: Schema, writing: Writing): string {
  if (schema.properties === undefined) return `export type ${name} = ${typeOf(schema, '', writing)}\n`
  const heritage = writing.base === undefined ? '' : ` extends ${writing.base}`
  return `export interface ${name}${heritage} ${fieldsOf(schema, '', writing)}\n`
}

function typeOf(schema: Schema, indent: string, writing: Writing): string {
  const { type, enum: values, anyOf, items, properties, format } = schema
  const name = writing.names.get(formOf(schema))
  if (name !== undefined) return name
  if (anyOf !== undefined) return anyOf.map((each) => typeOf(each, indent, writing)).join(' | ')
  if (values?.includes(null))
    return `${typeOf({ ...schema, enum: values.filter((value) => value !== null) }, indent, writing)} | null`
  if (values !== undefined) return values.map(literal).join(' | ')
  if (schema.const !== undefined) return literal(schema.const)
  if (Array.isArray(type))
    return type
      .map((each) => (each === 'null' ? 'null' : typeOf({ ...schema, type: each }, indent, writing)))
      .join(' | ')
  if (type === 'array') {
    const item = typeOf(items ?? {}, indent, writing)
    return `${writing.isBody ? 'readonly ' : ''}${item.includes(' | ') ? `(${item})` : item}[]`
  }
  if (properties !== undefined) return fieldsOf(schema, indent, writing)
  if (type === 'object') return `Record<string, ${typeOf(valuesOf(schema), indent, writing)}>`
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'string') return writing.isBody && format === 'date-time' ? 'Instant' : 'string'
  return type ?? 'unknown'
}

function fieldsOf({ properties = {}, required = [] }: Schema, indent: string, writing: Writing): string {
  const inner = `${indent}  `
  const fields = Object.entries(properties).map(([name, schema]) => {
    const about = schema.description === undefined ? '' : `${inner}/** ${schema.description} */\n`
    return `${about}${inner}${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema, inner, writing)}\n`
  })
  return `{\n${fields.join('')}${indent}}`
}

/** What the values of an object are, where its keys are anybody's. */
function valuesOf({ patternProperties, additionalProperties }: Schema): Schema {
  const [ofPattern] = Object.values(patternProperties ?? {})
  return ofPattern ?? (typeof additionalProperties === 'object' ? additionalProperties : {})
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
}

function comment(text: string): string {
  return text.includes('\n') ? `/**\n * ${text}\n */\n` : `/** ${text} */\n`
}

/** What two schemas of the same type have in common, whatever is said about them. */
function formOf({ type, enum: values, anyOf, items, properties, required = [] }: Schema): string {
  if (values !== undefined) return JSON.stringify(values)
  const fields = Object.entries(properties ?? {}).map(([name, schema]) => [
    name,
    required.includes(name),
    formOf(schema),
  ])
  return JSON.stringify([type, anyOf?.map(formOf), items && formOf(items), properties && fields])
}

if (import.meta.main) writeFileSync(WIRE_FILE, await wireTypes())
