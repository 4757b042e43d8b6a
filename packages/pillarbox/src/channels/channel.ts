import type { Account } from '../model/account.ts'
import type { Channel } from '../model/channel.ts'
import type { FieldError } from '../model/errors.ts'
import type { Outcome } from '../model/outcome.ts'
import type { Address } from '../model/recipient.ts'

/**
 * The provider contract: code that speaks one vendor's protocol on one channel. A provider translates and stops. It
 * never retries, never sleeps, never touches the store, and answers every vendor reply as an `Outcome`.
 */
export interface Provider {
  /** The name accounts use, e.g. `sandbox`. */
  readonly name: string
  readonly channels: readonly Channel[]
  /** What is wrong with an account's settings, told when they are saved; none when they can be used. */
  checkSettings?(settings: Record<string, unknown>): FieldError[]
  /** What may be done when the outcome of a call is unknown. */
  readonly capability: (account: Account) => Capability
  /** One call. Must settle soon after `signal` aborts; whatever it then answers is believed. */
  send(request: SendRequest): Promise<Outcome>
  /** For `lookup`: what became of an earlier call with this key; null when the vendor has never seen it. */
  lookup?(request: SendRequest): Promise<Outcome | null>
}

/**
 * `key`: the vendor honours our idempotency key, so the same call may be made again.
 * `lookup`: the vendor can be asked about it. `none`: only the account's `onUnknown` policy can decide.
 */
export type Capability = 'key' | 'lookup' | 'none'

export interface SendRequest {
  account: Account
  channel: Channel
  /** Stable over all attempts of a notification: what the vendor is given as idempotency key or reference. */
  key: string
  notificationId: string
  attempt: number
  to: Address
  content: { subject: string | null; body: string; data: Record<string, unknown> }
  correlationId: string | null
  /** Aborts at the deadline or when shutdown can wait no longer. */
  signal: AbortSignal
}

/** Providers by channel and name. A new provider is one file and one line where this is made. */
export type ProviderRegistry = (channel: Channel, name: string) => Provider | null
