import { type Catalogue, EVENT_TYPE_NAME, type EventType, type TemplateSeed } from '../model/catalogue.ts'
import type { FieldError } from '../model/errors.ts'
import { parseRetry } from '../model/retry.ts'
import { mayHavePath } from '../model/schema-paths.ts'
import { deliveryOf, timingOf } from './delivery.ts'
import {
  asPath,
  createReport,
  durationOf,
  type Findings,
  type Form,
  fieldsOf,
  flagOf,
  got,
  itemsOf,
  type Json,
  LOCALE,
  oneOf,
  type Report,
  recordOf,
  step,
  textOf,
  unusable,
  WORD,
} from './fields.ts'
import { RECIPIENT_PATHS, recipientsOf } from './recipients.ts'
import { sourcesOf } from './sources.ts'
import { adviseOnTemplates, MAX_TEMPLATES, type TemplateCheck, templatesOf } from './templates.ts'

/** What is right and wrong beyond the form, and needs more than this stage has. Paths are within what is given. */
export interface CatalogueChecks {
  /** Of a payload's JSON Schema. */
  schema?(schema: Json): Findings
  template?: TemplateCheck
}

/** `warnings` are legal and probably not meant. Paths are JSON pointers. */
export type CatalogueRead = { catalogue: Catalogue; warnings: FieldError[] } | Findings

const MAX_EVENT_TYPES = 500

const NAME: Form = { pattern: /^[\w-]{1,63}$/, what: 'a word of letters, digits, "_" and "-"', such: 'atlas' }
const PLURAL: Form = {
  pattern: /^[a-z][a-z0-9-]{0,62}$/,
  what: 'a word of lower-case letters, digits and "-"',
  such: 'bookings',
}

/** Taken by routes beside the event types. */
const RESERVED_NAMES = ['versions']

/**
 * Reads a catalogue from parsed YAML or JSON. Answers everything that is wrong, each with its place and how to mend it;
 * never throws on bad input.
 */
export function parseCatalogue(value: unknown, checks: CatalogueChecks = {}): CatalogueRead {
  const refusal = unusable(value)
  if (refusal) return { problems: [refusal], warnings: [] }
  const report = createReport()
  const root = fieldsOf(report, value, '', {
    known: ['name', 'defaultLocale', 'entities', 'eventTypes', 'sources'],
    what: 'an object with eventTypes',
  })
  if (!root) return findings(report)

  const name = textOf(report, root['name'], '/name', NAME) ?? 'catalogue'
  const defaultLocale = textOf(report, root['defaultLocale'], '/defaultLocale', LOCALE) ?? 'en'
  const entities = entitiesOf(report, root['entities'])
  const { eventTypes, templates } = eventTypesOf(report, root['eventTypes'], { defaultLocale, entities, checks })
  const sources = sourcesOf(report, root['sources'], eventTypes)
  if (report.problems.length > 0) return findings(report)
  return { catalogue: { name, defaultLocale, entities, eventTypes, templates, sources }, warnings: report.warnings }
}

function findings({ problems, warnings }: Report): Findings {
  return { problems, warnings }
}

function entitiesOf(report: Report, value: unknown): Record<string, string> {
  const entities: Record<string, string> = {}
  const given = recordOf(
    report,
    value,
    '/entities',
    'an object of singular: plural, such as { booking: bookings }',
    100,
  )
  for (const [singular, plural] of Object.entries(given)) {
    const path = step('/entities', singular)
    if (!WORD.pattern.test(singular)) report.wrong(path, `must be named with ${WORD.what}, such as ${WORD.such}`)
    const text = textOf(report, plural, path, PLURAL)
    if (text === null) continue
    const other = Object.entries(entities).find(([, taken]) => taken === text)
    if (other) report.wrong(path, `must have a plural of its own; "${text}" is that of ${other[0]}`)
    entities[singular] = text
  }
  return entities
}

// ── event types ──────────────────────────────────────────────────────────────────────────────────────────────────

interface Surroundings {
  defaultLocale: string
  entities: Record<string, string>
  checks: CatalogueChecks
}

