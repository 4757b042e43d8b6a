import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../support/postgres/launcher.ts'
import { answers, whileServing } from '../support/server-process.ts'

/**
 * Starts everything a user can start, once, as a user does. The type checker accepts some programs that Node refuses
 * to load, so only this shows that each of them runs.
 */
const COMMANDS = ['start', 'api', 'worker', 'migrate', 'doctor', 'keys', 'catalogue']

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

async function saysReady(output: string): Promise<true | string> {
  return output.includes('"msg":"ready"') || 'no "ready" in its log'
}

function isHealthy(_output: string, env: Environment): Promise<true | string> {
  return answers(`http://127.0.0.1:${env.PILLARBOX_PORT}/health`)
}

/** Healthy it is not: without a worker nothing is sent. */
function isReady(_output: string, env: Environment): Promise<true | string> {
  return answers(`http://127.0.0.1:${env.PILLARBOX_PORT}/health/ready`)
}

async function serverStartsAndStops(
  args: string[],
  env: Environment,
  isUp: (output: string, env: Environment) => Promise<true | string>,
): Promise<void> {
  const name = ['npm', ...args.filter((arg) => arg !== '--silent')].join(' ')
  const tookMs = await whileServing({ name, command: 'npm', args, env, isUp: (output) => isUp(output, env) })
  console.log(`  ${name}: up, and gone ${Math.round(tookMs)} ms after SIGTERM`)
}
