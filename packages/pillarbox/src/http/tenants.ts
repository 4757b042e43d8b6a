import { TENANT_ID } from '@pillarbox/client/contract'
import { type Static, type TSchema, Type } from 'typebox'
import { Line, LocaleTag, Nullable } from '../intake/body-fields.ts'
import type { Tenant } from '../model/tenant.ts'
import { provisionTenant } from '../operate/provision.ts'
import { settingProblems } from '../operate/tenant-settings.ts'
import { callerOf, OPS_ONLY, TO_ADMINISTER, TO_READ, tenantOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { ForOps, notFound, PATTERNS, PageSchema, Paging, Query } from './schemas.ts'
import { bodyCheck, withBodyCheck } from './validation.ts'

const settings = {
  region: Type.String({
    maxLength: 2,
    description: 'ISO 3166. Telephone numbers without a country code are of this country.',
  }),
  dateFormat: Line(
    1,
    60,
    'How templates write dates: short, medium, long, full, iso, or a pattern such as dd-MMM-yyyy.',
  ),
  currency: Type.String({ maxLength: 3, description: 'ISO 4217. What amounts without a currency are in.' }),
  missingPlaceholder: Type.Enum(['empty', 'keep'], { description: 'What a placeholder without a value becomes.' }),
  retention: Type.String({ maxLength: 40, description: 'An ISO 8601 duration, such as P365D.' }),
  hasuraSecretHeader: Type.String({ pattern: PATTERNS.headerName }),
}

const SETTINGS = Object.keys(settings) as (keyof typeof settings)[]

const TenantJson = Type.Object({
  id: Type.String(),
  name: Type.String(),
  defaultLocale: Type.String(),
  timeZone: Type.String(),
  region: Type.Optional(settings.region),
  dateFormat: Type.Optional(settings.dateFormat),
  currency: Type.Optional(settings.currency),
  missingPlaceholder: Type.Optional(settings.missingPlaceholder),
  retention: Type.Optional(settings.retention),
  hasuraSecretHeader: Type.Optional(settings.hasuraSecretHeader),
  createdAt: Type.String({ format: 'date-time' }),
})

const changes = {
  name: Type.Optional(Line(1, 200)),
  defaultLocale: Type.Optional(LocaleTag),
  timeZone: Type.Optional(Line(1, 64)),
  region: Type.Optional(Nullable(settings.region)),
  dateFormat: Type.Optional(Nullable(settings.dateFormat)),
  currency: Type.Optional(Nullable(settings.currency)),
  missingPlaceholder: Type.Optional(Nullable(settings.missingPlaceholder)),
  retention: Type.Optional(Nullable(settings.retention)),
  hasuraSecretHeader: Type.Optional(Nullable(settings.hasuraSecretHeader)),
}

const NewTenant = Type.Object(
  {
    ...changes,
    id: Type.String({ pattern: PATTERNS.tenantSlug, description: 'The tenant’s slug, chosen by you.' }),
    name: Line(1, 200),
    catalogue: Type.Optional(
      Type.Unsafe<unknown>({
        anyOf: [{ type: 'string', maxLength: 63 }, { type: 'object' }],
        description: 'A catalogue, or the name of a ready-made one: atlas, busflow, eventhub, push or scada.',
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
    validatorCompiler: withSettingsChecked(NewTenant),
    schema: {
      tags: ['Tenants'],
      summary: 'Provision a tenant',
      description: 'The first admin key is in the answer, and nowhere else ever after.',
      body: NewTenant,
      response: { 201: Type.Object({ ...TenantJson.properties, keys: Type.Object({ admin: Type.String() }) }) },
    },
    async handler(request, reply) {
      const { id, name, defaultLocale, timeZone = 'UTC', catalogue, ...given } = request.body
      const { tenant, adminKey } = await provisionTenant(
        context,
        { id, name, defaultLocale, timeZone, settings: withSettings({}, given), catalogue },
        callerOf(request).actor,
      )
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
    validatorCompiler: withSettingsChecked(TenantChanges),
    schema: {
      tags: ['Tenants'],
      summary: 'Change a tenant’s settings',
      description: 'null removes one.',
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
    validatorCompiler: withSettingsChecked(TenantChanges),
    schema: {
      tags: ['Tenants'],
      summary: 'Change the own tenant’s settings',
      description: 'null removes one.',
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
    const current = await found(id)
    const tenant = await store.tenants.update(id, {
      ...(name !== undefined && { name }),
      ...(defaultLocale !== undefined && { defaultLocale }),
      ...(timeZone !== undefined && { timeZone }),
      ...(Object.keys(given).length > 0 && { settings: withSettings(current.settings, given) }),
    })
    if (!tenant) throw notFound()
    return tenantJson(tenant)
  }
}

/** A slug out of a path; what cannot be one is not found. */
export function tenantParameter(request: { params: unknown }): string {
  const { id } = request.params as { id: string }
  if (!TENANT_ID.pattern.test(id)) throw notFound()
  return id
}

/** What is wrong with the form of a body and with what it says, at once. Where the form is wrong, that is enough. */
function withSettingsChecked(schema: TSchema): ReturnType<typeof withBodyCheck> {
  const check = bodyCheck(schema)
  return withBodyCheck((body) => {
    const wrong = check(body) ?? []
    const named = new Set(wrong.map(({ instancePath }) => instancePath))
    const settings = typeof body === 'object' && body !== null ? body : {}
    for (const { path, message } of settingProblems(settings))
      if (!named.has(path)) wrong.push({ keyword: 'setting', instancePath: path, schemaPath: '', params: {}, message })
    return wrong.length > 0 ? wrong : null
  })
}

/** What is named changes, null removes it, the rest stays. */
function withSettings(
  current: Record<string, unknown>,
  given: Pick<TenantChanges, keyof typeof settings>,
): Record<string, unknown> {
  const merged = { ...current, ...given }
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null && value !== undefined))
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
