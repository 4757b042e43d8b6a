/**
 * Over HTTP, durable before the answer: how many a second, and how long one waits, beside the same route without a store
 * and the same route with one durable row. Then the same while others press on other routes.
 *
 *   run-intake.ts [--seconds 5] [--rounds 3] [--connections 1,8,32] [--entries id,id] [--out results/intake.jsonl]
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { COMPILE_CACHE, DATA, postgresUrl, ROOT } from '../environment.ts'
import { findServers, foreignCores, quiet, snapshot } from '../meter.ts'
import { freshDatabase } from '../postgres-admin.ts'
import { startServers } from '../servers.ts'
import { median } from '../statistics.ts'
import type { Load, LoadReport } from './load.ts'

const { values: flags } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '1,8,32' },
    entries: { type: 'string', default: 'bare,bare-postgres,pillarbox,bare-sqlite,pillarbox-sqlite' },
    out: { type: 'string', default: 'results/intake.jsonl' },
  },
})
const seconds = Number(flags.seconds)
const CONNECTIONS = flags.connections.split(',').map(Number)
const OPS_KEY = `pbx_${'0123456789abcdef'.repeat(3)}`
const DATABASE = 'bench_intake'

/** Connections of the intake while others press. */
const BESIDE = Math.min(...CONNECTIONS.filter((each) => each >= 8), CONNECTIONS.at(-1) ?? 1)

/** Where an entry listens, and what its requests need. */
interface Target {
  pid: number
  port: number
  authorization: string
  stop(): Promise<void>
}

const NOTIFICATION = JSON.stringify({
  idempotencyKey: '#',
  channel: 'email',
  to: { email: 'a@example.test', name: 'Ada' },
  subject: 'Your order has shipped',
  body: 'It will arrive on Thursday between nine and noon. '.repeat(4),
})
const EVENT = JSON.stringify({
  id: '#',
  type: 'booking.confirmed',
  entity: { type: 'booking', id: '#' },
  payload: { bookingId: 12345, guestName: 'Asha', guestPhone: '+919876543210', guestEmail: 'asha@example.test' },
})

/** Who presses meanwhile: 20 connections that do not wait for answers. */
const PRESSURES = {
  lists: { method: 'GET', path: '/api/notifications?limit=200', body: null },
  'forged webhooks': {
    method: 'POST',
    path: '/api/webhooks/meta/demo',
    body: '{"object":"whatsapp_business_account","entry":[]}',
  },
  'unknown keys': { method: 'GET', path: '/api/notifications?limit=1', body: null },
} as const

interface Case {
  entry: string
  round: number
  name: string
  connections: number
  pressure: string
}

type Taken = Case & LoadReport & { rate: number; serverUs: number; rssMb: number; others: number }
const taken: Taken[] = []

const out = path.resolve(ROOT, flags.out)
mkdirSync(path.dirname(out), { recursive: true })
rmSync(out, { force: true })
const servers = await startServers()
try {
  await findServers()
  const rounds = Array.from({ length: Number(flags.rounds) }, (_, k) => k + 1)
  for (const round of rounds) for (const entry of flags.entries.split(',')) await measureEntry(entry, round)
} finally {
  await servers.stop()
  rmSync(DATA, { recursive: true, force: true })
}
summarise()
process.exit(0)

async function measureEntry(entry: string, round: number): Promise<void> {
  const target = await open(entry)
  try {
    const isOurs = entry.startsWith('pillarbox')
    const requests = { notifications: NOTIFICATION, ...(isOurs && { events: EVENT }) }
    for (const connections of CONNECTIONS)
      for (const [name, body] of Object.entries(requests))
        await measure(
          { entry, round, name, connections, pressure: 'nobody' },
          target,
          loadOf(target, connections, name, body),
        )
    if (!isOurs) return
    for (const [pressure, pressing] of Object.entries(PRESSURES)) {
      const authorization = pressure === 'unknown keys' ? 'Bearer pbx_unknown' : target.authorization
      const pressers = press(target, pressing, authorization)
      const which = { entry, round, name: 'notifications', connections: BESIDE, pressure }
      await measure(which, target, loadOf(target, BESIDE, 'notifications', NOTIFICATION))
      await pressers
    }
  } finally {
    await target.stop()
  }
}

function loadOf({ port, authorization }: Target, connections: number, name: string, body: string): Load {
  const headers = { authorization, 'content-type': 'application/json' }
  return { port, connections, pipelined: 1, seconds, method: 'POST', path: `/api/${name}`, headers, body }
}

async function press(
  target: Target,
  pressing: Pick<Load, 'method' | 'path' | 'body'>,
  authorization: string,
): Promise<void> {
  const headers = { authorization, 'content-type': 'application/json' }
  await runLoad({ ...pressing, port: target.port, connections: 20, pipelined: 8, seconds: seconds + 1, headers })
}

async function measure(which: Case, target: Target, load: Load): Promise<void> {
  if (which.pressure === 'nobody') {
    await runLoad({ ...load, seconds: 1 })
    await quiet(0.1, 30_000)
  }
  const [before, cpuBefore] = [snapshot(), cpuMs(target.pid)]
  const report = await runLoad(load)
  const cpu = cpuMs(target.pid) - cpuBefore
  const answered = Object.values(report.statuses).reduce((sum, count) => sum + count, 0)
  const accepted = Object.entries(report.statuses).reduce(
    (sum, [status, count]) => sum + (Number(status) < 300 ? count : 0),
    0,
  )
  const made: Taken = {
    ...which,
    ...report,
    rate: (accepted / report.ms) * 1_000,
    serverUs: (cpu / Math.max(1, answered)) * 1_000,
    rssMb: rssMb(target.pid),
    others: foreignCores(before, snapshot()),
  }
  taken.push(made)
  appendFileSync(out, `${JSON.stringify(made)}\n`)
  const { p50, p99 } = report.latency
  console.log(
    `${which.round} ${which.entry} ${which.name} ×${which.connections} beside ${which.pressure}: ${Math.round(made.rate)}/s, p50 ${p50.toFixed(2)} p99 ${p99.toFixed(2)} ms, ${Math.round(made.serverUs)} µs each, ${Math.round(made.rssMb)} MB, ${JSON.stringify(report.statuses)}${made.others > 0.15 ? `, disturbed by ${made.others.toFixed(2)} cores` : ''}`,
  )
}

