import { Worker } from 'node:worker_threads'
import { errorText } from '../model/errors.ts'
import { PARTS_MS } from './limits.ts'
import { itemsOf, type WorkMessage } from './message.ts'
import { createTasks } from './tasks.ts'
import { performAll } from './untrusted.ts'

/** What a child sends to the pool. */
export type ChildMessage =
  | { kind: 'ready' }
  /** The part that it begins with, in case it does not come back. */
  | { kind: 'part'; part: string }
  /**
   * The results of the first items, as JSON; of all, unless the message took too long. `took`: the processor time of those
   * that took more than a moment, with that of the moments before; `place` is of the item in the message.
   */
  | { kind: 'done'; results: string; took: { place: number; ms: number }[] }

/**
 * The main file of a child process of the pool. The work is done on its main thread; a second thread (`watchdog.ts`) ends the
 * process when a piece takes more processor time than it may. A heap that is exhausted ends the process by itself.
 */
const meter = new Int32Array(new SharedArrayBuffer(8))
const [PIECE, LIMIT] = [0, 1]
/** On the clock. */
const BRIEF_MS = 5
let piece = 0
let usedBefore = process.cpuUsage()

function mark(limitMs: number, part?: string): void {
  // 0 says that there is nothing to do.
  piece = (piece % 2_000_000_000) + 1
  Atomics.store(meter, LIMIT, limitMs)
  Atomics.store(meter, PIECE, piece)
  if (part === undefined) return
  if (usedMs() > PARTS_MS)
    throw new Error(`its schemas and templates take more than ${PARTS_MS / 1_000} s of processor time together`)
  send({ kind: 'part', part })
}

/** Processor time since the message came. */
function usedMs(): number {
  const { user, system } = process.cpuUsage(usedBefore)
  return (user + system) / 1_000
}

function work(message: WorkMessage): Extract<ChildMessage, { kind: 'done' }> {
  const results: string[] = []
  const took: { place: number; ms: number }[] = []
  let [ended, endedMs] = [process.uptime(), usedMs()]
  for (const one of itemsOf(message)) {
    for (const result of performAll(tasks, message.task, [one])) results.push(JSON.stringify(result))
    // Most items take less time than it takes to ask how much processor time they took.
    const now = process.uptime()
    if ((now - ended) * 1_000 < BRIEF_MS) continue
    const beganMs = endedMs
    ;[ended, endedMs] = [now, usedMs()]
    took.push({ place: results.length - 1, ms: endedMs - beganMs })
    if (endedMs > message.budgetMs) break
  }
  return { kind: 'done', results: `[${results.join(',')}]`, took }
}

function send(message: ChildMessage): void {
  process.send?.(message)
}

const tasks = createTasks(mark)

process.on('message', (message: WorkMessage) => {
  usedBefore = process.cpuUsage()
  mark(0)
  Atomics.notify(meter, PIECE)
  send(work(message))
  Atomics.store(meter, PIECE, 0)
})
// Whoever started us is gone, or wants us to go.
process.on('disconnect', () => process.exit())
// A terminal sends these to us as well; whoever started us still has work to finish, and lets us know when it is done.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

const extension = import.meta.filename.slice(import.meta.filename.lastIndexOf('.'))
const watchdog = new Worker(new URL(`./watchdog${extension}`, import.meta.url), { workerData: meter })
watchdog.once('message', () => send({ kind: 'ready' }))
watchdog.once('error', (error) => {
  process.stderr.write(`the watchdog failed: ${errorText(error)}\n`)
  process.exit(1)
})
