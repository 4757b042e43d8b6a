import { PillarboxError } from '../model/errors.ts'
import type { Clock, Logger } from '../model/ports.ts'
import { HEAP_MB, ITEM_MS, READING_MS } from './limits.ts'
import { createOffenders } from './offenders.ts'
import { type Death, type PoolChild, startChild } from './pool-child.ts'
import type { TaskName, Tasks } from './tasks.ts'
import { PLANNING, type Untrusted, type WorkResult } from './untrusted.ts'

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

/** In one message; more are several messages, so that the processes can share them. */
const MESSAGE_ITEMS = 200

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
  /** How many processes work for each. */
  const served = new Map<string, number>()
  let closing: Promise<void> | null = null

  function assign(): void {
    for (const [turn, asks] of waiting) {
      const seat = seats.find(({ isTaken }) => !isTaken)
      if (!seat || closing) return
      const now = served.get(turn) ?? 0
      // One process at most works for each tenant, so that none has them all.
      if (now > 0 && turn !== PLANNING) continue
      waiting.delete(turn)
      const together = takeTogether(asks)
      if (asks.length > 0) waiting.set(turn, asks)
      seat.isTaken = true
      served.set(turn, now + 1)
      void serve(seat, together).finally(() => {
        seat.isTaken = false
        const left = (served.get(turn) ?? 1) - 1
        if (left > 0) served.set(turn, left)
        else served.delete(turn)
        assign()
      })
    }
  }

  function ask(task: TaskName, given: readonly Given[], turn: string): Promise<WorkResult[]> {
    if (closing) return Promise.reject(closed())
    return new Promise((resolve, reject) => {
      const asks = waiting.get(turn) ?? []
      asks.push({ task, given, resolve, reject })
      waiting.set(turn, asks)
      // What is asked in one go, such as for each event of a batch, goes in as few messages as it fits into.
      queueMicrotask(assign)
    })
  }

  async function serve(seat: Seat, asks: readonly Ask[]): Promise<void> {
    try {
      const [first] = asks
      const given = asks.flatMap((ask) => ask.given)
      const results = first ? await workOff(seat, first.task, given) : []
      let from = 0
      for (const { given: own, resolve } of asks) {
        resolve(results.slice(from, from + own.length))
        from += own.length
      }
    } catch (error) {
      for (const ask of asks) ask.reject(error)
    }
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
    async run(task, given, turn) {
      const pieces: Promise<WorkResult[]>[] = []
      for (let from = 0; from < given.length; from += MESSAGE_ITEMS)
        pieces.push(ask(task, given.slice(from, from + MESSAGE_ITEMS), turn))
      return (await Promise.all(pieces)).flat()
    },
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
  return JSON.stringify([tenantId, 'html' in given ? given.html : 'text' in given ? given.text : given.value])
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
