import type { Reason } from './reason.ts'

/**
 * What one provider call came to. Data, never an exception: a provider that throws has a bug, and the attempt is then
 * recorded as `unknown`.
 */
export type Outcome =
  /** The provider took the message and named it. */
  | { kind: 'accepted'; providerMessageId: string }
  /** Known not to have been accepted, and may succeed later. */
  | { kind: 'transient'; code: string; error: string; retryAfterMs?: number }
  /** The account is going too fast; known not accepted. Slows the account and burns no attempt. */
  | { kind: 'throttled'; code: string; error: string; retryAfterMs?: number }
  /** The account's credentials were refused. Pauses the account and burns no attempt. */
  | { kind: 'unauthorized'; code: string; error: string }
  /** Refused for good. `fallback`: another channel may still reach the recipient. */
  | { kind: 'permanent'; code: string; error: string; reason: Reason; fallback: boolean }
  /** The request left and no usable answer came back: it may have been accepted. */
  | { kind: 'unknown'; code: string; error: string }

export type OutcomeKind = Outcome['kind']

/** What an attempt row records: the outcome's kind, or that the result came after the claim had been taken over. */
export const ATTEMPT_OUTCOMES = ['accepted', 'transient', 'throttled', 'unauthorized', 'permanent', 'unknown'] as const
