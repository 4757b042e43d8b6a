import { createHash } from 'node:crypto'
import type { Clock } from '../model/ports.ts'

const FORGET_MS = 60_000
const STRIKES = 3
const MAX_REMEMBERED = 1_000

/**
 * Templates and schemas with the payloads on which they have cost a process its life, or a message its time, so that those do
 * not cost it again and again.
 */
export interface Offenders {
  note(tenantId: string, source: string): void
  /** It was noted several times within the last minute: it is not tried again for now. */
  isRefused(source: string): boolean
  /** The tenants that something is refused of: nothing of all others need be looked at. */
  tenants(): ReadonlySet<string>
}

/** Once is not enough: a busy machine, or what else the process had to do, may have been to blame. */
export function createOffenders(clock: Pick<Clock, 'monotonic'>): Offenders {
  const strikes = new Map<string, { tenantId: string; count: number; until: number }>()

  function forget(): void {
    for (const [key, { until }] of strikes)
      if (until <= clock.monotonic() || strikes.size > MAX_REMEMBERED) strikes.delete(key)
  }

  return {
    note(tenantId, source) {
      const key = digest(source)
      const count = (strikes.get(key)?.count ?? 0) + 1
      strikes.delete(key)
      strikes.set(key, { tenantId, count, until: clock.monotonic() + FORGET_MS })
      forget()
    },
    isRefused: (source) => (strikes.get(digest(source))?.count ?? 0) >= STRIKES,
    tenants() {
      forget()
      return new Set([...strikes.values()].flatMap(({ tenantId, count }) => (count >= STRIKES ? [tenantId] : [])))
    },
  }
}

function digest(source: string): string {
  return createHash('sha256').update(source).digest('base64')
}
