import type { Catalogue, DomainEvents, EventType, TemplateSeed } from '../../model/catalogue.ts'
import { PillarboxError } from '../../model/errors.ts'
import type { Template } from '../../model/template.ts'
import type { CatalogueStore, StoredCatalogue } from '../../tenant/catalogue-store.ts'
import { writeAudit } from './audit.ts'
import { changeOfCatalogue } from './audit-pictures.ts'
import { isUniqueViolation } from './fields.ts'
import { nounOf } from './noun.ts'
import {
  type Dialect,
  givenList,
  givenRows,
  jsonOf,
  jsonOrNull,
  type Row,
  row,
  rows,
  type Script,
  type ScriptRunner,
} from './script.ts'
import { keepVersions, TEMPLATES } from './templates.ts'

export function sharedCatalogue({ dialect, read, write }: ScriptRunner): CatalogueStore {
  return {
    replace: async (tenantId, catalogue, source) => {
      for (let tries = 1; ; tries++)
        try {
          return await write(() => replaceCatalogue(dialect, tenantId, catalogue, source))
        } catch (error) {
          // Somebody has just added a template in a place that the catalogue fills: next time it is found.
          if (!isUniqueViolation(error) || tries === IMPORT_TRIES) throw error
        }
    },
    current: (tenantId) => read(() => findCurrent(tenantId)),
    versions: (tenantId) => read(() => listVersions(tenantId)),
    version: (tenantId, version) => read(() => findVersion(tenantId, version)),
    eventType: (tenantId, name) => read(() => findEventType(tenantId, name)),
    eventTypes: (tenantId) => read(() => listEventTypes(tenantId)),
    cancelledBy: (tenantId, eventType) => read(() => listCancelledBy(tenantId, eventType)),
    domainEvents: (tenantId) => read(() => findDomainEvents(tenantId)),
    sources: (tenantId) => read(() => findSources(tenantId)),
    entities: (tenantId) => read(() => findEntities(tenantId)),
    entityTypes: (tenantId) => read(() => listEntityTypes(tenantId)),
  }
}

const IMPORT_TRIES = 3

type ImportOptions = Parameters<CatalogueStore['replace']>[2]

/** Rejects with `not_found` where there is no such tenant. */
function* replaceCatalogue(
  dialect: Dialect,
  tenantId: string,
  catalogue: Catalogue,
  { document, actor, newId }: ImportOptions,
): Script<{ version: number; kept: Template[] }> {
  const { name, defaultLocale, entities, domainEvents, sources } = catalogue
  // First, because it locks the tenant's row: two imports at once happen one after the other.
  const tenant = yield* row(
    `update pillarbox.tenants set entities = :entities, catalogue_version = catalogue_version + 1 where id = :tenantId
      returning catalogue_version`,
    { tenantId, entities },
  )
  if (!tenant) throw new PillarboxError('not_found', `There is no tenant ${tenantId}`)
  const version = Number(tenant['catalogue_version'])
  yield* rows(
    `insert into pillarbox.catalogues (tenant_id, version, name, default_locale, document, domain_events, sources,
        imported_by, imported_at)
      values (:tenantId, :version, :name, :defaultLocale, :document, :domainEvents, :sources, :actor, ${dialect.now})`,
    { tenantId, version, name, defaultLocale, document, domainEvents, sources, actor },
  )
  const formerTypes = yield* listEventTypes(tenantId)
  yield* replaceEventTypes(tenantId, catalogue.eventTypes)
  const { kept, ...templates } = yield* importTemplates(dialect, tenantId, catalogue.templates, { actor, newId })
  const change = changeOfCatalogue({ name, version, formerTypes, types: catalogue.eventTypes }, templates)
  yield* writeAudit(dialect, { tenantId, actor, action: 'import', subject: `catalogue:${version}`, after: change })
  return { version, kept }
}

function* replaceEventTypes(tenantId: string, types: readonly EventType[]): Script<void> {
  yield* rows('delete from pillarbox.event_types where tenant_id = :tenantId', { tenantId })
  const given = types.map((definition) => ({ name: definition.name, definition }))
  yield* rows(
    `insert into pillarbox.event_types (tenant_id, name, definition) select :tenantId, g.name, g.definition from :g`,
    { tenantId, g: givenRows({ name: 'text', definition: 'json' }, given) },
  )
}

