import { jsonCallback, type VendorCallback } from './callback.ts'

/** A delivery or engagement report of Azure Communication Services about one recipient of a mail. */
export interface EmailReport {
  /** The operation's id. */
  messageId: string
  recipient: string
  /** A delivery status, or what the recipient did. */
  status:
    | 'Delivered'
    | 'Bounced'
    | 'Failed'
    | 'FilteredSpam'
    | 'Quarantined'
    | 'Suppressed'
    | 'Expanded'
    | 'view'
    | 'click'
  /** When it happened, in ms. */
  at: number
  /** The event's own id. */
  id?: string
}

/** How Event Grid wraps what it delivers, as chosen in the subscription. */
export type EventGridSchema = 'event-grid' | 'cloud-events'

const TOPIC = '/subscriptions/0/resourceGroups/g/providers/microsoft.communication/communicationservices/example'

/** Event Grid's `POST` with reports about mails. It is not signed: the webhook's address carries the token. */
export function eventGridCallback(
  reports: readonly EmailReport[],
  schema: EventGridSchema = 'event-grid',
): VendorCallback & { body: string } {
  if (schema === 'event-grid')
    return jsonCallback(reports.map(eventGrid), { 'aeg-event-type': 'Notification', 'aeg-data-version': '1.0' })
  const events = reports.map(cloudEvent)
  return events.length === 1
    ? jsonCallback(events[0], { 'content-type': 'application/cloudevents+json; charset=utf-8' })
    : jsonCallback(events, { 'content-type': 'application/cloudevents-batch+json; charset=utf-8' })
}

/** The `POST` with which Event Grid asks whether a webhook is ours: it wants `{validationResponse: code}` and status 200. */
export function eventGridValidation(validationCode: string): VendorCallback & { body: string } {
  const event = {
    id: '2d1781af-3a4c-4d7c-bd0c-e34b19da4e66',
    topic: TOPIC,
    subject: '',
    data: { validationCode, validationUrl: 'https://rp-example.eventgrid.azure.net/validate' },
    eventType: 'Microsoft.EventGrid.SubscriptionValidationEvent',
    eventTime: '2026-01-01T00:00:00.0000000Z',
    metadataVersion: '1',
    dataVersion: '1',
  }
  return jsonCallback([event], { 'aeg-event-type': 'SubscriptionValidation' })
}

/** The `OPTIONS` with which it asks in the CloudEvents schema: it wants `webhook-allowed-origin` back. */
export function cloudEventsHandshake(origin = 'eventgrid.azure.net'): VendorCallback {
  return { method: 'OPTIONS', headers: { 'webhook-request-origin': origin, 'webhook-request-rate': '120' } }
}

function eventGrid(report: EmailReport): unknown {
  return {
    id: report.id ?? report.messageId,
    topic: TOPIC,
    subject: subjectOf(report),
    data: dataOf(report),
    eventType: typeOf(report),
    dataVersion: '1.0',
    metadataVersion: '1',
    eventTime: precise(report.at),
  }
}

function cloudEvent(report: EmailReport): unknown {
  return {
    id: report.id ?? report.messageId,
    source: TOPIC,
    subject: subjectOf(report),
    data: dataOf(report),
    type: typeOf(report),
    time: precise(report.at),
    specversion: '1.0',
  }
}

function isEngagement({ status }: EmailReport): boolean {
  return status === 'view' || status === 'click'
}

function typeOf(report: EmailReport): string {
  const name = isEngagement(report) ? 'EmailEngagementTrackingReportReceived' : 'EmailDeliveryReportReceived'
  return `Microsoft.Communication.${name}`
}

function subjectOf({ messageId }: EmailReport): string {
  return `sender/sender@example.com/message/${messageId}`
}

function dataOf(report: EmailReport): unknown {
  const { messageId, recipient, status, at } = report
  const common = { sender: 'sender@example.com', recipient, messageId }
  return isEngagement(report)
    ? { ...common, userActionTimeStamp: precise(at), engagementContext: '', userAgent: 'test', engagementType: status }
    : {
        ...common,
        internetMessageId: `<${messageId}@example.com>`,
        status,
        deliveryStatusDetails: { statusMessage: `status ${status}` },
        deliveryAttemptTimeStamp: precise(at),
      }
}

/** Seven digits after the point, as .NET writes them. */
function precise(at: number): string {
  return new Date(at).toISOString().replace('Z', '0000Z')
}
