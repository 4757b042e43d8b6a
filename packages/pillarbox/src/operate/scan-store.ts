import type { Reason } from '../model/reason.ts'

/** What one worker at a time looks for, for all of them. */
export const SCANS = ['stuck', 'stale', 'parked', 'alerts'] as const
export type ScanName = (typeof SCANS)[number]

export interface TurnOptions {
  /** Whoever says nothing for so long has lost the turn. */
  leaseMs: number
  /** Only if it was not done since so long; null: in any case. */
  everyMs: number | null
}

export type TurnStart = 'begun' | 'not_due' | 'busy'

/** Scans over everything: whose turn it is, and what is found without reading all that there is. */
export interface ScanStore {
  /** Takes the turn of the one that scans. */
  begin(scan: ScanName, holder: string, options: TurnOptions): Promise<TurnStart>
  /** Says that the holder still works. False: the turn was lost. */
  keep(scan: ScanName, holder: string, leaseMs: number): Promise<boolean>
  /** `isDone`: it was done, and the next one is due only after its time. */
  end(scan: ScanName, holder: string, isDone: boolean): Promise<void>
  /**
   * Looks at the next `limit` attempts of a tenant that were made longer ago than `staleForMs`, each once in its life, and
   * counts those that were accepted and of which no receipt has said since what became of them.
   */
  nextStale(tenantId: string, options: { staleForMs: number; limit: number }): Promise<StaleStretch>
  /** Active accounts whose parked notifications are retried by themselves, and whose breaker is closed. */
  retryingAccounts(): Promise<RetryingAccount[]>
  /**
   * Notifications of an account that were parked longer ago than its time, but not by more than `windowMs`, for one of these
   * reasons. Left out are what may have arrived, what has expired, and what was retried by itself since somebody last did.
   */
  parkedToRetry(
    account: RetryingAccount,
    options: { reasons: readonly Reason[]; windowMs: number; limit: number },
  ): Promise<string[]>
}

export interface StaleStretch {
  stale: number
  /** There may be more at once. */
  isMore: boolean
}

export interface RetryingAccount {
  tenantId: string
  id: string
  afterMs: number
}
