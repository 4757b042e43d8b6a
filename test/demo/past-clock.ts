import type { Clock } from '../../packages/pillarbox/src/model/ports.ts'

/**
 * A clock that begins in the past and runs fast, and that can be put forward while nothing happens: the product lives through
 * a week in half a minute. It only ever goes forward.
 */
export interface PastClock extends Clock {
  jumpTo(time: number): void
}

export function createPastClock(startAt: number, speed: number): PastClock {
  let base = { virtual: startAt, real: performance.now() }
  const sleepers = new Set<{ until: number; arm: () => void }>()
  const now = (): number => Math.floor(base.virtual + (performance.now() - base.real) * speed)
  return {
    now,
    monotonic: now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve()
        let timer: NodeJS.Timeout | undefined
        const wake = (): void => {
          clearTimeout(timer)
          sleepers.delete(sleeper)
          signal?.removeEventListener('abort', wake)
          resolve()
        }
        const sleeper = {
          until: now() + ms,
          arm(): void {
            clearTimeout(timer)
            timer = setTimeout(wake, Math.max(0, (sleeper.until - now()) / speed))
          },
        }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', wake, { once: true })
        sleeper.arm()
      }),
    jumpTo(time) {
      if (time <= now()) return
      base = { virtual: time, real: performance.now() }
      for (const { arm } of sleepers) arm()
    },
  }
}
