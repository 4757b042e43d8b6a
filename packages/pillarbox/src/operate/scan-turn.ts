import type { Clock, IdSource } from '../model/ports.ts'
import type { Store } from '../store/store.ts'
import type { ScanName } from './scan-store.ts'

export interface TurnDeps {
  store: Pick<Store, 'scans'>
  ids: IdSource
  clock: Clock
}

/** Whoever says nothing for so long is taken for dead. */
const LEASE_MS = 60_000
/** Asked more often, `keep` answers from memory. */
const KEEP_EVERY_MS = 10_000

/**
 * Does `work` where it is due and nobody else is at it. `work` answers whether it was done to its end, so that the next time is
 * `everyMs` from now; between two things it does it asks `keep`, and ends when that answers false.
 */
export async function inTurn(
  { store, ids, clock }: TurnDeps,
  scan: ScanName,
  everyMs: number,
  work: (keep: () => Promise<boolean>) => Promise<boolean>,
): Promise<void> {
  const holder = ids()
  if ((await store.scans.begin(scan, holder, { leaseMs: LEASE_MS, everyMs })) !== 'begun') return
  let [isDone, keptAt] = [false, clock.monotonic()]
  const keep = async (): Promise<boolean> => {
    if (clock.monotonic() - keptAt < KEEP_EVERY_MS) return true
    keptAt = clock.monotonic()
    return store.scans.keep(scan, holder, LEASE_MS)
  }
  try {
    isDone = await work(keep)
  } finally {
    await store.scans.end(scan, holder, isDone)
  }
}
