import { dead, fail, unreachable } from '../channels/error-lines.ts'
import { at, textAt } from '../channels/vendor-answers.ts'
import type { Account } from '../model/account.ts'
import { accountsWithToken } from './proof.ts'
import {
  believed,
  bounced,
  codeAt,
  emailAt,
  failed,
  idAt,
  instantIn,
  jsonIn,
  type Meanings,
  meaningOf,
  type Reading,
  receiptSource,
  referenceAt,
} from './reading.ts'
import {
  answer,
  type Callback,
  forged,
  goodFor,
  type KeptCallback,
  type ReceiptSource,
  type Verified,
} from './receipt-source.ts'

/** By the status of a delivery report. */
export const ACS_STATUSES: Meanings = {
  Delivered: { means: 'delivered', words: 'The recipient’s server took it.' },
  Expanded: { means: 'sent', words: 'It went on to the members of a list.' },
  Bounced: bounced(dead('The address does not exist.')),
  Suppressed: bounced(dead('The address bounced before and is suppressed.')),
  FilteredSpam: failed(fail('It was taken for spam and rejected.', 'content_rejected')),
  Quarantined: failed(fail('It was put into quarantine as spam or phishing.', 'content_rejected')),
  Failed: failed(unreachable('It could not be delivered.')),
}

/** By the type of an engagement report, in lower case. */
export const ACS_ENGAGEMENTS: Meanings = {
  view: { means: 'read', words: 'It was opened.' },
  click: { means: 'read', words: 'A link in it was followed.' },
}

const DELIVERY = 'Microsoft.Communication.EmailDeliveryReportReceived'
const ENGAGEMENT = 'Microsoft.Communication.EmailEngagementTrackingReportReceived'
const VALIDATION = 'Microsoft.EventGrid.SubscriptionValidationEvent'
const LONGEST_VALIDATION = 10_000

/**
 * Email by Azure Communication Services, reported through Event Grid in either of its schemas. It signs nothing: the
 * webhook's address carries the account's token, in the handshakes as well.
 */
export function acsReceipts(): ReceiptSource {
  return receiptSource({
    name: 'acs',
    providers: ['acs'],
    vendor: 'Azure',
    handshake: 'OPTIONS',
    keptHeaders: ['ce-type', 'ce-id', 'ce-time'],
    verify,
    read,
  })
}

function verify(callback: Callback, accounts: readonly Account[]): Verified {
  const proven = goodFor(accountsWithToken(callback, accounts), 'token_wrong')
  if (proven.kind !== 'good') return proven
  if (callback.method === 'OPTIONS') return allowOrigin(callback)
  return isValidation(callback) ? validation(callback) : proven
}

/** Event Grid says so in a header; a relay may have lost it. */
function isValidation({ headers, rawBody }: Callback): boolean {
  if (headers['aeg-event-type'] !== undefined)
    return headers['aeg-event-type'].toLowerCase() === 'subscriptionvalidation'
  return rawBody.length <= LONGEST_VALIDATION && typeIn(eventsIn(jsonIn(rawBody))[0]) === VALIDATION
}

/** Event Grid takes a 200 only. */
function validation({ rawBody }: Callback): Verified {
  const [event] = eventsIn(jsonIn(rawBody))
  const code = idAt(event, 'data', 'validationCode')
  if (typeIn(event) !== VALIDATION || code === null) return forged('malformed')
  return answer('Event Grid set the webhook up', {
    body: JSON.stringify({ validationResponse: code }),
    contentType: 'application/json; charset=utf-8',
  })
}

/** The handshake of the CloudEvents schema. */
function allowOrigin({ headers }: Callback): Verified {
  const origin = headers['webhook-request-origin'] ?? ''
  if (!/^[\w.:*-]{1,255}$/.test(origin)) return forged('malformed')
  return answer('Event Grid set the webhook up', {
    headers: { allow: 'POST, OPTIONS', 'webhook-allowed-origin': origin, 'webhook-allowed-rate': '*' },
  })
}

function read(kept: KeptCallback, reading: Reading): void {
  const events = eventsIn(jsonIn(kept.rawBody), kept.headers)
  if (events.length === 0) reading.miss()
  for (const event of events) {
    const type = typeIn(event)
    if (type === null) reading.miss()
    if (type !== DELIVERY && type !== ENGAGEMENT) continue
    const data = at(event, 'data')
    const facts = {
      provider: 'acs',
      providerMessageId: idAt(data, 'messageId'),
      // The operation's id is ours to choose, and the report repeats it as the message's.
      notificationId: referenceAt(data, 'messageId'),
      at: believed(kept, ...timesIn(event, data)),
      recipient: emailAt(data, 'recipient'),
      eventId: idAt(event, 'id'),
    }
    const meaning =
      type === DELIVERY
        ? meaningOf(ACS_STATUSES, textAt(data, 'status'))
        : meaningOf(ACS_ENGAGEMENTS, (textAt(data, 'engagementType') ?? textAt(data, 'engagement') ?? '').toLowerCase())
    reading.add(facts, { code: codeAt(data, 'status'), meaning })
  }
}

/** Azure writes the names of its times in more than one way. */
function timesIn(event: unknown, data: unknown): (number | null)[] {
  const own = ['deliveryAttemptTimeStamp', 'deliveryAttemptTimestamp', 'userActionTimeStamp', 'userActionTimestamp']
  const texts = [...own.map((name) => textAt(data, name)), textAt(event, 'eventTime'), textAt(event, 'time')]
  return texts.map((text) => instantIn(text, 'Z'))
}

/** An array of either schema, one CloudEvent, or one whose attributes are in the headers. */
function eventsIn(json: unknown, headers: Readonly<Record<string, string>> = {}): readonly unknown[] {
  if (Array.isArray(json)) return json
  if (typeof json !== 'object' || json === null) return []
  const type = headers['ce-type']
  return type === undefined ? [json] : [{ type, id: headers['ce-id'], time: headers['ce-time'], data: json }]
}

function typeIn(event: unknown): string | null {
  return textAt(event, 'eventType') ?? textAt(event, 'type')
}
