import { type Static, Type } from 'typebox'
import { ChannelName } from '../intake/body-fields.ts'
import { EVENT_TYPE_NAME, type EventType } from '../model/catalogue.ts'
import { formatDuration } from '../model/duration.ts'
import { readCatalogue } from '../operate/provision.ts'
import { TO_ADMINISTER, TO_READ, tenantOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { ForOps, notFound, Query } from './schemas.ts'
import { withBodyCheck } from './validation.ts'

const paths = Type.Object(
  Object.fromEntries(
    ['phone', 'email', 'name', 'locale', 'profileId', 'userId', 'deviceToken', 'url'].map((field) => [
      field,
      Type.Optional(Type.String()),
    ]),
  ),
)

const TemplateSeedJson = Type.Object({
  channel: ChannelName,
  locale: Type.Optional(Type.String()),
  subject: Type.Optional(Type.String()),
  body: Type.String(),
})

const definition = {
  entity: Type.String(),
  once: Type.Optional(Type.Enum(['per-entity', 'per-event'])),
  recipients: Type.Optional(Type.Array(paths)),
  delivery: Type.Optional(
    Type.Object({
      all: Type.Optional(Type.Boolean()),
      channels: Type.Optional(Type.Array(ChannelName)),
      fallback: Type.Optional(Type.Array(ChannelName)),
    }),
  ),
  timing: Type.Optional(Type.Object({ after: Type.String() })),
}

/** The catalogue as it is written; `parseCatalogue` is what judges it, and names every problem at once. */
const CatalogueBody = Type.Object({
  name: Type.Optional(Type.String()),
  defaultLocale: Type.Optional(Type.String()),
  entities: Type.Optional(Type.Record(Type.String(), Type.String())),
  eventTypes: Type.Record(
    Type.String(),
    Type.Object({ ...definition, templates: Type.Optional(Type.Array(TemplateSeedJson)) }),
  ),
})

const EventTypeJson = Type.Object({ name: Type.String(), ...definition })

const TemplateJson = Type.Object({
  id: Type.String(),
  channel: ChannelName,
  locale: Type.String(),
  subject: Type.Union([Type.String(), Type.Null()]),
  body: Type.String(),
  version: Type.Integer(),
  isActive: Type.Boolean(),
})

/** `/api/event-types`: the tenant's catalogue. */
export function eventTypeRoutes(app: App, { store, ids, events, config }: Context): void {
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
          nextCursor: Type.Null(),
        }),
      },
    },
    async handler(request) {
      const tenantId = await tenantOf(request, store)
      const [types, entities] = await Promise.all([
        store.catalogue.eventTypes(tenantId),
        store.catalogue.entities(tenantId),
      ])
      return { items: types.map(eventTypeJson), entities, nextCursor: null }
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
      return { ...eventTypeJson(type), templates: await store.catalogue.templates(tenantId, name) }
    },
  })

  app.route({
    method: 'PUT',
    url: '/api/event-types',
    config: { access: TO_ADMINISTER },
    bodyLimit: config.batchBodyLimitBytes,
    validatorCompiler: withBodyCheck(() => null),
    schema: {
      tags: ['Catalogue'],
      summary: 'Replace the catalogue',
      description: 'Answers 422 invalid_catalogue with every problem at once; then nothing has changed.',
      querystring: Query(ForOps),
      body: CatalogueBody,
      response: {
        200: Type.Object({
          name: Type.String(),
          defaultLocale: Type.String(),
          version: Type.Integer(),
          eventTypes: Type.Array(Type.String()),
          templates: Type.Integer(),
        }),
      },
    },
    async handler(request) {
      const tenantId = await tenantOf(request, store)
      const catalogue = readCatalogue(request.body)
      const { version } = await store.catalogue.replace(tenantId, catalogue, ids)
      events.forget(tenantId)
      return {
        name: catalogue.name,
        defaultLocale: catalogue.defaultLocale,
        version,
        eventTypes: catalogue.eventTypes.map((type) => type.name),
        templates: catalogue.templates.length,
      }
    },
  })
}

function eventTypeJson(type: EventType): Static<typeof EventTypeJson> {
  const { name, entity, once, recipients, delivery } = type
  return {
    name,
    entity,
    once,
    recipients: recipients.map((fields) => ({ ...fields })),
    delivery: delivery.kind === 'all' ? { all: true } : { [delivery.kind]: delivery.channels },
    timing: { after: formatDuration(type.afterMs) },
  }
}
