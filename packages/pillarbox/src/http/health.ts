import { type Static, Type } from 'typebox'
import { Nullable } from '../intake/body-fields.ts'
import { isPillarboxError } from '../model/errors.ts'
import { createTimedCache } from '../runtime/timed-cache.ts'
import { redactForLog } from '../security/redact.ts'
import type { App, Context } from './context.ts'
import { operationsOf } from './operation.ts'

const HealthJson = Type.Object({
  status: Type.Enum(['ok', 'degraded', 'down']),
  version: Type.String(),
  database: Type.Enum(['up', 'down']),
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
})
type HealthJson = Static<typeof HealthJson>

const LiveJson = Type.Object({ status: Type.Enum(['ok']) })
const ReadyJson = Type.Object({ status: Type.Enum(['ok', 'down']), reason: Nullable(Type.String()) })

/** Anybody may ask, so the database is asked at most so often. */
const MAX_AGE_MS = 500

const operation = operationsOf('Health', 'none')

/**
 * `/health` tells people and monitors, `/health/ready` tells a load balancer, `/health/live` tells a supervisor.
 * `down` (503) means the database cannot be reached; `degraded` means that no worker is alive, a breaker is open or an
 * account is paused.
 */
export function healthRoutes(app: App, context: Context): void {
  const { store, clock, logger, config, version, oldestPendingAgeSeconds } = context
  const health = createTimedCache({ clock, maxAgeMs: MAX_AGE_MS, read: readHealth })
  const ready = createTimedCache({ clock, maxAgeMs: MAX_AGE_MS, read: readReady })

  app.get(
    '/health',
    operation('public', 'How the whole is doing', { response: { 200: HealthJson, 503: HealthJson } }),
    async (_request, reply) => {
      const answer = await health.get('')
      return reply.status(answer.status === 'down' ? 503 : 200).send(answer)
    },
  )

  app.get('/health/live', operation('public', 'The process answers', { response: { 200: LiveJson } }), async () => ({
    status: 'ok' as const,
  }))

  app.get(
    '/health/ready',
    operation('public', 'Requests can be taken', { response: { 200: ReadyJson, 503: ReadyJson } }),
    async (_request, reply) => {
      const answer = await ready.get('')
      return reply.status(answer.status === 'down' ? 503 : 200).send(answer)
    },
  )

  async function readHealth(): Promise<HealthJson> {
    try {
      const [workers, lanes, oldest] = await Promise.all([
        store.workers.list(),
        store.lanes.list(null),
        oldestPendingAgeSeconds?.() ?? null,
      ])
      const openBreakers = lanes.filter((lane) => lane.breaker !== 'closed').map((lane) => lane.accountId)
      const pausedAccounts = lanes.filter((lane) => lane.status === 'paused').map((lane) => lane.accountId)
      const seen = workers.map(({ id, silentForMs, inFlight }) => ({
        id,
        status: silentForMs > config.workerTtlMs ? ('silent' as const) : ('alive' as const),
        silentForSeconds: silentForMs / 1_000,
        inFlight,
      }))
      const isWell =
        openBreakers.length + pausedAccounts.length === 0 && seen.some((worker) => worker.status === 'alive')
      return {
        status: isWell ? 'ok' : 'degraded',
        version,
        database: 'up',
        workers: seen,
        backlog: { oldestPendingAgeSeconds: oldest },
        openBreakers,
        pausedAccounts,
      }
    } catch (error) {
      note(error)
      return {
        status: 'down',
        version,
        database: 'down',
        workers: [],
        backlog: { oldestPendingAgeSeconds: null },
        openBreakers: [],
        pausedAccounts: [],
      }
    }
  }

  async function readReady(): Promise<Static<typeof ReadyJson>> {
    try {
      const { found, wanted } = await store.schema()
      if (found === wanted) return { status: 'ok', reason: null }
      return { status: 'down', reason: `The database has schema version ${found}; this version needs ${wanted}.` }
    } catch (error) {
      note(error)
      return { status: 'down', reason: 'The database cannot be reached.' }
    }
  }

  function note(error: unknown): void {
    if (!isPillarboxError(error, 'store_unavailable'))
      logger.error({ error: redactForLog(String(error)) }, 'health check failed')
  }
}
