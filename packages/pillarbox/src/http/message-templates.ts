import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { ChannelName, EntityType, JsonObject, Line, LocaleTag, Nullable } from '../intake/body-fields.ts'
import { EVENT_TYPE_NAME, type EventType } from '../model/catalogue.ts'
import { PillarboxError } from '../model/errors.ts'
import type { Template, TemplateVersion } from '../model/template.ts'
import type { Tenant } from '../model/tenant.ts'
import {
  eventTypeOf,
  previewTemplate,
  refuseUnreadable,
  type TemplateFields,
  templateWarnings,
} from '../operate/templates.ts'
import { sendTest } from '../operate/test-send.ts'
import { callerOf, TO_ADMINISTER, TO_READ, tenantOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { invalidQuery } from './entity-query.ts'
import {
  changedMeanwhile,
  ForOps,
  Id,
  idParameter,
  invalidBody,
  notFound,
  PageSchema,
  Paging,
  Query,
  ReadVersion,
  WarningSchema,
} from './schemas.ts'

const EventTypeName = Type.String({ pattern: EVENT_TYPE_NAME.source, description: 'One of the tenant’s catalogue.' })

const words = {
  subject: Type.Optional(Nullable(Line(0, 998, 'Liquid.'))),
  body: Type.String({ minLength: 1, maxLength: 100_000, description: 'Liquid.' }),
  providerTemplate: Type.Optional(
    Nullable(
      Type.Unsafe<Record<string, unknown>>({
        ...JsonObject,
        description:
          'WhatsApp: name, language, components. SMS: dltTemplateId, dltEntityId, flowId. Text in it is Liquid.',
      }),
    ),
  ),
}

const place = {
  eventType: EventTypeName,
  channel: ChannelName,
  locale: Type.Optional({ ...LocaleTag, description: 'Absent: the tenant’s default.' }),
  scopeType: Type.Optional(Nullable(EntityType)),
  scopeId: Type.Optional(Nullable(Line(1, 200))),
}

const TemplateBody = Type.Object(
  { ...place, ...words, isActive: Type.Optional(Type.Boolean()) },
  { additionalProperties: false },
)
type TemplateBody = Static<typeof TemplateBody>

const TemplateReplacement = Type.Object({ ...TemplateBody.properties, ...ReadVersion }, { additionalProperties: false })

const TemplateChanges = Type.Object(
  {
    ...place,
    eventType: Type.Optional(place.eventType),
    channel: Type.Optional(place.channel),
    ...words,
    body: Type.Optional(words.body),
    isActive: Type.Optional(Type.Boolean()),
    ...ReadVersion,
  },
  { additionalProperties: false, minProperties: 1 },
)
type TemplateChanges = Static<typeof TemplateChanges>

const text = Nullable(Type.String())

const TemplateJson = Type.Object({
  id: Id,
  tenantId: Type.String(),
  eventType: Type.String(),
  channel: ChannelName,
  locale: Type.String(),
  scopeType: text,
  scopeId: text,
  subject: text,
  body: Type.String(),
  providerTemplate: Nullable(JsonObject),
  version: Type.Integer(),
  isActive: Type.Boolean(),
  isEdited: Type.Boolean({ description: 'Changed since the catalogue gave it: an import keeps it.' }),
  warnings: Type.Array(WarningSchema),
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time' }),
  updatedBy: Type.String(),
})

const VersionJson = Type.Object({
  version: Type.Integer(),
  subject: text,
  body: Type.String(),
  providerTemplate: Nullable(JsonObject),
  isActive: Type.Boolean(),
  changedAt: Type.String({ format: 'date-time' }),
  changedBy: Type.String(),
})

const PreviewJson = Type.Object({
  subject: text,
  body: Type.String(),
  providerTemplate: Nullable(JsonObject),
  isHtml: Type.Boolean(),
  missing: Type.Array(Type.String(), { description: 'Keys that the context does not have.' }),
  unknown: Type.Array(Type.String(), { description: 'Keys that no payload of the event type has.' }),
  segments: Type.Optional(
    Type.Object(
      {
        encoding: Type.Enum(['GSM-7', 'UCS-2']),
        units: Type.Integer(),
        segments: Type.Integer(),
        remaining: Type.Integer(),
        forcedBy: Type.Array(Type.String()),
      },
      { description: 'How an SMS is cut, and which characters make it long.' },
    ),
  ),
  warnings: Type.Array(WarningSchema),
})

const contextFields = {
  context: { ...JsonObject, description: 'What a payload would be.' } as typeof JsonObject,
  locale: Type.Optional(LocaleTag),
}

const TestAddress = Type.Object(
  {
    name: Type.Optional(Line(0, 200)),
    email: Type.Optional(Line(1, 320)),
    phone: Type.Optional(Line(1, 60)),
    deviceToken: Type.Optional(Line(1, 4_096)),
    platform: Type.Optional(Type.Enum(['fcm', 'wns'])),
    userId: Type.Optional(Line(1, 200)),
    url: Type.Optional(Line(1, 2_048)),
  },
  { additionalProperties: false, description: 'What the template’s channel needs.' },
)

/** `/api/message-templates`: the words, per event type × channel × locale × scope. Checked when they are saved. */
export function messageTemplateRoutes(app: App, context: Context): void {
  const { store, ids, clock, renderer } = context
  const { templates } = store

  app.route({
    method: 'GET',
    url: '/api/message-templates',
    config: { access: TO_READ },
    schema: {
      tags: ['Templates'],
      summary: 'List templates, by event type, channel, locale and scope',
      querystring: Query({
        eventType: Type.Optional(Type.String({ maxLength: 100 })),
        channel: Type.Optional(ChannelName),
        locale: Type.Optional(Type.String({ maxLength: 35 })),
        isActive: Type.Optional(Type.Boolean()),
        ...ForOps,
        ...Paging,
      }),
      response: { 200: PageSchema(TemplateJson) },
    },
    async handler(request) {
      const { eventType, channel, locale, isActive, limit, cursor } = request.query
      const tenantId = await tenantOf(request, store)
      const page = await templates.list(
        tenantId,
        {
          ...(eventType !== undefined && { eventType }),
          ...(channel !== undefined && { channel }),
          ...(locale !== undefined && { locale }),
          ...(isActive !== undefined && { isActive }),
        },
        { limit, ...(cursor !== undefined && { cursor }) },
      )
      const types = new Map((await store.catalogue.eventTypes(tenantId)).map((type) => [type.name, type]))
      return {
        items: page.items.map((template) => json(template, types.get(template.eventType) ?? null)),
        nextCursor: page.nextCursor,
      }
    },
  })

  app.route({
    method: 'POST',
    url: '/api/message-templates',
    config: { access: TO_ADMINISTER },
    schema: {
      tags: ['Templates'],
      summary: 'Make a template',
      description: '409 already_exists where there is one for the same event type, channel, locale and scope.',
      querystring: Query(ForOps),
      body: TemplateBody,
      response: { 201: TemplateJson },
    },
    async handler(request, reply) {
      const tenant = await tenantFor(request)
      const fields = whole(request.body, tenant)
      const eventType = await checked(tenant.id, fields)
      const made = await templates.insert({ id: ids(), tenantId: tenant.id, ...fields }, callerOf(request).actor)
      if (!made) throw placeTaken()
      return reply.status(201).send(json(made, eventType))
    },
  })

  app.route({
    method: 'GET',
    url: '/api/message-templates/:id',
    config: { access: TO_READ },
    schema: {
      tags: ['Templates'],
      summary: 'One template',
      querystring: Query(ForOps),
      response: { 200: TemplateJson },
    },
    async handler(request) {
      return withWarnings(await found(request, await tenantOf(request, store)))
    },
  })

  app.route({
    method: 'PUT',
    url: '/api/message-templates/:id',
    config: { access: TO_ADMINISTER },
    schema: {
      tags: ['Templates'],
      summary: 'Replace a template',
      description: 'What is not given takes its default. What is scheduled or parked is rendered with the new version.',
      querystring: Query(ForOps),
      body: TemplateReplacement,
      response: { 200: TemplateJson },
    },
    async handler(request) {
      const tenant = await tenantFor(request)
      const { id } = await found(request, tenant.id)
      const { version, ...body } = request.body
      const fields = whole(body, tenant)
      return update(request, { tenantId: tenant.id, id, version }, fields, await checked(tenant.id, fields))
    },
  })

  app.route({
    method: 'PATCH',
    url: '/api/message-templates/:id',
    config: { access: TO_ADMINISTER },
    schema: {
      tags: ['Templates'],
      summary: 'Change what is named',
      querystring: Query(ForOps),
      body: TemplateChanges,
      response: { 200: TemplateJson },
    },
    async handler(request) {
      const tenantId = await tenantOf(request, store)
      const current = await found(request, tenantId)
      const { version, ...body } = request.body
      const changes = changesOf(body)
      refuseUnreadable(renderer, { ...current, ...changes })
      // One whose event type has left the catalogue can still be corrected, or switched off.
      const eventType =
        changes.eventType === undefined
          ? await store.catalogue.eventType(tenantId, current.eventType)
          : await eventTypeOf(store, tenantId, changes.eventType)
      return update(request, { tenantId, id: current.id, version }, changes, eventType)
    },
  })

  app.route({
    method: 'DELETE',
    url: '/api/message-templates/:id',
    config: { access: TO_ADMINISTER },
    schema: {
      tags: ['Templates'],
      summary: 'Remove a template',
      description: '204. One that notifications were made from is deactivated instead: 200 with isActive false.',
      querystring: Query(ForOps),
      response: { 200: TemplateJson, 204: Type.Null() },
    },
    async handler(request, reply) {
      const tenantId = await tenantOf(request, store)
      const answer = await templates.remove(tenantId, idParameter(request), callerOf(request).actor)
      if (!answer) throw notFound()
      if (answer === 'removed') return reply.status(204).send(null)
      return reply.status(200).send(await withWarnings(answer))
    },
  })

  app.route({
    method: 'GET',
    url: '/api/message-templates/:id/versions',
    config: { access: TO_READ },
    schema: {
      tags: ['Templates'],
      summary: 'What a template said, newest first, and who changed it',
      querystring: Query({ ...ForOps, ...Paging }),
      response: { 200: PageSchema(VersionJson) },
    },
    async handler(request) {
      const { limit, cursor } = request.query
      const tenantId = await tenantOf(request, store)
      const { id } = await found(request, tenantId)
      if (cursor !== undefined && !/^[1-9]\d{0,8}$/.test(cursor))
        throw invalidQuery('cursor', 'is not one that this list has answered')
      const all = await templates.versions(tenantId, id)
      const rest = cursor === undefined ? all : all.filter(({ version }) => version < Number(cursor))
      const items = rest.slice(0, limit)
      const last = rest.length > items.length ? items.at(-1) : undefined
      return { items: items.map(versionJson), nextCursor: last ? String(last.version) : null }
    },
  })

  app.route({
    method: 'POST',
    url: '/api/message-templates/preview',
    config: { access: TO_READ },
    schema: {
      tags: ['Templates'],
      summary: 'Render words that are not saved',
      description:
        'By the code that sends, with the tenant’s settings. With eventType, keys are checked against its payload.',
      querystring: Query(ForOps),
      body: Type.Object(
        { channel: ChannelName, ...words, ...contextFields, eventType: Type.Optional(EventTypeName) },
        { additionalProperties: false },
      ),
      response: { 200: PreviewJson },
    },
    async handler(request) {
      const tenant = await tenantFor(request)
      const { channel, subject = null, body, providerTemplate = null, eventType, locale } = request.body
      return previewTemplate(renderer, {
        words: { subject, body, providerTemplate },
        channel,
        context: request.body.context,
        locale: locale ?? tenant.defaultLocale,
        tenant,
        eventType: eventType === undefined ? null : await eventTypeOf(store, tenant.id, eventType),
        now: clock.now(),
      })
    },
  })

  app.route({
    method: 'POST',
    url: '/api/message-templates/:id/preview',
    config: { access: TO_READ },
    schema: {
      tags: ['Templates'],
      summary: 'Render a template',
      description: 'By the code that sends, with the tenant’s settings.',
      querystring: Query(ForOps),
      body: Type.Object(contextFields, { additionalProperties: false }),
      response: { 200: PreviewJson },
    },
    async handler(request) {
      const tenant = await tenantFor(request)
      const template = await found(request, tenant.id)
      return previewTemplate(renderer, {
        words: template,
        channel: template.channel,
        context: request.body.context,
        locale: request.body.locale ?? template.locale,
        tenant,
        eventType: await store.catalogue.eventType(tenant.id, template.eventType),
        now: clock.now(),
      })
    },
  })

  app.route({
    method: 'POST',
    url: '/api/message-templates/:id/test-send',
    config: { access: TO_ADMINISTER },
    schema: {
      tags: ['Templates'],
      summary: 'Send a template to somebody, to see it arrive',
      description:
        'A notification like any other, whose idempotency key begins with test:. An inactive template will do.',
      querystring: Query(ForOps),
      body: Type.Object({ to: TestAddress, context: contextFields.context }, { additionalProperties: false }),
      response: { 202: Type.Object({ id: Id }) },
    },
    async handler(request, reply) {
      const tenant = await tenantFor(request)
      const template = await found(request, tenant.id)
      const id = await sendTest(context, {
        tenant,
        template,
        to: request.body.to,
        context: request.body.context,
        actor: callerOf(request).actor,
      })
      return reply.status(202).send({ id })
    },
  })

  async function tenantFor(request: FastifyRequest): Promise<Tenant> {
    const tenant = await store.tenants.find(await tenantOf(request, store))
    if (!tenant) throw notFound()
    return tenant
  }

  async function found(request: FastifyRequest, tenantId: string): Promise<Template> {
    const template = await templates.find(tenantId, idParameter(request))
    if (!template) throw notFound()
    return template
  }

  async function checked(tenantId: string, fields: TemplateFields): Promise<EventType> {
    refuseUnreadable(renderer, fields)
    return eventTypeOf(store, tenantId, fields.eventType)
  }

  async function update(
    request: FastifyRequest,
    { tenantId, id, version }: { tenantId: string; id: string; version: number | undefined },
    changes: Partial<TemplateFields>,
    eventType: EventType | null,
  ): Promise<Static<typeof TemplateJson>> {
    const updated = await templates.update(tenantId, id, changes, callerOf(request).actor, version)
    if (updated === 'stale') throw changedMeanwhile(version)
    if (updated === 'taken') throw placeTaken()
    if (!updated) throw notFound()
    return json(updated, eventType)
  }

  async function withWarnings(template: Template): Promise<Static<typeof TemplateJson>> {
    return json(template, await store.catalogue.eventType(template.tenantId, template.eventType))
  }

  function json(template: Template, eventType: EventType | null): Static<typeof TemplateJson> {
    const { scope, createdAt, updatedAt, ...rest } = template
    return {
      ...rest,
      scopeType: scope?.type ?? null,
      scopeId: scope?.id ?? null,
      warnings: templateWarnings(renderer, template, eventType),
      createdAt: new Date(createdAt).toISOString(),
      updatedAt: new Date(updatedAt).toISOString(),
    }
  }
}

/** Everything that is not given takes its default. */
function whole(body: TemplateBody, tenant: Tenant): TemplateFields {
  const { eventType, channel, locale, subject = null, providerTemplate = null, isActive = true } = body
  return {
    eventType,
    channel,
    locale: locale ?? tenant.defaultLocale,
    scope: scopeOf(body),
    subject,
    body: body.body,
    providerTemplate,
    isActive,
  }
}

function changesOf(body: TemplateChanges): Partial<TemplateFields> {
  const { scopeType, scopeId, ...named } = body
  return { ...named, ...((scopeType !== undefined || scopeId !== undefined) && { scope: scopeOf(body) }) }
}

function scopeOf({ scopeType = null, scopeId = null }: Pick<TemplateChanges, 'scopeType' | 'scopeId'>) {
  if (scopeType === null && scopeId === null) return null
  if (scopeType !== null && scopeId !== null) return { type: scopeType, id: scopeId }
  const path = scopeType === null ? '/scopeType' : '/scopeId'
  throw invalidBody([{ path, message: 'is required: scopeType and scopeId name a scope together' }])
}

function placeTaken(): PillarboxError {
  return new PillarboxError('already_exists', 'There is a template for the same event type, channel, locale and scope.')
}

function versionJson(version: TemplateVersion): Static<typeof VersionJson> {
  return { ...version, changedAt: new Date(version.changedAt).toISOString() }
}
