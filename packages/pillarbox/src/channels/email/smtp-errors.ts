import type { Rule } from '../vendor-answers.ts'

const SECOND_MS = 1_000
const FIVE_MINUTES_MS = 300_000
const HOUR_MS = 3_600_000

type Lines = Readonly<Record<string, Rule & { words: string }>>

/** What a server's reply code means where its enhanced status says nothing more exact. */
export const SMTP_REPLIES: Lines = {
  421: { does: 'retry', words: 'The service is closing the connection.' },
  432: { does: 'halt', words: 'A password transition is needed.' },
  450: { does: 'retry', afterMs: FIVE_MINUTES_MS, words: 'The mailbox is busy, or the sender is greylisted.' },
  451: { does: 'retry', afterMs: FIVE_MINUTES_MS, words: 'A local error, or the sender is greylisted.' },
  452: { does: 'retry', afterMs: FIVE_MINUTES_MS, words: 'Too little storage, or too many recipients.' },
  454: { does: 'retry', words: 'Authentication or TLS is not available for a moment.' },
  455: { does: 'retry', words: 'The parameters cannot be handled for a moment.' },
  500: { does: 'fail', reason: 'permanent_refusal', words: 'The command was not understood.' },
  501: { does: 'fail', reason: 'permanent_refusal', words: 'The parameters were not understood.' },
  502: { does: 'fail', reason: 'permanent_refusal', words: 'The command is not implemented.' },
  503: { does: 'retry', words: 'The commands came in the wrong order.' },
  504: { does: 'fail', reason: 'permanent_refusal', words: 'The parameter is not implemented.' },
  521: { does: 'fallback', reason: 'invalid_recipient', words: 'The host takes no mail.' },
  530: { does: 'halt', words: 'Authentication is needed.' },
  534: { does: 'halt', words: 'The authentication mechanism is too weak.' },
  535: { does: 'halt', words: 'The credentials are not valid.' },
  538: { does: 'halt', words: 'Encryption is needed for this authentication.' },
  550: { does: 'fallback', reason: 'invalid_recipient', words: 'The mailbox does not exist or cannot be used.' },
  551: { does: 'fallback', reason: 'invalid_recipient', words: 'The user is not local.' },
  552: { does: 'fail', reason: 'content_rejected', words: 'It is larger than the server or the mailbox allows.' },
  553: { does: 'fallback', reason: 'invalid_recipient', words: 'The mailbox name is not allowed.' },
  554: { does: 'fail', reason: 'content_rejected', words: 'The transaction failed.' },
  555: { does: 'fail', reason: 'permanent_refusal', words: 'The parameters are not supported.' },
  556: { does: 'fallback', reason: 'invalid_recipient', words: 'The domain takes no mail.' },
}

/** Enhanced status codes, which say more than the reply code. `x` stands for any class or detail. */
export const SMTP_ENHANCED: Lines = {
  '5.1.0': { does: 'fallback', reason: 'invalid_recipient', words: 'The address is rejected.' },
  '5.1.1': { does: 'dead', words: 'There is no such mailbox.' },
  '5.1.2': { does: 'dead', words: 'There is no such domain.' },
  '5.1.3': { does: 'dead', words: 'The address is not well formed.' },
  '5.1.6': { does: 'dead', words: 'The mailbox has moved.' },
  '5.1.10': { does: 'dead', words: 'The domain takes no mail.' },
  '5.1.8': { does: 'halt', words: 'The sender’s domain is not valid.' },
  '5.2.1': { does: 'dead', words: 'The mailbox is disabled.' },
  '5.2.2': { does: 'fallback', words: 'The mailbox is full.' },
  '5.2.3': { does: 'fail', reason: 'content_rejected', words: 'It is too large for the mailbox.' },
  '5.3.4': { does: 'fail', reason: 'content_rejected', words: 'It is too large for the system.' },
  '5.4.x': { does: 'fail', reason: 'permanent_refusal', words: 'The message cannot be routed.' },
  '5.5.x': { does: 'fail', reason: 'permanent_refusal', words: 'The protocol was not followed.' },
  '5.6.x': { does: 'fail', reason: 'content_rejected', words: 'The content is not accepted.' },
  '5.7.1': { does: 'fail', reason: 'permanent_refusal', words: 'A policy does not allow it.' },
  '5.7.8': { does: 'halt', words: 'The credentials are not valid.' },
  '5.7.9': { does: 'halt', words: 'The authentication mechanism is too weak.' },
  '5.7.23': { does: 'halt', words: 'The sender policy (SPF) was not met.' },
  '5.7.25': { does: 'halt', words: 'The sending host has no name in reverse.' },
  '5.7.26': { does: 'halt', words: 'Several checks of the sender failed (SPF, DKIM, DMARC).' },
  '5.7.27': { does: 'halt', words: 'The sender’s domain takes no mail.' },
  '5.7.30': { does: 'halt', words: 'Basic authentication is not supported any more.' },
  '4.4.x': { does: 'retry', words: 'The network has trouble.' },
  '4.7.x': { does: 'throttle', afterMs: FIVE_MINUTES_MS, words: 'Too fast for now, by a policy.' },
  '4.x.x': { does: 'retry', words: 'Not now.' },
}

