import { type Static, Type } from 'typebox'
import { Nullable } from '../intake/body-fields.ts'
import { createHealthWatch, HEALTH_CODES, type Health } from '../operate/health.ts'
import type { App, Context } from './context.ts'
import { operationsOf } from './operation.ts'

const HealthJson = Type.Object(
  {
    status: Type.Enum(['ok', 'degraded', 'down']),
    reasons: Type.Array(
      Type.Object({
        code: Type.Enum([...HEALTH_CODES]),
        message: Type.String({ description: 'What is not well, and what to do about it.' }),
      }),
      { description: 'Empty while all is well.' },
    ),
    version: Type.String(),
    database: Type.Enum(['up', 'unwritable', 'down'], { description: 'unwritable: it answers, and takes nothing.' }),
    workers: Type.Array(
      Type.Object({
        id: Type.String(),
        status: Type.Enum(['alive', 'silent']),
        silentForSeconds: Type.Number(),
        inFlight: Type.Integer(),
      }),
    ),
    backlog: Type.Object({ oldestPendingAgeSeconds: Nullable(Type.Number()) }),
    openBreakers: Type.Array(Type.String({ description: 'An account’s id.' })),
    pausedAccounts: Type.Array(
      Type.String({ description: 'The id of an account whose credentials the vendor refused: it waits for others.' }),
    ),
  },
  { title: 'Health' },
)

const LiveJson = Type.Object({ status: Type.Enum(['ok']) })
const ReadyJson = Type.Object({ status: Type.Enum(['ok', 'down']), reason: Nullable(Type.String()) })

const operation = operationsOf('Health', 'none')

/**
 * `/health` tells people and monitors, `/health/ready` tells a load balancer, `/health/live` tells a supervisor.
 * `down` (503) means that nothing can be taken in, `degraded` that something is not sent, or not in time.
 */
export function healthRoutes(app: App, context: Context): void {
  const health = createHealthWatch(context)

  app.get(
    '/health',
    operation('public', 'How the whole is doing', {
      operationId: 'getHealth',
      response: { 200: HealthJson, 503: HealthJson },
    }),
    async (_request, reply) => {
      const found = await health.whole()
      return reply.status(found.status === 'down' ? 503 : 200).send(healthJson(found, context.version))
    },
  )

  app.get(
    '/health/live',
    operation('public', 'The process answers', { operationId: 'getLiveness', response: { 200: LiveJson } }),
    async () => ({
      status: 'ok' as const,
    }),
  )

  app.get(
    '/health/ready',
    operation('public', 'Requests can be taken', {
      operationId: 'getReadiness',
      response: { 200: ReadyJson, 503: ReadyJson },
    }),
    async (_request, reply) => {
      const reason = await health.unready()
      return reason === null ? reply.send({ status: 'ok', reason }) : reply.status(503).send({ status: 'down', reason })
    },
  )
}

function healthJson({ workers, oldestDueMs, ...rest }: Health, version: string): Static<typeof HealthJson> {
  return {
    ...rest,
    version,
    workers: workers.map(({ id, isAlive, silentForMs, inFlight }) => ({
      id,
      status: isAlive ? 'alive' : 'silent',
      silentForSeconds: silentForMs / 1_000,
      inFlight,
    })),
    backlog: { oldestPendingAgeSeconds: oldestDueMs === null ? null : oldestDueMs / 1_000 },
  }
}
