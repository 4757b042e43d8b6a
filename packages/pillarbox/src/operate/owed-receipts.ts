import type { Clock, Logger, Random } from '../model/ports.ts'
import type { InboxStore } from '../store/store.ts'

/**
 * Brings the receipts of inbox messages that were seen or read so soon that their notifications were still being sent.
 * Any number of workers may do so at once: a receipt counts once.
 */
export interface OwedReceiptsDeps {
  store: { inbox: Pick<InboxStore, 'settleOwed'> }
  clock: Clock
  random: Random
  logger: Logger
  /** How often to look; a look that finds nothing is one small statement. */
  everyMs: number
}

const MOST_ROWS = 200
/** A store that is away is asked less and less often. */
const MAX_PAUSE_MS = 60_000

/** Goes through all that is owed, in small batches, again and again until `stop` aborts. Trouble is logged and tried again. */
export async function runOwedReceipts(deps: OwedReceiptsDeps, stop: AbortSignal): Promise<void> {
  let failures = 0
  let after: string | null = null
  while (!stop.aborted) {
    try {
      const { next }: { next: string | null } = await deps.store.inbox.settleOwed(after, MOST_ROWS)
      after = next
      failures = 0
      if (next !== null) continue
    } catch (error) {
      failures += 1
      deps.logger.warn({ error: String(error) }, 'receipts of inbox messages could not be brought; trying again')
    }
    const pauseMs = Math.min(MAX_PAUSE_MS, deps.everyMs * 2 ** Math.min(failures, 10))
    await deps.clock.sleep(Math.max(deps.everyMs, pauseMs) * (0.8 + 0.4 * deps.random()), stop)
  }
}
