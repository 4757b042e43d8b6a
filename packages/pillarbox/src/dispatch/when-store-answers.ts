import { isPassing } from '../model/errors.ts'
import type { Clock } from '../model/ports.ts'

/**
 * Asks until the store is there to answer, ever less often, but at least once a second: while the store is away, the result
 * of an attempt cannot be written either. The same while nobody can make the words of whoever takes over. Rejects with
 * whatever else goes wrong.
 */
export async function whenStoreAnswers<T>(
  clock: Clock,
  ask: () => Promise<T>,
  onAway: (error: unknown) => void = () => {},
): Promise<T> {
  for (let pauseMs = 10; ; pauseMs = Math.min(1_000, pauseMs * 2)) {
    try {
      return await ask()
    } catch (error) {
      if (!isPassing(error)) throw error
      onAway(error)
      await clock.sleep(pauseMs)
    }
  }
}
