import assert from 'node:assert/strict'
import type { Outcome } from '../../packages/pillarbox/src/model/outcome.ts'
import type { ReceiptEvent } from '../../packages/pillarbox/src/receipts/receipt-source.ts'

/**
 * What a vendor's refusal came to, in few words, with its code and text: tests write the vendor's facts down in these
 * words a second time, so that a line of an error table that says something else is noticed.
 */
export function told(outcome: Outcome): [comesTo: string, code: string, error: string] {
  if (outcome.kind === 'accepted') return ['accepted', '', '']
  return [comesTo(outcome), outcome.code, outcome.error]
}

/**
 * That a vendor's report, or none, is what the fact says: `delivered`, `bounced: permanent invalid_recipient, dead` or
 * `nothing`. A failure names the vendor and its code, and has words of ours.
 */
export function assertHeard([event]: readonly ReceiptEvent[], fact: string, vendor: string, code: string): void {
  if (event === undefined || !('failure' in event)) {
    assert.equal(event?.kind ?? 'nothing', fact)
    return
  }
  assert.equal(`${event.kind}: ${comesTo(event.failure)}`, fact)
  assert.equal(event.failure.code, code)
  assert.match(event.failure.error, new RegExp(`^${vendor} reported ${code}: [A-Z][^:]+(?:: [^:]+)?\\.$`))
}

function comesTo(outcome: Exclude<Outcome, { kind: 'accepted' }>): string {
  const wait = 'retryAfterMs' in outcome ? ` ${Number(outcome.retryAfterMs) / 1_000} s` : ''
  switch (outcome.kind) {
    case 'transient':
      return `${outcome.isDeferred ? 'deferred' : 'transient'}${wait}`
    case 'throttled':
      return `throttled${outcome.scope === 'recipient' ? ' recipient' : ''}${wait}`
    case 'permanent':
      return `permanent ${outcome.reason}${outcome.isDead ? ', dead' : ''}`
    default:
      return outcome.kind
  }
}

/** What every AWS service may say. */
export const AWS_FACTS = {
  AccessDenied: 'unauthorized',
  AccessDeniedException: 'unauthorized',
  AuthFailure: 'unauthorized',
  ExpiredToken: 'unauthorized',
  ExpiredTokenException: 'unauthorized',
  IncompleteSignature: 'unauthorized',
  InternalFailure: 'transient',
  InvalidAccessKeyId: 'unauthorized',
  InvalidClientTokenId: 'unauthorized',
  InvalidSignatureException: 'unauthorized',
  MalformedQueryString: 'permanent permanent_refusal',
  MissingAuthenticationToken: 'unauthorized',
  MissingAuthenticationTokenException: 'unauthorized',
  NotAuthorized: 'unauthorized',
  OptInRequired: 'unauthorized',
  RequestExpired: 'unauthorized',
  RequestInTheFuture: 'unauthorized',
  RequestLimitExceeded: 'throttled',
  RequestThrottled: 'throttled',
  RequestTimeTooSkewed: 'unauthorized',
  RequestTimeout: 'transient',
  ServiceUnavailable: 'transient',
  SignatureDoesNotMatch: 'unauthorized',
  SlowDown: 'throttled',
  Throttling: 'throttled',
  ThrottlingException: 'throttled',
  UnrecognizedClientException: 'unauthorized',
  ValidationError: 'permanent permanent_refusal',
  ValidationException: 'permanent permanent_refusal',
}
