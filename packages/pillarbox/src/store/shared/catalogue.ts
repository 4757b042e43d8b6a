import type { Catalogue, EventType, TemplateSeed } from '../../model/catalogue.ts'
import { PillarboxError } from '../../model/errors.ts'
import type { Template } from '../../model/template.ts'
import type { CatalogueStore, StoredCatalogue } from '../../tenant/catalogue-store.ts'
import { writeAudit } from './audit.ts'
import { isUniqueViolation, jsonText } from './fields.ts'
import { parameters } from './parameters.ts'
import { type Dialect, instantOf, jsonOf, type Row, row, rows, type Script, type ScriptRunner } from './script.ts'
import { keepVersions, TEMPLATE_COLUMNS, templateOf } from './templates.ts'

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
    entities: (tenantId) => read(() => findEntities(tenantId)),
  }
}

const IMPORT_TRIES = 3

type Source = Parameters<CatalogueStore['replace']>[2]

/** Rejects with `not_found` where there is no such tenant. */
function* replaceCatalogue(
  dialect: Dialect,
  tenantId: string,
  catalogue: Catalogue,
  { document, actor, newId }: Source,
): Script<{ version: number; kept: Template[] }> {
  // First, because it locks the tenant's row: two imports at once happen one after the other.
  const tenant = yield* row(
    `update pillarbox.tenants set entities = $2, catalogue_version = catalogue_version + 1 where id = $1
      returning catalogue_version`,
    [tenantId, JSON.stringify(catalogue.entities)],
  )
  if (!tenant) throw new PillarboxError('not_found', `There is no tenant ${tenantId}`)
  const version = Number(tenant['catalogue_version'])
  yield {
    text: `insert into pillarbox.catalogues (tenant_id, version, name, default_locale, document, imported_by, imported_at)
      values ($1, $2, $3, $4, $5, $6, ${dialect.now})`,
    values: [tenantId, version, catalogue.name, catalogue.defaultLocale, document, actor],
  }
  yield* replaceEventTypes(dialect, tenantId, catalogue.eventTypes)
  const kept = yield* importTemplates(dialect, tenantId, catalogue.templates, { actor, newId })
  yield* writeAudit(dialect, { tenantId, actor, action: 'import', subject: `catalogue:${version}` })
  return { version, kept }
}

function* replaceEventTypes(dialect: Dialect, tenantId: string, types: readonly EventType[]): Script<void> {
  yield { text: 'delete from pillarbox.event_types where tenant_id = $1', values: [tenantId] }
  const { add, values } = parameters()
  const given = dialect.table(
    'g',
    { name: 'text', definition: 'json' },
    types.map((type) => ({ name: type.name, definition: JSON.stringify(type) })),
    add,
  )
  yield {
    text: `insert into pillarbox.event_types (tenant_id, name, definition)
      select ${add(tenantId)}, g.name, g.definition from ${given}`,
    values,
  }
}

/** New ones are added, those nobody edited follow the catalogue. Answers the edited ones that say something else. */
function* importTemplates(
  dialect: Dialect,
  tenantId: string,
  seeds: readonly TemplateSeed[],
  { actor, newId }: Pick<Source, 'actor' | 'newId'>,
): Script<Template[]> {
  const wanted = new Map(seeds.map((seed) => [placeOf(seed), seed]))
  const existing = yield* lockTemplates(dialect, tenantId, new Set(seeds.map(({ eventType }) => eventType)))
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
  if (ids.length > 0) yield* keepVersions(dialect, ids)
  return kept
}

const WORDS = ['subject', 'body', 'providerTemplate'] as const satisfies (keyof TemplateSeed & keyof Template)[]

function placeOf({
  eventType,
  channel,
  locale,
  scope,
}: Pick<TemplateSeed, 'eventType' | 'channel' | 'locale' | 'scope'>) {
  return JSON.stringify([eventType, channel, locale, scope?.type ?? null, scope?.id ?? null])
}

/** Nobody edits them between being looked at and being replaced. */
function* lockTemplates(dialect: Dialect, tenantId: string, eventTypes: ReadonlySet<string>): Script<Template[]> {
  const { add, values } = parameters()
  const given = dialect.table(
    'g',
    { name: 'text' },
    [...eventTypes].map((name) => ({ name })),
    add,
  )
  const found = yield* rows(
    `update pillarbox.templates set version = version
      where tenant_id = ${add(tenantId)} and event_type in (select g.name from ${given}) returning ${TEMPLATE_COLUMNS}`,
    values,
  )
  return found.map(templateOf).toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
}

