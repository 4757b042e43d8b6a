// Only on PostgreSQL: nobody stands between a process and a SQLite file.

import type pg from 'pg'
import { SetupError } from '../../model/errors.ts'
import type { Logger } from '../../model/ports.ts'

/** Whether a session is ours for as long as its connection lasts: only then can statements be prepared and settings kept. */
export type PoolingProbe = (client: pg.Client) => Promise<boolean>

export interface PoolingDeps {
  /** Another connection to the same address, not connected yet. */
  newClient(): pg.Client
  logger: Logger
}

/** A pool that others use, too, may hand out its sessions in any order. */
const ROUNDS = 10

/**
 * Finds out, once, what the first connection leads to. The server names its process when a connection is made; where that is
 * not the process that answers, a pooler stands between, and two connections are watched: in transaction mode they use the
 * same process in turn, or one of them uses several.
 */
export function createPoolingProbe(deps: PoolingDeps): PoolingProbe {
  let found: Promise<boolean> | null = null
  return (client) => {
    found ??= isOurs(deps, client).catch((error: unknown) => {
      found = null
      throw error
    })
    return found
  }
}

async function isOurs({ newClient, logger }: PoolingDeps, client: pg.Client): Promise<boolean> {
  const first = await processOf(client)
  if (first === (client as pg.Client & { processID: number | null }).processID) return true
  const other = newClient()
  try {
    await other.connect()
    const others = new Set<number>()
    for (let round = 0; round < ROUNDS; round += 1) {
      others.add(await processOf(other))
      if ((await processOf(client)) === first && others.size === 1 && !others.has(first)) continue
      await refuseStatementMode(client)
      logger.info(
        {},
        'the database is behind a pooler in transaction mode: no prepared statements, hints or settings of ours',
      )
      return false
    }
    return true
  } finally {
    other.end().catch(() => {})
  }
}

async function processOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid ?? 0
}

/** A pooler that gives every statement to another session takes no transactions. */
async function refuseStatementMode(client: pg.Client): Promise<void> {
  try {
    await client.query('begin')
    await client.query('rollback')
  } catch (cause) {
    throw new SetupError(
      'The pooler in front of PostgreSQL takes no transactions.',
      'set pool_mode = transaction (or session) for this database in pgbouncer.ini, or name the server itself in DATABASE_URL',
      cause,
    )
  }
}
