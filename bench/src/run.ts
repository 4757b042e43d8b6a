/**
 * Runs the cases in rounds, every entry once per round, so that ratios compare neighbours in time:
 *
 *   run.ts [--cases e1,e2,…] [--only id,id] [--rounds 3] [--out results/run.jsonl] [--quick] [--patience seconds] [--max-minutes n]
 */
import { appendFileSync, mkdirSync, rmSync } from 'node:fs'
import { enableCompileCache, flushCompileCache } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { drain, enqueue, forLatency, latency, plan, type Sample, send } from './cases.ts'
import { now } from './clock.ts'
import { CASES, type Case, ENTRIES, type Entry } from './entries.ts'
import { COMPILE_CACHE, DATA, ROOT, redisAddress } from './environment.ts'
import { findServers, quiet } from './meter.ts'
import { PLAN_VARIANTS } from './peer.ts'
import { withPostgres } from './postgres-admin.ts'
import { loadPeer } from './registry.ts'
import { startServers } from './servers.ts'
import { sourcesHash } from './sources.ts'
import { PROVIDERS } from './vendor.ts'

const { values: flags } = parseArgs({
  options: {
    cases: { type: 'string', default: CASES.join(',') },
    only: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    out: { type: 'string', default: 'results/run.jsonl' },
    quick: { type: 'boolean', default: false },
    scale: { type: 'string' },
    /** How long to wait for a quiet machine before each sample. */
    patience: { type: 'string', default: '60' },
    /** How often a disturbed sample is tried in all. */
    tries: { type: 'string', default: '3' },
    'max-minutes': { type: 'string', default: '240' },
  },
})

const scale = Number(flags.scale ?? (flags.quick ? 0.1 : 1))
const SIZES = {
  one: 10_000 * scale,
  bulk: 50_000 * scale,
  drain: 50_000 * scale,
  /** Notifications. */
  plan: 50_000 * scale,
  providers: 10_000 * scale,
  latency: Math.max(50, 300 * scale),
  grownDrain: 20_000 * scale,
  finished: 1_000_000 * scale,
  future: 500_000 * scale,
  /** Long enough that removal gets into its stride. */
  purgedDrain: 200_000 * scale,
}
const GAP_MS = 20
const CALLERS = 16
const QUIET_CORES = 0.1
/** A sample during which others used more than this is repeated. */
const DISTURBED_CORES = 0.15
/** Below this it is the noise of 10 ms ticks. */
const TICK_NOISE_MS = 50

const cases = new Set(flags.cases.split(','))
for (const name of cases)
  if (!CASES.some((known) => known === name)) throw new Error(`no case "${name}": ${CASES.join(', ')}`)
const only = flags.only?.split(',')
for (const id of only ?? [])
  if (!ENTRIES.some((entry) => entry.id === id))
    throw new Error(`no entry "${id}": ${ENTRIES.map((entry) => entry.id).join(', ')}`)
const rounds = Array.from({ length: Number(flags.rounds) }, (_, k) => k + 1)
const deadline = now() + Number(flags['max-minutes']) * 60_000
const out = path.resolve(ROOT, flags.out)
mkdirSync(path.dirname(out), { recursive: true })
rmSync(out, { force: true })

enableCompileCache(COMPILE_CACHE)
// Whoever runs changed sources first would compile them too, which its processor time and memory would show.
for (const { peer } of ENTRIES) await loadPeer(peer)
flushCompileCache()
const servers = await startServers()
try {
  await findServers()
  record(await environment())
  for (const round of rounds) await oneRound(round)
  if (cases.has('cost')) await cost()
  if (cases.has('plan')) await planCost()
  if (cases.has('e4')) await growth()
  if (cases.has('purge')) await removal()
} finally {
  await servers.stop()
  rmSync(DATA, { recursive: true, force: true })
}
process.exit(0)