/** Ratios within a round, by their medians. */
function summarise(): void {
  const find = (some: Partial<Case>): Taken[] =>
    taken.filter((each) => Object.entries(some).every(([key, value]) => each[key as keyof Case] === value))
  const ratio = (of: Partial<Case>, to: Partial<Case>, pick: (each: Taken) => number): string => {
    const pairs = find(of).flatMap((each) =>
      find({ ...to, round: each.round }).map((other) => pick(each) / pick(other)),
    )
    return pairs.length === 0
      ? '–'
      : `${median(pairs).toFixed(2)} (${Math.min(...pairs).toFixed(2)}–${Math.max(...pairs).toFixed(2)})`
  }
  const rate = (each: Taken): number => each.rate
  const p99 = (each: Taken): number => each.latency.p99
  console.log(
    '\n| entry | what | connections | rate / bare | rate / one durable row | p99 / one durable row |\n|---|---|---|---|---|---|',
  )
  for (const [entry, durable] of [
    ['pillarbox', 'bare-postgres'],
    ['pillarbox-sqlite', 'bare-sqlite'],
  ] as const)
    for (const connections of CONNECTIONS)
      for (const name of ['notifications', 'events']) {
        const of = { entry, name, connections, pressure: 'nobody' }
        const [bare, row] = [
          { entry: 'bare', connections },
          { entry: durable, connections },
        ]
        console.log(
          `| ${entry} | ${name} | ${connections} | ${ratio(of, bare, rate)} | ${ratio(of, row, rate)} | ${ratio(of, row, p99)} |`,
        )
      }
  console.log('\n| entry | beside | p99 / beside nobody | rate / beside nobody |\n|---|---|---|---|')
  for (const entry of ['pillarbox', 'pillarbox-sqlite'])
    for (const pressure of Object.keys(PRESSURES)) {
      const of = { entry, name: 'notifications', connections: BESIDE, pressure }
      const to = { ...of, pressure: 'nobody' }
      console.log(`| ${entry} | ${pressure} | ${ratio(of, to, p99)} | ${ratio(of, to, rate)} |`)
    }
}

async function runLoad(load: Load): Promise<LoadReport> {
  const child = forkOwn(path.join(ROOT, 'src/intake/load.ts'), [JSON.stringify(load)])
  const [report] = (await once(child, 'message')) as [LoadReport]
  await once(child, 'exit')
  return report
}

async function open(entry: string): Promise<Target> {
  mkdirSync(DATA, { recursive: true })
  const folder = path.join(DATA, `intake-${entry}`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  if (entry === 'pillarbox' || entry === 'bare-postgres') await freshDatabase(DATABASE)
  return entry.startsWith('pillarbox') ? openProduct(entry, folder) : openBare(entry, folder)
}

async function openBare(entry: string, folder: string): Promise<Target> {
  const kind = entry.split('-')[1] ?? 'none'
  const child = forkOwn(path.join(ROOT, 'src/intake/bare-server.ts'), [
    kind,
    kind === 'sqlite' ? path.join(folder, 'bare.db') : DATABASE,
  ])
  const [port] = (await once(child, 'message')) as [number]
  return { pid: child.pid ?? 0, port, authorization: 'Bearer none', stop: () => end(child) }
}

/** The API as it is shipped, without a worker: what is accepted stays where it is. */
async function openProduct(entry: string, folder: string): Promise<Target> {
  const child = forkOwn(
    path.join(ROOT, '../packages/pillarbox/src/cli/main.ts'),
    ['api', '--port', '0'],
    {
      PILLARBOX_DATA_DIR: folder,
      PILLARBOX_OPS_KEY: OPS_KEY,
      ...(entry === 'pillarbox' && { DATABASE_URL: postgresUrl(DATABASE) }),
    },
    ['--max-semi-space-size=8'],
  )
  const url = await urlOf(child)
  const answer = await fetch(`${url}/ops/tenants/demo/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${OPS_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench', role: 'admin' }),
  })
  const { key } = (await answer.json()) as { key: string }
  return {
    pid: child.pid ?? 0,
    port: Number(new URL(url).port),
    authorization: `Bearer ${key}`,
    stop: () => end(child),
  }
}

async function urlOf(child: ChildProcess): Promise<string> {
  let text = ''
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk)
    const url = /"url":"(http[^"]+)"/.exec(text)?.[1]
    if (url === undefined) continue
    child.stdout?.resume()
    return url
  }
  throw new Error(`the API did not start:\n${text}`)
}

function forkOwn(
  script: string,
  args: string[],
  env: Record<string, string> = {},
  flagsOfNode: string[] = [],
): ChildProcess {
  return fork(script, args, {
    execArgv: ['--conditions=source', '--disable-warning=ExperimentalWarning', ...flagsOfNode],
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
}

async function end(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  await gone
}

/** Of the process and of its children, which work for it. */
function cpuMs(pid: number): number {
  return [pid, ...childrenOf(pid)].reduce((sum, each) => sum + ticksOf(each) * 10, 0)
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)
}

function ticksOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11]) + Number(fields[12])
}

function rssMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024
}