/** New ones are added, those nobody edited follow the catalogue. `kept`: the edited ones that say something else. */
function* importTemplates(
  dialect: Dialect,
  tenantId: string,
  seeds: readonly TemplateSeed[],
  { actor, newId }: Pick<ImportOptions, 'actor' | 'newId'>,
): Script<{ kept: Template[]; added: number; changed: number }> {
  const wanted = new Map(seeds.map((seed) => [placeOf(seed), seed]))
  const existing = yield* lockTemplates(tenantId, new Set(seeds.map(({ eventType }) => eventType)))
  const kept: Template[] = []
  const changed: { id: string; seed: TemplateSeed }[] = []
  for (const template of existing) {
    const place = placeOf(template)
    const seed = wanted.get(place)
    if (!seed) continue
    wanted.delete(place)
    const isSame = WORDS.every((field) => JSON.stringify(template[field]) === JSON.stringify(seed[field]))
    if (template.isEdited) {
      if (!isSame || !template.isActive) kept.push(template)
    } else if (!isSame) changed.push({ id: template.id, seed })
  }
  const added = [...wanted.values()].map((seed) => ({ id: newId(), seed }))
  yield* updateTemplates(dialect, changed, actor)
  yield* insertTemplates(dialect, tenantId, added, actor)
  const ids = [...changed, ...added].map(({ id }) => id)
  if (ids.length > 0) yield* keepVersions(ids)
  return { kept, added: added.length, changed: changed.length }
}

const WORDS = ['subject', 'body', 'format', 'providerTemplate'] as const satisfies (keyof TemplateSeed &
  keyof Template)[]

function placeOf({
  eventType,
  channel,
  locale,
  scope,
}: Pick<TemplateSeed, 'eventType' | 'channel' | 'locale' | 'scope'>) {
  return JSON.stringify([eventType, channel, locale, scope?.type ?? null, scope?.id ?? null])
}

/** The update changes nothing, but locks the templates, so that no operator edits one before the import replaces it. */
function* lockTemplates(tenantId: string, eventTypes: ReadonlySet<string>): Script<Template[]> {
  if (eventTypes.size === 0) return []
  const found = yield* rows(
    `update pillarbox.templates set version = version where tenant_id = :tenantId and event_type in (:eventTypes)
      returning ${TEMPLATES.columns}`,
    { tenantId, eventTypes: givenList([...eventTypes]) },
  )
  return found.map(TEMPLATES.of).toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
}

interface ImportedTemplate {
  id: string
  seed: TemplateSeed
}

const IMPORTED_COLUMNS = {
  id: 'uuid',
  event_type: 'text',
  channel: 'text',
  locale: 'text',
  scope_type: 'text',
  scope_id: 'text',
  subject: 'text',
  body: 'text',
  format: 'text',
  provider_template: 'json',
} as const

function givenTemplates(imported: readonly ImportedTemplate[]): object {
  return givenRows(
    IMPORTED_COLUMNS,
    imported.map(({ id, seed }) => ({
      id,
      event_type: seed.eventType,
      channel: seed.channel,
      locale: seed.locale,
      scope_type: seed.scope?.type ?? null,
      scope_id: seed.scope?.id ?? null,
      subject: seed.subject,
      body: seed.body,
      format: seed.format,
      provider_template: seed.providerTemplate,
    })),
  )
}

function* updateTemplates(dialect: Dialect, changed: readonly ImportedTemplate[], actor: string): Script<void> {
  if (changed.length === 0) return
  yield* rows(
    `update pillarbox.templates as t set subject = g.subject, body = g.body, format = g.format,
        provider_template = g.provider_template, version = t.version + 1, updated_at = ${dialect.now}, updated_by = :actor
      from :g where t.id = g.id`,
    { actor, g: givenTemplates(changed) },
  )
}

function* insertTemplates(
  dialect: Dialect,
  tenantId: string,
  added: readonly ImportedTemplate[],
  actor: string,
): Script<void> {
  if (added.length === 0) return
  yield* rows(
    `insert into pillarbox.templates (id, tenant_id, event_type, channel, locale, scope_type, scope_id, subject,
        body, format, provider_template, version, is_active, is_edited, created_at, updated_at, updated_by)
      select g.id, :tenantId, g.event_type, g.channel, g.locale, g.scope_type, g.scope_id, g.subject, g.body,
        g.format, g.provider_template, 1, true, false, ${dialect.now}, ${dialect.now}, :actor from :g`,
    { tenantId, actor, g: givenTemplates(added) },
  )
}

const VERSION_KINDS = {
  version: 'number',
  name: 'text',
  defaultLocale: 'text',
  importedBy: 'text',
  importedAt: 'instant',
} as const
const VERSIONS = nounOf<Omit<StoredCatalogue, 'document'>>('catalogues', VERSION_KINDS)
const CATALOGUES = nounOf<StoredCatalogue>('catalogues', { ...VERSION_KINDS, document: 'text' })

