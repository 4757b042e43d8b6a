import { sleep } from './clock.ts'
import type { Entry } from './entries.ts'
import { MeasuredProcess } from './measured-process.ts'
import { foreignCores, snapshot } from './meter.ts'
import { payload } from './payload.ts'
import { NOTIFICATIONS_PER_EVENT, type Peer, type PlanVariant } from './peer.ts'
import { loadPeer } from './registry.ts'
import { type Quantiles, quantiles, range } from './statistics.ts'
import type { Report } from './task.ts'
import type { ProviderName } from './vendor.ts'

/** One measurement; which fields it has depends on the case. */
export interface Sample {
  ms: number
  /** Cores that others used meanwhile. */
  others: number
  rate?: number
  /** plan: of events, where `rate` is of their notifications. */
  eventRate?: number
  complete?: boolean
  duplicates?: number
  rssMb?: number[]
  peakMb?: number[]
  workerUsPerJob?: number
  serverUsPerJob?: number
  /** providers: the vendor's, which is not the worker's. */
  vendorUsPerJob?: number
  statementsPerJob?: number
  lost?: number
  fromCommit?: Quantiles
  fromCall?: Quantiles
  commit?: Quantiles
}

/** Enqueues `count` payloads one to a call with `connections` callers, or `batch` to a call. */
export async function enqueue(
  entry: Entry,
  store: string,
  { count, connections, batch = 1 }: { count: number; connections: number; batch?: number },
): Promise<Sample> {
  const peer = await loadPeer(entry.peer)
  await peer.create(store, entry.settings)
  await peer.settle(store, entry.settings)
  const process = new MeasuredProcess(batch > 1 ? 'bulk' : 'enqueue', entry, store, {
    count,
    connections,
    batch,
    maxMs: 30_000,
  })
  await process.ready()
  const before = snapshot()
  process.send('go')
  const report = await process.report()
  const after = snapshot()
  process.send('stop')
  await process.exited
  const [made = 0, ms = Number.NaN] = [report.count, report.ms]
  return {
    ms,
    rate: (made / ms) * 1_000,
    others: foreignCores(before, after),
    workerUsPerJob: ((report.cpuMs ?? Number.NaN) * 1_000) / made,
    serverUsPerJob: ((after.serverMs - before.serverMs) * 1_000) / made,
    rssMb: [Math.round(report.rssMb)],
  }
}

export interface DrainOptions {
  count: number
  processes?: number
  /** The store exists and is seeded; only the work is added. */
  isGrown?: boolean
  /** What is put in: rows ready to be sent, or events. */
  from?: 'ready' | 'events'
  countStatements?: boolean
}

const DRAIN_LIMIT_MS = 180_000

/** From `go`, the workers being connected, until the last completion is committed. */
export async function drain(entry: Entry, store: string, options: DrainOptions): Promise<Sample> {
  const { count, processes = 1, isGrown = false, from = 'ready', countStatements = false } = options
  const peer = await loadPeer(entry.peer)
  if (!isGrown) await peer.create(store, entry.settings)
  if (from === 'ready' && peer.preload) await peer.preload(store, count, entry.settings)
  else await produceAll(peer, entry, store, count)
  await peer.settle(store, entry.settings)
  const workers = range(0, processes).map(() => new MeasuredProcess('drain', entry, store, { count, countStatements }))
  const probe = await peer.probe(store, entry.settings)
  const { isCounted, sum, ...figures } = await measured(workers, {
    what: peer.reportsFinished === true ? 'finished' : 'handled',
    count,
    countStatements,
    untilCommitted: async () => {
      while (peer.reportsFinished !== true && (await probe.pending())) await sleep(2)
    },
  })
  const isPending = await probe.pending()
  await probe.close()
  return {
    ...figures,
    complete: isCounted && !isPending,
    duplicates: Math.max(0, sum((report) => report.handled) - count),
  }
}