async function oneRound(round: number): Promise<void> {
  for (const entry of taking('e1')) {
    const store = storeOf(entry)
    await sample('e1-one', entry, round, () => enqueue(entry, store, { count: SIZES.one, connections: CALLERS }))
    await sample('e1-bulk', entry, round, () =>
      enqueue(entry, store, { count: SIZES.bulk, connections: 1, batch: 1_000 }),
    )
    await sample('e1-bulk4', entry, round, () =>
      enqueue(entry, store, { count: SIZES.bulk, connections: 4, batch: 1_000 }),
    )
  }
  for (const entry of taking('e2'))
    await sample('e2', entry, round, () => drain(entry, storeOf(entry), { count: SIZES.drain }))
  for (const entry of taking('e2x2'))
    await sample('e2x2', entry, round, () => drain(entry, storeOf(entry), { count: SIZES.drain, processes: 2 }))
  for (const entry of taking('e2e'))
    await sample('e2e', entry, round, () => drain(entry, storeOf(entry), { count: SIZES.drain, from: 'events' }))
  for (const entry of taking('plan'))
    for (const variant of PLAN_VARIANTS)
      await sample(`plan-${variant}`, entry, round, () => plan(entry, storeOf(entry), { variant, count: SIZES.plan }))
  for (const provider of PROVIDERS)
    for (const entry of taking('providers'))
      if ((await loadPeer(entry.peer)).sending?.providers.includes(provider))
        await sample(`providers-${provider}`, entry, round, () =>
          send(entry, storeOf(entry), { provider, count: SIZES.providers }),
        )
  for (const entry of taking('e3'))
    await sample('e3', entry, round, () => latency(entry, storeOf(entry), { count: SIZES.latency, gapMs: GAP_MS }))
}

async function cost(): Promise<void> {
  for (const entry of taking('cost')) {
    await sample('cost', entry, 1, () => drain(entry, storeOf(entry), { count: SIZES.drain, countStatements: true }))
    if (entry.cases.includes('e2e'))
      await sample('cost-e2e', entry, 1, () =>
        drain(entry, storeOf(entry), { count: SIZES.drain, from: 'events', countStatements: true }),
      )
  }
}

/** Belongs to the case itself: without it, how often the store is asked would stay unsaid. */
async function planCost(): Promise<void> {
  for (const entry of taking('plan'))
    for (const variant of PLAN_VARIANTS)
      await sample(`plan-${variant}-cost`, entry, 1, () =>
        plan(entry, storeOf(entry), { variant, count: SIZES.plan, countStatements: true }),
      )
}

/** Grown stores are seeded once and used by every round; an empty one that has been used once is the control. */
async function growth(): Promise<void> {
  const entries = taking('e4')
  for (const entry of entries) {
    const peer = await loadPeer(entry.peer)
    for (const [suffix, { settings }] of [
      ['big', entry],
      ['lat_big', await forLatency(entry)],
    ] as const) {
      const store = `${storeOf(entry)}_${suffix}`
      const from = now()
      await peer.create(store, settings)
      const what = await peer.seed(store, { finished: SIZES.finished, future: SIZES.future }, settings)
      await peer.settle(store, settings)
      console.log('seeded', store, what, `${Math.round((now() - from) / 1_000)} s`)
      record({ case: 'e4-seed', entry: entry.id, what })
      // Redis holds one grown store at a time.
      if (entry.peer === 'bullmq') break
    }
  }
  const count = SIZES.grownDrain
  for (const round of rounds)
    for (const entry of entries) {
      const store = storeOf(entry)
      await sample('e4-empty', entry, round, () => drain(entry, store, { count }))
      await sample('e4-used', entry, round, () => drain(entry, store, { count, isGrown: true }))
      await sample('e4-grown', entry, round, () => drain(entry, `${store}_big`, { count, isGrown: true }))
      const big = entry.peer === 'bullmq' ? `${store}_big` : `${store}_lat_big`
      await sample('e4-latency-empty', entry, round, () =>
        latency(entry, store, { count: SIZES.latency, gapMs: GAP_MS }),
      )
      await sample('e4-latency-grown', entry, round, () =>
        latency(entry, big, { count: SIZES.latency, gapMs: GAP_MS, isGrown: true }),
      )
    }
}

/**
 * Drains a store full of yesterday's history: as it is, and with an engine that keeps an hour of it and removes the rest
 * meanwhile. Without first, so that both find the history whole.
 */
