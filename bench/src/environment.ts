import path from 'node:path'

export const ROOT: string = path.resolve(import.meta.dirname, '..')
/** SQLite files and Redis' append-only file; made anew by every sample. */
export const DATA: string = path.join(ROOT, 'data')

export const COMPILE_CACHE: string = path.join(ROOT, 'node_modules/.cache/compiled')

export interface PostgresAddress {
  host: string
  port: number
  user: string
  password: string
}

/** Where PostgreSQL is: `run.ts` sets these variables when it starts its own, and child processes inherit them. */
export function postgresAddress(): PostgresAddress {
  const { PGHOST = '127.0.0.1', PGPORT = '5432', PGUSER = 'bench', PGPASSWORD = 'bench' } = process.env
  return { host: PGHOST, port: Number(PGPORT), user: PGUSER, password: PGPASSWORD }
}

export function postgresUrl(database: string): string {
  const { host, port, user, password } = postgresAddress()
  return `postgres://${user}:${password}@${host}:${port}/${database}`
}

/** Null: there is no Redis, and its rows are left out. */
export function redisAddress(): { host: string; port: number } | null {
  const { REDIS_HOST = '127.0.0.1', REDIS_PORT } = process.env
  return REDIS_PORT === undefined ? null : { host: REDIS_HOST, port: Number(REDIS_PORT) }
}