function* updateTemplates(
  dialect: Dialect,
  changed: readonly { id: string; seed: TemplateSeed }[],
  actor: string,
): Script<void> {
  if (changed.length === 0) return
  const { add, values } = parameters()
  const given = dialect.table(
    'g',
    { id: 'uuid', subject: 'text', body: 'text', provider_template: 'json' },
    changed.map(({ id, seed }) => ({ id, ...wordsOf(seed) })),
    add,
  )
  yield {
    text: `update pillarbox.templates as t set subject = g.subject, body = g.body, provider_template = g.provider_template,
        version = t.version + 1, updated_at = ${dialect.now}, updated_by = ${add(actor)}
      from ${given} where t.id = g.id`,
    values,
  }
}

function* insertTemplates(
  dialect: Dialect,
  tenantId: string,
  added: readonly { id: string; seed: TemplateSeed }[],
  actor: string,
): Script<void> {
  if (added.length === 0) return
  const { add, values } = parameters()
  const given = dialect.table(
    'g',
    {
      id: 'uuid',
      event_type: 'text',
      channel: 'text',
      locale: 'text',
      scope_type: 'text',
      scope_id: 'text',
      subject: 'text',
      body: 'text',
      provider_template: 'json',
    },
    added.map(({ id, seed }) => ({
      id,
      event_type: seed.eventType,
      channel: seed.channel,
      locale: seed.locale,
      scope_type: seed.scope?.type ?? null,
      scope_id: seed.scope?.id ?? null,
      ...wordsOf(seed),
    })),
    add,
  )
  yield {
    text: `insert into pillarbox.templates (id, tenant_id, event_type, channel, locale, scope_type, scope_id, subject,
        body, provider_template, version, is_active, is_edited, created_at, updated_at, updated_by)
      select g.id, ${add(tenantId)}, g.event_type, g.channel, g.locale, g.scope_type, g.scope_id, g.subject, g.body,
        g.provider_template, 1, true, false, ${dialect.now}, ${dialect.now}, ${add(actor)} from ${given}`,
    values,
  }
}

function wordsOf({ subject, body, providerTemplate }: TemplateSeed) {
  return { subject, body, provider_template: jsonText(providerTemplate) }
}

function* findCurrent(tenantId: string): Script<StoredCatalogue | null> {
  const found = yield* row(
    `select ${VERSION_COLUMNS}, document from pillarbox.catalogues where tenant_id = $1 order by version desc limit 1`,
    [tenantId],
  )
  return found && catalogueOf(found)
}

const VERSION_COLUMNS = 'version, name, default_locale, imported_by, imported_at'

function* listVersions(tenantId: string): Script<Omit<StoredCatalogue, 'document'>[]> {
  const found = yield* rows(
    `select ${VERSION_COLUMNS} from pillarbox.catalogues where tenant_id = $1 order by version desc limit 100`,
    [tenantId],
  )
  return found.map(versionOf)
}

function* findVersion(tenantId: string, version: number): Script<StoredCatalogue | null> {
  // Compared as text, so that a number no integer column can hold is simply not there.
  const found = yield* row(
    `select ${VERSION_COLUMNS}, document from pillarbox.catalogues where tenant_id = $1 and cast(version as text) = $2`,
    [tenantId, String(version)],
  )
  return found && catalogueOf(found)
}

function versionOf(found: Row): Omit<StoredCatalogue, 'document'> {
  return {
    version: Number(found['version']),
    name: String(found['name']),
    defaultLocale: String(found['default_locale']),
    importedBy: String(found['imported_by']),
    importedAt: instantOf(found['imported_at']),
  }
}

function catalogueOf(found: Row): StoredCatalogue {
  return { ...versionOf(found), document: String(found['document']) }
}

function* findEventType(tenantId: string, name: string): Script<EventType | null> {
  const found = yield* row('select definition from pillarbox.event_types where tenant_id = $1 and name = $2', [
    tenantId,
    name,
  ])
  return found && eventTypeOf(found)
}

function* listEventTypes(tenantId: string): Script<EventType[]> {
  const found = yield* rows('select definition from pillarbox.event_types where tenant_id = $1 order by name', [
    tenantId,
  ])
  return found.map(eventTypeOf)
}

/** Those whose text names it at all are few; which of them name it in the right place is seen when they are read. */
function* listCancelledBy(tenantId: string, eventType: string): Script<string[]> {
  const found = yield* rows(
    `select definition from pillarbox.event_types where tenant_id = $1 and cast(definition as text) like $2 order by name`,
    [tenantId, `%"${eventType}"%`],
  )
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

function* findEntities(tenantId: string): Script<Record<string, string>> {
  const found = yield* row('select entities from pillarbox.tenants where id = $1', [tenantId])
  return found ? jsonOf<Record<string, string>>(found['entities']) : {}
}
