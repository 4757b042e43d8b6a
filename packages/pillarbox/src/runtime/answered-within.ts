import { PillarboxError } from '../model/errors.ts'
import type { Clock } from '../model/ports.ts'

/** The answer of a store, or `store_unavailable` where it takes longer: as good as none. The work itself goes on. */
export async function answeredWithin<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T> {
  const answered = new AbortController()
  const late = clock.sleep(ms, answered.signal).then((): never => {
    throw new PillarboxError('store_unavailable', `no answer within ${ms} ms`)
  })
  late.catch(() => {})
  try {
    return await Promise.race([work, late])
  } finally {
    answered.abort()
  }
}