/** From `go` until all events are planned: their notifications are queued, and none of them is sent. */
export async function plan(
  entry: Entry,
  store: string,
  { variant, count, countStatements = false }: { variant: PlanVariant; count: number; countStatements?: boolean },
): Promise<Sample> {
  const peer = await loadPeer(entry.peer)
  if (!peer.planning) throw new Error(`${entry.peer} plans nothing`)
  const events = Math.ceil(count / NOTIFICATIONS_PER_EVENT[variant])
  const notifications = events * NOTIFICATIONS_PER_EVENT[variant]
  await peer.create(store, entry.settings)
  await peer.planning.publish(store, variant, events)
  await peer.settle(store, entry.settings)
  const worker = new MeasuredProcess('plan', entry, store, { count: notifications, countStatements })
  const { isCounted, sum, ...figures } = await measured([worker], {
    what: 'finished',
    count: notifications,
    countStatements,
  })
  return {
    ...figures,
    eventRate: (events / figures.ms) * 1_000,
    complete: isCounted && sum((report) => report.handled) === events && (await peer.planning.isComplete(store)),
  }
}

/**
 * Through a provider to its vendor's loopback server, which is a third process. From `go` until the last result is
 * committed, or for a bare loop until the last answer.
 */
export async function send(
  entry: Entry,
  store: string,
  { provider, count }: { provider: ProviderName; count: number },
): Promise<Sample> {
  const peer = await loadPeer(entry.peer)
  if (!peer.sending) throw new Error(`${entry.peer} sends by no provider`)
  const vendor = new MeasuredProcess('vendor', { ...entry, peer: 'bare' }, store, { vendor: provider })
  const destination = { provider, address: await vendor.address() }
  await peer.create(store, entry.settings)
  await peer.sending.preload(store, destination, count)
  await peer.settle(store, entry.settings)
  const worker = new MeasuredProcess('send', entry, store, { count, destination })
  const probe = await peer.probe(store, entry.settings)
  await worker.ready()
  vendor.send('go')
  const { isCounted, sum: _sum, ...figures } = await measured([worker], { what: 'finished', count })
  const isPending = await probe.pending()
  await probe.close()
  vendor.send('stop')
  const { handled: taken = 0, cpuMs: vendorMs = Number.NaN } = await vendor.report()
  await vendor.exited
  return {
    ...figures,
    vendorUsPerJob: (vendorMs * 1_000) / count,
    complete: isCounted && !isPending && taken >= count,
    duplicates: Math.max(0, taken - count),
  }
}

type Figures = Pick<
  Sample,
  'ms' | 'rate' | 'others' | 'rssMb' | 'peakMb' | 'workerUsPerJob' | 'serverUsPerJob' | 'statementsPerJob'
>

/** From `go`, the workers being connected, until they have counted to `count` and all of it is committed. */
async function measured(
  workers: readonly MeasuredProcess[],
  given: {
    what: 'handled' | 'finished'
    count: number
    countStatements?: boolean
    untilCommitted?: () => Promise<void>
  },
): Promise<Figures & { isCounted: boolean; sum(pick: (report: Report) => number | undefined): number }> {
  const { what, count, countStatements = false, untilCommitted } = given
  await Promise.all(workers.map((worker) => worker.ready()))
  await sleep(200)

  const before = snapshot()
  for (const worker of workers) worker.send('go')
  const isCounted = await untilCounted(workers, what, count)
  if (isCounted) await untilCommitted?.()
  const after = snapshot()

  await sleep(100)
  for (const worker of workers) worker.send('stop')
  const reports = await Promise.all(workers.map((worker) => worker.report()))
  await Promise.all(workers.map((worker) => worker.exited))
  const sum = (pick: (report: Report) => number | undefined): number =>
    reports.reduce((total, report) => total + (pick(report) ?? 0), 0)
  const ms = after.at - before.at
  return {
    isCounted,
    sum,
    ms,
    rate: (count / ms) * 1_000,
    others: foreignCores(before, after),
    rssMb: reports.map((report) => Math.round(report.rssMb)),
    peakMb: reports.map((report) => Math.round(report.peakMb)),
    workerUsPerJob: (sum((report) => report.cpuMs) * 1_000) / count,
    serverUsPerJob: ((after.serverMs - before.serverMs) * 1_000) / count,
    ...(countStatements ? { statementsPerJob: sum((report) => report.statements) / count } : {}),
  }
}

