import type { Channel } from './channel.ts'
import type { RetryPolicy } from './retry.ts'

/** A tenant's credentials, pace and retry policy for a provider: the lane of dispatch. */
export interface Account {
  id: string
  tenantId: string
  channel: Channel
  provider: string
  name: string
  settings: Record<string, unknown>
  /** Opened secrets; never logged, never answered. */
  secrets: Record<string, string>
  pace: Pace | null
  retry: RetryPolicy
  /** Set where the stored retry policy made no sense and was clamped. */
  retryWarning: string | null
  onUnknown: 'resend' | 'hold'
  breaker: { failures: number; resetAfterMs: number }
  /** Lower goes first. */
  priority: number
  status: AccountStatus
  statusReason: string | null
  createdAt: number
  updatedAt: number
}

/**
 * `active` sends; `suspended` by an operator: its queued rows stop; `paused` by an authentication failure: its queued
 * rows wait until the credentials are mended. Of either, rows move to the next active account of the channel if there is
 * one.
 */
export const ACCOUNT_STATUSES = ['active', 'suspended', 'paused'] as const
export type AccountStatus = (typeof ACCOUNT_STATUSES)[number]

/** A token bucket: `perSecond` tokens flow in, at most `burst` are kept. */
export interface Pace {
  perSecond: number
  burst: number
}

/** Of an account that says nothing about it: cautious enough for every vendor's first tier. */
const DEFAULT_PACE: Pace = { perSecond: 50, burst: 50 }

/** The pace of an account that says nothing about it; none where there is no vendor to be careful of. */
export function defaultPace({ channel, provider }: Pick<Account, 'channel' | 'provider'>): Pace | null {
  return channel === 'in_app' || provider === 'sandbox' ? null : DEFAULT_PACE
}

/** One in about a quarter of an hour: what is slower is a mistake, and its arithmetic overflows. */
export const SLOWEST_PER_SECOND = 0.001

export const DEFAULT_BREAKER = { failures: 5, resetAfterMs: 30_000 } as const

/** An account as stored: secrets sealed, the retry policy as it was given. */
export interface StoredAccount extends Omit<Account, 'secrets' | 'retry' | 'retryWarning'> {
  sealedSecrets: string | null
  /** Names of the secrets that are set. */
  secretNames: string[]
  retry: unknown
  /** How long after it was parked a notification is retried by itself; null or absent: never. */
  parkedRetryAfterMs?: number | null
}
