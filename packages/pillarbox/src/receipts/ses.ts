import { at, textAt } from '../channels/vendor-answers.ts'
import {
  believed,
  codeAt,
  emailAt,
  idAt,
  instantIn,
  type Judged,
  jsonIn,
  listAt,
  meaningOf,
  type Reading,
  receiptSource,
  referenceAt,
} from './reading.ts'
import type { KeptCallback, ReceiptSource } from './receipt-source.ts'
import { SES_BOUNCE_TYPES, SES_BOUNCES, SES_EVENTS } from './ses-events.ts'
import { createSnsVerifier, snsMessageIn } from './sns.ts'
import type { SnsDeps } from './sns-certificates.ts'

/** Where each type keeps its own facts, and the recipients it speaks of. */
const DETAILS: Readonly<Record<string, { field: string; recipients?: string }>> = {
  Bounce: { field: 'bounce', recipients: 'bouncedRecipients' },
  Complaint: { field: 'complaint', recipients: 'complainedRecipients' },
  Delivery: { field: 'delivery', recipients: 'recipients' },
  DeliveryDelay: { field: 'deliveryDelay', recipients: 'delayedRecipients' },
  Open: { field: 'open' },
  Click: { field: 'click' },
}

/** What SES writes into a topic, as plain text, when it is connected to it. */
const GREETING = /^Successfully validated SNS topic/

/**
 * Email by Amazon SES: events of a configuration set (`eventType`) and feedback of an identity (`notificationType`), over
 * SNS. One event per recipient that SES names.
 */
export function sesReceipts(deps: SnsDeps): ReceiptSource {
  return receiptSource({
    name: 'ses',
    providers: ['ses'],
    vendor: 'SES',
    isShared: true,
    verify: createSnsVerifier(deps),
    read,
  })
}

function read(kept: KeptCallback, reading: Reading): void {
  const { isReport, text, messageId, publishedAt } = snsMessageIn(kept)
  if (!isReport || (text !== null && GREETING.test(text))) return
  const event = jsonIn(text ?? '')
  const type = textAt(event, 'eventType') ?? textAt(event, 'notificationType')
  const known = type !== null && Object.hasOwn(DETAILS, type) ? DETAILS[type] : undefined
  const detail = known && at(event, known.field)
  const judged = judge(type, detail)
  if (judged.meaning?.means === 'nothing') return

  const mail = at(event, 'mail')
  const everybody = listAt(mail, 'destination')
  const named = known?.recipients === undefined ? [] : listAt(detail, known.recipients)
  const facts = {
    provider: 'ses',
    providerMessageId: idAt(mail, 'messageId'),
    notificationId: referenceAt(mail, 'tags', 'notificationId', 0),
    at: believed(kept, instantIn(textAt(detail, 'timestamp'), 'Z'), publishedAt),
    isPartial: named.length > 0 && named.length < everybody.length,
    eventId: idAt(messageId),
  }
  const recipients = named.map((each) => emailAt(each, 'emailAddress') ?? emailAt(each))
  if (recipients.length === 0) recipients.push(everybody.length === 1 ? emailAt(everybody, 0) : null)
  for (const recipient of recipients) reading.add({ ...facts, recipient }, judged)
}

function judge(type: string | null, detail: unknown): Judged {
  if (type === 'Bounce') {
    const bounceType = codeAt(detail, 'bounceType')
    const code = `${bounceType}/${codeAt(detail, 'bounceSubType')}`
    const general = Object.hasOwn(SES_BOUNCE_TYPES, bounceType) ? (SES_BOUNCE_TYPES[bounceType] ?? null) : null
    return { code, meaning: meaningOf(SES_BOUNCES, code) ?? meaningOf(SES_BOUNCES, general) }
  }
  const subType = type === 'Complaint' ? textAt(detail, 'complaintSubType') : null
  const code = subType === null ? codeAt(type) : `${type}/${codeAt(subType)}`
  return { code, meaning: meaningOf(SES_EVENTS, code) ?? meaningOf(SES_EVENTS, type) }
}
