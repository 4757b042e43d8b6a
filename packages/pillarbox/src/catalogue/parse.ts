import type {
  Catalogue,
  DomainEvents,
  EventType,
  HasuraSource,
  TemplateSeed,
  TenantDefaults,
} from '../model/catalogue.ts'
import type { FieldError } from '../model/errors.ts'
import { pointerTo } from '../model/json-pointer.ts'
import { hasAtMost, unusable } from './bounds.ts'
import { eventTypeOf } from './event-type.ts'
import { checkForm } from './form.ts'
import { type CatalogueReport, createReport, type Findings, got } from './report.ts'
import { type CatalogueRemains, MAX_TEMPLATES } from './schema.ts'
import { checkTemplates, type TemplateCheck } from './templates.ts'

/** Checks of what a catalogue holds that need more than this folder has; told where it stands. What they answer is within it. */
export interface CatalogueChecks {
  /** Of a payload's JSON Schema. */
  schema?(schema: Record<string, unknown>, path: string): Findings
  template?: TemplateCheck
  tenantDefaults?(given: TenantDefaults): FieldError[]
}

/** `warnings` are legal and probably not meant. Paths are JSON pointers. */
export type CatalogueRead = { catalogue: Catalogue; warnings: FieldError[] } | Findings

/** A catalogue as large as one may be has about half as many. Each may be wrong, and Ajv makes a list of all faults. */
const MAX_VALUES = 200_000
export const TOO_MUCH = 'has more parts than any catalogue; it is not read'

/** Taken by routes beside the event types. */
const RESERVED_NAMES = ['versions']

/**
 * Reads a catalogue from parsed YAML or JSON. Answers everything that is wrong, each with its place and how to mend it;
 * never throws on bad input. First the form of the whole (form.ts), then what a form cannot say, of all values that
 * have the right form.
 */
export function parseCatalogue(value: unknown, checks: CatalogueChecks = {}): CatalogueRead {
  const refusal = unusable(value) ?? (hasAtMost(value, MAX_VALUES) ? null : { path: '', message: TOO_MUCH })
  if (refusal) return { problems: [refusal], warnings: [] }
  const report = createReport()
  const document = checkForm(report, value)
  const catalogue = document && catalogueOf(report, document, checks)
  const { problems, warnings } = report
  return catalogue && problems.length === 0 ? { catalogue, warnings } : { problems, warnings }
}

function catalogueOf(report: CatalogueReport, document: CatalogueRemains, checks: CatalogueChecks): Catalogue {
  const defaultLocale = document.defaultLocale ?? 'en'
  const entities = entitiesOf(report, document.entities ?? {})
  const types = document.eventTypes ?? {}
  const names = Object.keys(types)
  const eventTypes: EventType[] = []
  const templates: TemplateSeed[] = []
  for (const [name, json] of Object.entries(types)) {
    if (!json) continue
    const path = pointerTo('/eventTypes', name)
    if (RESERVED_NAMES.includes(name)) report.wrong(path, `must have another name: "${name}" is taken by the API`)
    if (json.payload) report.pass(checks.schema?.(json.payload, `${path}/payload`), `${path}/payload`)
    const type = eventTypeOf(report, name, json, { path, names, entities })
    eventTypes.push(type)
    templates.push(
      ...checkTemplates(report, json.templates ?? [], { path, type, defaultLocale, check: checks.template }),
    )
  }
  if (templates.length > MAX_TEMPLATES)
    report.wrong('/eventTypes', `must have at most ${MAX_TEMPLATES} templates in all (got ${templates.length})`)
  adviseOnCancelling(report, eventTypes)
  const domainEvents = domainEventsOf(report, document.domainEvents ?? {}, eventTypes)
  const published = [...names, ...Object.keys(domainEvents)]
  const hasura = hasuraOf(report, document.sources?.hasura ?? {}, published)
  const name = document.name ?? 'catalogue'
  const tenantDefaults = tenantDefaultsOf(document)
  report.pass({ problems: checks.tenantDefaults?.(tenantDefaults) ?? [], warnings: [] }, '')
  return { name, defaultLocale, tenantDefaults, entities, eventTypes, templates, domainEvents, sources: { hasura } }
}

function tenantDefaultsOf({ timeZone, region, currency, dateFormat }: CatalogueRemains): TenantDefaults {
  return {
    ...(timeZone && { timeZone }),
    ...(region && { region }),
    ...(currency && { currency }),
    ...(dateFormat && { dateFormat }),
  }
}

function entitiesOf(
  report: CatalogueReport,
  document: NonNullable<CatalogueRemains['entities']>,
): Record<string, string> {
  const entities: Record<string, string> = {}
  const singulars = new Map<string, string>()
  for (const [singular, plural] of Object.entries(document)) {
    if (plural === undefined) continue
    const other = singulars.get(plural)
    if (other !== undefined)
      report.wrong(pointerTo('/entities', singular), `must have a plural of its own; "${plural}" is that of ${other}`)
    singulars.set(plural, singular)
    entities[singular] = plural
  }
  return entities
}

function adviseOnCancelling(report: CatalogueReport, eventTypes: readonly EventType[]): void {
  const byName = new Map(eventTypes.map((type) => [type.name, type]))
  for (const type of eventTypes) {
    const path = `${pointerTo('/eventTypes', type.name)}/cancelledBy`
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

/** A domain event is no event type and becomes nothing but event types, all about its own entity: so there is an end to it. */
function domainEventsOf(
  report: CatalogueReport,
  document: NonNullable<CatalogueRemains['domainEvents']>,
  eventTypes: readonly EventType[],
): DomainEvents {
  const types = new Map(eventTypes.map((type) => [type.name, type]))
  const domainEvents: DomainEvents = {}
  for (const [name, given] of Object.entries(document)) {
    const path = pointerTo('/domainEvents', name)
    if (types.has(name)) report.wrong(path, 'must have another name: an event type has this one')
    const named = (given ?? []).flatMap((type) => type ?? [])
    const entity = types.get(named[0] ?? '')?.entity
    for (const [i, typeName] of named.entries()) {
      const type = types.get(typeName)
      if (!type) report.wrong(`${path}/${i}`, notAnEventType(report, typeName, document, [...types.keys()]))
      else if (entity !== undefined && type.entity !== entity)
        report.wrong(`${path}/${i}`, `must be about a ${entity}, as ${named[0]} is: one event is about one thing`)
    }
    domainEvents[name] = named
  }
  return domainEvents
}

function notAnEventType(report: CatalogueReport, name: string, domainEvents: object, names: readonly string[]): string {
  return Object.hasOwn(domainEvents, name)
    ? `must be an event type: ${name} is a domain event; name the event types that it becomes`
    : `must be an event type of this catalogue ${got(name, report.meant(name, names))}`
}

function hasuraOf(
  report: CatalogueReport,
  document: NonNullable<NonNullable<CatalogueRemains['sources']>['hasura']>,
  names: readonly string[],
): Record<string, HasuraSource> {
  const hasura: Record<string, HasuraSource> = {}
  for (const [trigger, { eventType, entityId, payload } = {}] of Object.entries(document)) {
    if (eventType === undefined || entityId === undefined) continue
    if (!names.includes(eventType))
      report.wrong(
        `${pointerTo('/sources/hasura', trigger)}/eventType`,
        `must be an event type of this catalogue ${got(eventType, report.meant(eventType, names))}`,
      )
    hasura[trigger] = { eventType, entityId, payload: { ...(payload as Record<string, string> | null | undefined) } }
  }
  return hasura
}
