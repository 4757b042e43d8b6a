import type { Account } from '../model/account.ts'
import type { Outcome } from '../model/outcome.ts'
import type { Clock, Logger } from '../model/ports.ts'
import type { Store } from '../store/store.ts'

/**
 * What this process has seen of each account, and what it tells the others through the store:
 *
 *   closed ──`failures` in a row──▶ open ──`resetAfter` over, one probe──▶ half_open ──accepted──▶ closed
 *                                    ▲                                        │
 *                                    └──────────────── failed again ──────────┘
 *
 * Throttling holds the lane for what the provider asked, or 1 s doubling to 1 min; refused credentials pause the
 * account until somebody mends and activates it. Neither burns an attempt.
 */
export interface LaneGuard {
  /** How long a throttled call holds the lane. */
  holdMs(laneId: string, outcome: Outcome): number
  /** Takes note of an outcome. Store trouble is logged, never thrown: the guard only slows things down. */
  saw(account: Account, outcome: Outcome): Promise<void>
  /** The lane is being probed by this process. */
  probing(laneId: string): void
}

const FIRST_HOLD_MS = 1_000
const LONGEST_HOLD_MS = 60_000
/** A paused account is held "for good"; activating it ends the hold. */
const FOR_GOOD_MS = 10 * 365 * 24 * 3_600_000

interface Seen {
  failures: number
  holdMs: number
  open: boolean
}

export function createLaneGuard(deps: {
  store: Pick<Store, 'lanes' | 'accounts'>
  clock: Clock
  logger: Logger
}): LaneGuard {
  const { store, logger } = deps
  const seen = new Map<string, Seen>()
  const of = (laneId: string): Seen => {
    const state = seen.get(laneId) ?? { failures: 0, holdMs: FIRST_HOLD_MS, open: false }
    seen.set(laneId, state)
    return state
  }

  async function react(account: Account, outcome: Outcome): Promise<void> {
    const state = of(account.id)
    switch (outcome.kind) {
      case 'accepted':
      case 'permanent': // The provider answered sensibly: it is up.
        state.failures = 0
        state.holdMs = FIRST_HOLD_MS
        if (!state.open) return
        state.open = false
        await store.lanes.closeBreaker(account.id)
        logger.info({ accountId: account.id }, 'breaker closed')
        return
      case 'throttled': {
        const ms = outcome.retryAfterMs ?? state.holdMs
        state.holdMs = Math.min(LONGEST_HOLD_MS, state.holdMs * 2)
        await store.lanes.hold(account.id, ms, `throttled: ${outcome.code}`)
        return
      }
      case 'unauthorized': {
        await store.lanes.hold(account.id, FOR_GOOD_MS, `paused: ${outcome.code}`)
        const paused = await store.accounts.setStatus(account.id, 'paused', outcome.error, 'system', ['active'])
        if (paused)
          logger.error(
            { accountId: account.id, code: outcome.code, error: outcome.error },
            'credentials refused: account paused',
          )
        return
      }
      case 'transient':
      case 'unknown':
        state.failures++
        if (state.failures < account.breaker.failures && !state.open) return
        state.open = true
        state.failures = 0
        await store.lanes.openBreaker(account.id, account.breaker.resetAfterMs, outcome.error)
        logger.warn({ accountId: account.id, code: outcome.code, error: outcome.error }, 'breaker opened')
    }
  }

  return {
    holdMs: (laneId, outcome) => (outcome.kind === 'throttled' ? (outcome.retryAfterMs ?? of(laneId).holdMs) : 0),
    probing(laneId) {
      of(laneId).open = true
    },
    async saw(account, outcome) {
      const state = seen.get(account.id)
      // The common case costs nothing: a good answer on a lane that is well.
      if (
        outcome.kind === 'accepted' &&
        (!state || (state.failures === 0 && !state.open && state.holdMs === FIRST_HOLD_MS))
      )
        return
      await react(account, outcome).catch((error: unknown) =>
        logger.warn({ accountId: account.id, error: String(error) }, 'lane state not written'),
      )
    },
  }
}
