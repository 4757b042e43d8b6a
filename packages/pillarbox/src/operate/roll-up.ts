import type { IdSource } from '../model/ports.ts'
import { type ChoreDeps, runChore } from '../runtime/chore.ts'
import type { Store } from '../store/store.ts'

/**
 * Keeps the sums that numbers are told from: folds what moved into them, forgets times that are no longer kept, and counts
 * everything once after an upgrade from a version that kept no sums. Any number of workers may do so at once; one at a time
 * has its turn.
 */
export interface RollUpDeps extends ChoreDeps {
  store: Pick<Store, 'rollups'>
  ids: IdSource
}

const MOST_DELTAS = 2_000
const MOST_PRUNED = 1_000
/** Rounds between two looks for what is too old. */
const PRUNE_EVERY = 30

export function runRollUp(deps: RollUpDeps, stop: AbortSignal): Promise<void> {
  const { store, logger, ids } = deps
  let isCounted = false
  let rounds = 0
  const count = async (): Promise<void> => {
    isCounted = await store.rollups.isCounted()
    if (isCounted) return
    logger.info({}, 'counting all notifications once, because the version before kept no sums')
    const done = await store.rollups.rebuild(ids(), () => {})
    if (done) logger.info({ notifications: done.notifications }, 'all notifications are counted')
  }
  const work = async (): Promise<boolean> => {
    if (!isCounted) await count()
    const folded = await store.rollups.fold(MOST_DELTAS)
    if (folded >= MOST_DELTAS) return true
    // What is behind is caught up with at once.
    if (rounds === 0 && (await store.rollups.prune(MOST_PRUNED)) >= MOST_PRUNED) return true
    rounds = (rounds + 1) % PRUNE_EVERY
    return false
  }
  return runChore(deps, { work, trouble: 'the numbers could not be brought up to date' }, stop)
}