async function produceAll(peer: Peer, entry: Entry, store: string, count: number): Promise<void> {
  const producer = await peer.producer(store, 4, entry.settings)
  let next = 0
  const caller = async (): Promise<void> => {
    while (next < count) {
      const from = next
      next = Math.min(count, next + 1_000)
      await producer.bulk(range(from, next).map(payload))
    }
  }
  await Promise.all(range(0, 4).map(caller))
  await producer.close()
}

/** False when the time is over or a worker ended. */
function untilCounted(
  workers: readonly MeasuredProcess[],
  what: 'handled' | 'finished',
  count: number,
): Promise<boolean> {
  return new Promise((resolve) => {
    const limit = setTimeout(() => resolve(false), DRAIN_LIMIT_MS)
    const end = (isCounted: boolean): void => {
      clearTimeout(limit)
      resolve(isCounted)
    }
    for (const worker of workers) {
      worker.onCount = () => {
        if (workers.reduce((sum, each) => sum + each[what], 0) >= count) end(true)
      }
      void worker.exited.then(() => end(false))
    }
  })
}

/** The entry as it is measured for latency. */
export async function forLatency(entry: Entry): Promise<Entry> {
  const peer = await loadPeer(entry.peer)
  return { ...entry, settings: { ...entry.settings, ...peer.latency, ...entry.settings.latency } }
}

/** One call every `gapMs`, at low load: from the call, and from its commit, until the handler runs. */
export async function latency(
  given: Entry,
  store: string,
  { count, gapMs, isGrown = false }: { count: number; gapMs: number; isGrown?: boolean },
): Promise<Sample> {
  const entry = await forLatency(given)
  const peer = await loadPeer(entry.peer)
  if (!isGrown) await peer.create(store, entry.settings)
  if (entry.settings.isKnown) await peer.acquaint?.(store, count)
  await peer.settle(store, entry.settings)
  const { sent, acked, times, others } =
    peer.inProcess === true
      ? await inOneProcess(entry, store, count, gapMs)
      : await inTwoProcesses(entry, store, count, gapMs)
  const between = (from: readonly number[], to: readonly (number | null)[]): number[] =>
    range(0, count).flatMap((i) => {
      const [a, b] = [from[i], to[i]]
      return a === undefined || b === undefined || b === null ? [] : [b - a]
    })
  const fromCall = between(sent, times)
  return {
    ms: count * gapMs,
    others,
    lost: count - fromCall.length,
    fromCall: quantiles(fromCall),
    fromCommit: quantiles(between(acked, times)),
    commit: quantiles(between(sent, acked)),
  }
}

interface Timed {
  sent: number[]
  acked: number[]
  times: (number | null)[]
  others: number
}

async function inOneProcess(entry: Entry, store: string, count: number, gapMs: number): Promise<Timed> {
  const both = new MeasuredProcess('produce-and-work', entry, store, { count, gapMs })
  await both.ready()
  const before = snapshot()
  both.send('go')
  const { sent = [], acked = [], times = [] } = await both.report()
  const others = foreignCores(before, snapshot())
  await both.exited
  return { sent, acked, times, others }
}

async function inTwoProcesses(entry: Entry, store: string, count: number, gapMs: number): Promise<Timed> {
  const worker = new MeasuredProcess('work', entry, store, { count, gapMs })
  await worker.ready()
  await sleep(1_000)
  const producer = new MeasuredProcess('produce', entry, store, { count, gapMs })
  await producer.ready()
  const before = snapshot()
  producer.send('go')
  const { sent = [], acked = [] } = await producer.report()
  const others = foreignCores(before, snapshot())
  await producer.exited
  // What polls slowly gets its chance.
  await sleep(2_500)
  worker.send('stop')
  const { times = [] } = await worker.report()
  await worker.exited
  return { sent, acked, times, others }
}
