import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { type Account, findBinaries, serverAccount } from './binaries.ts'

export type PostgresOptions = {
  /** Survives `kill()` and power loss: fsync, synchronous_commit and full_page_writes stay on. Default: false. */
  durable?: boolean
  /** Default: a free port of the loopback interface. */
  port?: number
  /** Further server settings, as in postgresql.conf. */
  settings?: Record<string, string | number>
  /** Puts a cluster into the new server's empty data folder, in place of a fresh one. */
  fill?: (dataDir: string) => Promise<void>
}

/**
 * A cluster of its own in a temporary directory, on the loopback interface, with the superuser `postgres` and no
 * password. It can be stopped and started again on the same port with the same data:
 *
 *   running ──stop | kill──▶ stopped ──start──▶ running        running | stopped ──dispose──▶ gone
 *
 * Should this process die without a word, the server stops and its directory goes, too.
 */
export type PostgresServer = {
  readonly url: string
  readonly port: number
  readonly dataDir: string
  /** Starts a stopped server. Resolves once it accepts connections, crash recovery included. */
  start(): Promise<void>
  /** `fast` (default) ends sessions and writes a checkpoint; `immediate` makes the next start recover from the log. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>
  /** SIGKILL to the server and all its processes at once. */
  kill(): Promise<void>
  /** Stops the server and deletes its data. */
  dispose(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const PORT_TRIES = 5
const LOG_TAIL_CHARS = 20_000
/** Nothing waits for the disk: several times as fast, and worthless after a crash of the machine. */
const FORGETFUL = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }

/** Makes a fresh cluster and starts it. Takes about a second. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const account = serverAccount()
  const binaries = await findBinaries(account)
  const dataDir = await makeDataDir(account)
  const removeFiles = async (): Promise<void> => {
    await rm(dataDir, { recursive: true, force: true })
    await binaries.remove()
  }

  try {
    const make = ['-D', dataDir, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
    if (options.fill) await options.fill(dataDir)
    else await promisify(execFile)(binaries.initdb, make, account)
    const settings = { max_connections: 200, ...(options.durable ? {} : FORGETFUL), ...options.settings }
    const launch = (port: number): Promise<ChildProcess> =>
      launchServer({ postgres: binaries.postgres, dataDir, port, settings, account })
    const { port, server } = await launchOnFreePort(launch, options.port)
    return manageServer({ server, port, dataDir, account, launch: () => launch(port), removeFiles })
  } catch (error) {
    await removeFiles()
    throw error
  }
}

/** Creates a database beside the one `adminUrl` names, as a copy of `template` if given, and returns its URL. */
export async function createDatabase(adminUrl: string, name: string, template = 'template0'): Promise<string> {
  // Copying files beats writing the copy to the log as long as the template is small.
  const sql = `create database ${pg.escapeIdentifier(name)} template ${pg.escapeIdentifier(template)} strategy file_copy`
  await asAdmin(adminUrl, (client) => client.query(sql))
  const url = new URL(adminUrl)
  url.pathname = `/${encodeURIComponent(name)}`
  return url.href
}

/** How often, 50 ms apart, it is looked whether sessions that were closed are gone. */
const GOODBYES = 20

/**
 * Drops a database and ends every session that still uses it. A session whose client has said goodbye has a moment to leave by
 * itself: to be ended by force would reach the client as an error when nobody listens any more.
 */
export async function dropDatabase(adminUrl: string, name: string): Promise<void> {
  await asAdmin(adminUrl, async (client) => {
    for (let looks = 0; looks < GOODBYES; looks++) {
      const { rowCount } = await client.query('select from pg_stat_activity where datname = $1', [name])
      if (rowCount === 0) break
      await client.query('select pg_sleep(0.05)')
    }
    await client.query(`drop database if exists ${pg.escapeIdentifier(name)} with (force)`)
  })
}

async function asAdmin(adminUrl: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

async function makeDataDir(account: Account): Promise<string> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'pillarbox-postgres-'))
  if (account.uid !== undefined) await chown(dataDir, account.uid, account.gid)
  return dataDir
}

