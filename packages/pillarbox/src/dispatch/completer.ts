import { isPillarboxError } from '../model/errors.ts'
import type { Clock, Logger } from '../model/ports.ts'
import type { Completion, DispatchStore } from './dispatch-store.ts'

/**
 * Writes results in batches, a few milliseconds apart. A result stays in memory until its commit is confirmed: while
 * the store is away it is tried again and again, and if the claim has meanwhile been taken over, the token fences it.
 */
export interface Completer {
  /** Calls `written` once the result is committed or was found to be fenced. */
  add(completion: Completion, written: (completion: Completion) => void): void
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
  onFenced(notificationIds: string[]): void
}

function aged({ completion, startedAt }: Unwritten, clock: Clock): Completion {
  completion.ageMs = clock.monotonic() - startedAt
  return completion
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

interface Unwritten {
  completion: Completion
  /** When the call began, on the monotonic clock: its age counts on while the result waits to be written. */
  startedAt: number
  written: (completion: Completion) => void
}

export function createCompleter(deps: CompleterDeps): Completer {
  const { dispatch, clock, logger } = deps
  let queue: Unwritten[] = []
  let flushing = 0
  let unwritten = 0
  let gathering: AbortController | null = null
  const idle: (() => void)[] = []

  function pump(): void {
    while (flushing < deps.flushers && queue.length >= deps.flushRows) void flush(deps.flushRows)
    if (queue.length > 0 && flushing < deps.flushers && !gathering) void gather()
  }

  async function gather(): Promise<void> {
    const own = new AbortController()
    gathering = own
    await clock.sleep(deps.flushMs, own.signal)
    gathering = null
    if (queue.length > 0 && flushing < deps.flushers) void flush(deps.flushRows)
  }

  async function flush(limit: number): Promise<void> {
    flushing++
    const batch = queue.slice(0, limit)
    queue = queue.slice(limit)
    await write(batch)
    flushing--
    unwritten -= batch.length
    for (const { completion, written } of batch) written(completion)
    pump()
    if (unwritten === 0) for (const resolve of idle.splice(0)) resolve()
  }

  /** Until it is written. A batch the store refuses for its content is written row by row, so one row harms no other. */
  async function write(batch: readonly Unwritten[]): Promise<void> {
    let pauseMs = 10
    for (;;) {
      try {
        const answer = await dispatch.complete(
          deps.workerId(),
          batch.map((waiting) => aged(waiting, clock)),
        )
        if (answer.fenced.length) deps.onFenced(answer.fenced)
        if (answer.lanes.length) deps.onDue(answer.lanes)
        return
      } catch (error) {
        if (!isPillarboxError(error, 'store_unavailable')) {
          const refused = batch[0]?.completion
          if (batch.length > 1) {
            for (const one of batch) await write([one])
            return
          }
          logger.error({ notificationId: refused?.notificationId, error: String(error) }, 'a result was refused')
          if (refused && refused.code !== REFUSED)
            await write([{ ...(batch[0] as Unwritten), completion: bare(refused) }])
          return
        }
        logger.warn({ results: batch.length, error: String(error) }, 'results cannot be written yet')
        await clock.sleep(pauseMs)
        pauseMs = Math.min(1_000, pauseMs * 2)
      }
    }
  }

  return {
    add(completion, written) {
      unwritten++
      queue.push({ completion, startedAt: clock.monotonic() - completion.ageMs, written })
      pump()
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
