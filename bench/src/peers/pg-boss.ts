import { PgBoss } from 'pg-boss'
import { postgresUrl } from '../environment.ts'
import { type Payload, payload } from '../payload.ts'
import type { Peer, Settings } from '../peer.ts'
import { freshDatabase, probePostgres, settlePostgres, withPostgres } from '../postgres-admin.ts'
import { cloneRows } from './clone-rows.ts'

const QUEUE = 'bench'

export const pgBoss: Peer = {
  latency: { notify: true, batchSize: 10, localConcurrency: 1 },
  create: async (store, settings) => {
    await freshDatabase(store)
    const boss = await open(store, 2, settings)
    await boss.createQueue(QUEUE, { notify: settings.notify === true })
    await close(boss)
  },
  /** One real finished and one real deferred row, made through the API, are cloned. */
  seed: async (store, { finished, future }, settings) => {
    const boss = await open(store, 2, settings)
    await boss.send(QUEUE, payload(0))
    const [job] = await boss.fetch(QUEUE)
    if (job) await boss.complete(QUEUE, job.id)
    await boss.send(QUEUE, payload(0), { startAfter: 86_400 })
    await close(boss)
    const earlier = (column: string): string => `t.${column} - interval '1 day' + g * interval '10 ms'`
    const later = (column: string): string => `t.${column} + g * interval '1 second'`
    await withPostgres(store, async (client) => {
      const table = { schema: 'pgboss', name: 'job' }
      await cloneRows(client, table, `state = 'completed'`, finished - 1, {
        id: 'gen_random_uuid()',
        created_on: earlier('created_on'),
        start_after: earlier('start_after'),
        started_on: earlier('started_on'),
        completed_on: earlier('completed_on'),
      })
      await cloneRows(client, table, `state = 'created'`, future - 1, {
        id: 'gen_random_uuid()',
        start_after: later('start_after'),
        keep_until: later('keep_until'),
      })
    })
    return `${finished} finished + ${future} future`
  },
  settle: settlePostgres,
  probe: (store) =>
    probePostgres(
      store,
      `select exists(select 1 from pgboss.job where name = '${QUEUE}' and state = 'active')
        or exists(select 1 from pgboss.job where name = '${QUEUE}' and state = 'created' and not blocked and start_after <= now())
        or exists(select 1 from pgboss.job where name = '${QUEUE}' and state = 'retry') as pending`,
    ),
  producer: async (store, connections, settings) => {
    const boss = await open(store, connections, settings)
    return {
      one: (each) => boss.send(QUEUE, each),
      bulk: (many) =>
        boss.insert(
          QUEUE,
          many.map((data) => ({ data })),
        ),
      close: () => close(boss),
    }
  },
  consumer: async (store, handler, settings) => {
    const { batchSize = 2_000, localConcurrency = 2 } = settings
    const boss = await open(store, localConcurrency + 2, settings)
    const options = { batchSize, localConcurrency, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 }
    return {
      start: async () => {
        await boss.work<Payload>(QUEUE, options, async (jobs) => {
          await Promise.all(jobs.map((job) => handler(job.data.i)))
        })
      },
      stop: () => close(boss),
    }
  },
}

async function open(store: string, max: number, { notify = false }: Settings): Promise<PgBoss> {
  const boss = new PgBoss({
    connectionString: postgresUrl(store),
    max,
    supervise: false,
    schedule: false,
    registerInstance: false,
    openTelemetry: { enabled: false },
    useListenNotify: notify,
  })
  boss.on('error', (error: unknown) => console.error('pg-boss', error))
  await boss.start()
  return boss
}

const close = (boss: PgBoss): Promise<void> => boss.stop({ graceful: false, close: true, timeout: 1_000 })
