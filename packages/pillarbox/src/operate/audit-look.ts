import type { Clock } from '../model/ports.ts'
import { createTimedCache } from '../runtime/timed-cache.ts'
import type { AuditHorizon, AuditStore } from './audit-store.ts'

/** How far the audit goes, and how far it goes for good. */
export interface AuditLook {
  /** No further row can appear up to this number. */
  settled: number
  /** The highest number that was taken; of those above `settled`, some may belong to what is not committed yet. */
  taken: number
}

export interface AuditLookDeps {
  store: { audit: Pick<AuditStore, 'horizon' | 'lastId' | 'isOver'> }
  clock: Clock
}

/**
 * Looks at how far the audit goes, for any number of callers together once in `maxAgeMs`. Where nothing was written since the
 * last look that costs one read; a horizon, which may take a transaction's id, is asked for only once the former one is over.
 */
export function createAuditLook(
  { store: { audit }, clock }: AuditLookDeps,
  maxAgeMs: number,
): () => Promise<AuditLook> {
  let settled = 0
  let waitedFor: AuditHorizon | null = null

  /** True: nothing that was under way at the horizon still is. */
  async function settle(): Promise<boolean> {
    if (waitedFor === null) return true
    if (!(await audit.isOver(waitedFor))) return false
    settled = waitedFor.upTo
    waitedFor = null
    return true
  }

  const looks = createTimedCache<AuditLook>({
    clock,
    maxAgeMs,
    async read() {
      const isFree = await settle()
      const taken = await audit.lastId()
      if (!isFree || taken === settled) return { settled, taken }
      waitedFor = await audit.horizon()
      const { upTo } = waitedFor
      await settle()
      return { settled, taken: upTo }
    },
  })
  return () => looks.get('')
}
