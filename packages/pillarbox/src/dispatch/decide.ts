import type { Capability } from '../channels/channel.ts'
import type { Account } from '../model/account.ts'
import type { Channel } from '../model/channel.ts'
import type { Outcome } from '../model/outcome.ts'
import type { Reason } from '../model/reason.ts'
import { type RetryPolicy, retryDelay } from '../model/retry.ts'

/** What an outcome does to its notification. Pure: the same question always has the same answer. */
export type Verdict = {
  /** Attempts that counted against the retry policy, this one included if it did. */
  spent: number
  possibleDuplicate: boolean
} & (
  | { to: 'sent' }
  | { to: 'retrying'; delayMs: number }
  /** Given up on this channel; `mayFallBack` when the next channel of the chain may take over. */
  | { to: 'parked'; reason: Reason; mayFallBack: boolean }
  /** The same, and nobody needs to look at it: the address is no good, and the policy is to leave it at that. */
  | { to: 'failed'; reason: Reason; mayFallBack: boolean }
  | { to: 'uncertain'; reason: Reason }
)

export interface Question {
  outcome: Outcome
  /** The account's, or the notification's own where its event type has one. */
  retry: RetryPolicy
  onUnknown: Account['onUnknown']
  onUndeliverable: 'fail' | 'park'
  capability: Capability
  spent: number
  possibleDuplicate: boolean
  /** In [0, 1), for the jitter. */
  random: number
  /** How long the lane is held after a throttled call; the row waits as long. */
  holdMs: number
}

/**
 * The order of a doubt: a vendor that honours our key is simply called again, and the doubt ends when it accepts; one
 * that can be asked is asked before the next call; otherwise the account's policy sends again, flagged, or holds for an
 * operator or a receipt.
 */
export function decide(question: Question): Verdict {
  const { outcome, spent, possibleDuplicate } = question
  switch (outcome.kind) {
    case 'accepted':
      // A vendor that honours our key has one message, however often it was called.
      return { to: 'sent', spent: spent + 1, possibleDuplicate: possibleDuplicate && question.capability !== 'key' }
    case 'throttled':
      return { to: 'retrying', delayMs: question.holdMs, spent, possibleDuplicate }
    case 'unauthorized':
      return { to: 'retrying', delayMs: 0, spent, possibleDuplicate }
    case 'permanent':
      return {
        to: outcome.reason === 'invalid_recipient' && question.onUndeliverable === 'fail' ? 'failed' : 'parked',
        reason: outcome.reason,
        // A flagged row may have arrived already: another channel would tell the recipient twice.
        mayFallBack: outcome.fallback && !possibleDuplicate,
        spent: spent + 1,
        possibleDuplicate,
      }
    case 'transient':
      return again(question, possibleDuplicate, outcome.retryAfterMs)
    case 'unknown':
      if (question.capability === 'none' && question.onUnknown === 'hold')
        return { to: 'uncertain', reason: 'outcome_unknown', spent: spent + 1, possibleDuplicate }
      return again(question, true)
  }
}

function again(question: Question, possibleDuplicate: boolean, retryAfterMs?: number): Verdict {
  const spent = question.spent + 1
  const delayMs = retryDelay(question.retry, spent, question.random, retryAfterMs)
  if (delayMs !== null) return { to: 'retrying', delayMs, spent, possibleDuplicate }
  const mayFallBack = !possibleDuplicate && question.outcome.kind !== 'unknown'
  return { to: 'parked', reason: 'attempts_exhausted', mayFallBack, spent, possibleDuplicate }
}

/** The channel that takes over, if the verdict allows one and the chain has one. */
export function nextChannel(verdict: Verdict, chain: readonly Channel[]): Channel | null {
  const isOver = verdict.to === 'parked' || verdict.to === 'failed'
  return isOver && verdict.mayFallBack ? (chain[0] ?? null) : null
}
