import { PillarboxError } from '../model/errors.ts'
import { type Clock, type Logger, type Meters, noMeters } from '../model/ports.ts'
import type { Allowance } from './allowance.ts'
import { HEAP_MB, ITEM_MS, MESSAGE_MS, READING_MS, SLOW_MS } from './limits.ts'
import { type Given, messageOf } from './message.ts'
import { createOffenders } from './offenders.ts'
import { createPlainWork } from './plain-work.ts'
import { type Death, type PoolChild, startChild } from './pool-child.ts'
import type { TaskName } from './tasks.ts'
import { NO_TIME, REFUSED, type Untrusted, type WorkResult } from './untrusted.ts'

/**
 * A few warm child processes that do what strangers ask for, within limits of processor time and memory: one that exceeds
 * them dies, and another takes its place. What is so plain that it cannot take long is done here (`plain-work.ts`). Processes and not threads, because a thread whose heap is exhausted takes the whole
 * process with it (docs/decisions/0017).
 */
export interface Pool extends Untrusted {
  /** Ends the processes. Work that still waits is refused. */
  close(): Promise<void>
}

export interface PoolDeps {
  clock: Clock
  logger: Logger
  meters?: Meters
  /** How many processes; each is started when there is work for it. */
  size: number
  /** How long a process is kept without work. Default: five minutes. */
  idleMs?: number
}

/** A start takes half a second of processor time, and what is kept has some 100 MB. */
const IDLE_MS = 5 * 60_000

/** How long what is plain may keep this process, on the clock: then the rest goes to a child as well. */
const HERE_MS = 25
/** In one message; more are several messages, so that others have their turn in between. */
const MESSAGE_ITEMS = 500

interface Ask {
  task: TaskName
  /** What is not done yet. */
  given: readonly Given[]
  done: WorkResult[]
  allowance: Allowance | null
  resolve(results: WorkResult[]): void
  reject(error: unknown): void
}

