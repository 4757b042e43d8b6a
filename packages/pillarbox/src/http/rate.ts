import type { Clock } from '../model/ports.ts'

export type RateAnswer = { allowed: true } | { allowed: false; retryAfterMs: number }

/**
 * Answers whether one more is allowed now, and if not, after how many milliseconds it will be. One that counts for several
 * is allowed as one is, and makes the next wait for as many.
 */
export interface RateLimiter {
  take(id: string, perSecond: number, burst: number, count?: number): RateAnswer
  /** The same question without counting. */
  peek(id: string, perSecond: number, burst: number): RateAnswer
}

/**
 * The generic cell rate algorithm, in this process: one number per id, the time at which its allowance is whole again.
 * Exact: in any span of `t` seconds no id gets more than `burst + perSecond × t`. Remembers at most `maxIds` ids; the
 * ones whose allowance is whole are forgotten first, which changes no answer.
 */
export function createRateLimiter(clock: Clock, maxIds = 10_000): RateLimiter {
  const wholeAt = new Map<string, number>()

  function judge(id: string, perSecond: number, burst: number, count: number): RateAnswer {
    const now = clock.monotonic()
    const intervalMs = 1_000 / perSecond
    const start = Math.max(wholeAt.get(id) ?? now, now)
    const wait = start - now - intervalMs * (burst - 1)
    // The sums of fractions drift by less than a nanosecond; that much early is on time.
    if (wait > 1e-6) return { allowed: false, retryAfterMs: wait }
    if (count > 0) {
      if (wholeAt.size >= maxIds && !wholeAt.has(id)) forget(now)
      wholeAt.set(id, start + intervalMs * count)
    }
    return { allowed: true }
  }

  function forget(now: number): void {
    for (const [id, at] of wholeAt) if (at <= now) wholeAt.delete(id)
    // Everybody is in the middle of a burst: the oldest entries go, at worst letting them burst once more.
    for (const id of wholeAt.keys()) {
      if (wholeAt.size < maxIds) break
      wholeAt.delete(id)
    }
  }

  return {
    take: (id, perSecond, burst, count = 1) => judge(id, perSecond, burst, count),
    peek: (id, perSecond, burst) => judge(id, perSecond, burst, 0),
  }
}
