import type { Reason } from './reason.ts'

/**
 * What one provider call came to. Data, never an exception: a provider that throws has a bug, and the attempt is then
 * recorded as `unknown`.
 */
export type Outcome =
  /** The provider took the message and named it. */
  | { kind: 'accepted'; providerMessageId: string }
  /**
   * Known not to have been accepted, and may succeed later. `isDeferred`: not for hours, by a quota or a policy; the next
   * channel of a chain need not wait for that. `isUnmapped`: the provider does not know what it means, and the account says
   * whether that is tried again.
   */
  | {
      kind: 'transient'
      code: string
      error: string
      retryAfterMs?: number
      isDeferred?: boolean
      isUnmapped?: boolean
    }
  /**
   * Too fast; known not accepted. Slows the account and burns no attempt. `scope` recipient: only this one is called too
   * often, and only its notification waits.
   */
  | { kind: 'throttled'; code: string; error: string; retryAfterMs?: number; scope?: 'account' | 'recipient' }
  /** The account's credentials were refused. Pauses the account and burns no attempt. */
  | { kind: 'unauthorized'; code: string; error: string }
  /**
   * Refused for good; another channel may still reach the recipient. `isDead`: the address will never be any good on this
   * channel, and is remembered.
   */
  | { kind: 'permanent'; code: string; error: string; reason: Reason; isDead?: boolean }
  /** The request left and no usable answer came back: it may have been accepted. */
  | { kind: 'unknown'; code: string; error: string }

/**
 * What is kept of a provider call beside its outcome. `answer`: what the vendor said, as it came, bounded. `refused`: whom of
 * a list it would not take while it took the message for the others.
 */
export interface Exchange {
  answer: string | null
  refused: RefusedMember[] | null
}

export interface RefusedMember {
  recipient: string
  error: string
}

/** The most characters that are kept of a vendor's answer. */
export const LONGEST_ANSWER = 4_096

export type OutcomeKind = Outcome['kind']

/** What an attempt row records: the outcome's kind, or that the result came after the claim had been taken over. */
export const ATTEMPT_OUTCOMES = ['accepted', 'transient', 'throttled', 'unauthorized', 'permanent', 'unknown'] as const