export function createPool({ clock, logger, meters = noMeters, size, idleMs = IDLE_MS }: PoolDeps): Pool {
  const offenders = createOffenders(clock)
  const plain = createPlainWork()
  const seats: Seat[] = Array.from({ length: size }, () => ({ child: null, isTaken: false, idle: null }))
  /** What waits, by whose turn it is: whoever was served goes to the end. */
  const waiting = new Map<string, Ask[]>()
  /** Those that a process works for. */
  const served = new Set<string>()
  /** Processes that are let go. */
  const leaving = new Set<Promise<void>>()
  let closing: Promise<void> | null = null

  function assign(): void {
    for (const [turn, asks] of waiting) {
      const seat = seats.find(({ isTaken }) => !isTaken)
      if (!seat || closing) return
      // One process at most works for each, so that neither a tenant nor planning has them all.
      if (served.has(turn)) continue
      waiting.delete(turn)
      const together = takeTogether(asks)
      if (asks.length > 0) waiting.set(turn, asks)
      seat.isTaken = true
      seat.idle?.abort('taken')
      served.add(turn)
      void serve(seat, together).then((undone) => {
        seat.isTaken = false
        served.delete(turn)
        if (!closing) void letGoWhenIdle(seat)
        if (closing) for (const { reject } of undone) reject(closed())
        else if (undone.length > 0) waiting.set(turn, [...undone, ...takeWaiting(turn)])
        assign()
      })
    }
  }

  async function letGoWhenIdle(seat: Seat): Promise<void> {
    const idle = new AbortController()
    seat.idle = idle
    await clock.sleep(idleMs, idle.signal)
    if (idle.signal.aborted || !seat.child) return
    const gone = seat.child.close()
    seat.child = null
    leaving.add(gone)
    await gone.finally(() => leaving.delete(gone))
  }

  /** Removes what waits for a turn, which goes to the end of the queue when it is put back. */
  function takeWaiting(turn: string): Ask[] {
    const asks = waiting.get(turn) ?? []
    waiting.delete(turn)
    return asks
  }

  function ask(
    task: TaskName,
    given: readonly Given[],
    turn: string,
    allowance: Allowance | null,
  ): Promise<WorkResult[]> {
    if (closing) return Promise.reject(closed())
    return new Promise((resolve, reject) => {
      const asks = waiting.get(turn) ?? []
      asks.push({ task, given, done: [], allowance, resolve, reject })
      waiting.set(turn, asks)
      // What is asked in one go, such as for each event of a batch, goes in as few messages as it fits into.
      queueMicrotask(assign)
    })
  }

  /** Answers those whose work is done, and returns the others with what is left of theirs. */
  async function serve(seat: Seat, asks: readonly Ask[]): Promise<Ask[]> {
    try {
      const [first] = asks
      if (!first) return []
      if (first.allowance && first.allowance.leftMs() <= 0) {
        for (const { given, done, resolve } of asks) resolve([...done, ...given.map(() => NO_TIME)])
        return []
      }
      const given = asks.flatMap((ask) => ask.given)
      const results = await workOff(seat, first.task, given, first.allowance)
      for (const ask of asks) {
        const own = results.splice(0, ask.given.length)
        ask.done.push(...own)
        ask.given = ask.given.slice(own.length)
        if (ask.given.length === 0) ask.resolve(ask.done)
      }
      return asks.filter((ask) => ask.given.length > 0)
    } catch (error) {
      for (const ask of asks) ask.reject(error)
      return []
    }
  }

  /**
   * In one message; one by one where that ends the child, so that only the one that is to blame is stopped. Answers at least
   * the first, and as many as there is time for in one turn.
   */
  async function workOff(
    seat: Seat,
    task: TaskName,
    given: readonly Given[],
    allowance: Allowance | null,
  ): Promise<WorkResult[]> {
    const refusals = refusalsOf(given)
    const allowed = given.filter((_, i) => !refusals[i])
    if (allowed.length === 0) return refusals.flatMap((refusal) => refusal ?? [])
    if (allowed.length > 1) {
      const end = await childOf(seat).send(messageOf(task, allowed, budgetOf(allowance)))
      if ('results' in end) {
        for (const { place, ms } of end.took) allowance?.charge(allowed[place]?.tenantId ?? '', ms)
        if (end.results.length < allowed.length)
          noteSlow(
            task,
            end.took.flatMap(({ place, ms }) => (ms > SLOW_MS && allowed[place]) || []),
          )
        const answers = end.results.values()
        const done: WorkResult[] = []
        for (const refusal of refusals) {
          const result = refusal ?? answers.next().value
          if (!result) break
          done.push(result)
        }
        return done
      }
    }
    const results: WorkResult[] = []
    const until = clock.monotonic() + MESSAGE_MS
    for (const one of given) {
      if (closing) throw closed()
      results.push(refusalsOf([one])[0] ?? (await workAlone(seat, task, one, allowance)))
      if (clock.monotonic() > until || (allowance && allowance.leftMs() <= 0)) break
    }
    return results
  }

  function budgetOf(allowance: Allowance | null): number {
    return Math.min(MESSAGE_MS, allowance?.leftMs() ?? MESSAGE_MS)
  }

  /** What is refused, without asking a child; only what may be is looked at, which takes time of the main thread. */
  function refusalsOf(given: readonly Given[]): (WorkResult | null)[] {
    const suspects = offenders.tenants()
    return given.map((one) => (suspects.has(one.tenantId) && offenders.isRefused(sourceOf(one)) ? REFUSED : null))
  }

  /** Each once, however many items of the message are the same. */
  function noteSlow(task: TaskName, slow: readonly Given[]): void {
    if (isCatalogue(task)) return
    const tenants = new Map(slow.map((one) => [sourceOf(one), one.tenantId]))
    for (const [source, tenantId] of tenants) {
      offenders.note(tenantId, source)
      logger.warn({ task, tenantId }, 'what a tenant wrote is slow, and keeps others waiting')
    }
  }

  async function workAlone(seat: Seat, task: TaskName, one: Given, allowance: Allowance | null): Promise<WorkResult> {
    const end = await childOf(seat).send(messageOf(task, [one], MESSAGE_MS))
    const took = 'results' in end ? end.took : [{ ms: ITEM_MS }]
    for (const { ms } of took) allowance?.charge(one.tenantId, ms)
    const [result] = 'results' in end ? end.results : []
    if (result) return result
    const { death, part } = 'results' in end ? { death: 'crash' as const, part: null } : end
    // The next one need not wait for a process to start.
    if (!closing) childOf(seat)
    if (death === 'silence' || death === 'unready')
      throw new PillarboxError('overloaded', 'The process that works on templates and schemas does not answer.')
    offenders.note(one.tenantId, sourceOf(one))
    logger.warn({ task, death, part, tenantId: one.tenantId }, 'what a tenant wrote was stopped')
    return { stopped: wordsFor(death, task, part) }
  }

  function childOf(seat: Seat): PoolChild {
    if (!seat.child?.isAlive()) seat.child = startChild({ clock, logger, meters })
    return seat.child
  }

  return {
    async run(task, given, turn, allowance = null) {
      const until = clock.monotonic() + HERE_MS
      const here = given.map((one) => (clock.monotonic() < until ? plain.answer(task, one) : null))
      const rest = given.filter((_, i) => here[i] === null)
      const pieces: Promise<WorkResult[]>[] = []
      for (let from = 0; from < rest.length; from += MESSAGE_ITEMS)
        pieces.push(ask(task, rest.slice(from, from + MESSAGE_ITEMS), turn, allowance))
      const answers = (await Promise.all(pieces)).flat().values()
      return here.map((own) => own ?? answers.next().value ?? NO_TIME)
    },
    close: () =>
      (closing ??= (async () => {
        for (const asks of waiting.values()) for (const { reject } of asks) reject(closed())
        waiting.clear()
        for (const { idle } of seats) idle?.abort('closing')
        await Promise.all([...seats.map(({ child }) => child?.close()), ...leaving])
      })()),
  }
}