async function removal(): Promise<void> {
  const entries = taking('purge')
  for (const entry of entries) {
    const peer = await loadPeer(entry.peer)
    await peer.create(storeOf(entry), entry.settings)
    const what = await peer.seed(storeOf(entry), { finished: SIZES.finished, future: 0 }, entry.settings)
    await peer.settle(storeOf(entry), entry.settings)
    record({ case: 'purge-seed', entry: entry.id, what })
  }
  const retention = { keepMs: 3_600_000, purgeEveryMs: 1 }
  const count = SIZES.purgedDrain
  for (const round of rounds)
    for (const entry of entries) {
      const removing = { ...entry, settings: { ...entry.settings, engine: { ...entry.settings.engine, retention } } }
      await sample('purge-without', entry, round, () => drain(entry, storeOf(entry), { count, isGrown: true }))
      await sample('purge-with', entry, round, () => drain(removing, storeOf(entry), { count, isGrown: true }))
    }
}

/** The chosen entries of a case; none if the case is not chosen. */
function taking(name: Case): Entry[] {
  if (!cases.has(name)) return []
  return ENTRIES.filter(
    (entry) =>
      entry.cases.includes(name) &&
      (only === undefined || only.includes(entry.id)) &&
      (entry.peer !== 'bullmq' || redisAddress() !== null),
  )
}

function storeOf(entry: Entry): string {
  return `bench_${entry.id.replaceAll(/\W/g, '_')}`
}

/** Measures once the machine is quiet, and again if it was disturbed; every try is on record. */
async function sample(name: string, entry: Entry, round: number, measure: () => Promise<Sample>): Promise<void> {
  for (let attempt = 1; attempt <= Number(flags.tries); attempt++) {
    if (now() > deadline) return console.log('out of time:', name, entry.id)
    const isCalm = await quiet(QUIET_CORES, Number(flags.patience) * 1_000)
    try {
      const made = await measure()
      const isDisturbed = made.others > DISTURBED_CORES && made.others * made.ms > TICK_NOISE_MS
      record({
        at: new Date().toISOString(),
        case: name,
        entry: entry.id,
        sources: sourcesHash(),
        round,
        attempt,
        calm: isCalm,
        disturbed: isDisturbed,
        ...made,
      })
      console.log(
        round,
        name,
        entry.id,
        ...told(made),
        isDisturbed ? `disturbed by ${made.others.toFixed(2)} cores` : '',
      )
      if (!isDisturbed) return
    } catch (error) {
      record({ case: name, entry: entry.id, round, attempt, error: String(error) })
      console.error(round, name, entry.id, error)
    }
  }
}

function told({
  rate,
  fromCall,
  fromCommit,
  complete,
  duplicates,
  rssMb,
  workerUsPerJob,
  serverUsPerJob,
  vendorUsPerJob,
  statementsPerJob,
}: Sample): string[] {
  return [
    rate === undefined ? '' : `${Math.round(rate)}/s`,
    fromCall && fromCommit
      ? `call→handler p50 ${fromCall.p50.toFixed(2)} p99 ${fromCall.p99.toFixed(2)}, commit→handler p50 ${fromCommit.p50.toFixed(2)} ms`
      : '',
    workerUsPerJob === undefined
      ? ''
      : `worker ${workerUsPerJob.toFixed(1)} server ${serverUsPerJob?.toFixed(1)} µs, ${rssMb?.join('+')} MB`,
    vendorUsPerJob === undefined ? '' : `vendor ${vendorUsPerJob.toFixed(1)} µs`,
    statementsPerJob === undefined ? '' : `${statementsPerJob.toFixed(4)} statements`,
    complete === false ? 'INCOMPLETE' : '',
    duplicates ? `${duplicates} DUPLICATES` : '',
  ].filter((text) => text !== '')
}

function record(line: object): void {
  appendFileSync(out, `${JSON.stringify(line)}\n`)
}

async function environment(): Promise<object> {
  const postgres = await withPostgres('postgres', async (client) => {
    const { rows } = await client.query<{ name: string; setting: string }>(
      `select name, setting from pg_settings where name in ('server_version', 'fsync', 'synchronous_commit', 'full_page_writes',
         'wal_sync_method', 'shared_buffers', 'max_wal_size', 'autovacuum', 'wal_level', 'jit')`,
    )
    return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))
  })
  const [cpu] = os.cpus()
  return {
    case: 'environment',
    at: new Date().toISOString(),
    node: process.version,
    cpus: os.cpus().length,
    cpu: cpu?.model,
    memoryGb: Math.round(os.totalmem() / 2 ** 30),
    kernel: os.release(),
    scale,
    sources: sourcesHash(),
    postgres,
  }
}
