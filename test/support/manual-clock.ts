import type { Clock } from '../../packages/pillarbox/src/model/ports.ts'

/** Time that only a test moves. */
export interface ManualClock extends Clock {
  /**
   * Moves time on by `ms`. Whoever sleeps until then is woken in the order of time, then of arrival; each one goes as
   * far as it can before the next is woken, and what it then sleeps for counts too.
   */
  advance(ms: number): Promise<void>
  /** Lets everything run that needs no time. */
  settle(): Promise<void>
  /** Sets the wall clock forward or back; the monotonic one does not notice. */
  setWall(now: number): void
  /** How many sleep. */
  sleeping(): number
}

/** Manual time starts here: 2026-01-01T00:00:00Z. */
export const START = 1_767_225_600_000

interface Sleeper {
  at: number
  wake: () => void
}

export function createManualClock(): ManualClock {
  let elapsed = 0
  let wallOffset = START
  const sleepers = new Set<Sleeper>()

  function next(until: number): Sleeper | null {
    let first: Sleeper | null = null
    for (const sleeper of sleepers) if (sleeper.at <= until && (!first || sleeper.at < first.at)) first = sleeper
    return first
  }

  return {
    now: () => wallOffset + elapsed,
    monotonic: () => elapsed,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve()
        const wake = (): void => {
          sleepers.delete(sleeper)
          signal?.removeEventListener('abort', wake)
          resolve()
        }
        const sleeper: Sleeper = { at: elapsed + Math.max(0, ms), wake }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', wake, { once: true })
      }),
    async advance(ms) {
      const until = elapsed + ms
      await settle()
      for (let sleeper = next(until); sleeper; sleeper = next(until)) {
        elapsed = Math.max(elapsed, sleeper.at)
        sleeper.wake()
        await settle()
      }
      elapsed = until
    },
    settle,
    setWall(now) {
      wallOffset = now - elapsed
    },
    sleeping: () => sleepers.size,
  }
}

/** Every promise job that can run has run. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
