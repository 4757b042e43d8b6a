import type { Rule } from '../vendor-answers.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/**
 * What Meta's error codes mean for a message that is being sent. The same code may come as the answer to the call, by
 * webhook, or both. Interakt passes them on as `channel_error_code`.
 */
export const META_ERRORS: Readonly<Record<string, Rule & { words: string }>> = {
  0: { does: 'halt', words: 'The token could not be authenticated.' },
  1: { does: 'retry', words: 'An unknown error on Meta’s side.' },
  2: { does: 'retry', words: 'The service is down.' },
  3: { does: 'halt', words: 'The app lacks a capability.' },
  4: { does: 'throttle', words: 'The app made too many calls.' },
  10: { does: 'halt', words: 'The permission is missing or was taken back.' },
  17: { does: 'throttle', words: 'The user made too many calls.' },
  32: { does: 'throttle', words: 'The page made too many calls.' },
  33: { does: 'halt', words: 'The business phone number was deleted or is invalid.' },
  100: { does: 'fail', reason: 'permanent_refusal', words: 'A parameter is invalid.' },
  190: { does: 'halt', words: 'The access token has expired or was revoked.' },
  368: { does: 'halt', words: 'The account is restricted for violating a policy.' },
  613: { does: 'throttle', words: 'Calls to this API exceeded a limit.' },
  80007: { does: 'throttle', words: 'The business account made too many calls.' },
  130429: { does: 'throttle', words: 'The number’s throughput is reached.' },
  130472: { does: 'fallback', words: 'The recipient is part of an experiment and gets no such messages.' },
  130497: { does: 'fallback', words: 'The business may not message this country.' },
  131000: { does: 'retry', words: 'Meta could not send the message for an unknown reason.' },
  131005: { does: 'halt', words: 'Access was denied.' },
  131008: { does: 'fail', reason: 'permanent_refusal', words: 'A required parameter is missing.' },
  131009: { does: 'fail', reason: 'permanent_refusal', words: 'A parameter’s value is invalid.' },
  131016: { does: 'retry', words: 'The service is temporarily unavailable.' },
  131021: { does: 'fail', reason: 'permanent_refusal', words: 'Sender and recipient are the same number.' },
  131026: { does: 'fallback', words: 'The recipient is not on WhatsApp, or cannot receive this message.' },
  131030: { does: 'fail', reason: 'permanent_refusal', words: 'The recipient is not on the test number’s list.' },
  131031: { does: 'halt', words: 'The account is locked.' },
  131037: { does: 'halt', words: 'The display name is not approved.' },
  131042: { does: 'halt', words: 'There is a problem with the payment method.' },
  131044: { does: 'halt', words: 'There is a problem with the payment method.' },
  131045: { does: 'halt', words: 'The phone number is not registered properly.' },
  131047: { does: 'fallback', words: 'More than 24 hours since the recipient wrote: only a template may be sent.' },
  131048: {
    does: 'defer',
    afterMs: 6 * HOUR_MS,
    words: 'The number is restricted: too many messages were marked as spam.',
  },
  131049: {
    does: 'defer',
    afterMs: 24 * HOUR_MS,
    words: 'Meta withheld it to keep the recipient from too many messages.',
  },
  131050: {
    does: 'fallback',
    reason: 'suppressed',
    words: 'The recipient stopped marketing messages from this business.',
  },
  131051: { does: 'fail', reason: 'permanent_refusal', words: 'The message type is not supported.' },
  131052: { does: 'fail', reason: 'content_rejected', words: 'The media could not be downloaded.' },
  131053: { does: 'fail', reason: 'content_rejected', words: 'The media could not be uploaded.' },
  131055: { does: 'fail', reason: 'permanent_refusal', words: 'The method is not allowed for this API.' },
  131056: { does: 'throttle', scope: 'recipient', words: 'Too many messages from this number to this recipient.' },
  131057: { does: 'retry', afterMs: 2 * MINUTE_MS, words: 'The account is in maintenance.' },
  131062: { does: 'fallback', words: 'This message cannot be sent to a business-scoped user id.' },
  131063: { does: 'fail', reason: 'template_rejected', words: 'Marketing templates are disabled for this account.' },
  131064: { does: 'defer', afterMs: 24 * HOUR_MS, words: 'A limit was imposed for templates in the wrong category.' },
  132000: { does: 'fail', reason: 'template_rejected', words: 'The number of parameters does not match the template.' },
  132001: {
    does: 'fail',
    reason: 'template_rejected',
    words: 'The template does not exist in that language, or is not approved.',
  },
  132005: {
    does: 'fail',
    reason: 'template_rejected',
    words: 'The text is too long once its parameters are filled in.',
  },
  132007: { does: 'fail', reason: 'template_rejected', words: 'The template violates a content policy.' },
  132008: { does: 'fail', reason: 'template_rejected', words: 'A parameter’s value is invalid.' },
  132012: { does: 'fail', reason: 'template_rejected', words: 'A parameter does not have the template’s format.' },
  132015: { does: 'fallback', reason: 'template_rejected', words: 'The template is paused for low quality.' },
  132016: { does: 'fail', reason: 'template_rejected', words: 'The template is disabled for good.' },
  132068: { does: 'fail', reason: 'template_rejected', words: 'The flow is blocked.' },
  132069: { does: 'throttle', words: 'The flow is throttled.' },
  133000: { does: 'halt', words: 'An earlier deregistration failed.' },
  133004: { does: 'retry', words: 'The registration server is unavailable.' },
  133005: { does: 'halt', words: 'The two-step PIN is wrong.' },
  133006: { does: 'halt', words: 'The phone number must be verified again.' },
  133008: { does: 'halt', words: 'Too many wrong PINs.' },
  133009: { does: 'halt', words: 'The PIN was entered too fast.' },
  133010: { does: 'halt', words: 'The phone number is not registered.' },
  133015: { does: 'halt', words: 'The phone number was deleted a moment ago.' },
  133016: { does: 'halt', words: 'Registered and deregistered too often.' },
  134011: { does: 'halt', words: 'The terms of payments were not accepted.' },
  134100: { does: 'retry', afterMs: 10 * MINUTE_MS, words: 'The template is not ready for the marketing API.' },
  134101: { does: 'retry', afterMs: 10 * MINUTE_MS, words: 'The template is still being synchronised.' },
  134102: { does: 'retry', afterMs: 10 * MINUTE_MS, words: 'The template is not available yet.' },
  135000: { does: 'fail', reason: 'permanent_refusal', words: 'A generic error about the request.' },
  137000: { does: 'fail', reason: 'permanent_refusal', words: 'The recipient’s identity has changed.' },
}

/** The rule for a code; one that is not in the table fails, unless it is one of Graph's many permission codes. */
export function metaRule(code: number): Rule {
  if (code >= 200 && code <= 299) return { does: 'halt' }
  return META_ERRORS[code] ?? { does: 'fail', reason: 'permanent_refusal' }
}
