import type { Clock } from '../model/ports.ts'

/**
 * What was read from somewhere slower, kept for `maxAgeMs`: a change made elsewhere is felt within that time. At most
 * `maxEntries` are kept, and the one that was read longest ago goes first.
 *
 * Callers who ask for the same key at once share one read. A read that fails is not kept. The age counts from the answer:
 * counted from the question, a slow answer would be too old before anybody could use it.
 */
export interface TimedCache<V> {
  /** What is kept and fresh, else what is read now. */
  get(key: string): Promise<V>
  /** What is kept and fresh, without reading anything. */
  peek(key: string): V | undefined
  /** What was last read, however old it is. */
  last(key: string): V | undefined
  /** Keeps something that the caller has read itself. */
  set(key: string, value: V): void
  /** The next `get` reads anew; `last` keeps its answer until then. */
  outdate(key: string): void
}

export interface TimedCacheOptions<V> {
  clock: Clock
  maxAgeMs: number
  /** Default: 10,000, for one process may see any number of tenants. */
  maxEntries?: number
  read(key: string): Promise<V>
}

interface Kept<V> {
  value: V
  readAt: number
}

export function createTimedCache<V>(options: TimedCacheOptions<V>): TimedCache<V> {
  const { clock, maxAgeMs, maxEntries = 10_000, read } = options
  const kept = new Map<string, Kept<V>>()
  const reading = new Map<string, Promise<V>>()

  function fresh(key: string): Kept<V> | undefined {
    const entry = kept.get(key)
    return entry && clock.monotonic() - entry.readAt < maxAgeMs ? entry : undefined
  }

  function set(key: string, value: V): void {
    // Deleted first, so that the map's order is the order of reading.
    kept.delete(key)
    kept.set(key, { value, readAt: clock.monotonic() })
    for (const oldest of kept.keys()) {
      if (kept.size <= maxEntries) break
      kept.delete(oldest)
    }
  }

  function readAnew(key: string): Promise<V> {
    const answer = read(key)
      .then((value) => {
        // A read that was outdated while it was under way answers its own callers and nobody after them.
        if (reading.get(key) === answer) set(key, value)
        return value
      })
      .finally(() => {
        if (reading.get(key) === answer) reading.delete(key)
      })
    reading.set(key, answer)
    return answer
  }

  return {
    get(key) {
      const entry = fresh(key)
      return entry ? Promise.resolve(entry.value) : (reading.get(key) ?? readAnew(key))
    },
    peek: (key) => fresh(key)?.value,
    last: (key) => kept.get(key)?.value,
    set,
    outdate(key) {
      reading.delete(key)
      const entry = kept.get(key)
      if (entry) entry.readAt = Number.NEGATIVE_INFINITY
    },
  }
}
