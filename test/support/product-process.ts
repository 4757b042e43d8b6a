import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { until } from './until.ts'

const root = path.resolve(import.meta.dirname, '../..')
/** The `pillarbox` command. */
export const CLI = path.join(root, 'packages/pillarbox/src/cli/main.ts')
/** Starts are most of what tests with processes cost; with the types stripped once, a start takes half as long. */
const COMPILE_CACHE = path.join(root, 'node_modules/.cache/pillarbox-chaos')

export interface ProductProcess {
  readonly pid: number
  /** Where the API listens; empty for a worker, and for a process that ended before it was ready. */
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

/** Processes that share one data folder. Disposing kills those that still run, and waits for their end. */
export interface ProductProcesses extends AsyncDisposable {
  /** Starts a script; resolves once it says that it is ready, or has ended where it may. */
  start(args: readonly string[], env: Record<string, string>, mayEnd?: boolean): Promise<ProductProcess>
  /** Starts a script that ends by itself. */
  run(args: readonly string[], env: Record<string, string>): ProductProcess
  /** What the process that was started last has written so far, ready or not. */
  lastLog(): string
}

export function productProcesses(dataDir: string): ProductProcesses {
  const children = new Set<ChildProcess>()
  let count = 0
  const logPath = (number: number): string => path.join(dataDir, `process-${number}.log`)

  function run(args: readonly string[], env: Record<string, string>): ProductProcess {
    const number = ++count
    const output = openSync(logPath(number), 'a')
    const child = spawn(process.execPath, ['--conditions=source', ...args], {
      cwd: dataDir,
      env: { ...ownEnvironment(), NODE_COMPILE_CACHE: COMPILE_CACHE, ...env },
      stdio: ['ignore', output, output],
    })
    closeSync(output)
    children.add(child)
    return {
      pid: child.pid ?? -1,
      url: '',
      exited: new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal }))),
      hasExited: () => hasExited(child),
      signal: (name) => void child.kill(name),
      log: () => readFileSync(logPath(number), 'utf8'),
    }
  }

  return {
    run,
    async start(args, env, mayEnd = false) {
      const started = run(args, env)
      const ready = await until(`${args.at(-1)} is ready`, () => {
        if (started.hasExited() && mayEnd) return '{}'
        if (started.hasExited()) throw new Error(`it ended while starting:\n${started.log()}`)
        return (
          started
            .log()
            .split('\n')
            .find((line) => line.includes('"msg":"ready"')) ?? null
        )
      })
      return { ...started, url: (JSON.parse(ready) as { url?: string | null }).url ?? '' }
    },
    lastLog: () => (count > 0 ? readFileSync(logPath(count), { encoding: 'utf8', flag: 'a+' }) : ''),
    async [Symbol.asyncDispose]() {
      for (const child of children) {
        if (hasExited(child)) continue
        const gone = once(child, 'exit')
        child.kill('SIGKILL')
        await gone
      }
    },
  }
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

/** This process's environment without what concerns it alone. */
function ownEnvironment(): Record<string, string> {
  const own = /^(PILLARBOX_|NODE_|DATABASE_URL$|CHAOS_)/
  return Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !own.test(entry[0]),
    ),
  )
}
