import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { access, constants, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { freePort } from './postgres/launcher.ts'
import { until } from './until.ts'

export interface PrometheusTools {
  prometheus: string
  promtool: string
}

const root = path.resolve(import.meta.dirname, '../..')
const CACHE = path.join(root, 'node_modules/.cache/pillarbox-prometheus')
const UNPACKED = path.join(CACHE, 'package')
const LOCK = path.join(CACHE, 'lock')
/** Fetching and unpacking takes seconds: whoever has held the lock for so long is gone. */
const LOCK_MS = 300_000

/**
 * Prometheus and its checker: those on PATH, or Debian's package, unpacked beside the modules without being installed. Rejects
 * with what is missing where neither can be had.
 */
export async function prometheusTools(): Promise<PrometheusTools> {
  const [prometheus, promtool] = await Promise.all([onPath('prometheus'), onPath('promtool')])
  if (prometheus && promtool) return { prometheus, promtool }
  await mkdir(CACHE, { recursive: true })
  await until(
    'another test has unpacked Prometheus',
    async () => {
      if (existsSync(UNPACKED)) return true
      if (!(await takeLock())) return false
      try {
        if (!existsSync(UNPACKED)) await unpackPackage()
      } finally {
        await rm(LOCK, { recursive: true, force: true })
      }
      return true
    },
    2 * LOCK_MS,
  )
  return { prometheus: path.join(UNPACKED, 'usr/bin/prometheus'), promtool: path.join(UNPACKED, 'usr/bin/promtool') }
}

async function onPath(name: string): Promise<string | null> {
  for (const folder of (process.env['PATH'] ?? '').split(path.delimiter)) {
    const file = path.join(folder, name)
    const isRunnable = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (folder !== '' && isRunnable) return file
  }
  return null
}

async function takeLock(): Promise<boolean> {
  try {
    await mkdir(LOCK)
    return true
  } catch {
    const since = await stat(LOCK).then(
      ({ mtimeMs }) => mtimeMs,
      () => Date.now(),
    )
    if (Date.now() - since > LOCK_MS) await rm(LOCK, { recursive: true, force: true })
    return false
  }
}

async function unpackPackage(): Promise<void> {
  const folder = await mkdtemp(path.join(CACHE, 'download-'))
  try {
    const archive = await download(folder)
    await run('dpkg-deb', ['-x', archive, path.join(folder, 'unpacked')], folder)
    await run(path.join(folder, 'unpacked/usr/bin/promtool'), ['--version'], folder)
    await rename(path.join(folder, 'unpacked'), UNPACKED)
  } catch (cause) {
    throw new Error(
      'This test needs Prometheus: there is no prometheus and promtool on PATH, and Debian’s package could not be fetched. ' +
        `Run "apt-get install prometheus", or put both on PATH. ${String(cause)}`,
      { cause },
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The lists of packages that the machine has may be missing or old; then lists of our own are fetched, and its are left alone. */
async function download(folder: string): Promise<string> {
  const fetched = ['download', 'prometheus']
  try {
    await run('apt-get', fetched, folder)
  } catch {
    const [lists, cache] = [path.join(folder, 'lists'), path.join(folder, 'cache')]
    await mkdir(path.join(lists, 'partial'), { recursive: true })
    await mkdir(path.join(cache, 'archives/partial'), { recursive: true })
    const options = [`Dir::State::lists=${lists}`, `Dir::Cache=${cache}`, 'APT::Sandbox::User=root']
    const own = options.flatMap((option) => ['-o', option])
    await run('apt-get', [...own, 'update'], folder)
    await run('apt-get', [...own, ...fetched], folder)
  }
  const archive = (await readdir(folder)).find((name) => name.endsWith('.deb'))
  if (archive === undefined) throw new Error('apt-get left no package behind')
  return path.join(folder, archive)
}

/** Answers what a command says; rejects with it where the command fails. */
export async function run(command: string, args: readonly string[], cwd: string = root): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(command, [...args], { cwd, maxBuffer: 10_000_000 })
  return `${stdout}${stderr}`
}

export interface RunningPrometheus extends AsyncDisposable {
  /** The values of a query, by the text of their labels; empty while there are none. */
  query(expression: string): Promise<{ labels: Record<string, string>; value: number }[]>
  /** What its API answers. */
  ask<T>(target: string): Promise<T>
  log(): string
}

/** A Prometheus of the test's own that scrapes every two seconds. `jobs` is the part of its configuration that says whom. */
export async function startPrometheus(
  { prometheus }: PrometheusTools,
  { jobs, rules }: { jobs: readonly object[]; rules: string },
): Promise<RunningPrometheus> {
  const folder = await mkdtemp(path.join(tmpdir(), 'pillarbox-prometheus-'))
  const port = await freePort()
  const settings = {
    global: { scrape_interval: '2s', scrape_timeout: '2s', evaluation_interval: '2s' },
    rule_files: [rules],
    scrape_configs: jobs,
  }
  // JSON is YAML, too.
  await writeFile(path.join(folder, 'prometheus.yml'), JSON.stringify(settings))
  const server = spawn(
    prometheus,
    [
      `--config.file=${path.join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${path.join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let said = ''
  for (const stream of [server.stdout, server.stderr]) stream.on('data', (piece: Buffer) => (said += piece.toString()))
  const exited = new Promise<void>((resolve) => server.once('exit', () => resolve()))
  const url = `http://127.0.0.1:${port}`
  await until('Prometheus is ready', async () => {
    if (server.exitCode !== null) throw new Error(`Prometheus ended while starting:\n${said}`)
    return fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  })

  async function ask<T>(target: string): Promise<T> {
    const answer = (await (await fetch(url + target)).json()) as { status: string; data: T; error?: string }
    if (answer.status !== 'success') throw new Error(`${target}: ${answer.error}`)
    return answer.data
  }
  return {
    ask,
    log: () => said,
    async query(expression) {
      const target = `/api/v1/query?query=${encodeURIComponent(expression)}`
      const { result } = await ask<{ result: { metric: Record<string, string>; value: [number, string] }[] }>(target)
      return result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }))
    },
    async [Symbol.asyncDispose]() {
      server.kill('SIGKILL')
      await exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}
