import type { InboxStore } from '../channels/in_app/inbox-store.ts'
import { type ChoreDeps, runChore } from '../runtime/chore.ts'

/**
 * Brings the receipts of inbox messages that were seen or read so soon that their notifications were still being sent.
 * Any number of workers may do so at once: a receipt counts once.
 */
export interface OwedReceiptsDeps extends ChoreDeps {
  store: { inbox: Pick<InboxStore, 'settleOwed'> }
}

const MOST_ROWS = 200

/** Goes through all that is owed, in small batches, again and again. */
export function runOwedReceipts(deps: OwedReceiptsDeps, stop: AbortSignal): Promise<void> {
  let after: string | null = null
  const work = async (): Promise<boolean> => {
    const { next } = await deps.store.inbox.settleOwed(after, MOST_ROWS)
    after = next
    return next !== null
  }
  return runChore(deps, { work, trouble: 'receipts of inbox messages could not be brought' }, stop)
}
