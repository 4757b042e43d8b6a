import type { Account } from '../model/account.ts'
import type { TraceSpan, Tracing } from '../model/ports.ts'
import { reasonWord } from '../model/reason.ts'
import type { Claim, Completion } from './dispatch-store.ts'

/** An attempt in the trace of what caused it: from a claim that is committed to the commit of its result. */
export function beginAttemptSpan(tracing: Tracing, claim: Claim, account: Account | null): TraceSpan | null {
  if (!tracing.isOn()) return null
  const { tenantId, notificationId, accountId, channel, attempt, possibleDuplicate } = claim
  const provider = account?.provider ?? null
  return tracing.begin('pillarbox.attempt', claim.traceparent ?? null, {
    tenantId,
    notificationId,
    accountId,
    channel,
    provider,
    attempt,
    possibleDuplicate,
  })
}

/** Null: the claim went back, and no call was made. */
export function endAttemptSpan(span: TraceSpan, completion: Completion | null): void {
  const { outcome = null, to = 'released', reason = null } = completion ?? {}
  const isFailed = to !== 'sent' && to !== 'cancelled' && to !== 'released'
  span.end({ outcome, to, reason: reason === null ? null : reasonWord(reason) }, isFailed)
}