/** What went wrong before the server could say anything. */
export const SMTP_TROUBLES: Lines = {
  ECONNECTION: { does: 'retry', words: 'The connection failed.' },
  ETIMEDOUT: { does: 'retry', words: 'The server did not answer in time.' },
  ESOCKET: { does: 'retry', words: 'The connection broke.' },
  EDNS: { does: 'retry', words: 'The server’s name cannot be resolved.' },
  EPROTOCOL: { does: 'retry', words: 'The server said something that is not SMTP.' },
  ESTREAM: { does: 'retry', words: 'The message could not be read.' },
  ETLS: { does: 'halt', words: 'TLS could not be agreed on.' },
  EREQUIRETLS: { does: 'halt', words: 'TLS is needed and not offered.' },
  EBUSY: { does: 'throttle', afterMs: SECOND_MS, words: 'All connections of the account are in use.' },
  EAUTH: { does: 'halt', words: 'The server did not let us in.' },
  ENOAUTH: { does: 'halt', words: 'Credentials are needed.' },
  EOAUTH2: { does: 'halt', words: 'No access token could be had.' },
  EENVELOPE: { does: 'fallback', reason: 'invalid_recipient', words: 'An address cannot be used.' },
  EMESSAGE: { does: 'fail', reason: 'content_rejected', words: 'The message was not accepted.' },
  ECONFIG: { does: 'halt', words: 'The account’s settings make no sense.' },
}

/** What the words say where a reply code stands for several things. */
export const SMTP_TEXTS: readonly (Rule & { words: string; reply: number; says: RegExp; example: string })[] = [
  {
    reply: 454,
    says: /daily (?:message|sending) quota/i,
    example: 'Throttling failure: Daily message quota exceeded',
    does: 'defer',
    afterMs: HOUR_MS,
    words: 'As much was sent in 24 hours as the account may.',
  },
  {
    reply: 454,
    says: /throttl|sending rate/i,
    example: 'Throttling failure: Maximum sending rate exceeded',
    does: 'throttle',
    words: 'Faster than the account may send.',
  },
]

export function smtpRule(reply: number, enhanced: string | null, words = ''): Rule {
  const text = SMTP_TEXTS.find((line) => line.reply === reply && line.says.test(words))
  if (text) return text
  const [major, subject] = enhanced?.split('.') ?? []
  const exact = enhanced === null ? undefined : (SMTP_ENHANCED[enhanced] ?? SMTP_ENHANCED[`${major}.${subject}.x`])
  const general = major === '4' ? SMTP_ENHANCED['4.x.x'] : undefined
  const rule = exact ?? (SMTP_REPLIES[reply] ? undefined : general)
  if (rule) return rule
  const byReply = SMTP_REPLIES[reply]
  if (byReply) return byReply
  return reply >= 400 && reply < 500 ? { does: 'retry' } : { does: 'fail', reason: 'permanent_refusal' }
}
