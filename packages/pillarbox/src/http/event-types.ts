import { type Static, Type } from 'typebox'
import { CHANGE_KINDS } from '../catalogue/diff.ts'
import { definitionOf } from '../catalogue/format.ts'
import { CatalogueSchema, EVENT_TYPE_FIELDS } from '../catalogue/schema.ts'
import { ChannelName, JsonObject, Nullable } from '../intake/body-fields.ts'
import { EVENT_TYPE_NAME, type EventType } from '../model/catalogue.ts'
import type { Template } from '../model/template.ts'
import { importCatalogue, readCatalogue, readCatalogueDocument, templatesOf } from '../operate/catalogue.ts'
import type { StoredCatalogue } from '../tenant/catalogue-store.ts'
import { callerOf, TO_ADMINISTER, TO_READ, tenantOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { ForOps, foundWarnings, notFound, Query, WarningSchema } from './schemas.ts'
import { withBodyCheck } from './validation.ts'
import { isYamlType } from './yaml-body.ts'

const ScopeJson = Type.Object({ type: Type.String(), id: Type.String() }, { additionalProperties: false })

const EventTypeJson = Type.Object({ name: Type.String(), ...EVENT_TYPE_FIELDS, templateCount: Type.Integer() })

const TemplateJson = Type.Object({
  id: Type.String(),
  channel: ChannelName,
  locale: Type.String(),
  scope: Nullable(ScopeJson),
  subject: Nullable(Type.String()),
  body: Type.String(),
  providerTemplate: Nullable(JsonObject),
  version: Type.Integer(),
  isActive: Type.Boolean(),
  isEdited: Type.Boolean(),
})

const anything = Type.Optional(Type.Unknown())

const ChangeJson = Type.Object({
  kind: Type.Enum([...CHANGE_KINDS]),
  text: Type.String({ description: 'In words.' }),
  entity: Type.Optional(Type.String()),
  eventType: Type.Optional(Type.String()),
  channel: Type.Optional(Type.String()),
  locale: Type.Optional(Type.String()),
  scope: Type.Optional(ScopeJson),
  fields: Type.Optional(Type.Array(Type.Object({ field: Type.String(), from: anything, to: anything }))),
})

const ImportJson = Type.Object({
  name: Type.String(),
  defaultLocale: Type.String(),
  version: Type.Integer({ description: 'The one in force: after a dry run still the one before, 0 if none.' }),
  dryRun: Type.Boolean(),
  changes: Type.Array(ChangeJson),
  warnings: Type.Array(WarningSchema, { description: 'What is legal and probably not meant; `key` is its path.' }),
})

const VersionJson = Type.Object({
  version: Type.Integer(),
  name: Type.String(),
  defaultLocale: Type.String(),
  importedBy: Type.String(),
  importedAt: Type.String({ format: 'date-time' }),
})

/** `/api/event-types`: the tenant's catalogue. */
export function eventTypeRoutes(app: App, context: Context): void {
  const { store, events, config } = context

  app.route({
    method: 'GET',
    url: '/api/event-types',
    config: { access: TO_READ },
    schema: {
      tags: ['Catalogue'],
      summary: 'The catalogue’s event types and entities',
      querystring: Query(ForOps),
      response: {
        200: Type.Object({
          items: Type.Array(EventTypeJson),
          entities: Type.Record(Type.String(), Type.String()),
          version: Type.Integer({ description: '0 before the first import.' }),
          nextCursor: Type.Null(),
        }),
      },
    },
    async handler(request) {
      const tenantId = await tenantOf(request, store)
      const [types, entities, current, templates] = await Promise.all([
        store.catalogue.eventTypes(tenantId),
        store.catalogue.entities(tenantId),
        store.catalogue.current(tenantId),
        templatesOf(store, tenantId),
      ])
      const counts = new Map<string, number>()
      for (const { eventType } of templates) counts.set(eventType, (counts.get(eventType) ?? 0) + 1)
      return {
        items: types.map((type) => eventTypeJson(type, counts.get(type.name) ?? 0)),
        entities,
        version: current?.version ?? 0,
        nextCursor: null,
      }
    },
  })

  app.route({
    method: 'GET',
    url: '/api/event-types/:name',
    config: { access: TO_READ },
    schema: {
      tags: ['Catalogue'],
      summary: 'One event type with its templates',
      querystring: Query(ForOps),
      response: { 200: Type.Object({ ...EventTypeJson.properties, templates: Type.Array(TemplateJson) }) },
    },
    async handler(request) {
      const { name } = request.params as { name: string }
      const tenantId = await tenantOf(request, store)
      const type = EVENT_TYPE_NAME.test(name) ? await store.catalogue.eventType(tenantId, name) : null
      if (!type) throw notFound()
      const templates = await store.templates.ofEventType(tenantId, name)
      return { ...eventTypeJson(type, templates.length), templates: templates.map(templateJson) }
    },
  })

  app.route({
    method: 'PUT',
    url: '/api/event-types',
    config: { access: TO_ADMINISTER, takesYaml: true },
    bodyLimit: config.batchBodyLimitBytes,
    validatorCompiler: withBodyCheck(() => null),
    schema: {
      tags: ['Catalogue'],
      summary: 'Replace the catalogue',
      description:
        'As JSON, or as the YAML file it is written in. Answers 422 invalid_catalogue with every problem and warning at ' +
        'once; then nothing has changed. Templates nobody edited follow the catalogue, edited ones are kept and reported.',
      querystring: Query({
        dryRun: Type.Optional(Type.Boolean({ description: 'Only says what would change.' })),
        ...ForOps,
      }),
      body: Type.Unsafe<unknown>({
        content: {
          'application/json': { schema: { ...CatalogueSchema, title: 'Catalogue' } },
          'application/yaml': { schema: { type: 'string', description: 'A catalogue file.' } },
        },
      }),
      response: { 200: ImportJson },
    },
    async handler(request) {
      const tenantId = await tenantOf(request, store)
      const { dryRun = false } = request.query
      const { body } = request
      // JSON can be text too; then it is no catalogue.
      const isYaml = isYamlType(request.headers['content-type'])
      const given = isYaml && typeof body === 'string' ? readCatalogueDocument(body) : readCatalogue(body)
      const { actor } = callerOf(request)
      const { version, changes, warnings } = await importCatalogue(context, tenantId, given, { actor, dryRun })
      if (!dryRun) events.forget(tenantId)
      const { name, defaultLocale } = given.catalogue
      return { name, defaultLocale, version, dryRun, changes, warnings: foundWarnings(warnings) }
    },
  })

  app.route({
    method: 'GET',
    url: '/api/event-types/versions',
    config: { access: TO_READ },
    schema: {
      tags: ['Catalogue'],
      summary: 'The catalogue’s versions, newest first',
      querystring: Query(ForOps),
      response: { 200: Type.Object({ items: Type.Array(VersionJson), nextCursor: Type.Null() }) },
    },
    async handler(request) {
      const versions = await store.catalogue.versions(await tenantOf(request, store))
      return { items: versions.map(versionJson), nextCursor: null }
    },
  })

  app.route({
    method: 'GET',
    url: '/api/event-types/versions/:version',
    config: { access: TO_READ },
    schema: {
      tags: ['Catalogue'],
      summary: 'One version of the catalogue, with its document',
      querystring: Query(ForOps),
      response: { 200: Type.Object({ ...VersionJson.properties, document: Type.String() }) },
    },
    async handler(request) {
      const { version } = request.params as { version: string }
      const tenantId = await tenantOf(request, store)
      const found = /^[1-9]\d{0,8}$/.test(version) ? await store.catalogue.version(tenantId, Number(version)) : null
      if (!found) throw notFound()
      return { ...versionJson(found), document: found.document }
    },
  })
}

function eventTypeJson(type: EventType, templateCount: number): Static<typeof EventTypeJson> {
  return { name: type.name, ...definitionOf(type), templateCount }
}

function templateJson(template: Template): Static<typeof TemplateJson> {
  const { id, channel, locale, scope, subject, body, providerTemplate, version, isActive, isEdited } = template
  return { id, channel, locale, scope, subject, body, providerTemplate, version, isActive, isEdited }
}

function versionJson(stored: Omit<StoredCatalogue, 'document'>): Static<typeof VersionJson> {
  const { version, name, defaultLocale, importedBy, importedAt } = stored
  return { version, name, defaultLocale, importedBy, importedAt: new Date(importedAt).toISOString() }
}
