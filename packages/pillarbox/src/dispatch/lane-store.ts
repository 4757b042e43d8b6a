import type { AccountStatus, Pace } from '../model/account.ts'
import type { Channel } from '../model/channel.ts'

/** `open`: nothing is sent until the hold ends; `half_open`: one probe is under way. */
export type BreakerState = 'closed' | 'open' | 'half_open'

export interface LaneStore {
  /** Takes up to `want` tokens from each lane's bucket. Exact across processes. */
  take(
    requests: readonly { accountId: string; want: number; pace: Pace }[],
  ): Promise<{ accountId: string; granted: number; waitMs: number }[]>
  /** Returns tokens that were taken and not used. */
  giveBack(accountId: string, count: number, pace: Pace): Promise<void>
  /** Nothing of the lane is claimed for `ms`; a longer hold in place stays. */
  hold(accountId: string, ms: number, reason: string): Promise<void>
  openBreaker(accountId: string, resetAfterMs: number, error: string): Promise<void>
  /** True for exactly one caller once the open breaker's hold is over; the probe must report within `leaseMs`. */
  probe(accountId: string, leaseMs: number): Promise<boolean>
  /** Ends hold and breaker. */
  closeBreaker(accountId: string): Promise<void>
  list(tenantId: string | null): Promise<LaneView[]>
}

export interface LaneView {
  accountId: string
  tenantId: string
  channel: Channel
  /** Of its account. */
  status: AccountStatus
  breaker: BreakerState
  heldForMs: number
  holdReason: string | null
}

/** Whether calls wait because those before failed. Of a suspended account none are made: its breaker says nothing any more. */
export function isResting({ breaker, status }: Pick<LaneView, 'breaker' | 'status'>): boolean {
  return breaker !== 'closed' && status !== 'suspended'
}