function eventTypesOf(
  report: Report,
  value: unknown,
  around: Surroundings,
): Pick<Catalogue, 'eventTypes' | 'templates'> {
  const before = report.problems.length
  const given = recordOf(report, value, '/eventTypes', 'an object of event types by name', MAX_EVENT_TYPES)
  const names = Object.keys(given)
  if (names.length === 0 && report.problems.length === before)
    report.wrong('/eventTypes', 'must be an object with at least one event type')
  const eventTypes: EventType[] = []
  const templates: TemplateSeed[] = []
  for (const name of names) {
    const path = step('/eventTypes', name)
    if (!EVENT_TYPE_NAME.test(name))
      report.wrong(path, 'must be named with up to 100 letters, digits, ".", "_" and "-", such as booking.confirmed')
    if (RESERVED_NAMES.includes(name)) report.wrong(path, `must have another name: "${name}" is taken by the API`)
    const json = fieldsOf(report, given[name], path, { known: EVENT_TYPE_FIELDS, what: 'an object' })
    if (!json) continue
    const type = eventTypeOf(report, name, json, path, names, around)
    eventTypes.push(type)
    const placed = templatesOf(report, json['templates'], path, type, {
      defaultLocale: around.defaultLocale,
      check: around.checks.template,
    })
    for (const { seed } of placed) templates.push(seed)
    adviseOnTemplates(report, type, placed, path)
  }
  if (templates.length > MAX_TEMPLATES)
    report.wrong('/eventTypes', `must have at most ${MAX_TEMPLATES} templates in all (got ${templates.length})`)
  adviseOnCancelling(report, eventTypes)
  return { eventTypes, templates }
}

const EVENT_TYPE_FIELDS = [
  'description',
  'entity',
  'once',
  'payload',
  'recipients',
  'delivery',
  'timing',
  'replaces',
  'cancelledBy',
  'approval',
  'secrets',
  'scopes',
  'conversation',
  'expiresAfter',
  'retry',
  'onUndeliverable',
  'templates',
] as const

function eventTypeOf(
  report: Report,
  name: string,
  json: Json,
  path: string,
  names: readonly string[],
  { entities, checks }: Surroundings,
): EventType {
  const at = (field: (typeof EVENT_TYPE_FIELDS)[number]): [Report, unknown, string] => [
    report,
    json[field],
    `${path}/${field}`,
  ]
  const delivery = deliveryOf(...at('delivery'))
  const type: EventType = {
    name,
    description: textOf(...at('description'), { max: 1_000 }),
    entity: textOf(...at('entity'), WORD) ?? 'entity',
    once: oneOf(...at('once'), ['per-entity', 'per-event'] as const) ?? 'per-entity',
    payload: payloadOf(...at('payload'), checks),
    recipients: recipientsOf(...at('recipients'), delivery),
    delivery,
    timing: timingOf(...at('timing')),
    replaces: flagOf(...at('replaces')),
    cancelledBy: cancelledByOf(...at('cancelledBy'), names),
    approval: flagOf(...at('approval')),
    secrets: secretsOf(...at('secrets')),
    scopes: scopesOf(...at('scopes')),
    conversation: conversationOf(...at('conversation')),
    expiresAfterMs: durationOf(...at('expiresAfter'), { minMs: 1 }),
    retry: retryOf(...at('retry')),
    onUndeliverable: oneOf(...at('onUndeliverable'), ['fail', 'park'] as const),
  }
  if (json['entity'] === undefined)
    report.odd(path, 'does not say its entity: the kind of thing it is about, such as booking')
  else if (!Object.hasOwn(entities, type.entity))
    report.odd(
      `${path}/entity`,
      `has no plural under entities, so that there is no /api/<plural>/{id} for it; add { ${type.entity}: ${type.entity}s }`,
    )
  lookIntoPayload(report, type, path)
  return type
}

function payloadOf(report: Report, value: unknown, path: string, { schema: check }: CatalogueChecks): Json | null {
  if (value === undefined) return null
  const schema = typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null
  if (!schema) {
    report.wrong(path, `must be a JSON Schema, such as { type: object, properties: { … } } ${got(value)}`)
    return null
  }
  report.pass(check?.(schema), path)
  return schema
}

