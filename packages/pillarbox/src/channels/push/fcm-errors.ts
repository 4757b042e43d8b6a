import { dead, type ErrorTable, fail, halt, lineFor, retry, throttle } from '../error-lines.ts'
import { type Rule, ruleOfStatus } from '../vendor-answers.ts'

const TEN_SECONDS_MS = 10_000
const MINUTE_MS = 60_000

/**
 * What FCM's error codes mean: `errorCode` of the FcmError detail where there is one, else the status's name. An
 * INVALID_ARGUMENT with an FcmError is about the token, one without about the message.
 */
export const FCM_ERRORS: ErrorTable = {
  UNREGISTERED: dead('The app was removed from the device, or the token has expired.'),
  UNREGISTERED_FID: dead('The installation no longer exists.'),
  NOT_FOUND: fail('No such device.', 'invalid_recipient'),
  INVALID_ARGUMENT: fail('The message is not valid.', 'content_rejected'),
  SENDER_ID_MISMATCH: fail('The token belongs to another sender.', 'invalid_recipient'),
  PERMISSION_DENIED: halt('The service account may not send for this project.'),
  THIRD_PARTY_AUTH_ERROR: halt('The APNs or web push key in Firebase is not valid.'),
  APNS_AUTH_ERROR: halt('The APNs key in Firebase is not valid.'),
  UNAUTHENTICATED: halt('The access token is not valid.'),
  QUOTA_EXCEEDED: throttle('Too many messages.', { afterMs: MINUTE_MS }),
  RESOURCE_EXHAUSTED: throttle('Too many messages.', { afterMs: MINUTE_MS }),
  UNAVAILABLE: retry('The service is overloaded.', TEN_SECONDS_MS),
  INTERNAL: retry('An internal error.'),
  UNSPECIFIED_ERROR: retry('No more is known.'),
}

/** The token itself is bad: FCM says so by an FcmError detail on a message whose form is good. */
export const BAD_TOKEN: Rule = { does: 'dead' }

export function fcmRule(code: string, status: number): Rule {
  const rule = lineFor(FCM_ERRORS, code)
  if (rule) return rule
  if (status === 404) return { does: 'fail', reason: 'invalid_recipient' }
  return status === 429 ? { does: 'throttle', afterMs: MINUTE_MS } : ruleOfStatus(status)
}
