import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from './postgres/launcher.ts'

/**
 * Starts everything a user can start, once, as a user does. The type checker accepts some programs that Node refuses
 * to load, so only this shows that each of them runs.
 */
const COMMANDS = ['start', 'api', 'worker', 'migrate', 'doctor', 'keys', 'catalogue']
const START_LIMIT_MS = 30_000
const STOP_LIMIT_MS = 15_000

await helpAnswers([])
for (const command of COMMANDS) await helpAnswers([command])
await serverStartsAndStops()
console.log('✔ every entry point runs')

async function helpAnswers(command: string[]): Promise<void> {
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'pillarbox', '--', ...command, '--help'])
  const expected = ['pillarbox', ...command].join(' ')
  if (!stdout.includes(expected)) throw new Error(`"${expected} --help" does not mention "${expected}":\n${stdout}`)
  console.log(`  ${expected} --help`)
}

async function serverStartsAndStops(): Promise<void> {
  const port = await freePort()
  const dataDir = await mkdtemp(path.join(tmpdir(), 'pillarbox-data-'))
  const server = spawn('npm', ['start', '--silent'], {
    env: { ...process.env, PILLARBOX_PORT: String(port), PILLARBOX_DATA_DIR: dataDir },
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
    await untilHealthy(server, `http://127.0.0.1:${port}/health`)
    const startedStopping = performance.now()
    const exitCode = await stop(server)
    if (exitCode !== 0) throw new Error(`npm start ended with ${exitCode} on SIGTERM, not with 0`)
    console.log(`  npm start: healthy, and gone ${Math.round(performance.now() - startedStopping)} ms after SIGTERM`)
  } catch (error) {
    throw new Error(`npm start did not start and stop cleanly. It said:\n${output}`, { cause: error })
  } finally {
    endGroup(server)
    await rm(dataDir, { recursive: true, force: true })
  }
}

async function untilHealthy(server: ChildProcess, url: string): Promise<void> {
  const giveUpAt = performance.now() + START_LIMIT_MS
  for (;;) {
    const status = await fetch(url).then(
      async (response) => {
        await response.arrayBuffer()
        return response.status
      },
      () => 'no answer',
    )
    if (status === 200) return
    if (server.exitCode !== null) throw new Error(`It ended with ${server.exitCode} before it was healthy`)
    if (performance.now() > giveUpAt) throw new Error(`GET ${url} gave ${status} for ${START_LIMIT_MS} ms`)
    await sleep(100)
  }
}

async function stop(server: ChildProcess): Promise<number | string> {
  const exited = once(server, 'exit') as Promise<[number | null, string | null]>
  server.kill('SIGTERM')
  const tooLate = sleep(STOP_LIMIT_MS, [null, 'no exit in time'] as const, { ref: false })
  const [code, signal] = await Promise.race([exited, tooLate])
  return code ?? signal ?? 'nothing'
}

function endGroup(server: ChildProcess): void {
  try {
    if (server.pid !== undefined) process.kill(-server.pid, 'SIGKILL')
  } catch {
    // The group is empty: it stopped as it should.
  }
}
