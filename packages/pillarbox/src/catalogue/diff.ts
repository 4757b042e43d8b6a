import { isDeepStrictEqual } from 'node:util'
import type { Catalogue, DomainEvents, EventType, TemplateSeed } from '../model/catalogue.ts'
import { definitionOf } from './format.ts'
import { placeOf } from './templates.ts'

export const CHANGE_KINDS = [
  'setting_changed',
  'entity_added',
  'entity_changed',
  'entity_removed',
  'event_type_added',
  'event_type_changed',
  'event_type_removed',
  'domain_event_added',
  'domain_event_changed',
  'domain_event_removed',
  'template_added',
  'template_updated',
  /** Edited here since the catalogue gave it: it stays as it is. */
  'template_kept',
  /** The catalogue no longer names it: it stays, and is still used. */
  'template_left',
] as const

/** One thing that an import changes, or deliberately does not. */
export interface CatalogueChange {
  kind: (typeof CHANGE_KINDS)[number]
  /** In words, after "it": "adds the event type booking.confirmed". */
  text: string
  entity?: string
  eventType?: string
  domainEvent?: string
  channel?: string
  locale?: string
  scope?: { type: string; id: string }
  /** What is different, as the file has it. */
  fields?: FieldChange[]
}

export interface FieldChange {
  field: string
  /** Absent where there was, or will be, none. */
  from?: unknown
  to?: unknown
}

/** What a tenant has now. */
export type CatalogueNow = Omit<Catalogue, 'templates'>
export type TemplateNow = TemplateSeed & { isEdited: boolean }

/** What importing `next` would change: settings, entities, event types, domain events, then templates, each in the file's order. */
export function diffCatalogue(
  current: CatalogueNow | null,
  next: Catalogue,
  templatesNow: readonly TemplateNow[],
): CatalogueChange[] {
  return [
    ...settingChanges(current, next),
    ...entityChanges(current?.entities ?? {}, next.entities),
    ...eventTypeChanges(current?.eventTypes ?? [], next.eventTypes),
    ...domainEventChanges(current?.domainEvents ?? {}, next.domainEvents),
    ...templateChanges(next, templatesNow),
  ]
}

/** Whether importing would write anything but a new version: what is kept or left is not touched. */
export function changesAnything(changes: readonly CatalogueChange[]): boolean {
  return changes.some(({ kind }) => kind !== 'template_kept' && kind !== 'template_left')
}

function settingChanges(current: CatalogueNow | null, next: Catalogue): CatalogueChange[] {
  if (!current) return []
  const fields = fieldChanges(settingsOf(current), settingsOf(next))
  return fields.map((field) => ({ kind: 'setting_changed', text: `changes ${words(field)}`, fields: [field] }))
}

function settingsOf({ name, defaultLocale, tenantDefaults, sources }: CatalogueNow): Record<string, unknown> {
  return { name, defaultLocale, ...tenantDefaults, sources }
}

function entityChanges(current: Record<string, string>, next: Record<string, string>): CatalogueChange[] {
  const changed = Object.entries(next).flatMap(([entity, plural]): CatalogueChange[] => {
    const before = Object.hasOwn(current, entity) ? current[entity] : undefined
    if (before === plural) return []
    const fields = [{ field: 'plural', ...(before !== undefined && { from: before }), to: plural }]
    return before === undefined
      ? [{ kind: 'entity_added', text: `adds the entity ${entity} (${plural})`, entity, fields }]
      : [{ kind: 'entity_changed', text: `renames the plural of ${entity}: ${before} → ${plural}`, entity, fields }]
  })
  const removed = Object.keys(current).flatMap((entity): CatalogueChange[] =>
    Object.hasOwn(next, entity) ? [] : [{ kind: 'entity_removed', text: `removes the entity ${entity}`, entity }],
  )
  return [...changed, ...removed]
}

function eventTypeChanges(current: readonly EventType[], next: readonly EventType[]): CatalogueChange[] {
  const before = new Map(current.map((type) => [type.name, type]))
  const named = new Set(next.map((type) => type.name))
  const changed = next.flatMap((type): CatalogueChange[] => {
    const { name: eventType } = type
    const old = before.get(eventType)
    if (!old) return [{ kind: 'event_type_added', text: `adds the event type ${eventType}`, eventType }]
    const fields = fieldChanges({ ...definitionOf(old) }, { ...definitionOf(type) })
    if (fields.length === 0) return []
    return [
      { kind: 'event_type_changed', text: `changes ${eventType}: ${fields.map(words).join('; ')}`, eventType, fields },
    ]
  })
  const removed = current.flatMap(({ name: eventType }): CatalogueChange[] =>
    named.has(eventType)
      ? []
      : [
          {
            kind: 'event_type_removed',
            text: `removes the event type ${eventType}: events of that type will be refused`,
            eventType,
          },
        ],
  )
  return [...changed, ...removed]
}

