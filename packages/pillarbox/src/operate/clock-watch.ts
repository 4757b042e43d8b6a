import { type ChoreDeps, runChore } from '../runtime/chore.ts'
import type { Store } from '../store/store.ts'
import type { DueStore } from './due-store.ts'
import { readStoreClock, type StoreClockReading, stepBetween } from './store-clock.ts'

/**
 * Looks out for a store clock that was set back. What was due at once under the old time would be in the future then, and
 * wait for as long as the clock was set back: it is made due again. Rows keep the time they came at, and no value that is
 * always past, because work is done in the order of that time: otherwise a second attempt would wait for all first ones.
 */
export interface ClockWatchDeps extends ChoreDeps {
  store: Pick<Store, 'now'> & { due: Pick<DueStore, 'bringForward'> }
}

/** Less than this is made up for by waiting. */
const STEP_MS = 1_000
const MOST_ROWS = 500

/** Any number of workers may do so at once. The first look is at what happened before this process was there. */
export function runClockWatch(deps: ClockWatchDeps, stop: AbortSignal): Promise<void> {
  const { store, clock, logger } = deps
  let last: StoreClockReading | null = null
  /** In small transactions: all that is due at once may be much. */
  const bringAllForward = async (): Promise<number> => {
    let all = 0
    while (!stop.aborted) {
      const rows = await store.due.bringForward(MOST_ROWS)
      all += rows
      if (rows < MOST_ROWS) break
    }
    return all
  }
  const work = async (): Promise<boolean> => {
    const reading = await readStoreClock(store, clock)
    const setBackMs = last === null ? null : -stepBetween(last, reading)
    if (setBackMs === null || setBackMs >= STEP_MS) {
      const rows = await bringAllForward()
      const fields = setBackMs === null ? { rows } : { rows, seconds: Math.round(setBackMs / 1_000) }
      if (rows > 0 || setBackMs !== null)
        logger.warn(fields, 'the clock of the database was set back; what was due at once is due again')
    }
    last = reading
    return false
  }
  return runChore(deps, { work, trouble: 'the clock of the database could not be watched' }, stop)
}
