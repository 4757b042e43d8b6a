import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type FreshDatabase, freshDatabase } from '../support/postgres/database.ts'

export const ENGINES = ['sqlite', 'postgres'] as const
export type EngineName = (typeof ENGINES)[number]

const root = path.resolve(import.meta.dirname, '../..')
const CLI = path.join(root, 'packages/pillarbox/src/cli/main.ts')
const UNDER_TEST = path.join(import.meta.dirname, 'worker-under-test.ts')
/** Boots are most of what these tests cost; with their types stripped once they take half as long. */
const COMPILE_CACHE = path.join(root, 'node_modules/.cache/pillarbox-chaos')
const BOOT_MS = 60_000

export const OPS_KEY = 'chaos-ops-key-0123456789abcdef'
/** Short, so that a rescue takes seconds; a call and its flush still fit in twice. */
export const WORKER_TTL_MS = 2_000

/** One database, one data folder, and the processes that share them. All of it is gone after disposal. */
export interface Rig {
  readonly engine: EngineName
  readonly dataDir: string
  readonly databaseUrl: string
  /** Runs the `pillarbox` command; resolves once it says that it is ready. */
  start(command: 'start' | 'api' | 'worker', env?: Record<string, string>): Promise<Running>
  /** What the process started last has written so far, ready or not. */
  lastLog(): string
  /** Runs `worker-under-test.ts`, which kills itself at a named point; resolves once it is ready or already dead. */
  startDoomed(killAt: string, env?: Record<string, string>): Promise<Running>
  [Symbol.asyncDispose](): Promise<void>
}

export interface Running {
  readonly pid: number
  /** Where the API listens; empty for a worker. */
  readonly url: string
  readonly exited: Promise<Exit>
  hasExited(): boolean
  signal(name: NodeJS.Signals): void
  /** Everything it wrote, stdout and stderr. */
  log(): string
}

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** `databaseUrl`: a PostgreSQL of the test's own, instead of a fresh database on the server that all tests share. */
export async function createRig(engine: EngineName, options: { databaseUrl?: string } = {}): Promise<Rig> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'pillarbox-chaos-'))
  let database: FreshDatabase | null = null
  if (engine === 'postgres' && options.databaseUrl === undefined) database = await freshDatabase()
  const databaseUrl = options.databaseUrl ?? database?.url ?? `sqlite:${path.join(dataDir, 'pillarbox.db')}`
  const children = new Set<ChildProcess>()
  let count = 0
  const logPath = (number: number): string => path.join(dataDir, `process-${number}.log`)

  async function launch(args: string[], env: Record<string, string>, mayDie = false): Promise<Running> {
    const number = ++count
    const output = openSync(logPath(number), 'a')
    const child = spawn(process.execPath, ['--conditions=source', ...args], {
      cwd: dataDir,
      env: { ...environment(), ...settings(dataDir, databaseUrl), ...env },
      stdio: ['ignore', output, output],
    })
    closeSync(output)
    children.add(child)
    const log = (): string => readFileSync(logPath(number), 'utf8')
    const exited = new Promise<Exit>((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))
    const hasExited = (): boolean => child.exitCode !== null || child.signalCode !== null
    const ready = await until(`${args.at(-1)} is ready`, BOOT_MS, async () => {
      if (hasExited() && mayDie) return '{}'
      if (hasExited()) throw new Error(`it ended while starting:\n${log()}`)
      return (
        log()
          .split('\n')
          .find((line) => line.includes('"msg":"ready"')) ?? null
      )
    })
    return {
      pid: child.pid ?? -1,
      url: (JSON.parse(ready) as { url?: string | null }).url ?? '',
      exited,
      hasExited,
      signal: (name) => void child.kill(name),
      log,
    }
  }

  return {
    engine,
    dataDir,
    databaseUrl,
    lastLog: () => (count > 0 ? readFileSync(logPath(count), { encoding: 'utf8', flag: 'a+' }) : ''),
    start: (command, env = {}) => launch([CLI, command], env),
    startDoomed: (killAt, env = {}) => launch([UNDER_TEST], { ...env, CHAOS_KILL_AT: killAt }, true),
    async [Symbol.asyncDispose]() {
      for (const child of children) {
        if (child.exitCode !== null || child.signalCode !== null) continue
        const gone = once(child, 'exit')
        child.kill('SIGKILL')
        await gone
      }
      await database?.drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

function settings(dataDir: string, databaseUrl: string): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    PILLARBOX_DATA_DIR: dataDir,
    PILLARBOX_PORT: '0',
    PILLARBOX_OPS_KEY: OPS_KEY,
    PILLARBOX_DEMO: 'false',
    PILLARBOX_WORKER_TTL: `PT${WORKER_TTL_MS / 1_000}S`,
    PILLARBOX_PROVIDER_TIMEOUT: 'PT0.5S',
    PILLARBOX_SHUTDOWN_GRACE: 'PT5S',
    PILLARBOX_POLL_MAX: 'PT0.2S',
    PILLARBOX_LOG_LEVEL: 'info',
    NODE_COMPILE_CACHE: COMPILE_CACHE,
  }
}

/** This process's environment without what concerns it alone. */
function environment(): Record<string, string> {
  const own = /^(PILLARBOX_|NODE_|DATABASE_URL$|CHAOS_)/
  return Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !own.test(entry[0]),
    ),
  )
}

/** Asks until the answer is neither null nor false. Rejects with what was waited for, and the last error, if any. */
export async function until<T>(what: string, timeoutMs: number, ask: () => Promise<T | null | false>): Promise<T> {
  const endAt = performance.now() + timeoutMs
  for (;;) {
    const answer = await ask()
    if (answer !== null && answer !== false) return answer
    if (performance.now() > endAt) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}
