import { type Static, Type } from 'typebox'
import type { WorkerView } from '../dispatch/worker-store.ts'
import { Nullable } from '../intake/body-fields.ts'
import { CHANNELS } from '../model/channel.ts'
import { OPS_ONLY } from './auth.ts'
import type { App, Context } from './context.ts'
import { operationsOf } from './operation.ts'
import { Id, iso, Time } from './schemas.ts'

const WorkerJson = Type.Object({
  id: Id,
  host: Type.String(),
  pid: Type.Integer(),
  version: Type.String(),
  channels: Nullable(Type.Array(Type.Enum([...CHANNELS]), { description: 'What it sends on.' })),
  startedAt: Time,
  lastBeatAt: Time,
  inFlight: Type.Integer({ description: 'Provider calls under way, as of its last beat.' }),
  isAlive: Type.Boolean({ description: 'It was heard of within PILLARBOX_WORKER_TTL.' }),
})

const operation = operationsOf('Operations', 'none')

/** `/ops/workers`: the processes that send, those that fell silent included until another one has taken over from them. */
export function workerRoutes(app: App, { store, config }: Context): void {
  app.get(
    '/ops/workers',
    operation(OPS_ONLY, 'List workers, oldest first', {
      operationId: 'listWorkers',
      response: { 200: Type.Object({ items: Type.Array(WorkerJson) }) },
    }),
    async () => {
      const workers = await store.workers.list()
      return { items: workers.map((worker) => workerJson(worker, config.workerTtlMs)) }
    },
  )
}

function workerJson(
  { startedAt, beatAt, silentForMs, ...worker }: WorkerView,
  ttlMs: number,
): Static<typeof WorkerJson> {
  return { ...worker, startedAt: iso(startedAt), lastBeatAt: iso(beatAt), isAlive: silentForMs <= ttlMs }
}
