import type { StoppedCause } from '../model/cause.ts'
import { causeText } from '../model/fingerprint.ts'
import { REASONS, type Reason } from '../model/reason.ts'
import type { NotificationFilter } from '../plan/notification-store.ts'
import { type ChoreDeps, runChore } from '../runtime/chore.ts'
import type { OperationStore } from './operation-store.ts'

/** Of what stopped, so many are looked at, the newest: more would keep the others waiting. */
export const MOST_STOPPED = 100_000
const MOST_CAUSES = 200

/** A cause, and what was said of it without what is different each time. */
export interface CauseInWords extends StoppedCause {
  text: string
}

/** What stopped notifications have in common, the commonest first. `isWhole`: more was not looked at, or not shown. */
export async function listCauses(
  { operations }: { operations: Pick<OperationStore, 'causes'> },
  filter: NotificationFilter,
): Promise<{ causes: CauseInWords[]; isWhole: boolean }> {
  const { causes, isWhole } = await operations.causes(filter, { mostRows: MOST_STOPPED, limit: MOST_CAUSES })
  return { causes: causes.map((cause) => ({ ...cause, text: causeText(cause.error) ?? wordsOf(cause) })), isWhole }
}

function wordsOf({ reason }: StoppedCause): string {
  return REASONS[reason as Reason] ?? reason
}

const MOST_ROWS = 500

/** Gives fingerprints to what stopped before there were any. Any number of workers may do so at once. */
export function runPrinter(
  deps: ChoreDeps & { store: { operations: Pick<OperationStore, 'printStopped'> } },
  stop: AbortSignal,
): Promise<void> {
  const work = async (): Promise<boolean> => (await deps.store.operations.printStopped(MOST_ROWS)) >= MOST_ROWS
  return runChore(deps, { work, trouble: 'what stopped could not be given its fingerprints' }, stop)
}
