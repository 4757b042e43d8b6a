import { createHash } from 'node:crypto'
import type { Clock } from '../model/ports.ts'

const FORGET_MS = 60_000
const STRIKES = 3
const MAX_REMEMBERED = 1_000

/** Templates and schemas that have cost a process its life, so that they do not cost one with every event. */
export interface Offenders {
  note(source: string): void
  /** It was stopped several times within the last minute: it is not tried again for now. */
  isRefused(source: string): boolean
  isEmpty(): boolean
}

/** Once is not enough: a single payload may have been to blame, and the template is that of all its tenant's messages. */
export function createOffenders(clock: Pick<Clock, 'monotonic'>): Offenders {
  const strikes = new Map<string, { count: number; until: number }>()

  function forget(): void {
    for (const [key, { until }] of strikes)
      if (until <= clock.monotonic() || strikes.size > MAX_REMEMBERED) strikes.delete(key)
  }

  return {
    note(source) {
      const key = digest(source)
      const count = (strikes.get(key)?.count ?? 0) + 1
      strikes.delete(key)
      strikes.set(key, { count, until: clock.monotonic() + FORGET_MS })
      forget()
    },
    isRefused(source) {
      forget()
      return (strikes.get(digest(source))?.count ?? 0) >= STRIKES
    },
    isEmpty: () => strikes.size === 0,
  }
}

function digest(source: string): string {
  return createHash('sha256').update(source).digest('base64')
}
