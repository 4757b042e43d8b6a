import type { Clock, Logger } from '../model/ports.ts'
import type { Completion, DispatchStore } from './dispatch-store.ts'
import { whenStoreAnswers } from './when-store-answers.ts'

/**
 * Writes results in batches, a few milliseconds apart. A result stays in memory until its commit is confirmed: while
 * the store is away it is tried again and again, and if the claim has meanwhile been taken over, the token fences it.
 */
export interface Completer {
  /** Resolves once the result is committed or was found to be fenced. */
  write(completion: Completion): Promise<void>
  /** Results not yet committed: the dispatcher claims no more while this is high. */
  backlog(): number
  /** Resolves when nothing is left, or when `giveUp` aborts. */
  drain(giveUp: AbortSignal): Promise<void>
}

export interface CompleterDeps {
  dispatch: Pick<DispatchStore, 'complete'>
  workerId: () => string
  clock: Clock
  logger: Logger
  /** The longest a lone result waits for company. */
  flushMs: number
  flushRows: number
  /** How many flushes may be under way at once. */
  flushers: number
  /** A retry without delay or a fallback's notification is due: its lanes. */
  onDue(lanes: string[]): void
  /** Results were committed together. */
  onWritten(completions: readonly Completion[]): void
  /** A result came too late: its claim had been taken over. */
  onFenced(completion: Completion): void
}

interface Unwritten {
  completion: Completion
  /** When the call began, on the monotonic clock: its age counts on while the result waits to be written. */
  startedAt: number
}

/** Results that are written together, at most `flushRows`, and the promise that all who wait for them share. */
interface ResultBatch {
  rows: Unwritten[]
  isWritten: Promise<void>
  written: () => void
}

/**
 * The state, and who changes it:
 *
 *   queue      results that no flush has taken yet, oldest first, only the last batch not full: `write` adds, `flush` takes
 *   flushing   flushes under way, at most `flushers`
 *   unwritten  the queue, and what is in a flush
 *   gathering  set while results wait for company; only where the queue is not empty and a flush is free. `drain` ends it early
 *   idle       who waits for `unwritten` to be 0
 */
export function createCompleter(deps: CompleterDeps): Completer {
  const { dispatch, clock, logger } = deps
  const queue: ResultBatch[] = []
  let flushing = 0
  let unwritten = 0
  let gathering: AbortController | null = null
  const idle: (() => void)[] = []

  /** Full batches go at once, what is left over after `flushMs`. */
  function pump(): void {
    while (flushing < deps.flushers && (queue[0]?.rows.length ?? 0) >= deps.flushRows) void flush()
    if (queue.length > 0 && flushing < deps.flushers && !gathering) void gather()
  }

  function openBatch(): ResultBatch {
    const last = queue.at(-1)
    if (last && last.rows.length < deps.flushRows) return last
    const { promise: isWritten, resolve: written } = Promise.withResolvers<void>()
    const batch = { rows: [], isWritten, written }
    queue.push(batch)
    return batch
  }

  async function gather(): Promise<void> {
    gathering = new AbortController()
    await clock.sleep(deps.flushMs, gathering.signal)
    gathering = null
    if (flushing < deps.flushers) void flush()
  }

  async function flush(): Promise<void> {
    const batch = queue.shift()
    if (!batch) return
    flushing++
    await writeRows(batch.rows)
    flushing--
    unwritten -= batch.rows.length
    batch.written()
    pump()
    if (unwritten === 0) for (const resolve of idle.splice(0)) resolve()
  }

  async function writeRows(rows: readonly Unwritten[]): Promise<void> {
    try {
      const answer = await whenStoreAnswers(
        clock,
        () => dispatch.complete(deps.workerId(), rows.map(aged)),
        (error) => logger.warn({ results: rows.length, error: String(error) }, 'results cannot be written yet'),
      )
      const fenced = new Set(answer.fenced)
      const written: Completion[] = []
      for (const { completion } of rows)
        if (fenced.has(completion.notificationId)) deps.onFenced(completion)
        else written.push(completion)
      deps.onWritten(written)
      if (answer.lanes.length) deps.onDue(answer.lanes)
    } catch (error) {
      const [first] = rows
      if (rows.length > 1) for (const each of rows) await writeRows([each])
      else if (first) await writeRefused(first, error)
    }
  }

  function aged({ completion, startedAt }: Unwritten): Completion {
    completion.ageMs = clock.monotonic() - startedAt
    return completion
  }

  /** The store refuses a result for its content. Not even a bare result is tried twice. */
  async function writeRefused({ completion, ...rest }: Unwritten, error: unknown): Promise<void> {
    const { notificationId, correlationId } = completion
    logger.error({ notificationId, correlationId, error: String(error) }, 'a result was refused')
    if (completion.code !== REFUSED) await writeRows([{ completion: bare(completion), ...rest }])
  }

  return {
    write(completion) {
      const batch = openBatch()
      batch.rows.push({ completion, startedAt: clock.monotonic() - completion.ageMs })
      unwritten++
      pump()
      return batch.isWritten
    },
    backlog: () => unwritten,
    async drain(giveUp) {
      if (unwritten === 0 || giveUp.aborted) return
      gathering?.abort()
      await new Promise<void>((resolve) => {
        idle.push(resolve)
        giveUp.addEventListener('abort', () => resolve(), { once: true })
      })
    },
  }
}

const REFUSED = 'result_refused'

/** A result the store would not take, reduced to what it cannot refuse: somebody has to look at it. */
function bare(completion: Completion): Completion {
  return {
    ...completion,
    outcome: 'unknown',
    code: REFUSED,
    error: 'the result of this call could not be stored',
    providerMessageId: null,
    to: 'uncertain',
    reason: 'outcome_unknown',
    moveTo: null,
    next: null,
  }
}
