// Only on PostgreSQL: SQLite's writer (`sqlite/writer.ts`) commits all that comes together anyway.

import { isUnavailable } from './unavailable.ts'

const MAX_ROWS = 1_000

interface GroupedCall<In, Out> {
  items: readonly In[]
  resolve(answers: Out[]): void
  reject(error: unknown): void
}

/**
 * Lets concurrent calls share one commit. A call starts a flush at once when none is under way; calls that arrive
 * meanwhile go together into the next. Each caller is answered only after the commit that carried its items.
 *
 * A flush that the database refuses is repeated call by call, so that a bad row fails its own call alone. One that
 * the database could not answer is not: whether it was committed is unknown, and every caller of it is told so.
 */
export function grouped<In, Out>(
  flush: (items: readonly In[]) => Promise<Out[]>,
): (items: readonly In[]) => Promise<Out[]> {
  const waiting: GroupedCall<In, Out>[] = []
  let isFlushing = false

  const flushAll = async (): Promise<void> => {
    // Calls made in the same tick belong together.
    await Promise.resolve()
    while (waiting.length > 0) await flushTogether(flush, nextGroup(waiting))
    isFlushing = false
  }

  return (items) => {
    if (items.length === 0) return Promise.resolve([])
    return new Promise((resolve, reject) => {
      waiting.push({ items, resolve, reject })
      if (isFlushing) return
      isFlushing = true
      void flushAll()
    })
  }
}

/** At least one call, and as many more as fit. */
function nextGroup<In, Out>(waiting: GroupedCall<In, Out>[]): GroupedCall<In, Out>[] {
  let rows = 0
  let count = 0
  for (const { items } of waiting) {
    rows += items.length
    if (count > 0 && rows > MAX_ROWS) break
    count += 1
  }
  return waiting.splice(0, count)
}

async function flushTogether<In, Out>(
  flush: (items: readonly In[]) => Promise<Out[]>,
  group: readonly GroupedCall<In, Out>[],
): Promise<void> {
  try {
    const answers = await flush(group.flatMap(({ items }) => items))
    let from = 0
    for (const { items, resolve } of group) {
      resolve(answers.slice(from, from + items.length))
      from += items.length
    }
  } catch (error) {
    if (group.length === 1 || isUnavailable(error)) for (const { reject } of group) reject(error)
    else for (const call of group) await flushTogether(flush, [call])
  }
}
