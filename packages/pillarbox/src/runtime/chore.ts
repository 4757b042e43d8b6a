import type { Clock, Logger, Random } from '../model/ports.ts'

/** Work of the house that nobody waits for. Any number of workers may do it at once. */
export interface ChoreDeps {
  clock: Clock
  random: Random
  logger: Logger
  /** How often to look; a look that finds nothing is one small statement. */
  everyMs: number
}

/** A store that is away is asked less and less often. */
const MAX_PAUSE_MS = 60_000

/**
 * Does a chore, a batch at a time, until `stop` aborts; `work` answers whether there is more to do at once. Trouble is
 * logged and tried again: it holds nobody else up.
 */
export async function runChore(
  { clock, random, logger, everyMs }: ChoreDeps,
  { work, trouble }: { work(): Promise<boolean>; trouble: string },
  stop: AbortSignal,
): Promise<void> {
  let failures = 0
  while (!stop.aborted) {
    try {
      const isMore = await work()
      failures = 0
      if (isMore) continue
    } catch (error) {
      failures += 1
      logger.warn({ error: String(error) }, `${trouble}; trying again`)
    }
    const pauseMs = Math.min(MAX_PAUSE_MS, everyMs * 2 ** Math.min(failures, 10))
    await clock.sleep(Math.max(everyMs, pauseMs) * (0.8 + 0.4 * random()), stop)
  }
}
