/** One measured process: says `ready`, waits for `go`, does its task, reports, ends. */
import { readFileSync } from 'node:fs'
import { now, sleep } from './clock.ts'
import { payload } from './payload.ts'
import type { Consumer, Producer, Shared } from './peer.ts'
import { loadPeer } from './registry.ts'
import { countStatements } from './statement-count.ts'
import { range } from './statistics.ts'
import type { Memory, Message, Report, Role, Task } from './task.ts'
import { startVendor } from './vendor.ts'

const task = JSON.parse(process.argv[2] ?? '{}') as Task
const peer = await loadPeer(task.peer)
/** Numbers at and above this are warm-up. */
const WARM_UP = 1_000_000

const roles: Record<Role, () => Promise<void>> = {
  enqueue: () =>
    throughput(
      (producer) => repeat(20, () => Promise.all(range(0, task.connections).map((i) => producer.one(payload(i))))),
      1,
      (producer, from) => producer.one(payload(from)),
    ),
  bulk: () =>
    throughput(
      (producer) => producer.bulk(range(0, task.batch).map(payload)),
      task.batch,
      (producer, from) => producer.bulk(range(from, from + task.batch).map(payload)),
    ),
  drain: () =>
    consume((counts) =>
      peer.consumer(
        task.store,
        async () => {
          if (counts.handled++ === 0) counts.first = now()
        },
        task.settings,
        (count) => {
          counts.finished += count
        },
      ),
    ),
  plan: () => consume(openPlanner),
  send: () => consume(openSender),
  vendor,
  produce,
  work,
  'produce-and-work': produceAndWork,
}
await roles[task.role]()
process.disconnect?.()
// Some libraries leave timers behind.
setTimeout(() => process.exit(0), 200)

async function throughput(
  warmUp: (producer: Producer) => Promise<unknown>,
  step: number,
  call: (producer: Producer, from: number) => Promise<unknown>,
): Promise<void> {
  const producer = await peer.producer(task.store, task.connections, task.settings)
  await warmUp(producer)
  await readyAndGo()
  const cpu = process.cpuUsage()
  const from = now()
  let next = 0
  const caller = async (): Promise<void> => {
    while (next < task.count && now() - from < task.maxMs) {
      const mine = next
      next += step
      await call(producer, mine)
    }
  }
  await Promise.all(range(0, task.connections).map(caller))
  const ms = now() - from
  // Connections stay until told otherwise: a backend that ends while the server's time is being read would be missed.
  const stop = message('stop')
  report({ ms, count: next, cpuMs: cpuMsSince(cpu), ...memory() })
  await stop
  await producer.close()
}

interface Counts {
  handled: number
  finished: number
  first: number
}

/** Works from `go` to `stop`, and tells its counts meanwhile. */
async function consume(open: (counts: Counts) => Promise<Consumer>): Promise<void> {
  const counts: Counts = { handled: 0, finished: 0, first: 0 }
  let told = ''
  const statements = task.countStatements ? await countStatements() : () => 0
  const consumer = await open(counts)
  await readyAndGo()
  const cpu = process.cpuUsage()
  const stopped = message('stop')
  const tell = setInterval(() => {
    if (told === `${counts.handled} ${counts.finished}`) return
    told = `${counts.handled} ${counts.finished}`
    send({ type: 'count', ...counts })
  }, 5)
  await consumer.start()
  await stopped
  clearInterval(tell)
  report({ handled: counts.handled, cpuMs: cpuMsSince(cpu), statements: statements(), ...memory() })
  await consumer.stop()
}

async function openPlanner(counts: Counts): Promise<Consumer> {
  if (!peer.planning) throw new Error(`${task.peer} plans nothing`)
  return peer.planning.planner(task.store, task.settings, (events, notifications) => {
    counts.handled += events
    counts.finished += notifications
  })
}