function* findCurrent(tenantId: string): Script<StoredCatalogue | null> {
  const found = yield* row(
    `select ${CATALOGUES.columns} from pillarbox.catalogues where tenant_id = :tenantId order by version desc limit 1`,
    { tenantId },
  )
  return found && CATALOGUES.of(found)
}

function* listVersions(tenantId: string): Script<Omit<StoredCatalogue, 'document'>[]> {
  const found = yield* rows(
    `select ${VERSIONS.columns} from pillarbox.catalogues where tenant_id = :tenantId order by version desc limit 100`,
    { tenantId },
  )
  return found.map(VERSIONS.of)
}

function* findVersion(tenantId: string, version: number): Script<StoredCatalogue | null> {
  // Compared as text, so that a number no integer column can hold is simply not there.
  const found = yield* row(
    `select ${CATALOGUES.columns} from pillarbox.catalogues
      where tenant_id = :tenantId and cast(version as text) = :version`,
    { tenantId, version: String(version) },
  )
  return found && CATALOGUES.of(found)
}

const DEFINITIONS = 'select definition from pillarbox.event_types where tenant_id = :tenantId'

function* findEventType(tenantId: string, name: string): Script<EventType | null> {
  const found = yield* row(`${DEFINITIONS} and name = :name`, { tenantId, name })
  return found && eventTypeOf(found)
}

function* listEventTypes(tenantId: string): Script<EventType[]> {
  const found = yield* rows(`${DEFINITIONS} order by name`, { tenantId })
  return found.map(eventTypeOf)
}

/** Few definitions have the event type's name in their text; reading them tells which are cancelled by it. */
function* listCancelledBy(tenantId: string, eventType: string): Script<string[]> {
  const found = yield* rows(`${DEFINITIONS} and cast(definition as text) like :named order by name`, {
    tenantId,
    named: `%"${eventType}"%`,
  })
  return found
    .map(eventTypeOf)
    .filter(({ cancelledBy }) => cancelledBy.includes(eventType))
    .map(({ name }) => name)
}

/** A definition as an earlier version kept it: less was known of an event type, and the delay was all of its timing. */
type Definition = Pick<EventType, 'name' | 'entity' | 'once' | 'recipients' | 'delivery'> &
  Partial<EventType> & { afterMs?: number }

function eventTypeOf(found: Row): EventType {
  const { afterMs = 0, ...definition } = jsonOf<Definition>(found['definition'])
  return {
    description: null,
    payload: null,
    timing: { offsetMs: afterMs, field: null, at: null, ifPast: 'send' },
    replaces: false,
    cancelledBy: [],
    approval: false,
    secrets: [],
    scopes: [],
    conversation: null,
    expiresAfterMs: null,
    retry: null,
    onUndeliverable: null,
    ...definition,
  }
}

function* findDomainEvents(tenantId: string): Script<DomainEvents> {
  const found = yield* row(
    'select domain_events from pillarbox.catalogues where tenant_id = :tenantId order by version desc limit 1',
    { tenantId },
  )
  return found ? jsonOf<DomainEvents>(found['domain_events']) : {}
}

function* findSources(tenantId: string): Script<Catalogue['sources'] | null> {
  const found = yield* row(
    'select sources from pillarbox.catalogues where tenant_id = :tenantId order by version desc limit 1',
    { tenantId },
  )
  return found ? jsonOrNull<Catalogue['sources']>(found['sources']) : { hasura: {} }
}

function* findEntities(tenantId: string): Script<Record<string, string>> {
  const found = yield* row('select entities from pillarbox.tenants where id = :tenantId', { tenantId })
  return found ? jsonOf<Record<string, string>>(found['entities']) : {}
}

/** Of all tenants: most have the same few, so that the databases and not we leave out what is repeated. */
function* listEntityTypes(tenantId: string | null): Script<string[]> {
  const ofOne = (column: string): string => (tenantId === null ? '' : `where ${column} = :tenantId`)
  const plurals = yield* rows(
    `select distinct cast(entities as text) as entities from pillarbox.tenants ${ofOne('id')}`,
    { tenantId },
  )
  const named = yield* rows(
    `select distinct definition ->> 'entity' as entity from pillarbox.event_types ${ofOne('tenant_id')}`,
    { tenantId },
  )
  const listed = plurals.flatMap((found) => Object.keys(jsonOf<Record<string, string>>(found['entities'])))
  return [...new Set([...listed, ...named.map((found) => String(found['entity']))])]
}
