import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { Instant, instantMs, Line, Nullable } from '../intake/body-fields.ts'
import type { ApiKey, Role } from '../model/api-key.ts'
import { type ErrorCode, found } from '../model/errors.ts'
import { issueKey, refuseUselessKey, revokeKey, rotateKey } from '../operate/api-keys.ts'
import { type Access, OPS_ONLY, type TenantScope, TO_ADMINISTER } from './auth.ts'
import type { App, Context } from './context.ts'
import { operationsOf } from './operation.ts'
import {
  Closed,
  type DurationBounds,
  durationField,
  Id,
  idParameter,
  isoOrNull,
  PATTERNS,
  PageSchema,
  Paging,
  pageJson,
  pageOf,
  TextOrNull,
  Time,
  TimeOrNull,
  withTimes,
} from './schemas.ts'
import { tenantParameter } from './tenants.ts'

const newOpsKey = {
  name: Line(1, 100, 'Stands in audit rows as key:<name>. Keys of a tenant that share a name count as one publisher.'),
  expiresAt: Type.Optional(Nullable(Instant())),
  ratePerSecond: Type.Optional(
    Nullable(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Requests per second, per API process.' })),
  ),
}
const NewOpsKey = Closed(newOpsKey)
const NewKey = Closed({
  ...newOpsKey,
  role: Type.Enum(['publisher', 'viewer', 'operator', 'admin']),
  site: Type.Optional(Nullable(Type.String({ pattern: PATTERNS.site }))),
})
type NewKeyBody = Static<typeof NewOpsKey> & { role?: Role; site?: string | null }

const fields = {
  id: Id,
  tenantId: TextOrNull,
  name: Type.String(),
  role: Type.String(),
  site: TextOrNull,
  ratePerSecond: Nullable(Type.Integer()),
  expiresAt: TimeOrNull,
}

const lastUsedAt = Nullable(
  Type.String({ format: 'date-time', description: 'To the hour. Null: it was not used since this is noted.' }),
)
const KeyJson = Type.Object({ ...fields, revokedAt: TimeOrNull, createdAt: Time, lastUsedAt }, { title: 'Key' })
const IssuedKeyJson = Type.Object(
  { key: Type.String({ description: 'Shown this once.' }), ...fields },
  { title: 'IssuedKey' },
)

const OVERLAP: DurationBounds = { least: 'PT0S', most: 'P30D' }

interface KeyCollection {
  url: string
  access: Access
  tenant: TenantScope
  /** Whose keys these are; null: those of ops, which span tenants, and of which one is always left. */
  ownerOf(request: FastifyRequest): Promise<string | null>
  /** The name of the path's parameter for one key. */
  parameter: string
  kind: 'a key' | 'an ops key'
  /** Their name in the names of operations. */
  noun: string
  body: typeof NewKey | typeof NewOpsKey
  revoking: string
  problems: readonly ErrorCode[]
}

/** The same three routes three times: a tenant's keys for ops and for its own admin, and the keys of ops themselves. */
export function keyRoutes(app: App, context: Context): void {
  const { store } = context
  const ofTenant = { parameter: 'keyId', kind: 'a key', body: NewKey, revoking: '', problems: [] } as const
  addRoutes(app, context, {
    ...ofTenant,
    url: '/ops/tenants/:id/keys',
    noun: 'TenantKey',
    access: OPS_ONLY,
    tenant: 'none',
    ownerOf: async (request) => found(await store.tenants.find(tenantParameter(request))).id,
  })
  addRoutes(app, context, {
    ...ofTenant,
    url: '/api/keys',
    noun: 'Key',
    access: TO_ADMINISTER,
    tenant: 'one',
    ownerOf: async ({ tenantId }) => tenantId,
  })
  addRoutes(app, context, {
    url: '/ops/keys',
    noun: 'OpsKey',
    access: OPS_ONLY,
    tenant: 'none',
    ownerOf: async () => null,
    parameter: 'id',
    kind: 'an ops key',
    body: NewOpsKey,
    revoking: ' 409 last_key where no other one would be left.',
    problems: ['last_key'],
  })
}

function addRoutes(app: App, context: Context, collection: KeyCollection): void {
  const { store, clock, authentication } = context
  const { url, access, ownerOf, parameter, kind, noun, body, revoking, problems } = collection
  const operation = operationsOf('Keys', collection.tenant, { isConfiguration: true })

  app.post(
    url,
    operation(access, `Issue ${kind}`, { operationId: `create${noun}`, body, response: { 201: IssuedKeyJson } }),
    async (request, reply) => {
      const tenantId = await ownerOf(request)
      const { expiresAt, role = 'ops', ...given } = request.body as NewKeyBody
      const wanted = { ...given, tenantId, role, expiresAt: instantMs(expiresAt) }
      refuseUselessKey(wanted, clock.now())
      const issued = await issueKey(context, wanted, request.actor)
      return reply.status(201).send({ ...issued, expiresAt: isoOrNull(issued.expiresAt) })
    },
  )

  app.get(
    url,
    operation(access, `List ${kind.replace(/^an? /, '')}s, revoked ones too`, {
      operationId: `list${noun}s`,
      query: Paging,
      response: { 200: PageSchema(KeyJson) },
    }),
    async (request) => pageJson(pageOf(await store.keys.list(await ownerOf(request)), request.query), keyJson),
  )

  app.post(
    `${url}/:${parameter}/rotate`,
    operation(access, `Issue ${kind} in the place of another`, {
      operationId: `rotate${noun}`,
      description:
        'The new one has its name, role, site and rate. The former one is good until the overlap is over, and may be revoked before.',
      body: Closed({
        overlap: Type.Optional(
          Type.String({
            maxLength: 40,
            description: 'How long both are good, from PT0S to P30D; P1D where nothing is said.',
          }),
        ),
      }),
      response: { 201: IssuedKeyJson },
    }),
    async (request, reply) => {
      const keyId = idParameter(request, parameter)
      const overlapMs = durationField('/overlap', request.body.overlap ?? 'P1D', OVERLAP)
      const issued = await rotateKey(context, { tenantId: await ownerOf(request), keyId, overlapMs }, request.actor)
      authentication.forget(keyId)
      return reply.status(201).send({ ...issued, expiresAt: isoOrNull(issued.expiresAt) })
    },
  )

  app.delete(
    `${url}/:${parameter}`,
    operation(access, `Revoke ${kind}`, {
      operationId: `revoke${noun}`,
      problems,
      description: `It is refused everywhere within 5 seconds.${revoking}`,
      response: { 204: Type.Null() },
    }),
    async (request, reply) => {
      const keyId = idParameter(request, parameter)
      await revokeKey(context, await ownerOf(request), keyId, request.actor)
      authentication.forget(keyId)
      return reply.status(204).send(null)
    },
  )
}

function keyJson(key: ApiKey): Static<typeof KeyJson> {
  return withTimes(key, 'expiresAt', 'revokedAt', 'createdAt', 'lastUsedAt')
}
