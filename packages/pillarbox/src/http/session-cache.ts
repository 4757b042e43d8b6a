import type { Clock } from '../model/ports.ts'
import type { OpenSession, SessionStore } from '../operate/session-store.ts'
import { createTimedCache } from '../runtime/timed-cache.ts'

/** Sessions that are open, by the hash of their secret, each believed for a while as keys are. */
export interface SessionCache {
  /** Whether it was open when it was last asked for. */
  has(hash: string): boolean
  find(hash: string): Promise<OpenSession | null>
  /** A session was just given this secret: whoever brings it is no stranger. */
  expect(hash: string, open: OpenSession): void
  /** Some have ended or were given other secrets: whoever comes next is asked for anew. */
  forget(): void
}

export function createSessionCache(sessions: Pick<SessionStore, 'find'>, clock: Clock, maxAgeMs: number): SessionCache {
  /** How often something was forgotten. What was asked for before that may have missed the change. */
  let forgotten = 0
  const cache = createTimedCache<{ open: OpenSession | null; asOf: number }>({
    clock,
    maxAgeMs,
    async read(hash) {
      const asOf = forgotten
      return { open: await sessions.find(hash), asOf }
    },
    // Of secrets that open nothing only those are kept that once did: if all were, anybody could fill the cache.
    isKept: ({ open }) => open !== null,
  })

  return {
    has: (hash) => (cache.last(hash)?.open ?? null) !== null,
    async find(hash) {
      let found = await cache.get(hash)
      if (found.asOf !== forgotten) {
        cache.outdate(hash)
        found = await cache.get(hash)
      }
      if (found.open === null && cache.last(hash) !== undefined) cache.set(hash, found)
      return found.open
    },
    expect(hash, open) {
      cache.set(hash, { open, asOf: forgotten })
      // It may have ended by now: the first request still asks.
      cache.outdate(hash)
    },
    forget() {
      forgotten += 1
    },
  }
}
