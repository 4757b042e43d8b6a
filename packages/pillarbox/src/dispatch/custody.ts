import type { Clock, Logger } from '../model/ports.ts'
import type { Store } from '../store/store.ts'
import type { Claim } from './dispatch-store.ts'
import type { Heartbeat } from './heartbeat.ts'

/**
 * Which claims this process knows it holds. When the answer to a claim, a release or a take-over is lost, the store
 * may count rows as ours that we have never seen, and while we live nobody would rescue them. So after every lost
 * answer the store is asked about such orphans, again and again for as long as the lost statement might still commit.
 */
export interface Custody {
  /**
   * Runs a statement that claims or takes over rows and notes what it answers before anything else happens. One at a
   * time, and never beside `recover`: rows whose answer is still on its way would look like orphans.
   */
  take<T>(statement: () => Promise<T>, claimsOf: (answer: T) => readonly Claim[]): Promise<T>
  /** The claim's result is written, or it was given back. */
  ended(claim: Pick<Claim, 'token'>): void
  /** A release failed, and it may have been committed or not. */
  answerLost(): void
  /** Gives orphans back; answers those that must be settled as unknown. Costs nothing unless an answer was lost. */
  recover(): Promise<readonly Claim[]>
}

/** No statement of ours commits later than this after its connection broke. */
const MAY_STILL_COMMIT_MS = 60_000
const LOOK_EVERY_MS = 2_000

export function createCustody(deps: {
  store: Pick<Store, 'dispatch'>
  heartbeat: Heartbeat
  clock: Clock
  logger: Logger
}): Custody {
  const { store, heartbeat, clock, logger } = deps
  const held = new Map<number, number>()
  let lostAt = Number.NEGATIVE_INFINITY
  let lookedAt = Number.NEGATIVE_INFINITY
  let last: Promise<unknown> = Promise.resolve()

  function inTurn<T>(step: () => Promise<T>): Promise<T> {
    const mine = last.then(step)
    last = mine.catch(() => {})
    return mine
  }

  function receive(claims: readonly Claim[]): void {
    for (const { token } of claims) held.set(token, (held.get(token) ?? 0) + 1)
  }

  function answerLost(): void {
    lostAt = clock.monotonic()
    lookedAt = Number.NEGATIVE_INFINITY
  }

  return {
    take: (statement, claimsOf) =>
      inTurn(async () => {
        try {
          const answer = await statement()
          receive(claimsOf(answer))
          return answer
        } catch (error) {
          answerLost()
          throw error
        }
      }),
    ended({ token }) {
      const left = (held.get(token) ?? 1) - 1
      if (left > 0) held.set(token, left)
      else held.delete(token)
    },
    answerLost,
    async recover() {
      const now = clock.monotonic()
      if (now - lostAt > MAY_STILL_COMMIT_MS || now - lookedAt < LOOK_EVERY_MS) return []
      return inTurn(async () => {
        lookedAt = clock.monotonic()
        try {
          const inDoubt = await store.dispatch.orphans(heartbeat.id(), [...held.keys()])
          receive(inDoubt)
          if (inDoubt.length > 0)
            logger.warn({ rows: inDoubt.length }, 'found claims whose take-over was never answered')
          return inDoubt
        } catch (error) {
          answerLost()
          throw error
        }
      })
    },
  }
}