async function openSender(counts: Counts): Promise<Consumer> {
  if (!peer.sending || !task.destination) throw new Error(`${task.peer} sends by no provider`)
  return peer.sending.sender(task.store, task.destination, task.count, task.settings, (count) => {
    counts.finished += count
  })
}

/** A vendor's server, in a process of its own so that its work is nobody else's. */
async function vendor(): Promise<void> {
  if (!task.vendor) throw new Error('which vendor?')
  const server = await startVendor(task.vendor)
  const [go, stop] = [message('go'), message('stop')]
  send({ type: 'ready', address: server.address })
  await go
  const cpu = process.cpuUsage()
  await stop
  report({ handled: server.taken(), cpuMs: cpuMsSince(cpu), ...memory() })
  await server.close()
}

async function produce(): Promise<void> {
  const producer = await peer.producer(task.store, 2, task.settings)
  await paceWarmUp(producer)
  await readyAndGo()
  report({ ...(await pace(producer)), ...memory() })
  await sleep(200) // a nudge may still be on its way
  await producer.close()
}

async function work(): Promise<void> {
  const { times, handler } = stopwatch()
  const consumer = await peer.consumer(task.store, handler, task.settings, () => {})
  await consumer.start()
  const stop = message('stop')
  send({ type: 'ready' })
  await stop
  report({ times: times.slice(0, task.count), ...memory() })
  await consumer.stop()
}

async function produceAndWork(): Promise<void> {
  const { times, handler } = stopwatch()
  const shared: Shared = {}
  const settings = { ...task.settings, shared }
  const consumer = await peer.consumer(task.store, handler, settings, () => {})
  const producer = await peer.producer(task.store, 1, settings)
  await consumer.start()
  await paceWarmUp(producer)
  await readyAndGo()
  const paced = await pace(producer)
  await sleep(1_000)
  report({ ...paced, times: times.slice(0, task.count), ...memory() })
  await producer.close()
  await consumer.stop()
}

function stopwatch(): { times: (number | null)[]; handler: (i: number) => Promise<void> } {
  const times: (number | null)[] = []
  return {
    times,
    handler: async (i) => {
      times[i] ??= now()
    },
  }
}

async function paceWarmUp(producer: Producer): Promise<void> {
  await repeat(25, async (k) => {
    await producer.one(payload(WARM_UP + k))
    await sleep(task.gapMs)
  })
}

/** One call every `gapMs`, whether the one before has been answered or not. */
async function pace(producer: Producer): Promise<{ sent: number[]; acked: number[] }> {
  const sent: number[] = []
  const acked: number[] = []
  const from = now()
  const pending: Promise<void>[] = []
  for (let i = 0; i < task.count; i++) {
    const waitMs = from + i * task.gapMs - now()
    if (waitMs > 0) await sleep(waitMs)
    sent[i] = now()
    pending.push(
      producer.one(payload(i)).then(() => {
        acked[i] = now()
      }),
    )
  }
  await Promise.all(pending)
  return { sent, acked }
}

async function repeat(times: number, work: (k: number) => Promise<unknown>): Promise<void> {
  for (let k = 0; k < times; k++) await work(k)
}

function send(text: Message): void {
  process.send?.(text)
}

function report(made: Report): void {
  send({ type: 'report', ...made })
}

async function readyAndGo(): Promise<void> {
  const go = message('go')
  send({ type: 'ready' })
  await go
}

function message(type: 'go' | 'stop'): Promise<void> {
  return new Promise((resolve) => {
    const listen = (heard: unknown): void => {
      if (heard !== type) return
      process.off('message', listen)
      resolve()
    }
    process.on('message', listen)
  })
}

function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

function memory(): Memory {
  const status = readFileSync('/proc/self/status', 'utf8')
  const megabytes = (key: string): number => Number(new RegExp(`${key}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1_024
  return { rssMb: megabytes('VmRSS'), peakMb: megabytes('VmHWM') }
}
