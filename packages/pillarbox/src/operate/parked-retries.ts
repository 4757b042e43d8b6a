import { SYSTEM } from '../model/audit.ts'
import { formatDuration } from '../model/duration.ts'
import { errorText, isPassing } from '../model/errors.ts'
import type { Meters } from '../model/ports.ts'
import type { Reason } from '../model/reason.ts'
import { type ChoreDeps, runChore } from '../runtime/chore.ts'
import type { Store } from '../store/store.ts'
import { type ActDeps, actOnNotification } from './act.ts'
import type { RetryingAccount } from './scan-store.ts'
import { inTurn, type TurnDeps } from './scan-turn.ts'

/**
 * Retries what was parked after a time, where the account says so (`parkedRetryAfter`). Only for reasons that pass by
 * themselves: no vendor changes its mind about an address, a template or a complaint, and what somebody parked, restored or
 * corrected by hand is theirs.
 */
export const PASSING_REASONS = [
  'attempts_exhausted',
  'auth_failed',
  'malformed_reply',
  'unreachable',
] as const satisfies readonly Reason[]

export interface ParkedRetriesDeps extends ChoreDeps, TurnDeps, Omit<ActDeps, 'store'> {
  store: Pick<Store, 'scans' | 'notifications' | 'suppressions'>
  meters: Meters
}

const EVERY_MS = 60_000
/** Of one account in one round. */
const MOST_ROWS = 500
const MOST_REMEMBERED = 10_000
/** What was parked longer ago than its time by more than this is left: nobody wants last year's messages now. */
const WINDOW_MS = 24 * 3_600_000

export function runParkedRetries(deps: ParkedRetriesDeps, stop: AbortSignal): Promise<void> {
  const { store, logger } = deps
  /** What could not be moved: it is not tried, nor spoken of, again by this process. */
  const refused = new Set<string>()
  const scan = async (keep: () => Promise<boolean>): Promise<boolean> => {
    for (const account of await store.scans.retryingAccounts()) {
      const ids = await store.scans.parkedToRetry(account, {
        reasons: PASSING_REASONS,
        windowMs: WINDOW_MS,
        limit: MOST_ROWS + refused.size,
      })
      let count = 0
      for (const id of ids.filter((each) => !refused.has(each)).slice(0, MOST_ROWS)) {
        if (stop.aborted) return false
        if (await retry(deps, account, id)) count += 1
        else refused.add(id)
      }
      if (refused.size > MOST_REMEMBERED) refused.clear()
      const { tenantId, id: accountId } = account
      if (count > 0) logger.info({ tenantId, accountId, count }, 'parked notifications are retried after their time')
      if (!(await keep())) return false
    }
    return true
  }
  const work = async (): Promise<boolean> => {
    await inTurn(deps, 'parked', EVERY_MS, scan)
    return false
  }
  return runChore(deps, { work, trouble: 'what was parked could not be retried' }, stop)
}

/** One that cannot be moved, such as one whose address was suppressed meanwhile, stays where it is and harms no other. */
async function retry(deps: ParkedRetriesDeps, account: RetryingAccount, id: string): Promise<boolean> {
  const { tenantId, afterMs } = account
  const note = `parkedRetryAfter ${formatDuration(afterMs)}`
  try {
    await actOnNotification(deps, { tenantId, id, action: 'retry', actor: SYSTEM, note, keepsExpiry: true })
    deps.meters.count('parked_retried', {})
    return true
  } catch (error) {
    if (isPassing(error)) throw error
    deps.logger.warn(
      { tenantId, notificationId: id, error: errorText(error) },
      'a parked notification could not be retried after its time',
    )
    return false
  }
}
