import type { Rule } from '../channels/vendor-answers.ts'
import type { Meaning, Meanings } from './reading.ts'

/**
 * Events of AWS End User Messaging, by type without what is in front (`TEXT_`, `MEDIA_`, `RCS_`). In some countries
 * `SUCCESSFUL` is all that ever comes of a delivery.
 */
export const AWS_SMS_EVENTS: Meanings = {
  QUEUED: { means: 'sent', words: 'It is queued.' },
  PENDING: { means: 'sent', words: 'It is on its way.' },
  SENT: { means: 'sent', words: 'It was sent.' },
  SUCCESSFUL: { means: 'delivered', words: 'The carrier took it.' },
  DELIVERED: { means: 'delivered', words: 'It is on the recipient’s phone.' },
  READ: { means: 'read', words: 'The recipient has seen it.' },
  INVALID: { means: 'failed', rule: { does: 'dead' }, words: 'The number is not valid.' },
  INVALID_MESSAGE: {
    means: 'failed',
    rule: { does: 'fail', reason: 'content_rejected' },
    words: 'The text cannot be delivered.',
  },
  UNREACHABLE: { means: 'failed', rule: { does: 'fallback' }, words: 'The phone is off or out of reach.' },
  CARRIER_UNREACHABLE: { means: 'failed', rule: { does: 'fallback' }, words: 'The carrier’s network has a fault.' },
  BLOCKED: { means: 'failed', rule: { does: 'fallback' }, words: 'The phone or its carrier blocks messages.' },
  CARRIER_BLOCKED: {
    means: 'failed',
    rule: { does: 'fallback', reason: 'content_rejected' },
    words: 'The carrier blocked it.',
  },
  SPAM: {
    means: 'failed',
    rule: { does: 'fallback', reason: 'content_rejected' },
    words: 'The carrier took it for spam.',
  },
  UNKNOWN: { means: 'failed', rule: { does: 'fallback' }, words: 'The carrier did not say what became of it.' },
  TTL_EXPIRED: { means: 'failed', rule: { does: 'fallback' }, words: 'It could not be delivered in time.' },
  PROTECT_BLOCKED: {
    means: 'failed',
    rule: { does: 'fallback' },
    words: 'The account’s protect configuration blocks the number or its country.',
  },
  FAILED: { means: 'failed', rule: { does: 'fallback' }, words: 'It could not be delivered.' },
  FALLEN_BACK_TO_SMS: { means: 'sent', words: 'It goes on as a text message.' },
  FILE_INACCESSIBLE: {
    means: 'failed',
    rule: { does: 'fail', reason: 'content_rejected' },
    words: 'Its file cannot be read.',
  },
  FILE_TYPE_UNSUPPORTED: {
    means: 'failed',
    rule: { does: 'fail', reason: 'content_rejected' },
    words: 'Its file is of a kind that cannot be sent.',
  },
  FILE_SIZE_EXCEEDED: {
    means: 'failed',
    rule: { does: 'fail', reason: 'content_rejected' },
    words: 'Its file is too large.',
  },
}

/** What SNS says of a failed delivery: words only, for which the code is ours. */
export const SNS_FAILURES: Readonly<Record<string, { code: string; rule: Rule }>> = {
  'Blocked as spam by phone carrier': { code: 'spam', rule: { does: 'fallback', reason: 'content_rejected' } },
  'Destination is on a blocked list': { code: 'destination_blocked', rule: { does: 'fallback' } },
  'Invalid phone number': { code: 'invalid_number', rule: { does: 'dead' } },
  'Message body is invalid': { code: 'invalid_message', rule: { does: 'fail', reason: 'content_rejected' } },
  'Phone carrier has blocked this message': {
    code: 'carrier_blocked',
    rule: { does: 'fallback', reason: 'content_rejected' },
  },
  'Phone carrier is currently unreachable/unavailable': { code: 'carrier_unreachable', rule: { does: 'fallback' } },
  'Phone has blocked SMS': { code: 'phone_blocked', rule: { does: 'fallback' } },
  'Phone is on a blocked list': { code: 'phone_blocked', rule: { does: 'fallback' } },
  'Phone is currently unreachable/unavailable': { code: 'phone_unreachable', rule: { does: 'fallback' } },
  'Phone number is opted out': { code: 'opted_out', rule: { does: 'dead' } },
  'This delivery would exceed max price': { code: 'max_price', rule: { does: 'fallback' } },
  'Unknown error attempting to reach phone': { code: 'unknown', rule: { does: 'fallback' } },
}

/** The meaning of SNS's words; words that are not in the table mean no more than that it failed. */
export function snsFailure(words: string | null): { code: string; meaning: Meaning } {
  if (words === null || !Object.hasOwn(SNS_FAILURES, words))
    return { code: 'unknown', meaning: { means: 'failed', rule: { does: 'fallback' }, words: 'It was not delivered.' } }
  const { code = 'unknown', rule = { does: 'fallback' } } = SNS_FAILURES[words] ?? {}
  return { code, meaning: { means: 'failed', rule, words: `${words}.` } }
}
