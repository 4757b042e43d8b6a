// Only on SQLite: PostgreSQL's server reads beside us, and ends a statement by itself (`statement_timeout`).

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { PillarboxError } from '../../model/errors.ts'
import type { Clock } from '../../model/ports.ts'
import { reportTookTooLong } from '../shared/report.ts'
import type { Row, Value } from '../shared/script.ts'
import { bound, localText } from './connection.ts'
import type { ReportAnswer, ReportQuestion } from './report-child.ts'

/**
 * Reads that may take long, by processes of their own: the thread that serves and sends goes on meanwhile. A process is
 * started when there is something to read, ends when there was nothing for a while, and is killed when a statement takes too
 * long, which a thread could not be: it ends only when its statement does (docs/decisions/0026).
 */
export interface Reports {
  /** The rows of a statement in the shared form. Rejects with `overloaded` when it took too long. */
  run(text: string, values: readonly Value[]): Promise<Row[]>
  /** Ends the processes; what they read is refused. */
  close(): Promise<void>
}

export interface ReportDeps {
  path: string
  clock: Clock
  /** How long a statement may take. */
  limitMs: number
}

/** At the same time; more wait. */
const MOST = 2
/** A process that nobody has asked for so long ends: it has 40 MB of memory. */
const IDLE_MS = 60_000

interface ReportSeat {
  child: ChildProcess | null
  isTaken: boolean
  /** Ended when the process gets something to do. */
  idle: AbortController
}

export function openReports({ path, clock, limitMs }: ReportDeps): Reports {
  const seats: ReportSeat[] = Array.from({ length: MOST }, () => ({
    child: null,
    isTaken: false,
    idle: new AbortController(),
  }))
  const waiting: ((seat: ReportSeat) => void)[] = []
  let isClosed = false

  const closed = (): PillarboxError => new PillarboxError('store_unavailable', 'The store is closed')

  /** One that runs already, if it is free. */
  function freeSeat(): ReportSeat | undefined {
    const free = seats.filter(({ isTaken }) => !isTaken)
    return free.find(({ child }) => child !== null) ?? free[0]
  }

  async function take(): Promise<ReportSeat> {
    const seat = freeSeat() ?? (await new Promise<ReportSeat>((resolve) => waiting.push(resolve)))
    seat.isTaken = true
    seat.idle.abort()
    return seat
  }

  function release(seat: ReportSeat): void {
    const next = waiting.shift()
    if (next) {
      next(seat)
      return
    }
    seat.isTaken = false
    if (isClosed) return
    seat.idle = new AbortController()
    const { signal } = seat.idle
    void clock.sleep(IDLE_MS, signal).then(() => {
      if (!signal.aborted) end(seat)
    })
  }

  function end(seat: ReportSeat): void {
    seat.child?.kill('SIGKILL')
    seat.child = null
  }

  function childOf(seat: ReportSeat): ChildProcess {
    if (seat.child) return seat.child
    const child = startChild(path)
    child.once('exit', () => {
      if (seat.child === child) seat.child = null
    })
    seat.child = child
    return child
  }

  /** What the process answers; null: it took too long. Rejects when the process ends. */
  async function ask(seat: ReportSeat, question: ReportQuestion): Promise<ReportAnswer | null> {
    const child = childOf(seat)
    const over = new AbortController()
    const { signal } = over
    try {
      const answered = once(child, 'message', { signal }) as Promise<[ReportAnswer]>
      const gone = once(child, 'exit', { signal }).then(() => {
        throw isClosed ? closed() : new PillarboxError('store_unavailable', 'The process that reads has ended')
      })
      const late = clock.sleep(limitMs, signal).then(() => null)
      for (const each of [answered, gone]) each.catch(() => {})
      child.send(question)
      const first = await Promise.race([answered, gone, late])
      return first === null ? null : first[0]
    } finally {
      over.abort()
    }
  }

  return {
    async run(text, values) {
      if (isClosed) throw closed()
      const seat = await take()
      try {
        if (isClosed) throw closed()
        const answer = await ask(seat, { text: localText(text), values: values.map(bound), now: clock.now() })
        if (answer === null) {
          end(seat)
          throw reportTookTooLong(limitMs)
        }
        if ('error' in answer) throw Object.assign(new Error(answer.error.message), { errcode: answer.error.errcode })
        return answer.rows
      } finally {
        release(seat)
      }
    },
    close: async () => {
      isClosed = true
      const gone = seats.flatMap(({ child }) => (child ? [once(child, 'exit')] : []))
      for (const { child, idle } of seats) {
        idle.abort()
        // Without it, a program that has nothing else to do ends here, before its store is closed.
        child?.ref()
        child?.kill('SIGKILL')
      }
      await Promise.all(gone)
    },
  }
}

function startChild(path: string): ChildProcess {
  const extension = import.meta.filename.slice(import.meta.filename.lastIndexOf('.'))
  const child = fork(new URL(`./report-child${extension}`, import.meta.url), [path], {
    serialization: 'advanced',
    execArgv: ['--disable-warning=ExperimentalWarning'],
    // Nothing of the environment is any of its business; the cache spares it half of its start.
    env: { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  // A message that could not be written any more: its process has ended, which is told by its exit.
  child.on('error', () => {})
  child.unref()
  child.channel?.unref()
  return child
}