function domainEventChanges(current: DomainEvents, next: DomainEvents): CatalogueChange[] {
  const listed = (types: readonly string[]): string => types.join(', ') || 'nothing'
  const changed = Object.entries(next).flatMap(([domainEvent, to]): CatalogueChange[] => {
    const from = Object.hasOwn(current, domainEvent) ? current[domainEvent] : undefined
    if (isDeepStrictEqual(from, to)) return []
    const what = `the domain event ${domainEvent}, which becomes ${listed(to)}`
    return from === undefined
      ? [{ kind: 'domain_event_added', text: `adds ${what}`, domainEvent, fields: [{ field: 'becomes', to }] }]
      : [
          {
            kind: 'domain_event_changed',
            text: `changes ${what} instead of ${listed(from)}`,
            domainEvent,
            fields: [{ field: 'becomes', from, to }],
          },
        ]
  })
  const removed = Object.keys(current).flatMap((domainEvent): CatalogueChange[] => {
    if (Object.hasOwn(next, domainEvent)) return []
    const text = `removes the domain event ${domainEvent}: events of that name will be refused`
    return [{ kind: 'domain_event_removed', text, domainEvent }]
  })
  return [...changed, ...removed]
}

function templateChanges(next: Catalogue, now: readonly TemplateNow[]): CatalogueChange[] {
  const existing = new Map(now.map((template) => [keyOf(template), template]))
  const named = new Set(next.templates.map(keyOf))
  const types = new Set(next.eventTypes.map((type) => type.name))
  const brought = next.templates.flatMap((seed): CatalogueChange[] => {
    const old = existing.get(keyOf(seed))
    if (!old) return [templateChange('template_added', seed, `adds the template ${nameOf(seed)}`)]
    const fields = fieldChanges(wordsOf(old), wordsOf(seed))
    if (fields.length === 0) return []
    const what = fields.map(({ field }) => field).join(', ')
    return old.isEdited
      ? [templateChange('template_kept', seed, `keeps the template ${nameOf(seed)} as it was edited here`, fields)]
      : [templateChange('template_updated', seed, `updates the template ${nameOf(seed)}: ${what}`, fields)]
  })
  const left = now.flatMap((template): CatalogueChange[] => {
    if (named.has(keyOf(template)) || template.isEdited) return []
    const why = types.has(template.eventType) ? 'it is still used' : 'nothing uses it'
    const text = `leaves the template ${nameOf(template)}, which the catalogue no longer names: ${why}`
    return [templateChange('template_left', template, text)]
  })
  return [...brought, ...left]
}

function templateChange(
  kind: CatalogueChange['kind'],
  { eventType, channel, locale, scope }: TemplateSeed,
  text: string,
  fields?: FieldChange[],
): CatalogueChange {
  return { kind, text, eventType, channel, locale, ...(scope && { scope }), ...(fields && { fields }) }
}

function wordsOf({ subject, body, format, providerTemplate }: TemplateSeed): Record<string, unknown> {
  return {
    ...(subject !== null && { subject }),
    body,
    ...(format && { format }),
    ...(providerTemplate && { providerTemplate }),
  }
}

function keyOf({ eventType, channel, locale, scope }: TemplateSeed): string {
  return JSON.stringify([eventType, channel, locale, scope?.type, scope?.id])
}

function nameOf(template: TemplateSeed): string {
  return `${template.eventType} (${placeOf(template)})`
}

function fieldChanges(from: Record<string, unknown>, to: Record<string, unknown>): FieldChange[] {
  const names = new Set([...Object.keys(to), ...Object.keys(from)])
  return [...names]
    .filter((field) => !isDeepStrictEqual(from[field], to[field]))
    .map((field) => ({
      field,
      ...(from[field] !== undefined && { from: from[field] }),
      ...(to[field] !== undefined && { to: to[field] }),
    }))
}

const MAX_WORDS = 60

/** `timing {"after":"PT0S"} → {"after":"PT24H"}`; only the name where that would be long. */
function words({ field, from, to }: FieldChange): string {
  const [before, after] = [from, to].map((value) => (value === undefined ? 'none' : JSON.stringify(value)))
  const text = `${before} → ${after}`
  return text.length <= MAX_WORDS ? `${field} ${text}` : field
}
