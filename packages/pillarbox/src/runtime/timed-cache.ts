import type { Clock } from '../model/ports.ts'

/**
 * What was read from somewhere slower, kept for `maxAgeMs`: a change made elsewhere is felt within that time. At most
 * `maxEntries` are kept, and the one that was read longest ago goes first.
 *
 * Callers who ask for the same key at once share one read. A read that fails is not kept. The age counts from the answer:
 * counted from the question, a slow answer would be too old before anybody could use it.
 */
export interface TimedCache<V> extends TimedMap<V> {
  /** What is kept and fresh, else what is read now. */
  get(key: string): Promise<V>
}

/** The same for callers who read for themselves, many keys at a time or only some of them to be kept. */
export interface TimedMap<V> {
  /** What is kept and fresh, without reading anything. */
  peek(key: string): V | undefined
  /** What was last read, however old it is. */
  last(key: string): V | undefined
  /** Keeps something that the caller has read itself. */
  set(key: string, value: V): void
  /** The next `get` reads anew; `last` keeps its answer until then. */
  outdate(key: string): void
}

export interface TimedMapOptions {
  clock: Clock
  maxAgeMs: number
  /** Default: 10,000, for one process may see any number of tenants. */
  maxEntries?: number
}

export interface TimedCacheOptions<V> extends TimedMapOptions {
  read(key: string): Promise<V>
  /** Default: everything. What is not kept is read anew by whoever asks next. */
  isKept?(value: V): boolean
}

export function createTimedCache<V>({ read, isKept, ...options }: TimedCacheOptions<V>): TimedCache<V> {
  const kept = createTimedMap<V>(options)
  const reading = new Map<string, Promise<V>>()

  function readAnew(key: string): Promise<V> {
    const answer = read(key)
      .then((value) => {
        // A read that was outdated while it was under way answers its own callers and nobody after them.
        if (reading.get(key) === answer && (isKept?.(value) ?? true)) kept.set(key, value)
        return value
      })
      .finally(() => {
        if (reading.get(key) === answer) reading.delete(key)
      })
    reading.set(key, answer)
    return answer
  }

  return {
    ...kept,
    get(key) {
      const value = kept.peek(key)
      if (value !== undefined) return Promise.resolve(value)
      // Where nothing may be older than the question, an earlier caller's read is.
      return (options.maxAgeMs > 0 ? reading.get(key) : undefined) ?? readAnew(key)
    },
    outdate(key) {
      reading.delete(key)
      kept.outdate(key)
    },
  }
}

export function createTimedMap<V>({ clock, maxAgeMs, maxEntries = 10_000 }: TimedMapOptions): TimedMap<V> {
  const kept = new Map<string, { value: V; readAt: number }>()
  return {
    peek(key) {
      const entry = kept.get(key)
      return entry && clock.monotonic() - entry.readAt < maxAgeMs ? entry.value : undefined
    },
    last: (key) => kept.get(key)?.value,
    set(key, value) {
      // Deleted first, so that the map's order is the order of reading.
      kept.delete(key)
      kept.set(key, { value, readAt: clock.monotonic() })
      for (const oldest of kept.keys()) {
        if (kept.size <= maxEntries) break
        kept.delete(oldest)
      }
    },
    outdate(key) {
      const entry = kept.get(key)
      if (entry) entry.readAt = Number.NEGATIVE_INFINITY
    },
  }
}
