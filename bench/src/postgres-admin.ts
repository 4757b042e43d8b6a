import pg from 'pg'
import { sleep } from './clock.ts'
import { postgresAddress } from './environment.ts'
import type { Probe } from './peer.ts'

export async function connect(database: string): Promise<pg.Client> {
  const client = new pg.Client({ ...postgresAddress(), database })
  await client.connect()
  return client
}

export async function withPostgres<T>(database: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connect(database)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const DROP_TRIES = 20

/** Not by force: a session that is closing, or an autovacuum worker, is waited for. */
async function dropDatabase(database: string): Promise<void> {
  await withPostgres('postgres', async (client) => {
    for (let tries = 1; ; tries++) {
      try {
        await client.query(`drop database if exists "${database}"`)
        return
      } catch (error) {
        if (!(error instanceof pg.DatabaseError) || error.code !== '55006' || tries === DROP_TRIES) throw error
        await sleep(500)
      }
    }
  })
}

export async function freshDatabase(database: string): Promise<void> {
  await dropDatabase(database)
  await withPostgres('postgres', (client) => client.query(`create database "${database}"`))
}

export async function settlePostgres(database: string): Promise<void> {
  await withPostgres(database, async (client) => {
    await client.query('vacuum analyze')
    await client.query('checkpoint')
  })
}

/** `sql` answers one boolean column `pending`. */
export async function probePostgres(database: string, sql: string): Promise<Probe> {
  const client = await connect(database)
  return {
    pending: async () =>
      (await client.query<{ pending: boolean }>({ name: 'probe', text: sql })).rows[0]?.pending === true,
    close: () => client.end(),
  }
}

/** A few connections for concurrent callers: each gets one to itself, in turn. */
export async function openClients(
  database: string,
  count: number,
): Promise<{ use<T>(work: (client: pg.Client) => Promise<T>): Promise<T>; close(): Promise<void> }> {
  const clients = await Promise.all(Array.from({ length: count }, () => connect(database)))
  const free = [...clients]
  const waiting: ((client: pg.Client) => void)[] = []
  return {
    async use(work) {
      const client = free.pop() ?? (await new Promise<pg.Client>((resolve) => waiting.push(resolve)))
      try {
        return await work(client)
      } finally {
        const next = waiting.shift()
        if (next) next(client)
        else free.push(client)
      }
    },
    close: async () => {
      await Promise.all(clients.map((client) => client.end()))
    },
  }
}