interface Seat {
  child: PoolChild | null
  isTaken: boolean
  /** While nobody needs it. */
  idle: AbortController | null
}

/** Removes the first asks that fit into one message: what came while somebody else was served goes together. */
function takeTogether(asks: Ask[]): Ask[] {
  let items = 0
  const [first] = asks
  const others = asks.findIndex(({ task, given, allowance }, i) => {
    items += given.length
    return i > 0 && (task !== first?.task || allowance !== first.allowance || items > MESSAGE_ITEMS)
  })
  return asks.splice(0, others < 0 ? asks.length : others)
}

/**
 * What somebody wrote and what it is applied to, without what differs from one time to the next. A single payload may be to
 * blame, and the template or schema is that of all its tenant's events.
 */
function sourceOf(given: Given): string {
  const { tenantId } = given
  if ('template' in given) return JSON.stringify([tenantId, given.template, 'context' in given ? given.context : null])
  if ('rules' in given) return JSON.stringify([tenantId, given.rules, given.payload])
  return JSON.stringify([tenantId, 'html' in given ? given.html : 'text' in given ? given.text : given.value])
}

/** Which may take longer than any other item. */
function isCatalogue(task: TaskName): boolean {
  return task === 'parseCatalogue' || task === 'readCatalogueText'
}

function wordsFor(death: Death, task: TaskName, part: string | null): string {
  if (death === 'crash') return 'the process that worked on it ended'
  const isReading = isCatalogue(task) && part === null
  const limit =
    death === 'memory' ? `${HEAP_MB} MB of memory` : `${isReading ? READING_MS : ITEM_MS} ms of processor time`
  return `limit exceeded: ${part === null ? 'it' : part} takes more than ${limit}`
}

function closed(): PillarboxError {
  return new PillarboxError('overloaded', 'The server is stopping.')
}
