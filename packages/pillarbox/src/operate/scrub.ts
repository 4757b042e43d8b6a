import type { NotificationStore } from '../plan/notification-store.ts'
import { type ChoreDeps, runChore } from '../runtime/chore.ts'

/**
 * Removes secrets that are no longer needed: the contents of final notifications that held some, then the sealed
 * fields of the events they were made from. Any number of workers may do so at once; each row is changed once.
 */
export interface ScrubberDeps extends ChoreDeps {
  store: { notifications: Pick<NotificationStore, 'scrub'> }
}

const MOST_ROWS = 500

export function runScrubber(deps: ScrubberDeps, stop: AbortSignal): Promise<void> {
  const work = async (): Promise<boolean> => {
    const rows = await deps.store.notifications.scrub(MOST_ROWS)
    if (rows > 0) deps.logger.debug({ rows }, 'removed secrets that are no longer needed')
    return rows >= MOST_ROWS
  }
  return runChore(deps, { work, trouble: 'secrets that are no longer needed could not be removed' }, stop)
}
