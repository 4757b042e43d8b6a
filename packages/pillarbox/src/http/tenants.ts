import { type Static, Type } from 'typebox'
import { Line, LocaleTag } from '../intake/body-fields.ts'
import { parseDuration } from '../model/duration.ts'
import { PillarboxError } from '../model/errors.ts'
import { assertTimeZone, provisionTenant } from '../operate/provision.ts'
import type { Tenant } from '../store/store.ts'
import { OPS_ONLY, TO_ADMINISTER, TO_READ, tenantOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { ForOps, notFound, PageSchema, Paging, Query } from './schemas.ts'

const settings = {
  region: Type.Optional(Line(1, 40)),
  dateFormat: Type.Optional(Line(1, 60)),
  missingPlaceholder: Type.Optional(Type.Enum(['empty', 'keep'])),
  retention: Type.Optional(Type.String({ maxLength: 40, description: 'An ISO 8601 duration, such as P365D.' })),
  hasuraSecretHeader: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$' })),
}

const SETTINGS = Object.keys(settings) as (keyof typeof settings)[]

const TenantJson = Type.Object({
  id: Type.String(),
  name: Type.String(),
  defaultLocale: Type.String(),
  timeZone: Type.String(),
  ...settings,
  createdAt: Type.String({ format: 'date-time' }),
})

const changes = {
  name: Type.Optional(Line(1, 200)),
  defaultLocale: Type.Optional(LocaleTag),
  timeZone: Type.Optional(Line(1, 64)),
  ...settings,
}

const NewTenant = Type.Object(
  {
    ...changes,
    id: Type.String({ pattern: '^[a-z0-9-]{1,63}$', description: 'The tenant’s slug, chosen by you.' }),
    name: Line(1, 200),
    catalogue: Type.Optional(
      Type.Unsafe<unknown>({
        anyOf: [{ type: 'string', maxLength: 63 }, { type: 'object' }],
        description: 'The name of a ready-made catalogue, or a catalogue.',
      }),
    ),
  },
  { additionalProperties: false },
)

const TenantChanges = Type.Object(changes, { additionalProperties: false, minProperties: 1 })
type TenantChanges = Static<typeof TenantChanges>

/** `/ops/tenants` for those who run the server, `/api/tenant` for a tenant's own admin. */
export function tenantRoutes(app: App, context: Context): void {
  const { store } = context

  app.route({
    method: 'POST',
    url: '/ops/tenants',
    config: { access: OPS_ONLY },
    bodyLimit: context.config.batchBodyLimitBytes,
    schema: {
      tags: ['Tenants'],
      summary: 'Provision a tenant',
      description: 'The first admin key is in the answer, and nowhere else ever after.',
      body: NewTenant,
      response: { 201: Type.Object({ ...TenantJson.properties, keys: Type.Object({ admin: Type.String() }) }) },
    },
    async handler(request, reply) {
      const { id, name, defaultLocale = 'en', timeZone = 'UTC', catalogue, ...given } = request.body
      const { tenant, adminKey } = await provisionTenant(context, {
        id,
        name,
        defaultLocale,
        timeZone,
        settings: settingsOf(given),
        catalogue,
      })
      return reply.status(201).send({ ...tenantJson(tenant), keys: { admin: adminKey } })
    },
  })

  app.route({
    method: 'GET',
    url: '/ops/tenants',
    config: { access: OPS_ONLY },
    schema: {
      tags: ['Tenants'],
      summary: 'List tenants',
      querystring: Query(Paging),
      response: { 200: PageSchema(TenantJson) },
    },
    async handler(request) {
      const { limit, cursor } = request.query
      const page = await store.tenants.list({ limit, ...(cursor !== undefined && { cursor }) })
      return { items: page.items.map(tenantJson), nextCursor: page.nextCursor }
    },
  })

  app.route({
    method: 'GET',
    url: '/ops/tenants/:id',
    config: { access: OPS_ONLY },
    schema: { tags: ['Tenants'], summary: 'One tenant', response: { 200: TenantJson } },
    handler: async (request) => tenantJson(await found(tenantParameter(request))),
  })

  app.route({
    method: 'PATCH',
    url: '/ops/tenants/:id',
    config: { access: OPS_ONLY },
    schema: {
      tags: ['Tenants'],
      summary: 'Change a tenant’s settings',
      body: TenantChanges,
      response: { 200: TenantJson },
    },
    handler: (request) => change(tenantParameter(request), request.body),
  })

  app.route({
    method: 'GET',
    url: '/api/tenant',
    config: { access: TO_READ },
    schema: {
      tags: ['Tenants'],
      summary: 'The key’s own tenant',
      querystring: Query(ForOps),
      response: { 200: TenantJson },
    },
    handler: async (request) => tenantJson(await found(await tenantOf(request, store))),
  })

  app.route({
    method: 'PATCH',
    url: '/api/tenant',
    config: { access: TO_ADMINISTER },
    schema: {
      tags: ['Tenants'],
      summary: 'Change the own tenant’s settings',
      querystring: Query(ForOps),
      body: TenantChanges,
      response: { 200: TenantJson },
    },
    handler: async (request) => change(await tenantOf(request, store), request.body),
  })

  async function found(id: string): Promise<Tenant> {
    const tenant = await store.tenants.find(id)
    if (!tenant) throw notFound()
    return tenant
  }

  async function change(id: string, { name, defaultLocale, timeZone, ...given }: TenantChanges) {
    if (timeZone !== undefined) assertTimeZone(timeZone)
    const named = settingsOf(given)
    const current = await found(id)
    const tenant = await store.tenants.update(id, {
      ...(name !== undefined && { name }),
      ...(defaultLocale !== undefined && { defaultLocale }),
      ...(timeZone !== undefined && { timeZone }),
      ...(Object.keys(named).length > 0 && { settings: { ...current.settings, ...named } }),
    })
    if (!tenant) throw notFound()
    return tenantJson(tenant)
  }
}

/** A slug out of a path; what cannot be one is not found. */
export function tenantParameter(request: { params: unknown }): string {
  const { id } = request.params as { id: string }
  if (!/^[a-z0-9-]{1,63}$/.test(id)) throw notFound()
  return id
}

function settingsOf(given: Pick<TenantChanges, keyof typeof settings>): Record<string, unknown> {
  if (given.retention !== undefined && !((parseDuration(given.retention) ?? 0) > 0)) {
    const message = 'must be an ISO 8601 duration, such as P365D'
    throw new PillarboxError('invalid_body', `/retention ${message}.`, { errors: [{ path: '/retention', message }] })
  }
  return Object.fromEntries(SETTINGS.filter((name) => given[name] !== undefined).map((name) => [name, given[name]]))
}

function tenantJson({
  id,
  name,
  defaultLocale,
  timeZone,
  settings: stored,
  createdAt,
}: Tenant): Static<typeof TenantJson> {
  const known = Object.fromEntries(SETTINGS.filter((key) => stored[key] !== undefined).map((key) => [key, stored[key]]))
  return { id, name, defaultLocale, timeZone, ...known, createdAt: new Date(createdAt).toISOString() }
}
