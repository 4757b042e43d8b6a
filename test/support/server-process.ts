import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { until } from './until.ts'

const STOP_LIMIT_MS = 15_000

/** A command that serves until it is told to stop, started as a user does. */
export interface ServerCommand {
  /** What it is called where something is wrong with it. */
  name: string
  command: string
  args: readonly string[]
  cwd?: string
  env: NodeJS.ProcessEnv
  /** Whether a process that has said `output` is up; words that say what it did instead where it is not. */
  isUp(output: string): Promise<true | string>
}

/** Starts the server, does `work` once it is up, stops it and answers how many milliseconds that took. It must end with 0. */
export async function whileServing(server: ServerCommand, work: () => Promise<void> = async () => {}): Promise<number> {
  const { name, command, args, cwd, env, isUp } = server
  const child = spawn(command, args, {
    ...(cwd !== undefined && { cwd }),
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that nothing stays behind when it has to be ended the hard way.
    detached: true,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
  }

  try {
    await untilUp(child, () => isUp(output))
    await work()
    const startedStopping = performance.now()
    const exitCode = await stop(child)
    if (exitCode !== 0) throw new Error(`${name} ended with ${exitCode} on SIGTERM, not with 0`)
    return performance.now() - startedStopping
  } catch (error) {
    throw new Error(`${name} did not start, work and stop cleanly. It said:\n${output}`, { cause: error })
  } finally {
    endGroup(child)
  }
}

/** `true` once the server answers 200 there. */
export async function answers(url: string): Promise<true | string> {
  const status = await fetch(url).then(
    async (response) => {
      await response.arrayBuffer()
      return response.status
    },
    () => 'no answer',
  )
  return status === 200 || `GET ${url} gave ${status}`
}

async function untilUp(child: ChildProcess, isUp: () => Promise<true | string>): Promise<void> {
  let found: true | string = ''
  await until('it is up', async () => {
    found = await isUp()
    if (found !== true && child.exitCode !== null) throw new Error(`It ended with ${child.exitCode} before it was up`)
    return found === true
  }).catch((error: unknown) => {
    throw new Error(`It is not up: ${String(found)}`, { cause: error })
  })
}

async function stop(child: ChildProcess): Promise<number | string> {
  const exited = once(child, 'exit', { signal: AbortSignal.timeout(STOP_LIMIT_MS) })
  child.kill('SIGTERM')
  const [code, signal] = (await exited.catch(() => [null, 'no exit in time'])) as [number | null, string | null]
  return code ?? signal ?? 'nothing'
}

function endGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  } catch {
    // The group is empty: it stopped as it should.
  }
}
