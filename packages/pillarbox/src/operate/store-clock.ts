import type { Clock } from '../model/ports.ts'
import type { Store } from '../store/store.ts'

/** One look at the store's clock. */
export interface StoreClockReading {
  storeTime: number
  /**
   * Between these lies the store's time less the time that only goes forward, which is the same while nobody sets the clock.
   * They are as far apart as the answer took.
   */
  leastOffset: number
  mostOffset: number
}

export async function readStoreClock(store: Pick<Store, 'now'>, clock: Clock): Promise<StoreClockReading> {
  const askedAt = clock.monotonic()
  const storeTime = await store.now()
  return { storeTime, leastOffset: storeTime - clock.monotonic(), mostOffset: storeTime - askedAt }
}

/** By how much the clock was set at least: what the time that the answers took does not explain. Negative: back. */
export function stepBetween(last: StoreClockReading, next: StoreClockReading): number {
  return Math.min(next.mostOffset - last.leastOffset, 0) || Math.max(next.leastOffset - last.mostOffset, 0)
}
