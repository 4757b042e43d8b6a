import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { SandboxVendor } from '../channels/sandbox/vendor.ts'
import type { Config } from '../config/config.ts'
import { SetupError } from '../model/errors.ts'
import type { Clock } from '../model/ports.ts'
import type { ScopedLogger } from '../runtime/logger.ts'
import type { Store } from '../store/store.ts'
import type { EngineModule } from './engine.ts'

/** What the operating system and the runtime tell a process. `process` is one. */
export type ProcessEvents = Pick<NodeJS.EventEmitter, 'on' | 'off'>

/** What a command takes from the process it runs in. */
export interface CliDeps {
  version: string
  env: Record<string, string | undefined>
  cwd: string
  nodeVersion: string
  stdout: {
    write(text: string): void
    isTerminal: boolean
    hasColours: boolean
    /** How wide the terminal is at present. */
    readonly columns?: number | undefined
    /** Whoever read it has left, as `head` does. */
    readonly isClosed?: boolean
  }
  stderr: { write(text: string): void }
  /** Where somebody can be asked, if somebody is there; `read`: all that is piped in, up to so many bytes. */
  stdin: { isTerminal: boolean; ask(question: string): Promise<string>; read(mostBytes: number): Promise<string> }
  clock: Clock
  events: ProcessEvents
  exitNow(code: number): void
  loadEngine(): Promise<EngineModule>
}

/** A command's settings, and a logger that follows them. */
export interface SettledSettings {
  config: Config
  warnings: string[]
  logger: ScopedLogger
}

/** One command as somebody called it. */
export interface CommandCall extends CliDeps {
  argument: string | undefined
  /** By name: the text that was given, or true for a switch. */
  options: Readonly<Record<string, string | true | undefined>>
  /** Throws where the settings are wrong. */
  settle(): Promise<SettledSettings>
  /** Ends the command with exit code 2, as a wrong command line does. */
  refuse(message: string): never
}

/** The engine's file, where it is SQLite in a file; null otherwise. */
export function sqlitePath({ databaseUrl }: Config): string | null {
  const path = databaseUrl.startsWith('sqlite:') ? databaseUrl.slice('sqlite:'.length) : null
  return path === ':memory:' ? null : path
}

/** The SQLite file that is configured and does not exist; null otherwise. Opening one that is not there would make it. */
export async function missingFile(config: Config): Promise<string | null> {
  const path = sqlitePath(config)
  if (path === null) return null
  return await access(path).then(
    () => null,
    () => path,
  )
}

export function describeSchema(found: number, wanted: number): string {
  if (found === wanted) return `up to date: schema version ${found}`
  if (found < wanted) return `behind: schema version ${found}, wanted ${wanted}; run "pillarbox migrate"`
  return `ahead: schema version ${found}, this version of Pillarbox knows ${wanted}; install a newer one`
}

/** Opens the store as it is: it must be there, with the schema of this version. */
export async function withStore<T>(
  call: CommandCall,
  work: (store: Store, settled: SettledSettings) => Promise<T>,
): Promise<T> {
  const settled = await call.settle()
  const missing = await missingFile(settled.config)
  if (missing !== null)
    throw new SetupError(
      'there is no database yet',
      `there is no ${missing}: name the server’s with --data-dir or --database-url, or run "pillarbox migrate"`,
    )
  const { openStore } = await call.loadEngine()
  const store = await openStore(settled.config, settled.logger)
  try {
    const { found, wanted } = await store.schema()
    if (found !== wanted) throw new SetupError('the database does not fit', describeSchema(found, wanted))
    return await work(store, settled)
  } finally {
    await store.close()
  }
}

export async function refuseUnknownTenant(store: Store, tenantId: string): Promise<void> {
  if (await store.tenants.find(tenantId)) return
  throw new SetupError(`there is no tenant "${tenantId}"`, 'make it with POST /ops/tenants, or correct --tenant')
}

/** What the sandbox took, where this machine's data folder has its file. */
export async function openSandbox({ dataDir }: Config, clock: Clock): Promise<SandboxVendor | null> {
  const path = join(dataDir, 'sandbox.db')
  const isThere = await access(path).then(
    () => true,
    () => false,
  )
  return isThere ? (await import('../channels/sandbox/vendor.ts')).createSandboxVendor({ path, clock }) : null
}

/** Aborts when the process is told to stop: long work then ends between two batches. */
export function stopOnSignal({ events }: CommandCall): { signal: AbortSignal; forget(): void } {
  const stopping = new AbortController()
  const stop = (): void => stopping.abort()
  for (const name of ['SIGINT', 'SIGTERM']) events.on(name, stop)
  return {
    signal: stopping.signal,
    forget: () => {
      for (const name of ['SIGINT', 'SIGTERM']) events.off(name, stop)
    },
  }
}
