import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { ChannelName } from '../intake/body-fields.ts'
import { found, invalidBody } from '../model/errors.ts'
import type { Template } from '../model/template.ts'
import type { Tenant } from '../model/tenant.ts'
import {
  changeTemplate,
  eventTypeOf,
  makeTemplate,
  previewTemplate,
  removeTemplate,
  type SavedTemplate,
  type TemplateFields,
  templateWarnings,
} from '../operate/templates.ts'
import { sendTest } from '../operate/test-send.ts'
import { TO_ADMINISTER, TO_READ } from './auth.ts'
import type { App, Context } from './context.ts'
import { invalidQuery } from './entity-query.ts'
import { operationsOf } from './operation.ts'
import {
  Closed,
  Exactly,
  Id,
  idParameter,
  OnChannel,
  PageSchema,
  Paging,
  pageJson,
  ReadVersion,
  withTimes,
} from './schemas.ts'
import {
  contextFields,
  EventTypeName,
  TemplateBody,
  TemplateChanges,
  TemplateJson,
  TemplatePreviewJson,
  TemplateVersionJson,
  TestAddress,
  templateFields,
  templateJson,
  templateWords,
} from './template-json.ts'

const operation = operationsOf('Templates', 'one', { isConfiguration: true })

/** `/api/message-templates`: the words, per event type × channel × locale × scope. Checked when they are saved. */
export function messageTemplateRoutes(app: App, context: Context): void {
  const { store, clock, untrusted, snapshots } = context
  const { templates } = store

  /** Whatever this process renders next, it renders with what was changed. */
  async function inUse<T>({ tenantId }: FastifyRequest, change: Promise<T>): Promise<T> {
    try {
      return await change
    } finally {
      snapshots.outdate(tenantId)
    }
  }

  app.get(
    '/api/message-templates',
    operation(TO_READ, 'List templates, by event type, channel, locale and scope', {
      operationId: 'listTemplates',
      query: {
        eventType: Exactly(100, 'Only those of this event type.'),
        ...OnChannel,
        locale: Exactly(35, 'Only those in this locale.'),
        isActive: Type.Optional(Type.Boolean({ description: 'Only those that are used, or only the others.' })),
        ...Paging,
      },
      response: { 200: PageSchema(TemplateJson) },
    }),
    async ({ tenantId, query }) => {
      const page = await templates.list(tenantId, query, query)
      const types = new Map((await store.catalogue.eventTypes(tenantId)).map((type) => [type.name, type]))
      const saved = page.items.map((template) => ({ template, eventType: types.get(template.eventType) ?? null }))
      const warnings = await templateWarnings(untrusted, tenantId, saved)
      const items = page.items.map((template, i) => templateJson(template, warnings[i] ?? []))
      return { items, nextCursor: page.nextCursor }
    },
  )

  app.post(
    '/api/message-templates',
    operation(TO_ADMINISTER, 'Make a template', {
      operationId: 'createTemplate',
      description: '409 already_exists where there is one for the same event type, channel, locale and scope.',
      body: TemplateBody,
      problems: ['already_exists', 'unknown_event_type', 'invalid_template'],
      response: { 201: TemplateJson },
    }),
    async (request, reply) => {
      const words = whole(request.body, await tenantOf(request))
      const made = await inUse(request, makeTemplate(context, request, words))
      return reply.status(201).send(await json(made))
    },
  )

  app.get(
    '/api/message-templates/:id',
    operation(TO_READ, 'One template', { operationId: 'getTemplate', response: { 200: TemplateJson } }),
    async (request) => withWarnings(await templateOf(request)),
  )

  app.put(
    '/api/message-templates/:id',
    operation(TO_ADMINISTER, 'Replace a template', {
      operationId: 'replaceTemplate',
      description: 'What is not given takes its default. What is scheduled or parked is rendered with the new version.',
      body: Closed({ ...templateFields, ...ReadVersion }),
      problems: ['already_exists', 'changed_meanwhile', 'unknown_event_type', 'invalid_template'],
      response: { 200: TemplateJson },
    }),
    async (request) => {
      const tenant = await tenantOf(request)
      const current = await templateOf(request)
      const changes = { version: request.body.version, ...whole(request.body, tenant) }
      return await json(await inUse(request, changeTemplate(context, request, current, changes)))
    },
  )

  app.patch(
    '/api/message-templates/:id',
    operation(TO_ADMINISTER, 'Change what is named', {
      operationId: 'updateTemplate',
      body: TemplateChanges,
      problems: ['already_exists', 'changed_meanwhile', 'unknown_event_type', 'invalid_template'],
      response: { 200: TemplateJson },
    }),
    async (request) => {
      const current = await templateOf(request)
      return await json(await inUse(request, changeTemplate(context, request, current, changesOf(request.body))))
    },
  )

  app.delete(
    '/api/message-templates/:id',
    operation(TO_ADMINISTER, 'Remove a template', {
      operationId: 'deleteTemplate',
      description: '204. One that notifications were made from is deactivated instead: 200 with isActive false.',
      response: { 200: TemplateJson, 204: Type.Null() },
    }),
    async (request, reply) => {
      const kept = await inUse(request, removeTemplate(store, request, idParameter(request)))
      return kept ? reply.status(200).send(await withWarnings(kept)) : reply.status(204).send(null)
    },
  )

  app.get(
    '/api/message-templates/:id/versions',
    operation(TO_READ, 'What a template said, newest first, and who changed it', {
      operationId: 'listTemplateVersions',
      query: Paging,
      response: { 200: PageSchema(TemplateVersionJson) },
    }),
    async (request) => {
      const { limit, cursor } = request.query
      const { id } = await templateOf(request)
      if (cursor !== undefined && !/^[1-9]\d{0,8}$/.test(cursor))
        throw invalidQuery('cursor', 'is not one that this list has answered')
      const all = await templates.versions(request.tenantId, id)
      const rest = cursor === undefined ? all : all.filter(({ version }) => version < Number(cursor))
      const items = rest.slice(0, limit)
      const last = rest.length > items.length ? items.at(-1) : undefined
      const page = { items, nextCursor: last ? String(last.version) : null }
      return pageJson(page, (version) => withTimes(version, 'changedAt'))
    },
  )

  app.post(
    '/api/message-templates/preview',
    operation(TO_ADMINISTER, 'Render words that are not saved', {
      operationId: 'previewDraft',
      description:
        'By the code that sends, with the tenant’s settings. With eventType, keys are checked against its payload.',
      body: Closed({
        channel: ChannelName,
        ...templateWords,
        ...contextFields,
        eventType: Type.Optional(EventTypeName),
      }),
      problems: ['unknown_event_type', 'invalid_template'],
      response: { 200: TemplatePreviewJson },
    }),
    async (request) => {
      const tenant = await tenantOf(request)
      const { subject = null, body, format = null, providerTemplate = null, eventType, locale, ...rest } = request.body
      return previewTemplate(untrusted, {
        ...rest,
        words: { subject, body, format, providerTemplate },
        locale: locale ?? tenant.defaultLocale,
        tenant,
        eventType: eventType === undefined ? null : await eventTypeOf(store, tenant.id, eventType),
        now: clock.now(),
      })
    },
  )

  app.post(
    '/api/message-templates/:id/preview',
    operation(TO_ADMINISTER, 'Render a template', {
      operationId: 'previewTemplate',
      description: 'By the code that sends, with the tenant’s settings.',
      body: Closed(contextFields),
      problems: ['invalid_template'],
      response: { 200: TemplatePreviewJson },
    }),
    async (request) => {
      const tenant = await tenantOf(request)
      const template = await templateOf(request)
      const { channel, locale } = template
      const eventType = await store.catalogue.eventType(tenant.id, template.eventType)
      return previewTemplate(untrusted, {
        words: template,
        channel,
        locale,
        ...request.body,
        tenant,
        eventType,
        now: clock.now(),
      })
    },
  )

  app.post(
    '/api/message-templates/:id/test-send',
    operation(TO_ADMINISTER, 'Send a template to somebody, to see it arrive', {
      operationId: 'testTemplate',
      description:
        'A notification like any other, whose idempotency key begins with test:. An inactive template will do.',
      body: Closed({ to: TestAddress, context: contextFields.context }),
      problems: ['invalid_template'],
      response: { 202: Type.Object({ id: Id }) },
    }),
    async (request, reply) => {
      const tenant = await tenantOf(request)
      const template = await templateOf(request)
      const id = await sendTest(
        { ...context, sealing: context.payloadSeal },
        { ...request.body, tenant, template, actor: request.actor },
      )
      return reply.status(202).send({ id })
    },
  )

  async function tenantOf({ tenantId }: FastifyRequest): Promise<Tenant> {
    return found(await store.tenants.find(tenantId))
  }

  async function templateOf(request: FastifyRequest): Promise<Template> {
    return found(await templates.find(request.tenantId, idParameter(request)))
  }

  async function withWarnings(template: Template): Promise<Static<typeof TemplateJson>> {
    return json({ template, eventType: await store.catalogue.eventType(template.tenantId, template.eventType) })
  }

  async function json(saved: SavedTemplate): Promise<Static<typeof TemplateJson>> {
    const [warnings = []] = await templateWarnings(untrusted, saved.template.tenantId, [saved])
    return templateJson(saved.template, warnings)
  }
}

/** Everything that is not given takes its default. */
function whole(body: TemplateBody, tenant: Tenant): TemplateFields {
  const { eventType, channel, locale, subject = null, format = null, providerTemplate = null, isActive = true } = body
  return {
    eventType,
    channel,
    locale: locale ?? tenant.defaultLocale,
    scope: scopeIn(body),
    subject,
    body: body.body,
    format,
    providerTemplate,
    isActive,
  }
}

function changesOf(body: TemplateChanges): Partial<TemplateFields> & { version?: number } {
  const { scopeType, scopeId, ...named } = body
  return { ...named, ...((scopeType !== undefined || scopeId !== undefined) && { scope: scopeIn(body) }) }
}

function scopeIn({ scopeType = null, scopeId = null }: Pick<TemplateChanges, 'scopeType' | 'scopeId'>) {
  if (scopeType === null && scopeId === null) return null
  if (scopeType !== null && scopeId !== null) return { type: scopeType, id: scopeId }
  const path = scopeType === null ? '/scopeType' : '/scopeId'
  throw invalidBody([{ path, message: 'is required: scopeType and scopeId name a scope together' }])
}
