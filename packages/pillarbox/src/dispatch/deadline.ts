import type { Outcome } from '../model/outcome.ts'
import type { Clock } from '../model/ports.ts'

export interface CallTimes {
  /** A provider call ends by then. */
  callTimeoutMs: number
  /** A call that ignores its deadline is given up this much later. */
  callGraceMs: number
}

/** When calls must end that start together. */
export interface CallDeadline {
  /** Aborts at the deadline. */
  signal: AbortSignal
  /** Of a provider that ignores the signal: it is given up a little later, unless it was forgotten by then. */
  watch(waiting: Waiting): void
  /** False where it was given up already: then nobody wants to hear the answer any more. */
  forget(waiting: Waiting): boolean
  /** The last call has ended. */
  end(): void
}

/** Something that waits for a provider's answer. `giveUp` is handed the whole, so that one function serves all of a kind. */
export interface Waiting {
  giveUp(self: this, timeout: Outcome): void
}

export function createDeadline(
  clock: Clock,
  { callTimeoutMs, callGraceMs }: CallTimes,
  /** Ends the calls before their time. */
  abortCalls: AbortSignal,
): CallDeadline {
  const calls = new AbortController()
  const allEnded = new AbortController()
  const waiting = new Set<Waiting>()
  let isOver = false

  const abort = (): void => calls.abort()
  if (abortCalls.aborted) abort()
  else abortCalls.addEventListener('abort', abort, { once: true })

  function giveUpAll(): void {
    isOver = true
    const timeout: Outcome = { kind: 'unknown', code: 'timeout', error: `no answer within ${callTimeoutMs} ms` }
    for (const each of waiting) if (waiting.delete(each)) each.giveUp(each, timeout)
  }

  void (async () => {
    await clock.sleep(callTimeoutMs, allEnded.signal)
    abort()
    await clock.sleep(callGraceMs, allEnded.signal)
    giveUpAll()
  })()

  return {
    signal: calls.signal,
    watch(each) {
      waiting.add(each)
      // It began late: something had to be waited for before its call.
      if (isOver) giveUpAll()
    },
    forget: (each) => waiting.delete(each),
    end() {
      allEnded.abort()
      abortCalls.removeEventListener('abort', abort)
    },
  }
}
