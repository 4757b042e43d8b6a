/** What the events that SES publishes have in common. */
export interface SesEvent {
  /** SES's `MessageId`. */
  messageId: string
  /** Those the event speaks of. */
  recipients: readonly string[]
  /** When it happened, in ms. */
  at: number
  /** Everybody the mail went to. Default: the recipients. */
  destination?: readonly string[]
  /** The `EmailTags` it was sent with. */
  tags?: Readonly<Record<string, string>>
  /** For a bounce: `Permanent/NoEmail` and so on. */
  bounce?: `${'Undetermined' | 'Permanent' | 'Transient'}/${string}`
  /** For a complaint about an address that had complained before. */
  complaintSubType?: 'OnAccountSuppressionList'
  /** `notification`: the form of identities without a configuration set. Default: `event`. */
  form?: 'event' | 'notification'
}

export type SesEventType =
  | 'Send'
  | 'Delivery'
  | 'DeliveryDelay'
  | 'Bounce'
  | 'Complaint'
  | 'Reject'
  | 'Rendering Failure'
  | 'Open'
  | 'Click'
  | 'Subscription'

/** An event of SES, for the `message` of `snsMessage`. */
export function sesEvent(type: SesEventType, event: SesEvent): Record<string, unknown> {
  const { messageId, recipients, at, destination = recipients, tags = {}, form = 'event' } = event
  const mail = {
    timestamp: new Date(at).toISOString(),
    messageId,
    source: 'sender@example.com',
    destination,
    ...(form === 'event'
      ? { tags: Object.fromEntries(Object.entries(tags).map(([name, value]) => [name, [value]])) }
      : {}),
  }
  return { [form === 'event' ? 'eventType' : 'notificationType']: type, mail, ...detailOf(type, event) }
}

function detailOf(type: SesEventType, { recipients, at, bounce, complaintSubType }: SesEvent): Record<string, unknown> {
  const timestamp = new Date(at).toISOString()
  const named = recipients.map((emailAddress) => ({ emailAddress }))
  const [bounceType, bounceSubType] = (bounce ?? 'Permanent/General').split('/')
  const feedbackId = '0100018f-feedback'
  switch (type) {
    case 'Send':
      return { send: {} }
    case 'Delivery':
      return { delivery: { timestamp, processingTimeMillis: 546, recipients, smtpResponse: '250 ok' } }
    case 'DeliveryDelay':
      return { deliveryDelay: { timestamp, delayType: 'MailboxFull', delayedRecipients: named } }
    case 'Bounce':
      return { bounce: { timestamp, feedbackId, bounceType, bounceSubType, bouncedRecipients: named } }
    case 'Complaint':
      return {
        complaint: { timestamp, feedbackId, complaintSubType: complaintSubType ?? null, complainedRecipients: named },
      }
    case 'Reject':
      return { reject: { reason: 'Bad content' } }
    case 'Rendering Failure':
      return { failure: { templateName: 'booking', errorMessage: 'Attribute is not present' } }
    case 'Open':
      return { open: { timestamp, ipAddress: '192.0.2.1', userAgent: 'test' } }
    case 'Click':
      return { click: { timestamp, ipAddress: '192.0.2.1', userAgent: 'test', link: 'https://example.com/' } }
    case 'Subscription':
      return { subscription: { timestamp, contactList: 'list', source: 'UnsubscribeHeader' } }
  }
}

/** An event of AWS End User Messaging SMS. */
export interface AwsSmsEvent {
  messageId: string
  /** E.164. */
  phone: string
  /** When it happened, in ms. */
  at: number
  /** The `Context` it was sent with. */
  context?: Readonly<Record<string, string>>
}

/** An event of AWS End User Messaging SMS, such as `TEXT_DELIVERED`, for the `message` of `snsMessage`. */
export function awsSmsEvent(eventType: string, event: AwsSmsEvent): Record<string, unknown> {
  const messageStatus = eventType.replace(/^[A-Z]+_/, '')
  return {
    eventType,
    eventVersion: '1.0',
    eventTimestamp: event.at,
    isFinal: true,
    originationPhoneNumber: '+15550100',
    destinationPhoneNumber: event.phone,
    messageId: event.messageId,
    messageRequestTimestamp: event.at - 1_000,
    messageType: 'TRANSACTIONAL',
    messageStatus,
    messageStatusDescription: `The message is ${messageStatus}`,
    context: event.context ?? {},
    totalMessageParts: 1,
    totalMessagePrice: 0.00645,
  }
}

/** The record that SNS keeps of the delivery of a text message. */
export interface SnsDelivery {
  messageId: string
  /** E.164. */
  phone: string
  /** When it happened, in ms. */
  at: number
  status: 'SUCCESS' | 'FAILURE'
  /** The carrier's words, such as `Invalid phone number`. */
  providerResponse?: string
}

/** The record of a delivery, for the `message` of `snsMessage`. */
export function snsDelivery({ messageId, phone, at, status, providerResponse }: SnsDelivery): Record<string, unknown> {
  const words =
    status === 'SUCCESS' ? 'Message has been accepted by phone carrier' : 'Unknown error attempting to reach phone'
  return {
    notification: { messageId, timestamp: new Date(at).toISOString().replace('T', ' ').replace('Z', '') },
    delivery: {
      destination: phone,
      priceInUSD: 0.00645,
      smsType: 'Transactional',
      providerResponse: providerResponse ?? words,
      dwellTimeMs: 599,
      dwellTimeMsUntilDeviceAck: 1_344,
    },
    status,
  }
}
