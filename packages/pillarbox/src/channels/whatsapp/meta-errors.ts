import { defer, type ErrorTable, fail, halt, retry, throttle, unreachable } from '../error-lines.ts'
import { type Rule, ruleOfStatus } from '../vendor-answers.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/**
 * What Meta's error codes mean for a message that is being sent. The same code may come as the answer to the call, by
 * webhook, or both. Interakt passes them on as `channel_error_code`.
 */
export const META_ERRORS: ErrorTable = {
  0: halt('The token could not be authenticated.'),
  1: retry('An unknown error on Meta’s side.'),
  2: retry('The service is down.'),
  3: halt('The app lacks a capability.'),
  4: throttle('The app made too many calls.'),
  10: halt('The permission is missing or was taken back.'),
  17: throttle('The user made too many calls.'),
  32: throttle('The page made too many calls.'),
  33: halt('The business phone number was deleted or is invalid.'),
  100: fail('A parameter is invalid.'),
  190: halt('The access token has expired or was revoked.'),
  429: throttle('Too many requests.'),
  368: halt('The account is restricted for violating a policy.'),
  613: throttle('Calls to this API exceeded a limit.'),
  80007: throttle('The business account made too many calls.'),
  130429: throttle('The number’s throughput is reached.'),
  130472: unreachable('The recipient is part of an experiment and gets no such messages.'),
  130497: unreachable('The business may not message this country.'),
  131000: retry('Meta could not send the message for an unknown reason.'),
  131005: halt('Access was denied.'),
  131008: fail('A required parameter is missing.'),
  131009: fail('A parameter’s value is invalid.'),
  131016: retry('The service is temporarily unavailable.'),
  131021: fail('Sender and recipient are the same number.'),
  131026: unreachable('The recipient is not on WhatsApp, or cannot receive this message.'),
  131030: fail('The recipient is not on the test number’s list.'),
  131031: halt('The account is locked.'),
  131037: halt('The display name is not approved.'),
  131042: halt('There is a problem with the payment method.'),
  131044: halt('There is a problem with the payment method.'),
  131045: halt('The phone number is not registered properly.'),
  131047: unreachable('More than 24 hours since the recipient wrote: only a template may be sent.'),
  131048: defer('The number is restricted: too many messages were marked as spam.', 6 * HOUR_MS),
  131049: defer('Meta withheld it to keep the recipient from too many messages.', 24 * HOUR_MS),
  131050: fail('The recipient stopped marketing messages from this business.', 'suppressed'),
  131051: fail('The message type is not supported.'),
  131052: fail('The media could not be downloaded.', 'content_rejected'),
  131053: fail('The media could not be uploaded.', 'content_rejected'),
  131055: fail('The method is not allowed for this API.'),
  131056: throttle('Too many messages from this number to this recipient.', { scope: 'recipient' }),
  131057: retry('The account is in maintenance.', 2 * MINUTE_MS),
  131062: unreachable('This message cannot be sent to a business-scoped user id.'),
  131063: fail('Marketing templates are disabled for this account.', 'template_rejected'),
  131064: defer('A limit was imposed for templates in the wrong category.', 24 * HOUR_MS),
  132000: fail('The number of parameters does not match the template.', 'template_rejected'),
  132001: fail('The template does not exist in that language, or is not approved.', 'template_rejected'),
  132005: fail('The text is too long once its parameters are filled in.', 'template_rejected'),
  132007: fail('The template violates a content policy.', 'template_rejected'),
  132008: fail('A parameter’s value is invalid.', 'template_rejected'),
  132012: fail('A parameter does not have the template’s format.', 'template_rejected'),
  132015: fail('The template is paused for low quality.', 'template_rejected'),
  132016: fail('The template is disabled for good.', 'template_rejected'),
  132068: fail('The flow is blocked.', 'template_rejected'),
  132069: throttle('The flow is throttled.'),
  133000: halt('An earlier deregistration failed.'),
  133004: retry('The registration server is unavailable.'),
  133005: halt('The two-step PIN is wrong.'),
  133006: halt('The phone number must be verified again.'),
  133008: halt('Too many wrong PINs.'),
  133009: halt('The PIN was entered too fast.'),
  133010: halt('The phone number is not registered.'),
  133015: halt('The phone number was deleted a moment ago.'),
  133016: halt('Registered and deregistered too often.'),
  134011: halt('The terms of payments were not accepted.'),
  134100: retry('The template is not ready for the marketing API.', 10 * MINUTE_MS),
  134101: retry('The template is still being synchronised.', 10 * MINUTE_MS),
  134102: retry('The template is not available yet.', 10 * MINUTE_MS),
  135000: fail('A generic error about the request.'),
  137000: fail('The recipient’s identity has changed.'),
}

/** The rule for a code: one of Graph's many permission codes, a line of the table, or one that nobody has mapped. */
export function metaRule(code: number, status = 400): Rule {
  if (code >= 200 && code <= 299) return { does: 'halt' }
  return META_ERRORS[code] ?? (status === 429 ? { does: 'throttle' } : { does: status >= 500 ? 'retry' : 'unmapped' })
}

/** An answer without a code. A 5xx is a failure of Meta's, whoever of theirs says so, and worth another try. */
export function metaStatusRule(status: number): Rule {
  return ruleOfStatus(status, 'retry')
}
