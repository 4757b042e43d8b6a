import { type Rule, ruleOfStatus } from '../vendor-answers.ts'

const TEN_SECONDS_MS = 10_000
const MINUTE_MS = 60_000

/**
 * What FCM's error codes mean: `errorCode` of the FcmError detail where there is one, else the status's name. An
 * INVALID_ARGUMENT with an FcmError is about the token, one without about the message.
 */
export const FCM_ERRORS: Readonly<Record<string, Rule & { status: number; words: string }>> = {
  UNREGISTERED: { does: 'dead', status: 404, words: 'The app was removed from the device, or the token has expired.' },
  UNREGISTERED_FID: { does: 'dead', status: 404, words: 'The installation no longer exists.' },
  NOT_FOUND: { does: 'fallback', reason: 'invalid_recipient', status: 404, words: 'No such device.' },
  INVALID_ARGUMENT: { does: 'fail', reason: 'content_rejected', status: 400, words: 'The message is not valid.' },
  SENDER_ID_MISMATCH: {
    does: 'fallback',
    reason: 'invalid_recipient',
    status: 403,
    words: 'The token belongs to another sender.',
  },
  PERMISSION_DENIED: { does: 'halt', status: 403, words: 'The service account may not send for this project.' },
  THIRD_PARTY_AUTH_ERROR: { does: 'halt', status: 401, words: 'The APNs or web push key in Firebase is not valid.' },
  APNS_AUTH_ERROR: { does: 'halt', status: 401, words: 'The APNs key in Firebase is not valid.' },
  UNAUTHENTICATED: { does: 'halt', status: 401, words: 'The access token is not valid.' },
  QUOTA_EXCEEDED: { does: 'throttle', afterMs: MINUTE_MS, status: 429, words: 'Too many messages.' },
  RESOURCE_EXHAUSTED: { does: 'throttle', afterMs: MINUTE_MS, status: 429, words: 'Too many messages.' },
  UNAVAILABLE: { does: 'retry', afterMs: TEN_SECONDS_MS, status: 503, words: 'The service is overloaded.' },
  INTERNAL: { does: 'retry', status: 500, words: 'An internal error.' },
  UNSPECIFIED_ERROR: { does: 'retry', status: 500, words: 'No more is known.' },
}

/** The token itself is bad: FCM says so by an FcmError detail on a message whose form is good. */
export const BAD_TOKEN: Rule = { does: 'dead' }

export function fcmRule(code: string, status: number): Rule {
  const rule = FCM_ERRORS[code]
  if (rule) return rule
  if (status === 404) return { does: 'fallback', reason: 'invalid_recipient' }
  return status === 429 ? { does: 'throttle', afterMs: MINUTE_MS } : ruleOfStatus(status)
}
