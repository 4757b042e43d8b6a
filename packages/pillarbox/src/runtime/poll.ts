import type { Random } from '../model/ports.ts'

/**
 * How long a loop that found nothing waits before it looks again: 5 ms, doubling to `maxMs`, ± 20 %, and 5 ms again
 * once there was work. Polling alone is correct; bells only make it quicker.
 */
export interface Poll {
  found(): void
  nextMs(): number
}

const SHORTEST_MS = 5

export function createPoll(random: Random, maxMs: number): Poll {
  let ms = SHORTEST_MS
  return {
    found() {
      ms = SHORTEST_MS
    },
    nextMs() {
      const jittered = ms * (0.8 + 0.4 * random())
      ms = Math.min(maxMs, ms * 2)
      return jittered
    },
  }
}
