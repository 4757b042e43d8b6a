import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { freePort, startPostgres } from '../../test/support/postgres/launcher.ts'
import { DATA } from './environment.ts'

/** The servers under test. Those the environment names are used; the others are started, and stopped by `stop`. */
export interface Servers {
  stop(): Promise<void>
}

export async function startServers(): Promise<Servers> {
  const stopPostgres = await ensurePostgres()
  const redis = await ensureRedis()
  return {
    stop: async () => {
      redis?.kill('SIGTERM')
      await stopPostgres()
    },
  }
}

/** Default durability: fsync, synchronous_commit and full_page_writes on; everything else as PostgreSQL ships it. */
async function ensurePostgres(): Promise<() => Promise<void>> {
  if (process.env['PGHOST'] !== undefined) return async () => {}
  const server = await startPostgres({ durable: true })
  Object.assign(process.env, { PGHOST: '127.0.0.1', PGPORT: String(server.port), PGUSER: 'postgres', PGPASSWORD: '' })
  return () => server.dispose()
}

async function ensureRedis(): Promise<ChildProcess | null> {
  if (process.env['REDIS_PORT'] !== undefined) return null
  if (spawnSync('redis-server', ['--version']).status !== 0) {
    console.error('\n*** redis-server is not on the PATH: THE BULLMQ ROWS ARE LEFT OUT ***\n')
    return null
  }
  const directory = path.join(DATA, 'redis')
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  const port = await freePort()
  const settings = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--appendonly',
    'yes',
    '--save',
    '',
    '--dir',
    directory,
  ]
  const redis = spawn('redis-server', settings, { stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise<void>((resolve, reject) => {
    redis.once('exit', () => reject(new Error('redis-server did not start')))
    redis.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (text.includes('Ready to accept connections')) resolve()
    })
  })
  process.env['REDIS_PORT'] = String(port)
  return redis
}
