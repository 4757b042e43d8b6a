import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { Instant, instantMs, Line, Nullable } from '../intake/body-fields.ts'
import type { ApiKey, Role } from '../model/api-key.ts'
import { type FieldError, PillarboxError } from '../model/errors.ts'
import { issueKey } from '../operate/provision.ts'
import { type Access, OPS_ONLY, TO_ADMINISTER, tenantOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { ForOps, Id, idParameter, isoOrNull, notFound, PATTERNS, PageSchema, Paging, pageOf, Query } from './schemas.ts'
import { tenantParameter } from './tenants.ts'

const TENANT_ROLES = ['publisher', 'viewer', 'operator', 'admin'] as const

const NewKey = Type.Object(
  {
    name: Line(
      1,
      100,
      'Stands in audit rows as key:<name>. Keys of a tenant that share a name count as one publisher.',
    ),
    role: Type.Enum([...TENANT_ROLES]),
    site: Type.Optional(Nullable(Type.String({ pattern: PATTERNS.site }))),
    expiresAt: Type.Optional(Nullable(Instant())),
    ratePerSecond: Type.Optional(
      Nullable(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Requests per second, per API process.' })),
    ),
  },
  { additionalProperties: false },
)
type NewKey = Static<typeof NewKey>

const fields = {
  id: Id,
  tenantId: Nullable(Type.String()),
  name: Type.String(),
  role: Type.String(),
  site: Nullable(Type.String()),
  ratePerSecond: Nullable(Type.Integer()),
  expiresAt: Nullable(Type.String({ format: 'date-time' })),
}

const KeyJson = Type.Object({
  ...fields,
  revokedAt: Nullable(Type.String({ format: 'date-time' })),
  createdAt: Type.String({ format: 'date-time' }),
})
const IssuedKeyJson = Type.Object({ key: Type.String({ description: 'Shown this once.' }), ...fields })

const NewOpsKey = Type.Object(
  {
    name: NewKey.properties.name,
    expiresAt: NewKey.properties.expiresAt,
    ratePerSecond: NewKey.properties.ratePerSecond,
  },
  { additionalProperties: false },
)

/**
 * The same three routes twice: for ops under the tenant, for a tenant's admin under `/api/keys`. And the keys of ops
 * themselves, of which one is always left.
 */
export function keyRoutes(app: App, context: Context): void {
  routes('/ops/tenants/:id/keys', OPS_ONLY, {}, async (request) => {
    const id = tenantParameter(request)
    if (!(await context.store.tenants.find(id))) throw notFound()
    return id
  })
  routes('/api/keys', TO_ADMINISTER, ForOps, (request) => tenantOf(request, context.store))
  opsKeyRoutes(app, context)

  function routes(
    url: string,
    access: Access,
    scope: Partial<typeof ForOps>,
    tenantFor: (request: FastifyRequest) => Promise<string>,
  ): void {
    const { store, clock, authentication } = context

    app.route({
      method: 'POST',
      url,
      config: { access },
      schema: {
        tags: ['Keys'],
        summary: 'Issue a key',
        querystring: Query(scope),
        body: NewKey,
        response: { 201: IssuedKeyJson },
      },
      async handler(request, reply) {
        const tenantId = await tenantFor(request)
        const { name, role, site = null, ratePerSecond = null, expiresAt } = request.body
        refuseNonsense(request.body, clock.now())
        const issued = await issueKey(context, {
          tenantId,
          name,
          role,
          site,
          ratePerSecond,
          expiresAt: instantMs(expiresAt),
        })
        return reply.status(201).send({ ...issued, expiresAt: isoOrNull(issued.expiresAt) })
      },
    })

    app.route({
      method: 'GET',
      url,
      config: { access },
      schema: {
        tags: ['Keys'],
        summary: 'List keys, revoked ones too',
        querystring: Query({ ...scope, ...Paging }),
        response: { 200: PageSchema(KeyJson) },
      },
      async handler(request) {
        const { limit, cursor } = request.query as { limit: number; cursor?: string }
        const keys = await store.keys.list(await tenantFor(request))
        const page = pageOf(keys, { limit, ...(cursor !== undefined && { cursor }) })
        return { items: page.items.map(keyJson), nextCursor: page.nextCursor }
      },
    })

    app.route({
      method: 'DELETE',
      url: `${url}/:keyId`,
      config: { access },
      schema: {
        tags: ['Keys'],
        summary: 'Revoke a key',
        description: 'It is refused everywhere within 5 seconds.',
        querystring: Query(scope),
        response: { 204: Type.Null() },
      },
      async handler(request, reply) {
        const keyId = idParameter(request, 'keyId')
        if (!(await store.keys.revoke(await tenantFor(request), keyId))) throw notFound()
        authentication.forget(keyId)
        return reply.status(204).send(null)
      },
    })
  }
}

/** `/ops/keys`: the keys that span tenants. */
function opsKeyRoutes(app: App, context: Context): void {
  const { store, clock, authentication } = context

  app.route({
    method: 'POST',
    url: '/ops/keys',
    config: { access: OPS_ONLY },
    schema: { tags: ['Keys'], summary: 'Issue an ops key', body: NewOpsKey, response: { 201: IssuedKeyJson } },
    async handler(request, reply) {
      const { name, ratePerSecond = null, expiresAt } = request.body
      refuseNonsense({ ...request.body, role: 'ops' }, clock.now())
      const issued = await issueKey(context, {
        tenantId: null,
        name,
        role: 'ops',
        ratePerSecond,
        expiresAt: instantMs(expiresAt),
      })
      return reply.status(201).send({ ...issued, expiresAt: isoOrNull(issued.expiresAt) })
    },
  })

  app.route({
    method: 'GET',
    url: '/ops/keys',
    config: { access: OPS_ONLY },
    schema: {
      tags: ['Keys'],
      summary: 'List ops keys, revoked ones too',
      querystring: Query(Paging),
      response: { 200: PageSchema(KeyJson) },
    },
    async handler(request) {
      const { limit, cursor } = request.query
      const page = pageOf(await store.keys.list(null), { limit, ...(cursor !== undefined && { cursor }) })
      return { items: page.items.map(keyJson), nextCursor: page.nextCursor }
    },
  })

  app.route({
    method: 'DELETE',
    url: '/ops/keys/:id',
    config: { access: OPS_ONLY },
    schema: {
      tags: ['Keys'],
      summary: 'Revoke an ops key',
      description: 'It is refused everywhere within 5 seconds. 409 last_key where no other one would be left.',
      response: { 204: Type.Null() },
    },
    async handler(request, reply) {
      const keyId = idParameter(request)
      const now = clock.now()
      const keys = await store.keys.list(null)
      const isValid = ({ revokedAt, expiresAt }: ApiKey) =>
        revokedAt === null && (expiresAt === null || expiresAt > now)
      if (!keys.some(({ id, revokedAt }) => id === keyId && revokedAt === null)) throw notFound()
      if (!keys.some((key) => key.id !== keyId && isValid(key)))
        throw new PillarboxError('last_key', 'No other ops key is valid: issue one first.')
      if (!(await store.keys.revoke(null, keyId))) throw notFound()
      authentication.forget(keyId)
      return reply.status(204).send(null)
    },
  })
}

type NonsenseIn = Omit<NewKey, 'role'> & { role: Role }

function refuseNonsense({ role, site, expiresAt }: NonsenseIn, now: number): void {
  const errors: FieldError[] = []
  if (site !== undefined && site !== null && role !== 'publisher')
    errors.push({ path: '/site', message: 'may only be given to a publisher' })
  const expiry = instantMs(expiresAt)
  if (expiry !== null && expiry <= now) errors.push({ path: '/expiresAt', message: 'must be in the future' })
  const [first] = errors
  if (first) throw new PillarboxError('invalid_body', `${first.path} ${first.message}.`, { errors })
}

function keyJson(key: ApiKey): Static<typeof KeyJson> {
  return {
    ...key,
    expiresAt: isoOrNull(key.expiresAt),
    revokedAt: isoOrNull(key.revokedAt),
    createdAt: new Date(key.createdAt).toISOString(),
  }
}
