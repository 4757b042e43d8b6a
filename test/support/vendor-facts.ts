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
      return `${outcome.isDeferred ? 'deferred' : 'transient'}${wait}${outcome.isUnmapped ? ', unmapped' : ''}`
    case 'throttled':
      return `throttled${outcome.scope === 'recipient' ? ' recipient' : ''}${wait}`
    case 'permanent':
      return `permanent ${outcome.reason}${outcome.isDead ? ', dead' : ''}`
    default:
      return outcome.kind
  }
}

/**
 * What Meta and the AWS services mean by a status where they say nothing more: a 5xx is worth another try, whoever of theirs
 * it is from. AWS's own clients repeat 500, 502, 503 and 504
 * (https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html).
 */
export const STATUS_FACTS: Readonly<Record<string, string>> = {
  400: 'transient, unmapped',
  401: 'unauthorized',
  403: 'unauthorized',
  418: 'transient, unmapped',
  429: 'throttled',
  500: 'transient',
  501: 'transient',
  502: 'transient',
  503: 'transient',
  504: 'transient',
  507: 'transient',
  520: 'transient',
  599: 'transient',
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

/** What Meta’s codes mean, as the answer to a call and in a receipt alike. */
export const META_FACTS: Readonly<Record<string, string>> = {
  0: 'unauthorized',
  1: 'transient',
  2: 'transient',
  3: 'unauthorized',
  4: 'throttled',
  10: 'unauthorized',
  17: 'throttled',
  32: 'throttled',
  33: 'unauthorized',
  100: 'permanent permanent_refusal',
  190: 'unauthorized',
  429: 'throttled',
  368: 'unauthorized',
  613: 'throttled',
  80007: 'throttled',
  130429: 'throttled',
  130472: 'permanent unreachable',
  130497: 'permanent unreachable',
  131000: 'transient',
  131005: 'unauthorized',
  131008: 'permanent permanent_refusal',
  131009: 'permanent permanent_refusal',
  131016: 'transient',
  131021: 'permanent permanent_refusal',
  131026: 'permanent unreachable',
  131030: 'permanent permanent_refusal',
  131031: 'unauthorized',
  131037: 'unauthorized',
  131042: 'unauthorized',
  131044: 'unauthorized',
  131045: 'unauthorized',
  131047: 'permanent unreachable',
  131048: 'deferred 21600 s',
  131049: 'deferred 86400 s',
  131050: 'permanent suppressed',
  131051: 'permanent permanent_refusal',
  131052: 'permanent content_rejected',
  131053: 'permanent content_rejected',
  131055: 'permanent permanent_refusal',
  131056: 'throttled recipient',
  131057: 'transient 120 s',
  131062: 'permanent unreachable',
  131063: 'permanent template_rejected',
  131064: 'deferred 86400 s',
  132000: 'permanent template_rejected',
  132001: 'permanent template_rejected',
  132005: 'permanent template_rejected',
  132007: 'permanent template_rejected',
  132008: 'permanent template_rejected',
  132012: 'permanent template_rejected',
  132015: 'permanent template_rejected',
  132016: 'permanent template_rejected',
  132068: 'permanent template_rejected',
  132069: 'throttled',
  133000: 'unauthorized',
  133004: 'transient',
  133005: 'unauthorized',
  133006: 'unauthorized',
  133008: 'unauthorized',
  133009: 'unauthorized',
  133010: 'unauthorized',
  133015: 'unauthorized',
  133016: 'unauthorized',
  134011: 'unauthorized',
  134100: 'transient 600 s',
  134101: 'transient 600 s',
  134102: 'transient 600 s',
  135000: 'permanent permanent_refusal',
  137000: 'permanent permanent_refusal',
}
