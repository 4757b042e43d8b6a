import { PillarboxError } from '../model/errors.ts'
import type { Clock, Logger } from '../model/ports.ts'
import { HEAP_MB, ITEM_MS, READING_MS } from './limits.ts'
import { createOffenders } from './offenders.ts'
import { type Death, type PoolChild, startChild } from './pool-child.ts'
import type { TaskName, Tasks } from './tasks.ts'
import type { Untrusted, WorkResult } from './untrusted.ts'

/**
 * A few warm child processes that do what strangers ask for, within limits of processor time and memory: one that exceeds
 * them dies, and another takes its place. Processes and not threads, because a thread whose heap is exhausted takes the whole
 * process with it (docs/decisions/0017).
 */
export interface Pool extends Untrusted {
  /** Ends the processes. Work that still waits is refused. */
  close(): Promise<void>
}

export interface PoolDeps {
  clock: Clock
  logger: Logger
  /** How many processes; each is started when there is work for it. */
  size: number
}

/** In one message; more are several messages. */
const MESSAGE_ITEMS = 250

type Given = Tasks[TaskName]['given']

interface Ask {
  task: TaskName
  given: readonly Given[]
  resolve(results: WorkResult[]): void
  reject(error: unknown): void
}

export function createPool({ clock, logger, size }: PoolDeps): Pool {
  const offenders = createOffenders(clock)
  const seats: Seat[] = Array.from({ length: size }, () => ({ child: null, isTaken: false }))
  /** What waits, by whose turn it is: whoever was served goes to the end. */
  const waiting = new Map<string, Ask[]>()
  /** One process at most works for each, so that no tenant has them all. */
  const served = new Set<string>()
  let closing: Promise<void> | null = null

  function assign(): void {
    for (const [turn, asks] of waiting) {
      const seat = seats.find(({ isTaken }) => !isTaken)
      if (!seat || closing) return
      if (served.has(turn)) continue
      waiting.delete(turn)
      const together = takeTogether(asks)
      if (asks.length > 0) waiting.set(turn, asks)
      seat.isTaken = true
      served.add(turn)
      void serve(seat, together).finally(() => {
        seat.isTaken = false
        served.delete(turn)
        assign()
      })
    }
  }

  async function serve(seat: Seat, asks: readonly Ask[]): Promise<void> {
    try {
      const [first] = asks
      const given = asks.flatMap((ask) => ask.given)
      const results = first ? await workThrough(seat, first.task, given) : []
      let from = 0
      for (const { given: own, resolve } of asks) {
        resolve(results.slice(from, from + own.length))
        from += own.length
      }
    } catch (error) {
      for (const ask of asks) ask.reject(error)
    }
  }

  async function workThrough(seat: Seat, task: TaskName, given: readonly Given[]): Promise<WorkResult[]> {
    const results: WorkResult[] = []
    for (let from = 0; from < given.length; from += MESSAGE_ITEMS)
      results.push(...(await workOff(seat, task, given.slice(from, from + MESSAGE_ITEMS))))
    return results
  }

  /** In one message; one by one where that ends the child, so that only the one that is to blame is stopped. */
  async function workOff(seat: Seat, task: TaskName, given: readonly Given[]): Promise<WorkResult[]> {
    if (given.length > 1 && offenders.isEmpty()) {
      const end = await childOf(seat).send({ task, given })
      if ('results' in end) return end.results
    }
    const results: WorkResult[] = []
    for (const one of given) results.push(await workAlone(seat, task, one))
    return results
  }

  async function workAlone(seat: Seat, task: TaskName, one: Given): Promise<WorkResult> {
    if (!offenders.isEmpty() && offenders.isRefused(sourceOf(one)))
      return { stopped: 'it was stopped several times within a minute, and is not tried again for another' }
    const end = await childOf(seat).send({ task, given: [one] })
    const [result] = 'results' in end ? end.results : []
    if (result) return result
    const { death, part } = 'results' in end ? { death: 'crash' as const, part: null } : end
    // The next one need not wait for a process to start.
    if (!closing) childOf(seat)
    if (death === 'silence' || death === 'unready')
      throw new PillarboxError('overloaded', 'The process that works on templates and schemas does not answer.')
    offenders.note(sourceOf(one))
    logger.warn({ task, death, part, tenantId: one.tenantId }, 'what a tenant wrote was stopped')
    return { stopped: wordsFor(death, task, part) }
  }

  function childOf(seat: Seat): PoolChild {
    if (!seat.child?.isAlive()) seat.child = startChild({ clock, logger })
    return seat.child
  }

  return {
    run: (task, given, turn) =>
      new Promise<WorkResult[]>((resolve, reject) => {
        if (given.length === 0) return resolve([])
        if (closing) return reject(closed())
        const ask: Ask = { task, given, resolve, reject }
        const asks = waiting.get(turn)
        if (asks) asks.push(ask)
        else waiting.set(turn, [ask])
        assign()
      }),
    close: () =>
      (closing ??= (async () => {
        for (const asks of waiting.values()) for (const { reject } of asks) reject(closed())
        waiting.clear()
        await Promise.all(seats.flatMap(({ child }) => (child ? [child.close()] : [])))
      })()),
  }
}

interface Seat {
  child: PoolChild | null
  isTaken: boolean
}

/** Removes the first asks that fit into one message: what came while somebody else was served goes together. */
function takeTogether(asks: Ask[]): Ask[] {
  let items = 0
  const others = asks.findIndex(({ task, given }, i) => {
    items += given.length
    return i > 0 && (task !== asks[0]?.task || items > MESSAGE_ITEMS)
  })
  return asks.splice(0, others < 0 ? asks.length : others)
}

/** What somebody wrote, apart from what it is applied to. */
function sourceOf(given: Given): string {
  const { tenantId } = given
  if ('template' in given) return JSON.stringify([tenantId, given.template])
  if ('rules' in given) return JSON.stringify([tenantId, given.rules])
  return JSON.stringify([tenantId, 'text' in given ? given.text : given.value])
}

function wordsFor(death: Death, task: TaskName, part: string | null): string {
  if (death === 'crash') return 'the process that worked on it ended'
  const isReading = (task === 'parseCatalogue' || task === 'readCatalogueText') && part === null
  const limit =
    death === 'memory' ? `${HEAP_MB} MB of memory` : `${isReading ? READING_MS : ITEM_MS} ms of processor time`
  return `limit exceeded: ${part === null ? 'it' : part} takes more than ${limit}`
}

function closed(): PillarboxError {
  return new PillarboxError('overloaded', 'The server is stopping.')
}
