import { dead, type ErrorLine, fail, unreachable } from '../channels/error-lines.ts'
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
  UNREACHABLE: failed(unreachable('The phone is off or out of reach.')),
  CARRIER_UNREACHABLE: failed(unreachable('The carrier’s network has a fault.')),
  BLOCKED: failed(unreachable('The phone or its carrier blocks messages.')),
  CARRIER_BLOCKED: failed(fail('The carrier blocked it.', 'content_rejected')),
  SPAM: failed(fail('The carrier took it for spam.', 'content_rejected')),
  UNKNOWN: failed(unreachable('The carrier did not say what became of it.')),
  TTL_EXPIRED: failed(unreachable('It could not be delivered in time.')),
  PROTECT_BLOCKED: failed(unreachable('The account’s protect configuration blocks the number or its country.')),
  FAILED: failed(unreachable('It could not be delivered.')),
  FALLEN_BACK_TO_SMS: { means: 'sent', words: 'It goes on as a text message.' },
  FILE_INACCESSIBLE: failed(fail('Its file cannot be read.', 'content_rejected')),
  FILE_TYPE_UNSUPPORTED: failed(fail('Its file is of a kind that cannot be sent.', 'content_rejected')),
  FILE_SIZE_EXCEEDED: failed(fail('Its file is too large.', 'content_rejected')),
}

/** What SNS says of a failed delivery: words only, for which the code is ours. */
export const SNS_FAILURES: Readonly<Record<string, { code: string; meaning: Meaning }>> = Object.fromEntries([
  carrier('spam', fail('Blocked as spam by phone carrier', 'content_rejected')),
  carrier('destination_blocked', unreachable('Destination is on a blocked list')),
  carrier('invalid_number', dead('Invalid phone number')),
  carrier('invalid_message', fail('Message body is invalid', 'content_rejected')),
  carrier('carrier_blocked', fail('Phone carrier has blocked this message', 'content_rejected')),
  carrier('carrier_unreachable', unreachable('Phone carrier is currently unreachable/unavailable')),
  carrier('phone_blocked', unreachable('Phone has blocked SMS')),
  carrier('phone_blocked', unreachable('Phone is on a blocked list')),
  carrier('phone_unreachable', unreachable('Phone is currently unreachable/unavailable')),
  carrier('opted_out', dead('Phone number is opted out')),
  carrier('max_price', unreachable('This delivery would exceed max price')),
  carrier('unknown', unreachable('Unknown error attempting to reach phone')),
])

/** A line by the vendor's words, which are ours as well. */
function carrier(code: string, line: ErrorLine): [words: string, failure: { code: string; meaning: Meaning }] {
  return [line.words, { code, meaning: failed({ ...line, words: `${line.words}.` }) }]
}

/** The meaning of SNS's words; words that are not in the table mean no more than that it failed. */
export function snsFailure(words: string | null): Judged {
  const known = words !== null && Object.hasOwn(SNS_FAILURES, words) ? SNS_FAILURES[words] : undefined
  return known ?? { code: 'unknown', meaning: failed(unreachable('It was not delivered.')) }
}
