import { errorText } from '../model/errors.ts'
import type { Clock, Logger, Meters } from '../model/ports.ts'
import type { Distrust } from './receipt-source.ts'
import type { ReceiptStore, RefusedCount } from './receipt-store.ts'

/**
 * Callbacks that were not believed, counted in memory and written every now and then: whoever forges a million of them
 * makes the database do no work.
 */
export interface Refusals {
  note(refused: { source: string; tenantId: string | null; why: Distrust }): void
  /** Writes what was counted. What cannot be written stays counted, for the next time. Never rejects. */
  flush(): Promise<void>
  /** Writes the rest. */
  close(): Promise<void>
}

export function createRefusals(deps: {
  receipts: Pick<ReceiptStore, 'countRefused'>
  clock: Clock
  logger: Logger
  meters: Meters
  everyMs: number
}): Refusals {
  const { receipts, clock, logger, meters, everyMs } = deps
  const counts = new Map<string, RefusedCount>()
  const closing = new AbortController()
  let isWaiting = false
  let writing: Promise<void> = Promise.resolve()

  function add({ source, tenantId, why, count }: RefusedCount): void {
    const key = JSON.stringify([source, tenantId, why])
    counts.set(key, { source, tenantId, why, count: (counts.get(key)?.count ?? 0) + count })
  }

  async function write(): Promise<void> {
    const taken = [...counts.values()]
    counts.clear()
    if (taken.length === 0) return
    try {
      await receipts.countRefused(taken)
      for (const refused of taken)
        if (refused.why === 'repeated') logger.debug({ ...refused }, 'callbacks came again')
        else logger.warn({ ...refused }, 'callbacks were not believed')
    } catch (error) {
      for (const refused of taken) add(refused)
      logger.warn({ error: errorText(error) }, 'callbacks that were not believed could not be counted yet')
    }
  }

  async function flush(): Promise<void> {
    writing = writing.then(write)
    await writing
  }

  return {
    note(refused) {
      const { source, why } = refused
      meters.count('callbacks_refused', { source, why })
      add({ ...refused, count: 1 })
      if (isWaiting) return
      isWaiting = true
      void clock.sleep(everyMs, closing.signal).then(() => {
        isWaiting = false
        return flush()
      })
    },
    flush,
    async close() {
      closing.abort()
      await flush()
    },
  }
}
