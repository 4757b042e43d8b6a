import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../support/postgres/launcher.ts'
import { until } from '../support/until.ts'

/**
 * Starts everything a user can start, once, as a user does. The type checker accepts some programs that Node refuses
 * to load, so only this shows that each of them runs.
 */
const COMMANDS = ['start', 'api', 'worker', 'migrate', 'doctor', 'keys', 'catalogue']
const STOP_LIMIT_MS = 15_000

await helpAnswers([])
for (const command of COMMANDS) await helpAnswers([command])
await inDataDir(async (env) => {
  await runsOnce('migrate', env)
  await runsOnce('doctor', env)
  await serverStartsAndStops(['run', 'pillarbox', '--silent', '--', 'worker'], env, saysReady)
  await serverStartsAndStops(['run', 'pillarbox', '--silent', '--', 'api'], env, isReady)
})
await inDataDir((env) => serverStartsAndStops(['start', '--silent'], env, isHealthy))
console.log('✔ every entry point runs')

type Environment = NodeJS.ProcessEnv & { PILLARBOX_PORT: string }

/** A data folder and a port of its own. */
async function inDataDir(work: (env: Environment) => Promise<void>): Promise<void> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'pillarbox-data-'))
  try {
    await work({ ...process.env, PILLARBOX_PORT: String(await freePort()), PILLARBOX_DATA_DIR: dataDir })
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
}

async function runsOnce(command: string, env: Environment): Promise<void> {
  await promisify(execFile)('npm', ['run', '--silent', 'pillarbox', '--', command], { env })
  console.log(`  pillarbox ${command}`)
}

async function helpAnswers(command: string[]): Promise<void> {
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'pillarbox', '--', ...command, '--help'])
  const expected = ['pillarbox', ...command].join(' ')
  if (!stdout.includes(expected)) throw new Error(`"${expected} --help" does not mention "${expected}":\n${stdout}`)
  console.log(`  ${expected} --help`)
}

/** Whether a process that has said `output` is up; words that say what it did instead where it is not. */
type IsUp = (output: string, env: Environment) => Promise<true | string>

async function saysReady(output: string): Promise<true | string> {
  return output.includes('"msg":"ready"') || 'no "ready" in its log'
}

function isHealthy(_output: string, env: Environment): Promise<true | string> {
  return answers('/health', env)
}

/** Healthy it is not: without a worker nothing is sent. */
function isReady(_output: string, env: Environment): Promise<true | string> {
  return answers('/health/ready', env)
}

async function answers(route: string, { PILLARBOX_PORT: port }: Environment): Promise<true | string> {
  const url = `http://127.0.0.1:${port}${route}`
  const status = await fetch(url).then(
    async (response) => {
      await response.arrayBuffer()
      return response.status
    },
    () => 'no answer',
  )
  return status === 200 || `GET ${url} gave ${status}`
}

async function serverStartsAndStops(args: string[], env: Environment, isUp: IsUp): Promise<void> {
  const name = ['npm', ...args.filter((arg) => arg !== '--silent')].join(' ')
  const server = spawn('npm', args, {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that nothing stays behind when it has to be ended the hard way.
    detached: true,
  })
  let output = ''
  for (const stream of [server.stdout, server.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
  }

  try {
    await untilUp(server, () => isUp(output, env))
    const startedStopping = performance.now()
    const exitCode = await stop(server)
    if (exitCode !== 0) throw new Error(`${name} ended with ${exitCode} on SIGTERM, not with 0`)
    console.log(`  ${name}: up, and gone ${Math.round(performance.now() - startedStopping)} ms after SIGTERM`)
  } catch (error) {
    throw new Error(`${name} did not start and stop cleanly. It said:\n${output}`, { cause: error })
  } finally {
    endGroup(server)
  }
}

async function untilUp(server: ChildProcess, isUp: () => Promise<true | string>): Promise<void> {
  let found: true | string = ''
  await until('it is up', async () => {
    found = await isUp()
    if (found !== true && server.exitCode !== null) throw new Error(`It ended with ${server.exitCode} before it was up`)
    return found === true
  }).catch((error: unknown) => {
    throw new Error(`It is not up: ${String(found)}`, { cause: error })
  })
}

async function stop(server: ChildProcess): Promise<number | string> {
  const exited = once(server, 'exit', { signal: AbortSignal.timeout(STOP_LIMIT_MS) })
  server.kill('SIGTERM')
  const [code, signal] = (await exited.catch(() => [null, 'no exit in time'])) as [number | null, string | null]
  return code ?? signal ?? 'nothing'
}

function endGroup(server: ChildProcess): void {
  try {
    if (server.pid !== undefined) process.kill(-server.pid, 'SIGKILL')
  } catch {
    // The group is empty: it stopped as it should.
  }
}
