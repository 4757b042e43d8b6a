import { dead, type ErrorLine, fail, fallback } from '../channels/error-lines.ts'
import { failed, type Judged, type Meaning, type Meanings } from './reading.ts'

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
  INVALID: failed(dead('The number is not valid.')),
  INVALID_MESSAGE: failed(fail('The text cannot be delivered.', 'content_rejected')),
  UNREACHABLE: failed(fallback('The phone is off or out of reach.')),
  CARRIER_UNREACHABLE: failed(fallback('The carrier’s network has a fault.')),
  BLOCKED: failed(fallback('The phone or its carrier blocks messages.')),
  CARRIER_BLOCKED: failed(fallback('The carrier blocked it.', 'content_rejected')),
  SPAM: failed(fallback('The carrier took it for spam.', 'content_rejected')),
  UNKNOWN: failed(fallback('The carrier did not say what became of it.')),
  TTL_EXPIRED: failed(fallback('It could not be delivered in time.')),
  PROTECT_BLOCKED: failed(fallback('The account’s protect configuration blocks the number or its country.')),
  FAILED: failed(fallback('It could not be delivered.')),
  FALLEN_BACK_TO_SMS: { means: 'sent', words: 'It goes on as a text message.' },
  FILE_INACCESSIBLE: failed(fail('Its file cannot be read.', 'content_rejected')),
  FILE_TYPE_UNSUPPORTED: failed(fail('Its file is of a kind that cannot be sent.', 'content_rejected')),
  FILE_SIZE_EXCEEDED: failed(fail('Its file is too large.', 'content_rejected')),
}

/** What SNS says of a failed delivery: words only, for which the code is ours. */
export const SNS_FAILURES: Readonly<Record<string, { code: string; meaning: Meaning }>> = Object.fromEntries([
  carrier('spam', fallback('Blocked as spam by phone carrier', 'content_rejected')),
  carrier('destination_blocked', fallback('Destination is on a blocked list')),
  carrier('invalid_number', dead('Invalid phone number')),
  carrier('invalid_message', fail('Message body is invalid', 'content_rejected')),
  carrier('carrier_blocked', fallback('Phone carrier has blocked this message', 'content_rejected')),
  carrier('carrier_unreachable', fallback('Phone carrier is currently unreachable/unavailable')),
  carrier('phone_blocked', fallback('Phone has blocked SMS')),
  carrier('phone_blocked', fallback('Phone is on a blocked list')),
  carrier('phone_unreachable', fallback('Phone is currently unreachable/unavailable')),
  carrier('opted_out', dead('Phone number is opted out')),
  carrier('max_price', fallback('This delivery would exceed max price')),
  carrier('unknown', fallback('Unknown error attempting to reach phone')),
])

/** A line by the vendor's words, which are ours as well. */
function carrier(code: string, line: ErrorLine): [words: string, failure: { code: string; meaning: Meaning }] {
  return [line.words, { code, meaning: failed({ ...line, words: `${line.words}.` }) }]
}

/** The meaning of SNS's words; words that are not in the table mean no more than that it failed. */
export function snsFailure(words: string | null): Judged {
  const known = words !== null && Object.hasOwn(SNS_FAILURES, words) ? SNS_FAILURES[words] : undefined
  return known ?? { code: 'unknown', meaning: failed(fallback('It was not delivered.')) }
}
