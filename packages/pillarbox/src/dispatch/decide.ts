import type { Capability } from '../channels/channel.ts'
import type { Account } from '../model/account.ts'
import type { Channel } from '../model/channel.ts'
import type { Outcome } from '../model/outcome.ts'
import type { Reason } from '../model/reason.ts'
import { type RetryPolicy, retryDelay } from '../model/retry.ts'

/** What an outcome does to its notification. Pure: the same question always has the same answer. */
export type CallVerdict = {
  /** Attempts that counted against the retry policy, this one included if it did. */
  spent: number
  possibleDuplicate: boolean
  standIn: StandIn
} & (
  | { to: 'sent' }
  /** `mayFallBack`: that takes hours or somebody's hand, and the next channel of the chain need not wait for it. */
  | { to: 'retrying'; delayMs: number; mayFallBack: boolean }
  /** Given up on this channel; `mayFallBack` when the next channel of the chain may take over. */
  | { to: 'parked'; reason: Reason; mayFallBack: boolean }
  /** The same, and nobody needs to look at it: the address is no good, and the policy is to leave it at that. */
  | { to: 'failed'; reason: Reason; mayFallBack: boolean }
  | { to: 'uncertain'; reason: Reason }
)

/**
 * Which other account of the channel may take over, before anything else is done. Only ever where no call so far can have
 * arrived. `ready`: one that can send now, for this account may recover by itself; `any`: this one is of no more use.
 */
type StandIn = 'none' | 'ready' | 'any'

export interface CallQuestion {
  outcome: Outcome
  /** The account's, or the notification's own where its event type has one. */
  retry: RetryPolicy
  onUnknown: Account['onUnknown']
  onUndeliverable: 'fail' | 'park'
  onUnmapped: 'retry' | 'park'
  capability: Capability
  spent: number
  possibleDuplicate: boolean
  /** Calls before this one that cost no attempt, such as throttled ones. */
  freeCalls: number
  /** The account's breaker is open now, by this outcome or before it. */
  isBreakerOpen: boolean
  /** In [0, 1), for the jitter. */
  random: number
  /** How long the lane is held after a throttled call; the row waits as long. */
  holdMs: number
}

/** However long a provider asks for. */
const LONGEST_ASKED_MS = 24 * 3_600_000

/** How long somebody who is called too often is left alone, where the provider does not say. Doubles up to the longest. */
const FIRST_PATIENCE_MS = 5_000
const LONGEST_PATIENCE_MS = 600_000

/** What the provider asked for. No time at all, or a header that is no number, would have us call again for ever. */
export function askedMs(retryAfterMs: number | undefined): number | null {
  return retryAfterMs !== undefined && retryAfterMs > 0 ? Math.min(retryAfterMs, LONGEST_ASKED_MS) : null
}

/** The code of a call whose worker died before it could report: nobody knows how long it took, or whether it was made. */
export const WORKER_LOST = 'worker_lost'

/**
 * The order of a doubt: a vendor that honours our key is simply called again, and the doubt ends when it accepts; one
 * that can be asked is asked before the next call; otherwise the account's policy sends again, flagged, or holds for an
 * operator or a receipt.
 */
export function decide(question: CallQuestion): CallVerdict {
  const { outcome, spent, possibleDuplicate } = question
  switch (outcome.kind) {
    case 'accepted':
      // A vendor that honours our key has one message, however often it was called.
      return {
        to: 'sent',
        spent: spent + 1,
        possibleDuplicate: possibleDuplicate && question.capability !== 'key',
        standIn: 'none',
      }
    case 'throttled': {
      const delayMs = outcome.scope === 'recipient' ? patienceMs(question, outcome.retryAfterMs) : question.holdMs
      return { to: 'retrying', delayMs, mayFallBack: false, standIn: 'none', spent, possibleDuplicate }
    }
    case 'unauthorized': {
      const isSafe = !possibleDuplicate
      const standIn = isSafe ? 'any' : 'none'
      return { to: 'retrying', delayMs: 0, mayFallBack: isSafe, standIn, spent, possibleDuplicate }
    }
    case 'permanent':
      return givenUp(question, outcome.reason)
    case 'transient':
      return outcome.isUnmapped && question.onUnmapped === 'park'
        ? givenUp(question, 'permanent_refusal')
        : again(question, possibleDuplicate, outcome)
    case 'unknown':
      if (question.capability === 'none' && question.onUnknown === 'hold')
        return { to: 'uncertain', reason: 'outcome_unknown', standIn: 'none', spent: spent + 1, possibleDuplicate }
      return again(question, true, {})
  }
}

/** Refused for good. */
function givenUp({ onUndeliverable, spent, possibleDuplicate }: CallQuestion, reason: Reason): CallVerdict {
  return {
    to: reason === 'invalid_recipient' && onUndeliverable === 'fail' ? 'failed' : 'parked',
    reason,
    // A flagged row may have arrived already: another channel would tell the recipient twice.
    mayFallBack: !possibleDuplicate,
    standIn: 'none',
    spent: spent + 1,
    possibleDuplicate,
  }
}

/** `refusal`: what a call that is known to have been refused said; empty where the outcome is unknown. */
function again(
  question: CallQuestion,
  possibleDuplicate: boolean,
  refusal: { retryAfterMs?: number; isDeferred?: boolean },
): CallVerdict {
  const spent = question.spent + 1
  const delayMs = retryDelay(question.retry, spent, question.random, refusal.retryAfterMs)
  // Unflagged, it has arrived nowhere yet: whoever takes over tells the recipient for the first time.
  const isSafe = !possibleDuplicate
  if (delayMs === null) {
    const standIn = isSafe ? 'any' : 'none'
    return { to: 'parked', reason: 'attempts_exhausted', mayFallBack: isSafe, standIn, spent, possibleDuplicate }
  }
  const isDeferred = refusal.isDeferred === true
  const standIn = isSafe && (isDeferred || question.isBreakerOpen) ? 'ready' : 'none'
  return { to: 'retrying', delayMs, mayFallBack: isSafe && isDeferred, standIn, spent, possibleDuplicate }
}

/** How long one recipient's notification waits that came too soon after others. */
function patienceMs({ freeCalls }: CallQuestion, retryAfterMs: number | undefined): number {
  return askedMs(retryAfterMs) ?? Math.min(LONGEST_PATIENCE_MS, FIRST_PATIENCE_MS * 2 ** freeCalls)
}

/** The channel that takes over, if the verdict allows one and the chain has one. */
export function nextChannel(verdict: CallVerdict, chain: readonly Channel[]): Channel | null {
  return 'mayFallBack' in verdict && verdict.mayFallBack ? (chain[0] ?? null) : null
}