type Launch = {
  postgres: string
  dataDir: string
  port: number
  settings: Record<string, string | number>
  account: Account
}

/** Starts the server process; resolves once it is ready, rejects with the server's own words if it ends before. */
async function launchServer({ postgres, dataDir, port, settings, account }: Launch): Promise<ChildProcess> {
  const overrides = Object.entries({ ...settings, port, listen_addresses: '127.0.0.1' })
  const server = spawn(
    postgres,
    ['-D', dataDir, '-k', dataDir, ...overrides.flatMap(([key, value]) => ['-c', `${key}=${value}`])],
    { ...account, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let log = ''
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.once('exit', () => reject(new Error(`PostgreSQL did not start on port ${port}:\n${log}`)))
    server.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      // Read to the end even when ready: a full pipe would block the server.
      log = (log + chunk).slice(-LOG_TAIL_CHARS)
      if (log.includes('ready to accept connections')) resolve()
    })
  })
  return server
}

/** A port that was free a moment ago may be taken by now, so try a few. */
async function launchOnFreePort(
  launch: (port: number) => Promise<ChildProcess>,
  wanted?: number,
): Promise<{ port: number; server: ChildProcess }> {
  if (wanted !== undefined) return { port: wanted, server: await launch(wanted) }
  for (let tries = 1; ; tries++) {
    const port = await freePort()
    try {
      return { port, server: await launch(port) }
    } catch (error) {
      if (tries === PORT_TRIES || !String(error).includes('Address already in use')) throw error
    }
  }
}

/** A port of the loopback interface that nothing listens on right now. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('The probe has no port')
  return address.port
}

type Managed = {
  server: ChildProcess
  port: number
  dataDir: string
  account: Account
  launch: () => Promise<ChildProcess>
  removeFiles: () => Promise<void>
}

function manageServer({ server: first, port, dataDir, account, launch, removeFiles }: Managed): PostgresServer {
  let server = first
  let guard = guardServer(first, dataDir, account)

  const isRunning = (): boolean => server.exitCode === null && server.signalCode === null
  const end = async (signal: () => unknown): Promise<void> => {
    guard.kill('SIGKILL')
    if (!isRunning()) return
    const exited = once(server, 'exit')
    await signal()
    await exited
  }
  const dispose = async (): Promise<void> => {
    await end(() => server.kill('SIGQUIT'))
    await removeFiles()
  }

  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    port,
    dataDir,
    start: async () => {
      if (isRunning()) return
      server = await launch()
      guard = guardServer(server, dataDir, account)
    },
    stop: (mode = 'fast') => end(() => server.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')),
    kill: () => end(() => killFamily(server)),
    dispose,
    [Symbol.asyncDispose]: dispose,
  }
}

/** Each backend leads a session of its own, so there is no process group to signal: go through the children. */
async function killFamily(server: ChildProcess): Promise<void> {
  const children = await readFile(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').catch(() => '')
  server.kill('SIGKILL')
  for (const pid of children.split(' ').filter(Boolean)) {
    try {
      process.kill(Number(pid), 'SIGKILL')
    } catch {
      // It ended on its own, having seen the server go.
    }
  }
}

/**
 * Waits on a pipe that only the death of this process closes, then takes the server down with it. It is the last
 * resort for a test run that was killed; `stop`, `kill` and `dispose` end the guard first.
 */
function guardServer(server: ChildProcess, dataDir: string, account: Account): ChildProcess {
  const script = 'read -r _; kill -QUIT "$1" 2>/dev/null; sleep 1; rm -rf "$2"'
  const guard = spawn('/bin/sh', ['-c', script, 'sh', String(server.pid), dataDir], {
    ...account,
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  guard.unref()
  // A child's pipe is a socket, though its type does not say so. Neither may keep this process alive.
  if (guard.stdin instanceof Socket) guard.stdin.unref()
  return guard
}
