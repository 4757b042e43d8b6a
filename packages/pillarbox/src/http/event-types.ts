import { type Static, Type } from 'typebox'
import { CHANGE_KINDS } from '../catalogue/diff.ts'
import { definitionOf } from '../catalogue/format.ts'
import { CatalogueSchema, EVENT_TYPE_FIELDS } from '../catalogue/schema.ts'
import { BodyFormatName, ChannelName, JsonObject, Nullable } from '../intake/body-fields.ts'
import { EVENT_TYPE_NAME, type EventType } from '../model/catalogue.ts'
import { found } from '../model/errors.ts'
import { importCatalogue, readCatalogue, readCatalogueDocument, templatesOf } from '../operate/catalogue.ts'
import { TO_ADMINISTER, TO_READ } from './auth.ts'
import type { App, Context } from './context.ts'
import { operationsOf } from './operation.ts'
import { Closed, foundWarnings, TextOrNull, Time, WarningSchema, withTimes } from './schemas.ts'
import { withBodyCheck } from './validation.ts'
import { isYamlType } from './yaml-body.ts'

const ScopeJson = Closed({ type: Type.String(), id: Type.String() })

const EventTypeJson = Type.Object(
  { name: Type.String(), ...EVENT_TYPE_FIELDS, templateCount: Type.Integer() },
  { title: 'EventType' },
)

const TemplateJson = Type.Object(
  {
    id: Type.String(),
    channel: ChannelName,
    locale: Type.String(),
    scope: Nullable(ScopeJson),
    subject: TextOrNull,
    body: Type.String(),
    format: Nullable(BodyFormatName),
    providerTemplate: Nullable(JsonObject),
    version: Type.Integer(),
    isActive: Type.Boolean(),
    isEdited: Type.Boolean(),
  },
  { title: 'CatalogueTemplate' },
)

const anything = Type.Optional(Type.Unknown())

const ChangeJson = Type.Object({
  kind: Type.Enum([...CHANGE_KINDS]),
  text: Type.String({ description: 'In words.' }),
  entity: Type.Optional(Type.String()),
  eventType: Type.Optional(Type.String()),
  domainEvent: Type.Optional(Type.String()),
  channel: Type.Optional(Type.String()),
  locale: Type.Optional(Type.String()),
  scope: Type.Optional(ScopeJson),
  fields: Type.Optional(Type.Array(Type.Object({ field: Type.String(), from: anything, to: anything }))),
})

const ImportJson = Type.Object(
  {
    name: Type.String(),
    defaultLocale: Type.String(),
    version: Type.Integer({ description: 'The one in force: after a dry run still the one before, 0 if none.' }),
    dryRun: Type.Boolean(),
    changes: Type.Array(ChangeJson),
    warnings: Type.Array(WarningSchema, { description: 'What is legal and probably not meant; `key` is its path.' }),
  },
  { title: 'CatalogueImport' },
)

const VersionJson = Type.Object(
  {
    version: Type.Integer(),
    name: Type.String(),
    defaultLocale: Type.String(),
    importedBy: Type.String(),
    importedAt: Time,
  },
  { title: 'CatalogueVersion' },
)

const operation = operationsOf('Catalogue', 'one', { isConfiguration: true })

