import type { DispatchStore } from '../dispatch/dispatch-store.ts'
import { type ChoreDeps, runChore } from '../runtime/chore.ts'

/**
 * Cancels what expires while it waits: for an account that is paused or held, for its turn, or for its next attempt. Any
 * number of workers may do so at once; each row is stopped once.
 */
export interface ExpirerDeps extends ChoreDeps {
  store: { dispatch: Pick<DispatchStore, 'expire'> }
}

const MOST_ROWS = 500

export function runExpirer(deps: ExpirerDeps, stop: AbortSignal): Promise<void> {
  const work = async (): Promise<boolean> => {
    const rows = await deps.store.dispatch.expire(MOST_ROWS)
    if (rows > 0) deps.logger.info({ rows }, 'notifications were cancelled: they expired before they could be sent')
    return rows >= MOST_ROWS
  }
  return runChore(deps, { work, trouble: 'expired notifications could not be cancelled' }, stop)
}
