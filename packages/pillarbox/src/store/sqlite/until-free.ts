// Only on SQLite: another process may hold the lock of the whole file. PostgreSQL's server waits for us.

import type { Clock } from '../../model/ports.ts'
import { isBusy, translated } from './connection.ts'

/** How long a lock held by somebody else is waited for. */
export const BUSY_LIMIT_MS = 30_000
const FIRST_WAIT_MS = 1
const MAX_WAIT_MS = 50

/** Waits between tries: 1 ms, doubling to 50 ms. */
export function busyWaits(): () => number {
  let next = FIRST_WAIT_MS / 2
  return () => {
    next = Math.min(MAX_WAIT_MS, next * 2)
    return next
  }
}

/**
 * Runs synchronous work again until no lock is in its way. Waits in the event loop, never in the thread, because the
 * lock's holder may need this very thread to let go. After 30 s, or for other trouble with the file, rejects with
 * `store_unavailable`.
 */
export async function untilFree<T>(clock: Clock, work: () => T): Promise<T> {
  const since = clock.monotonic()
  const nextWait = busyWaits()
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || clock.monotonic() - since >= BUSY_LIMIT_MS) throw translated(error)
    }
    await clock.sleep(nextWait())
  }
}
