import type pg from 'pg'
import { sleep } from '../clock.ts'
import { type Payload, payload } from '../payload.ts'
import type { Consumer, Handler, Peer, Settings } from '../peer.ts'
import { connect, freshDatabase, openClients, probePostgres, settlePostgres, withPostgres } from '../postgres-admin.ts'
import {
  CLAIM,
  COMPLETE,
  INSERT_MANY,
  INSERT_ONE,
  INSERT_ONE_NOTIFY,
  PENDING,
  SCHEMA,
  SEED,
  SEED_ATTEMPTS,
} from './raw-sql.ts'

/** The physical limit on PostgreSQL: hand-written batched SQL over `pg`, and nothing else a real outbox needs. */
export const rawPg: Peer = {
  reportsFinished: true,
  latency: { listen: true, connections: 1 },
  create: async (store) => {
    await freshDatabase(store)
    await withPostgres(store, (client) => client.query(SCHEMA))
  },
  seed: async (store, { finished, future }) => {
    const sample = JSON.stringify(payload(0))
    await withPostgres(store, async (client) => {
      await client.query(SEED[0], [finished, sample])
      await client.query(SEED_ATTEMPTS)
      await client.query(SEED[1], [future, sample])
    })
    return `${finished} finished + ${finished} attempts + ${future} future`
  },
  settle: settlePostgres,
  probe: (store) => probePostgres(store, PENDING),
  producer: async (store, connections, { listen = false, transaction = false }) => {
    const clients = await openClients(store, connections)
    const text = listen ? INSERT_ONE_NOTIFY : INSERT_ONE
    const insert = (client: pg.Client, one: Payload) =>
      client.query({ name: 'one', text, values: [JSON.stringify(one)] })
    return {
      one: (each) =>
        clients.use(async (client) => {
          if (!transaction) return insert(client, each)
          await client.query('begin')
          await insert(client, each)
          return client.query('commit')
        }),
      bulk: (many) =>
        clients.use((client) =>
          client.query({ name: 'many', text: INSERT_MANY, values: [many.map((each) => JSON.stringify(each))] }),
        ),
      close: clients.close,
    }
  },
  consumer,
}

async function consumer(
  store: string,
  handler: Handler,
  { connections = 2, batch = 500, listen = false }: Settings,
  finished: (count: number) => void,
): Promise<Consumer> {
  const clients = await Promise.all(Array.from({ length: connections }, () => connect(store)))
  let isStopping = false
  let isPinged = false
  let wake: (() => void) | null = null
  const listener = listen ? await connect(store) : null
  await listener?.query('listen jobs')
  listener?.on('notification', () => {
    isPinged = true
    wake?.()
  })

  const loop = async (client: pg.Client, who: number): Promise<void> => {
    while (!isStopping) {
      isPinged = false
      const { rows } = await client.query<{ id: string; payload: Payload }>({
        name: 'claim',
        text: CLAIM,
        values: [batch, who],
      })
      if (rows.length === 0) {
        if (isPinged) continue
        const woken = new Promise<void>((resolve) => {
          wake = resolve
        })
        await (listen ? Promise.race([woken, sleep(1_000)]) : sleep(20))
        continue
      }
      await Promise.all(rows.map((row) => handler(row.payload.i)))
      await client.query({ name: 'complete', text: COMPLETE, values: [rows.map((row) => row.id), who] })
      finished(rows.length)
    }
  }
  let loops: Promise<void>[] = []
  return {
    start: async () => {
      loops = clients.map((client, k) => loop(client, process.pid * 10 + k))
    },
    stop: async () => {
      isStopping = true
      wake?.()
      await Promise.all(loops)
      await Promise.all(clients.map((client) => client.end()))
      await listener?.end()
    },
  }
}
