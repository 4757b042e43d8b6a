import {
  dead,
  defer,
  type ErrorTable,
  fail,
  halt,
  retry,
  type TextLine,
  throttle,
  unreachable,
} from '../error-lines.ts'
import type { Rule } from '../vendor-answers.ts'

const SECOND_MS = 1_000
const HOUR_MS = 3_600_000

/** What a server's reply code means where its enhanced status says nothing more exact. */
export const SMTP_REPLIES: ErrorTable = {
  421: retry('The service is closing the connection.'),
  432: halt('A password transition is needed.'),
  450: retry('The mailbox is busy, or the sender is greylisted.'),
  451: retry('A local error, or the sender is greylisted.'),
  452: retry('Too little storage, or too many recipients.'),
  454: retry('Authentication or TLS is not available for a moment.'),
  455: retry('The parameters cannot be handled for a moment.'),
  500: fail('The command was not understood.'),
  501: fail('The parameters were not understood.'),
  502: fail('The command is not implemented.'),
  503: retry('The commands came in the wrong order.'),
  504: fail('The parameter is not implemented.'),
  521: fail('The host takes no mail.', 'invalid_recipient'),
  530: halt('Authentication is needed.'),
  534: halt('The authentication mechanism is too weak.'),
  535: halt('The credentials are not valid.'),
  538: halt('Encryption is needed for this authentication.'),
  550: fail('The mailbox does not exist or cannot be used.', 'invalid_recipient'),
  551: fail('The user is not local.', 'invalid_recipient'),
  552: fail('It is larger than the server or the mailbox allows.', 'content_rejected'),
  553: fail('The mailbox name is not allowed.', 'invalid_recipient'),
  554: fail('The transaction failed.', 'content_rejected'),
  555: fail('The parameters are not supported.'),
  556: fail('The domain takes no mail.', 'invalid_recipient'),
}

/** Enhanced status codes, which say more than the reply code. `x` stands for any class or detail. */
export const SMTP_ENHANCED: ErrorTable = {
  '5.1.0': fail('The address is rejected.', 'invalid_recipient'),
  '5.1.1': dead('There is no such mailbox.'),
  '5.1.2': dead('There is no such domain.'),
  '5.1.3': dead('The address is not well formed.'),
  '5.1.6': dead('The mailbox has moved.'),
  '5.1.10': dead('The domain takes no mail.'),
  '5.1.8': halt('The sender’s domain is not valid.'),
  '5.2.1': dead('The mailbox is disabled.'),
  '5.2.2': unreachable('The mailbox is full.'),
  '5.2.3': fail('It is too large for the mailbox.', 'content_rejected'),
  '5.3.4': fail('It is too large for the system.', 'content_rejected'),
  '5.4.x': fail('The message cannot be routed.'),
  '5.5.x': fail('The protocol was not followed.'),
  '5.6.x': fail('The content is not accepted.', 'content_rejected'),
  '5.7.1': fail('A policy does not allow it.'),
  '5.7.8': halt('The credentials are not valid.'),
  '5.7.9': halt('The authentication mechanism is too weak.'),
  '5.7.23': halt('The sender policy (SPF) was not met.'),
  '5.7.25': halt('The sending host has no name in reverse.'),
  '5.7.26': halt('Several checks of the sender failed (SPF, DKIM, DMARC).'),
  '5.7.27': halt('The sender’s domain takes no mail.'),
  '5.7.30': halt('Basic authentication is not supported any more.'),
  '4.4.x': retry('The network has trouble.'),
  '4.7.x': retry('Not now, by a policy such as greylisting.'),
  '4.x.x': retry('Not now.'),
}

/** What went wrong before the server could say anything. */
export const SMTP_TROUBLES: ErrorTable = {
  ECONNECTION: retry('The connection failed.'),
  ETIMEDOUT: retry('The server did not answer in time.'),
  ESOCKET: retry('The connection broke.'),
  EDNS: retry('The server’s name cannot be resolved.'),
  EPROTOCOL: retry('The server said something that is not SMTP.'),
  ESTREAM: retry('The message could not be read.'),
  ETLS: halt('TLS could not be agreed on.'),
  EREQUIRETLS: halt('TLS is needed and not offered.'),
  EBUSY: throttle('All connections of the account are in use.', { afterMs: SECOND_MS }),
  EAUTH: halt('The server did not let us in.'),
  ENOAUTH: halt('Credentials are needed.'),
  EOAUTH2: halt('No access token could be had.'),
  EENVELOPE: fail('An address cannot be used.', 'invalid_recipient'),
  EMESSAGE: fail('The message was not accepted.', 'content_rejected'),
  ECONFIG: halt('The account’s settings make no sense.'),
}

/** What the words say where a reply code stands for several things. */
const SMTP_TEXTS: readonly (TextLine & { reply: number })[] = [
  {
    // It is the connection that is refused, and so whoever would come next. Greylisting speaks of one mail alone.
    reply: 421,
    says: /^421[ -]4\.7\.\d/,
    ...throttle('Too fast for now, by a policy.'),
  },
  {
    reply: 454,
    says: /daily (?:message|sending) quota/i,
    ...defer('As much was sent in 24 hours as the account may.', HOUR_MS),
  },
  {
    reply: 454,
    says: /throttl|sending rate/i,
    ...throttle('Faster than the account may send.'),
  },
]

/** The words decide first, then the enhanced code, then the reply code, and at last its first digit. */
export function smtpRule(reply: number, enhanced: string | null, words = ''): Rule {
  const [major, subject] = enhanced?.split('.') ?? []
  return (
    SMTP_TEXTS.find((line) => line.reply === reply && line.says.test(words)) ??
    SMTP_ENHANCED[enhanced ?? ''] ??
    SMTP_ENHANCED[`${major}.${subject}.x`] ??
    SMTP_REPLIES[reply] ??
    SMTP_ENHANCED[`${major}.x.x`] ?? { does: reply >= 400 && reply < 500 ? 'retry' : 'unmapped' }
  )
}
