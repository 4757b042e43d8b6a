import { isPillarboxError } from '../model/errors.ts'
import type { Clock } from '../model/ports.ts'

/** Asks until the store is there to answer: while it is away, the result of the attempt could not be written either. */
export async function whenStoreAnswers<T>(clock: Clock, ask: () => Promise<T>): Promise<T> {
  for (let pauseMs = 10; ; pauseMs = Math.min(1_000, pauseMs * 2)) {
    try {
      return await ask()
    } catch (error) {
      if (!isPillarboxError(error, 'store_unavailable')) throw error
      await clock.sleep(pauseMs)
    }
  }
}