/** `/api/event-types`: the tenant's catalogue. */
export function eventTypeRoutes(app: App, context: Context): void {
  const { store, snapshots, events, config } = context
  const { catalogue } = store

  app.get(
    '/api/event-types',
    operation(TO_READ, 'The catalogue’s event types and entities', {
      operationId: 'listEventTypes',
      response: {
        200: Type.Object({
          items: Type.Array(EventTypeJson),
          entities: Type.Record(Type.String(), Type.String()),
          version: Type.Integer({ description: '0 before the first import.' }),
          nextCursor: Type.Null(),
        }),
      },
    }),
    async ({ tenantId }) => {
      const [types, entities, current, templates] = await Promise.all([
        catalogue.eventTypes(tenantId),
        catalogue.entities(tenantId),
        catalogue.current(tenantId),
        templatesOf(store, tenantId),
      ])
      const counts = new Map<string, number>()
      for (const { eventType } of templates) counts.set(eventType, (counts.get(eventType) ?? 0) + 1)
      const items = types.map((type) => eventTypeJson(type, counts.get(type.name) ?? 0))
      return { items, entities, version: current?.version ?? 0, nextCursor: null }
    },
  )

  app.get(
    '/api/event-types/:name',
    operation(TO_READ, 'One event type with its templates', {
      operationId: 'getEventType',
      response: { 200: Type.Object({ ...EventTypeJson.properties, templates: Type.Array(TemplateJson) }) },
    }),
    async ({ params, tenantId }) => {
      const { name } = params as { name: string }
      const type = found(EVENT_TYPE_NAME.test(name) && (await catalogue.eventType(tenantId, name)))
      const templates = await store.templates.ofEventType(tenantId, name)
      return { ...eventTypeJson(type, templates.length), templates }
    },
  )

  app.put(
    '/api/event-types',
    operation(
      TO_ADMINISTER,
      'Replace the catalogue',
      {
        operationId: 'replaceCatalogue',
        description:
          'As JSON, or as the YAML file it is written in. Answers 422 invalid_catalogue with every problem and warning at ' +
          'once; then nothing has changed. Templates nobody edited follow the catalogue, edited ones are kept and reported.',
        query: { dryRun: Type.Optional(Type.Boolean({ description: 'Only says what would change.' })) },
        body: Type.Unsafe<unknown>({
          content: {
            'application/json': { schema: { ...CatalogueSchema, title: 'Catalogue' } },
            'application/yaml': { schema: { type: 'string', description: 'A catalogue file.' } },
          },
        }),
        problems: ['invalid_catalogue'],
        response: { 200: ImportJson },
      },
      {
        bodyLimit: config.batchBodyLimitBytes,
        validatorCompiler: withBodyCheck(() => null),
        config: { takesYaml: true },
      },
    ),
    async ({ query, body, headers, tenantId, actor }) => {
      const { dryRun = false } = query
      // JSON can be text too; then it is no catalogue.
      const isYaml = isYamlType(headers['content-type'])
      const given =
        isYaml && typeof body === 'string'
          ? await readCatalogueDocument(context, tenantId, body)
          : await readCatalogue(context, tenantId, body)
      const { version, changes, warnings } = await importCatalogue(context, tenantId, given, { actor, dryRun })
      if (!dryRun) {
        events.forget(tenantId)
        snapshots.outdate(tenantId)
      }
      const { name, defaultLocale } = given.catalogue
      return { name, defaultLocale, version, dryRun, changes, warnings: foundWarnings(warnings) }
    },
  )

  app.get(
    '/api/event-types/versions',
    operation(TO_READ, 'The catalogue’s versions, newest first', {
      operationId: 'listCatalogueVersions',
      response: { 200: Type.Object({ items: Type.Array(VersionJson), nextCursor: Type.Null() }) },
    }),
    async ({ tenantId }) => {
      const versions = await catalogue.versions(tenantId)
      return { items: versions.map((version) => withTimes(version, 'importedAt')), nextCursor: null }
    },
  )

  app.get(
    '/api/event-types/versions/:version',
    operation(TO_READ, 'One version of the catalogue, with its document', {
      operationId: 'getCatalogueVersion',
      response: { 200: Type.Object({ ...VersionJson.properties, document: Type.String() }) },
    }),
    async ({ params, tenantId }) => {
      const { version } = params as { version: string }
      const stored = /^[1-9]\d{0,8}$/.test(version) && (await catalogue.version(tenantId, Number(version)))
      return withTimes(found(stored), 'importedAt')
    },
  )
}

function eventTypeJson(type: EventType, templateCount: number): Static<typeof EventTypeJson> {
  return { name: type.name, ...definitionOf(type), templateCount }
}
