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
/** However long a provider asks for. */
const LONGEST_ASKED_MS = 24 * 3_600_000
/** A paused account is held "for good"; activating it ends the hold. */
const FOR_GOOD_MS = 10 * 365 * 24 * 3_600_000

interface Seen {
  failures: number
  /** The last hold of our own choosing; 0 when all has been well since. */
  holdMs: number
  heldUntil: number
  open: boolean
}

export function createLaneGuard(deps: {
  store: Pick<Store, 'lanes' | 'accounts'>
  clock: Clock
  logger: Logger
}): LaneGuard {
  const { store, clock, logger } = deps
  const seen = new Map<string, Seen>()
  const of = (laneId: string): Seen => {
    const state = seen.get(laneId) ?? { failures: 0, holdMs: 0, heldUntil: 0, open: false }
    seen.set(laneId, state)
    return state
  }

  /** Calls that are throttled together share one hold; the next one doubles. */
  function ownHoldMs({ holdMs, heldUntil }: Seen): number {
    if (holdMs === 0) return FIRST_HOLD_MS
    return clock.monotonic() < heldUntil ? holdMs : Math.min(LONGEST_HOLD_MS, holdMs * 2)
  }

  /** What the provider asked for. No time at all, or a header that is no number, would have us call again for ever. */
  function askedMs(retryAfterMs: number | undefined): number | null {
    return retryAfterMs !== undefined && retryAfterMs > 0 ? Math.min(retryAfterMs, LONGEST_ASKED_MS) : null
  }

  async function react(account: Account, outcome: Outcome): Promise<void> {
    const state = of(account.id)
    switch (outcome.kind) {
      case 'accepted':
      case 'permanent': // The provider answered sensibly: it is up.
        state.failures = 0
        state.holdMs = 0
        if (!state.open) return
        state.open = false
        await store.lanes.closeBreaker(account.id)
        logger.info({ accountId: account.id }, 'breaker closed')
        return
      case 'throttled': {
        const asked = askedMs(outcome.retryAfterMs)
        if (asked === null) {
          state.holdMs = ownHoldMs(state)
          state.heldUntil = clock.monotonic() + state.holdMs
        }
        await store.lanes.hold(account.id, asked ?? state.holdMs, `throttled: ${outcome.code}`)
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
    holdMs: (laneId, outcome) =>
      outcome.kind === 'throttled' ? (askedMs(outcome.retryAfterMs) ?? ownHoldMs(of(laneId))) : 0,
    probing(laneId) {
      of(laneId).open = true
    },
    async saw(account, outcome) {
      const state = seen.get(account.id)
      // The common case costs nothing: a good answer on a lane that is well.
      if (outcome.kind === 'accepted' && (!state || (state.failures === 0 && !state.open && state.holdMs === 0))) return
      await react(account, outcome).catch((error: unknown) =>
        logger.warn({ accountId: account.id, error: String(error) }, 'lane state not written'),
      )
    },
  }
}
