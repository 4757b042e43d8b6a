import { spawn } from 'node:child_process'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Clock } from '../model/ports.ts'
import type { ConfigInput, ConfigProblem, GivenSecrets } from './config.ts'
import { optionEntries } from './options.ts'

/** No secret is longer; whoever names a log or a device by mistake must not wait for its end. */
const MOST_BYTES = 65_536
const DEADLINE_MS = 10_000

/**
 * Secrets that the environment does not hold itself but says where to get: a file (`…_FILE`), as container platforms mount
 * them, or a command (`…_COMMAND`), by which any vault serves. Neither a secret nor anything a command says is ever shown.
 */
export async function readSecretSources(
  { env, cwd }: Pick<ConfigInput, 'env' | 'cwd'>,
  clock: Clock,
): Promise<{ secrets: GivenSecrets; problems: ConfigProblem[] }> {
  const secrets: Record<string, { as: string; raw: string }> = {}
  const problems: ConfigProblem[] = []
  for (const [, entry] of optionEntries()) {
    const { from } = entry
    if (from === null) continue
    const named = [entry.env, from.file, from.command].filter((name) => Boolean(env[name]))
    if (named.length > 1) {
      problems.push({ option: named.join(', '), expected: 'one of them', got: `${named.length}` })
      continue
    }
    const [file, command] = [env[from.file], env[from.command]]
    const as = file ? from.file : from.command
    const read = file ? await readSecret(resolve(cwd, file)) : command ? await askCommand(command, cwd, clock) : null
    if (read === null) continue
    if ('text' in read) secrets[entry.env] = { as, raw: read.text }
    else problems.push({ option: as, ...read })
  }
  return { secrets, problems }
}

type SecretAnswer = { text: string } | Omit<ConfigProblem, 'option'>

async function readSecret(path: string): Promise<SecretAnswer> {
  const expected = 'a readable file that holds the secret and nothing else'
  try {
    const file = await open(path, 'r')
    try {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(MOST_BYTES + 1), 0, MOST_BYTES + 1, null)
      return secretIn(buffer.subarray(0, bytesRead), expected, path)
    } finally {
      await file.close()
    }
  } catch (error) {
    return { expected, got: `${(error as NodeJS.ErrnoException).code ?? 'an error'} on ${path}` }
  }
}

function secretIn(bytes: Buffer, expected: string, where: string): SecretAnswer {
  if (bytes.length > MOST_BYTES) return { expected, got: `more than ${MOST_BYTES} bytes from ${where}` }
  const text = bytes.toString('utf8').trim()
  return text === '' ? { expected, got: `nothing in ${where}` } : { text }
}

const COMMAND_WORDS =
  'a command that prints the secret and ends with 0, as a JSON list of its words (["vault", "kv", "get", …]) or as words between spaces; no shell reads it'

/** A command's words. Nothing is quoted or expanded: what needs that is written as a list. */
function wordsOf(command: string): string[] | null {
  if (!command.trimStart().startsWith('[')) return command.trim().split(/\s+/)
  try {
    const words: unknown = JSON.parse(command)
    const isList = Array.isArray(words) && words.length > 0 && words.every((word) => typeof word === 'string')
    return isList && words[0] !== '' ? words : null
  } catch {
    return null
  }
}

/**
 * What a command prints. It has no input, its complaints are not read, and after the deadline it is killed with all that it
 * has started: a vault that hangs must not hang the start.
 */
async function askCommand(command: string, cwd: string, clock: Clock): Promise<SecretAnswer> {
  const [file, ...args] = wordsOf(command) ?? []
  const expected = COMMAND_WORDS
  if (file === undefined) return { expected, got: 'something else (not shown: it may hold a secret)' }
  // Only a NUL character is refused before anything runs.
  if (command.includes('\0') || [file, ...args].some((word) => word.includes('\0')))
    return { expected, got: 'a NUL character in it' }
  const over = new AbortController()
  let isClosed = false
  const started = spawn(file, args, { cwd, shell: false, detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  const answered = new Promise<SecretAnswer>((settle) => {
    const chunks: Buffer[] = []
    let size = 0
    started.on('error', (error: NodeJS.ErrnoException) =>
      settle({ expected, got: `${error.code ?? 'an error'} on ${file}` }),
    )
    started.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= MOST_BYTES) chunks.push(chunk)
      else settle({ expected, got: `more than ${MOST_BYTES} bytes from ${file}` })
    })
    started.on('close', (code, signal) => {
      isClosed = true
      if (code === 0) return settle(secretIn(Buffer.concat(chunks), expected, `what ${file} prints`))
      settle({ expected, got: `exit ${code ?? signal} of ${file}; run it by hand to see what it says` })
    })
  })
  const late = clock
    .sleep(DEADLINE_MS, over.signal)
    .then((): SecretAnswer => ({ expected, got: `no end of ${file} within ${DEADLINE_MS / 1_000} seconds` }))
  const answer = await Promise.race([answered, late])
  over.abort()
  if (!isClosed) {
    killAll(started.pid)
    started.stdout.destroy()
    started.unref()
  }
  return answer
}

/** It leads a group of its own, in which everything is that it started and did not set free. */
function killAll(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // All of it has ended.
  }
}
