import type { Clock, Logger, Random } from '../model/ports.ts'
import type { NotificationStore } from '../store/store.ts'

/**
 * Removes secrets that are no longer needed: the contents of final notifications that held some, then the sealed
 * fields of the events they were made from. Any number of workers may do so at once; each row is changed once.
 */
export interface ScrubberDeps {
  store: { notifications: Pick<NotificationStore, 'scrub'> }
  clock: Clock
  random: Random
  logger: Logger
  /** How often to look; a look that finds nothing is one small statement. */
  everyMs: number
}

const MOST_ROWS = 500
/** A store that is away is asked less and less often. */
const MAX_PAUSE_MS = 60_000

/** Scrubs in small batches until `stop` aborts. Trouble is logged and tried again: it holds nobody else up. */
export async function runScrubber(deps: ScrubberDeps, stop: AbortSignal): Promise<void> {
  let failures = 0
  while (!stop.aborted) {
    let scrubbed = 0
    try {
      scrubbed = await deps.store.notifications.scrub(MOST_ROWS)
      failures = 0
    } catch (error) {
      failures += 1
      deps.logger.warn({ error: String(error) }, 'secrets that are no longer needed could not be removed; trying again')
    }
    if (scrubbed > 0) deps.logger.debug({ rows: scrubbed }, 'removed secrets that are no longer needed')
    if (scrubbed >= MOST_ROWS) continue
    const pauseMs = Math.min(MAX_PAUSE_MS, deps.everyMs * 2 ** Math.min(failures, 10))
    await deps.clock.sleep(Math.max(deps.everyMs, pauseMs) * (0.8 + 0.4 * deps.random()), stop)
  }
}
