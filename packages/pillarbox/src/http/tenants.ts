import { TENANT_ID } from '@pillarbox/client/contract'
import { type Static, type TSchema, Type } from 'typebox'
import { Line, LocaleTag, Nullable } from '../intake/body-fields.ts'
import { found } from '../model/errors.ts'
import type { Tenant } from '../model/tenant.ts'
import { changeTenant, provisionTenant, refuseReserved } from '../operate/tenants.ts'
import { settingProblems } from '../render/tenant-settings.ts'
import { OPS_ONLY, TO_ADMINISTER, TO_READ } from './auth.ts'
import type { App, Context } from './context.ts'
import { operationsOf } from './operation.ts'
import { Closed, iso, PATTERNS, PageSchema, Paging, pageJson, Time } from './schemas.ts'
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
  retention: Type.String({ maxLength: 40, description: 'An ISO 8601 duration of an hour or more, such as P365D.' }),
  hasuraSecretHeader: Type.String({ pattern: PATTERNS.headerName }),
}

const SETTINGS = Object.keys(settings) as (keyof typeof settings)[]

const TenantJson = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    defaultLocale: Type.String(),
    timeZone: Type.String(),
    ...Type.Partial(Type.Object(settings)).properties,
    createdAt: Time,
  },
  { title: 'Tenant' },
)

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

const NewTenant = Closed(
  {
    ...changes,
    id: Type.String({ pattern: PATTERNS.tenantSlug, description: 'The tenant’s slug, chosen by you.' }),
    name: Line(1, 200),
    catalogue: Type.Optional(
      Type.Unsafe<unknown>({
        anyOf: [{ type: 'string', maxLength: 63 }, { type: 'object' }],
        description: 'A catalogue, or the name of a ready-made one: atlas, busflow, eventhub, ops, push or scada.',
      }),
    ),
  },
  { title: 'NewTenant', examples: [{ id: 'acme', name: 'Acme', defaultLocale: 'en-IN', timeZone: 'Asia/Kolkata' }] },
)

const TenantChanges = Closed(changes, { minProperties: 1 })

const opsOperation = operationsOf('Tenants', 'none', { isConfiguration: true })
const operation = operationsOf('Tenants', 'one', { isConfiguration: true })

/** `/ops/tenants` for those who run the server, `/api/tenant` for a tenant's own admin. */
export function tenantRoutes(app: App, context: Context): void {
  const { store } = context
  const changing = {
    schema: {
      description: 'null removes one.',
      body: TenantChanges,
      response: { 200: TenantJson },
    },
    options: { validatorCompiler: withSettingsChecked(TenantChanges) },
  }

  app.post(
    '/ops/tenants',
    opsOperation(
      OPS_ONLY,
      'Provision a tenant',
      {
        operationId: 'createTenant',
        description:
          'The first admin key is in the answer, and nowhere else ever after. The slug ops is reserved for the tenant that alerts are sent from.',
        body: NewTenant,
        problems: ['already_exists', 'invalid_catalogue'],
        response: { 201: Type.Object({ ...TenantJson.properties, keys: Type.Object({ admin: Type.String() }) }) },
      },
      { bodyLimit: context.config.batchBodyLimitBytes, validatorCompiler: withSettingsChecked(NewTenant) },
    ),
    async ({ body, actor }, reply) => {
      const { id, name, defaultLocale, timeZone, catalogue, ...settings } = body
      refuseReserved(id)
      const wanted = { id, name, defaultLocale, timeZone, settings, catalogue }
      const { tenant, adminKey } = await provisionTenant(context, wanted, actor)
      return reply.status(201).send({ ...tenantJson(tenant), keys: { admin: adminKey } })
    },
  )

  app.get(
    '/ops/tenants',
    opsOperation(OPS_ONLY, 'List tenants', {
      operationId: 'listTenants',
      query: Paging,
      response: { 200: PageSchema(TenantJson) },
    }),
    async ({ query }) => pageJson(await store.tenants.list(query), tenantJson),
  )

  app.get(
    '/ops/tenants/:id',
    opsOperation(OPS_ONLY, 'One tenant', { operationId: 'getTenant', response: { 200: TenantJson } }),
    async (request) => tenantJson(found(await store.tenants.find(tenantParameter(request)))),
  )

  app.patch(
    '/ops/tenants/:id',
    opsOperation(
      OPS_ONLY,
      'Change a tenant’s settings',
      { operationId: 'updateTenant', ...changing.schema },
      changing.options,
    ),
    async (request) => tenantJson(await changeTenant(context, tenantParameter(request), request.body, request.actor)),
  )

  app.get(
    '/api/tenant',
    operation(TO_READ, 'The key’s own tenant', { operationId: 'getOwnTenant', response: { 200: TenantJson } }),
    async ({ tenantId }) => tenantJson(found(await store.tenants.find(tenantId))),
  )

  app.patch(
    '/api/tenant',
    operation(
      TO_ADMINISTER,
      'Change the own tenant’s settings',
      { operationId: 'updateOwnTenant', ...changing.schema },
      changing.options,
    ),
    async ({ tenantId, body, actor }) => tenantJson(await changeTenant(context, tenantId, body, actor)),
  )
}

/** A slug out of a path; what cannot be one is not found. */
export function tenantParameter(request: { params: unknown }): string {
  const { id } = request.params as { id: string }
  return found(TENANT_ID.pattern.test(id) && id)
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

function tenantJson(tenant: Tenant): Static<typeof TenantJson> {
  const { id, name, defaultLocale, timeZone, settings: stored, createdAt } = tenant
  const known = Object.fromEntries(SETTINGS.filter((key) => stored[key] !== undefined).map((key) => [key, stored[key]]))
  return { id, name, defaultLocale, timeZone, ...known, createdAt: iso(createdAt) }
}
