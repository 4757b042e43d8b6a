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
  /** The outcome of a provider call that is given up. */
  timeout: Outcome
  /**
   * What `call` comes to, read by `read`, or by `threw` where it rejects; `late` where it ignores the signal and is given up
   * a little after the deadline.
   */
  within<A, T>(call: Promise<A>, read: (answer: A) => T, threw: (error: unknown) => T, late: T): Promise<T>
  /** The last call has ended. */
  end(): void
}

export function createDeadline(
  clock: Clock,
  { callTimeoutMs, callGraceMs }: CallTimes,
  /** Ends the calls before their time. */
  abortCalls: AbortSignal,
): CallDeadline {
  const calls = new AbortController()
  const allEnded = new AbortController()
  /** One for each call under way. */
  const giveUps = new Set<() => void>()
  let isOver = false

  const abort = (): void => calls.abort()
  if (abortCalls.aborted) abort()
  else abortCalls.addEventListener('abort', abort, { once: true })

  void (async () => {
    await clock.sleep(callTimeoutMs, allEnded.signal)
    abort()
    await clock.sleep(callGraceMs, allEnded.signal)
    isOver = true
    for (const giveUp of giveUps) giveUp()
  })()

  return {
    signal: calls.signal,
    timeout: { kind: 'unknown', code: 'timeout', error: `no answer within ${callTimeoutMs} ms` },
    within: (call, read, threw, late) =>
      new Promise((resolve) => {
        const giveUp = (): void => resolve(late)
        giveUps.add(giveUp)
        const ended =
          <A>(by: (answer: A) => typeof late) =>
          (answer: A): void => {
            giveUps.delete(giveUp)
            resolve(by(answer))
          }
        call.then(ended(read), ended(threw))
        // The call began late: something had to be waited for before it.
        if (isOver) giveUp()
      }),
    end() {
      allEnded.abort()
      abortCalls.removeEventListener('abort', abort)
    },
  }
}
