import type { Clock } from '../model/ports.ts'

/** A bell: `ring` wakes whoever waits; a ring while nobody waits is remembered, so no wake-up is lost. */
export interface Bell {
  ring(): void
  /** Resolves at the next ring, after `ms`, or when `stop` aborts, whichever comes first. */
  wait(ms: number, stop?: AbortSignal): Promise<void>
}

/** Given as a reason because the default one is an error with a stack, made anew at every ring. */
const RUNG = 'rung'

export function createBell(clock: Clock): Bell {
  let rung = false
  let wake: (() => void) | null = null
  return {
    ring() {
      if (wake) wake()
      else rung = true
    },
    async wait(ms, stop) {
      if (rung || stop?.aborted) {
        rung = false
        return
      }
      const waiting = new AbortController()
      wake = () => waiting.abort(RUNG)
      stop?.addEventListener('abort', wake, { once: true })
      await clock.sleep(ms, waiting.signal)
      stop?.removeEventListener('abort', wake)
      wake = null
    },
  }
}
