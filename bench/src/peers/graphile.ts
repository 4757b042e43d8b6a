import { Logger, makeWorkerUtils, type Runner, run, runMigrations } from 'graphile-worker'
import { postgresUrl } from '../environment.ts'
import { type Payload, payload } from '../payload.ts'
import type { Peer } from '../peer.ts'
import { freshDatabase, probePostgres, settlePostgres, withPostgres } from '../postgres-admin.ts'
import { cloneRows } from './clone-rows.ts'

const TASK = 'bench'
const logger = new Logger(() => (level, message) => {
  if (String(level) === 'error') console.error('graphile', message)
})

export const graphile: Peer = {
  latency: { concurrentJobs: 4, localQueue: -1, completeDelayMs: -1 },
  create: async (store) => {
    await freshDatabase(store)
    await runMigrations({ connectionString: postgresUrl(store), logger })
  },
  /** It deletes what is finished, so only future rows can be seeded: one made through the API, cloned. */
  seed: async (store, { future }) => {
    const utils = await makeWorkerUtils({ connectionString: postgresUrl(store), logger })
    await utils.addJob(TASK, payload(0), { runAt: new Date(Date.now() + 86_400_000) })
    await utils.release()
    await withPostgres(store, (client) =>
      cloneRows(client, { schema: 'graphile_worker', name: '_private_jobs' }, 'true', future - 1, {
        id: '', // identity: left to the table
        run_at: `t.run_at + g * interval '1 second'`,
      }),
    )
    return `0 finished (it deletes them) + ${future} future`
  },
  settle: settlePostgres,
  probe: async (store) => {
    // Seeded rows have lower ids than those under test: a range of the primary key answers cheaply.
    const floor = await withPostgres(store, async (client) => {
      const { rows } = await client.query<{ id: string }>(
        `select coalesce(max(id), 0) as id from graphile_worker._private_jobs where run_at > now() + interval '1 hour'`,
      )
      return Number(rows[0]?.id)
    })
    return probePostgres(
      store,
      `select exists(select 1 from graphile_worker._private_jobs where id > ${floor}) as pending`,
    )
  },
  producer: async (store, connections) => {
    const utils = await makeWorkerUtils({ connectionString: postgresUrl(store), maxPoolSize: connections, logger })
    return {
      one: (each) => utils.addJob(TASK, each),
      bulk: (many) => utils.addJobs(many.map((each) => ({ identifier: TASK, payload: each }))),
      close: async () => {
        await utils.release()
      },
    }
  },
  consumer: async (store, handler, { concurrentJobs = 50, localQueue = 2_000, completeDelayMs = 0 }) => {
    let runner: Runner | null = null
    return {
      start: async () => {
        runner = await run({
          logger,
          noHandleSignals: true,
          parsedCronItems: [],
          taskList: { [TASK]: (each: unknown) => handler((each as Payload).i) },
          preset: {
            worker: {
              connectionString: postgresUrl(store),
              concurrentJobs,
              maxPoolSize: 10,
              pollInterval: 2_000,
              ...(localQueue > 0 ? { localQueue: { size: localQueue } } : {}),
              completeJobBatchDelay: completeDelayMs,
              failJobBatchDelay: completeDelayMs,
              logger,
            },
          },
        })
      },
      stop: async () => {
        await runner?.stop()
      },
    }
  },
}
