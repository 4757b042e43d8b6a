import type { Account } from '../model/account.ts'
import type { Outcome } from '../model/outcome.ts'
import { type Clock, type Logger, type Meters, noMeters } from '../model/ports.ts'
import type { Store } from '../store/store.ts'
import { askedMs } from './decide.ts'

/**
 * What this process has seen of each account, and what it tells the others through the store:
 *
 *   closed ──`failures` in a row──▶ open ──`resetAfter` over, one probe──▶ half_open ──accepted──▶ closed
 *                                    ▲                                        │
 *                                    └──────────────── failed again ──────────┘
 *
 * Throttling holds the lane for what the provider asked, or 1 s doubling to 1 min; refused credentials pause the
 * account until somebody mends and activates it. Neither burns an attempt. A paused account's lane is looked at again
 * every now and then, for another account may have come that takes its rows over.
 */
export interface LaneGuard {
  /** How long a throttled call holds the lane. */
  holdMs(accountId: string, outcome: Outcome): number
  /**
   * Takes note of an outcome; a promise only where that has to be written. Store trouble is logged, never thrown: the guard
   * only slows things down.
   */
  saw(account: Account, outcome: Outcome): Promise<void> | undefined
  /** The lane is being probed by this process. */
  probing(accountId: string): void
  /** Whether the breaker is open, as far as this process has seen. */
  isOpen(accountId: string): boolean
  /** The account's rows cannot go anywhere: its lane is left alone for a while, unless it was activated meanwhile. */
  stillPaused(account: Account): Promise<void>
}

const FIRST_HOLD_MS = 1_000
const LONGEST_HOLD_MS = 60_000

/** What this process has seen of one lane. Changed by `react` and `probing` alone. */
interface LaneHealth {
  /** In a row; 0 once the provider has answered sensibly, or the breaker has opened. */
  failures: number
  /** The last hold of our own choosing; 0 when all has been well since. */
  holdMs: number
  /** When that hold ends, on the monotonic clock. */
  heldUntil: number
  /** This process opened the breaker or probes it, and has not closed it. */
  open: boolean
}

export function createLaneGuard(deps: {
  store: Pick<Store, 'lanes' | 'accounts'>
  clock: Clock
  logger: Logger
  meters?: Meters
  /** How long a paused account's lane is left alone; activating it ends the hold. */
  pausedHoldMs: number
}): LaneGuard {
  const { store, clock, logger, meters = noMeters, pausedHoldMs } = deps
  const seen = new Map<string, LaneHealth>()
  const healthOf = (accountId: string): LaneHealth => {
    const state = seen.get(accountId) ?? { failures: 0, holdMs: 0, heldUntil: 0, open: false }
    seen.set(accountId, state)
    return state
  }

  /** Calls that are throttled together share one hold; the next one doubles. */
  function ownHoldMs({ holdMs, heldUntil }: LaneHealth): number {
    if (holdMs === 0) return FIRST_HOLD_MS
    return clock.monotonic() < heldUntil ? holdMs : Math.min(LONGEST_HOLD_MS, holdMs * 2)
  }

  /** The provider answered sensibly: it is up. */
  async function answered(account: Account, state: LaneHealth): Promise<void> {
    state.failures = 0
    state.holdMs = 0
    if (!state.open) return
    state.open = false
    await store.lanes.closeBreaker(account.id)
    logger.info({ accountId: account.id }, 'breaker closed')
  }

  /** Store trouble slows nobody down but this account. */
  async function written(account: Account, writing: Promise<void>): Promise<void> {
    await writing.catch((error: unknown) =>
      logger.warn({ accountId: account.id, error: String(error) }, 'lane state not written'),
    )
  }

  async function react(account: Account, outcome: Outcome): Promise<void> {
    const state = healthOf(account.id)
    switch (outcome.kind) {
      case 'accepted':
      case 'permanent':
        return answered(account, state)
      case 'throttled': {
        // One recipient's trouble is no business of the others.
        if (outcome.scope === 'recipient') return
        const asked = askedMs(outcome.retryAfterMs)
        if (asked === null) {
          state.holdMs = ownHoldMs(state)
          state.heldUntil = clock.monotonic() + state.holdMs
        }
        await store.lanes.hold(account.id, asked ?? state.holdMs, `throttled: ${outcome.code}`)
        return
      }
      case 'unauthorized': {
        // Before the hold, which a closing breaker would end.
        await answered(account, state)
        await store.lanes.hold(account.id, pausedHoldMs, `paused: ${outcome.code}`)
        const paused = await store.accounts.setStatus(account.id, 'paused', outcome.error, 'system', ['active'])
        if (!paused) return
        meters.count('account_pauses', { channel: account.channel })
        logger.error(
          { accountId: account.id, code: outcome.code, error: outcome.error },
          'credentials refused: account paused',
        )
        return
      }
      case 'transient':
      case 'unknown':
        // A quota, a policy or a refusal, told by a provider that is up.
        if (outcome.kind === 'transient' && (outcome.isDeferred || outcome.isUnmapped)) return answered(account, state)
        state.failures++
        if (state.failures < account.breaker.failures && !state.open) return
        state.open = true
        state.failures = 0
        await store.lanes.openBreaker(account.id, account.breaker.resetAfterMs, outcome.error)
        meters.count('breaker_openings', { channel: account.channel })
        logger.warn({ accountId: account.id, code: outcome.code, error: outcome.error }, 'breaker opened')
    }
  }

  async function holdPaused(account: Account): Promise<void> {
    // Asked afresh: what this process last read may be older than somebody's word that all is well again.
    const now = await store.accounts.find(null, account.id)
    if (now?.status !== 'paused') return
    await store.lanes.hold(account.id, pausedHoldMs, `paused: ${now.statusReason ?? 'credentials refused'}`)
  }

  return {
    holdMs: (accountId, outcome) =>
      outcome.kind === 'throttled' && outcome.scope !== 'recipient'
        ? (askedMs(outcome.retryAfterMs) ?? ownHoldMs(healthOf(accountId)))
        : 0,
    probing(accountId) {
      healthOf(accountId).open = true
    },
    isOpen: (accountId) => seen.get(accountId)?.open ?? false,
    saw(account, outcome) {
      const state = seen.get(account.id)
      // The common case costs nothing: a good answer on a lane that is well.
      if (outcome.kind === 'accepted' && (!state || (state.failures === 0 && !state.open && state.holdMs === 0)))
        return undefined
      return written(account, react(account, outcome))
    },
    stillPaused: (account) => written(account, holdPaused(account)),
  }
}