function cancelledByOf(report: Report, value: unknown, path: string, names: readonly string[]): string[] {
  const known = new Set(names)
  const types: string[] = []
  for (const [i, given] of itemsOf(report, value, path, { max: 100 }).entries()) {
    if (typeof given === 'string' && known.has(given)) {
      if (!types.includes(given)) types.push(given)
    } else
      report.wrong(
        `${path}/${i}`,
        `must be an event type of this catalogue ${got(given, report.meant(given, names) || 'add it; with delivery: { none: true } it says nothing itself')}`,
      )
  }
  return types
}

function secretsOf(report: Report, value: unknown, path: string): string[] {
  return itemsOf(report, value, path, { max: 50 }).flatMap(
    (given, i) => asPath(report, given, `${path}/${i}`, { throughLists: true }) ?? [],
  )
}

function scopesOf(report: Report, value: unknown, path: string): EventType['scopes'] {
  const given = recordOf(report, value, path, 'an object of scope: path, such as { listing: listingId }', 10)
  return Object.entries(given).flatMap(([type, field]) => {
    const at = step(path, type)
    if (!WORD.pattern.test(type)) report.wrong(at, `must be named with ${WORD.what}, such as listing`)
    const found = asPath(report, field, at)
    return found === null ? [] : [{ type, path: found }]
  })
}

function conversationOf(report: Report, value: unknown, path: string): EventType['conversation'] {
  if (value === undefined || value === null) return null
  if (value === 'entity') return 'entity'
  const json = fieldsOf(report, value, path, {
    known: ['type', 'id'],
    needed: ['type', 'id'],
    what: 'entity, or { type: trip, id: <path into the payload> }',
  })
  if (!json) return null
  const type = textOf(report, json['type'], `${path}/type`, WORD)
  const id = asPath(report, json['id'], `${path}/id`)
  return type === null || id === null ? null : { type, path: id }
}

function retryOf(report: Report, value: unknown, path: string): unknown {
  if (value === undefined || value === null) return null
  const read = parseRetry(value)
  if ('problems' in read)
    for (const problem of read.problems)
      report.wrong(problem.path === '' ? path : `${path}/${problem.path}`, problem.message)
  return value
}

/** What paths into the payload lead to: they must not be secret, and should be in its schema. */
function lookIntoPayload(report: Report, type: EventType, path: string): void {
  const uses: [string, string][] = type.recipients.flatMap((recipient, i) =>
    RECIPIENT_PATHS.flatMap((field) => {
      const found = recipient[field]
      return found === undefined ? [] : [[`${path}/recipients/${i}/${field}`, found] satisfies [string, string]]
    }),
  )
  if (type.timing.field !== null) uses.push([`${path}/timing/field`, type.timing.field])
  for (const scope of type.scopes) uses.push([step(`${path}/scopes`, scope.type), scope.path])
  if (type.conversation !== null && type.conversation !== 'entity')
    uses.push([`${path}/conversation/id`, type.conversation.path])
  for (const [at, used] of uses)
    if (type.secrets.some((secret) => leadsInto(used, secret)))
      report.wrong(at, `is secret: "${used}" is sealed and can only be used in templates`)
  for (const [at, used] of [...uses, ...type.secrets.map((secret, i) => [`${path}/secrets/${i}`, secret] as const)])
    if (!mayHavePath(type.payload, used)) report.odd(at, `leads nowhere: the payload’s schema has no "${used}"`)
}

function leadsInto(path: string, secret: string): boolean {
  const plain = (text: string): string => `${text.replaceAll('[]', '').toLowerCase()}.`
  return plain(path).startsWith(plain(secret))
}

function adviseOnCancelling(report: Report, eventTypes: readonly EventType[]): void {
  const byName = new Map(eventTypes.map((type) => [type.name, type]))
  for (const type of eventTypes) {
    const path = `${step('/eventTypes', type.name)}/cancelledBy`
    for (const name of type.cancelledBy) {
      const other = byName.get(name)
      if (name === type.name)
        report.odd(
          path,
          'names the event type itself: each event cancels the one before; replaces: true says that better',
        )
      else if (other && other.entity !== type.entity)
        report.odd(path, `names ${name}, which is about a ${other.entity} and never cancels a ${type.entity}`)
    }
  }
}
