import { createSign } from 'node:crypto'
import type { VendorCallback } from './callback.ts'
import { type ServerOptions, startVendorServer, type VendorRequest, type VendorServer } from './server.ts'
import { snsCertificate } from './sns-certificate.ts'

export interface SnsMessage {
  /** Where the certificate is: `server.certificateUrl` of `startSnsCertificateServer`. */
  certificateUrl: string
  topicArn: string
  /** When it was published, in ms. */
  at: number
  /** What was published: text goes as it is, anything else as JSON. */
  message?: unknown
  subject?: string
  type?: 'Notification' | 'SubscriptionConfirmation' | 'UnsubscribeConfirmation'
  /** Where a subscription is confirmed: `server.subscribeUrl`. */
  subscribeUrl?: string
  /** 1 signs with SHA-1, 2 with SHA-256. Default: 2. */
  signatureVersion?: '1' | '2'
  messageId?: string
  /** PEM. Default: the key of `snsCertificate`. */
  key?: string
}

/**
 * A message as Amazon SNS posts it, JSON under the name of plain text, signed with the key of `snsCertificate`:
 *
 *     const server = await startSnsCertificateServer()
 *     const message = sesEvent('Delivery', { messageId, recipients: ['guest@example.com'], at: Date.now() })
 *     const { certificateUrl } = server
 *     await fetch(webhookUrl, snsMessage({ certificateUrl, topicArn, at: Date.now(), message }))
 *
 * Whoever receives it has to trust the server's host: start Pillarbox with `PILLARBOX_SNS_CERT_HOSTS=127.0.0.1` and
 * `PILLARBOX_ALLOW_PRIVATE_ENDPOINTS=1`.
 */
export function snsMessage(given: SnsMessage): VendorCallback & { body: string } {
  const { type = 'Notification', signatureVersion = '2', key = snsCertificate.key } = given
  const { message = '', topicArn, subject, certificateUrl, messageId = '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324' } = given
  const isNotification = type === 'Notification'
  const fields: Record<string, string> = {
    Type: type,
    MessageId: messageId,
    TopicArn: topicArn,
    Message: typeof message === 'string' ? message : JSON.stringify(message),
    Timestamp: new Date(given.at).toISOString(),
    ...(isNotification && subject !== undefined ? { Subject: subject } : {}),
    ...(isNotification
      ? {}
      : { Token: '2336412f37fb687f5d51e6e241d09c805a5a57b3', SubscribeURL: given.subscribeUrl ?? '' }),
  }
  const signature = createSign(signatureVersion === '1' ? 'RSA-SHA1' : 'RSA-SHA256')
    .update(stringToSign(fields))
    .sign(key, 'base64')
  const body = {
    ...fields,
    SignatureVersion: signatureVersion,
    Signature: signature,
    SigningCertURL: certificateUrl,
    ...(isNotification ? { UnsubscribeURL: `${new URL(certificateUrl).origin}/?Action=Unsubscribe` } : {}),
  }
  return {
    method: 'POST',
    headers: {
      'content-type': 'text/plain; charset=UTF-8',
      'x-amz-sns-message-type': type,
      'x-amz-sns-message-id': messageId,
      'x-amz-sns-topic-arn': topicArn,
    },
    body: JSON.stringify(body, null, 2),
  }
}

/** Every field that is there, by name, each followed by its value, a line each. */
function stringToSign(fields: Readonly<Record<string, string>>): string {
  return Object.keys(fields)
    .toSorted()
    .map((name) => `${name}\n${fields[name]}\n`)
    .join('')
}

export interface SnsCertificateServer extends VendorServer<'missing' | 'unavailable'> {
  /** The address of the certificate that `snsMessage` signs for. */
  readonly certificateUrl: string
  /** The address of one that has run out. */
  readonly expiredCertificateUrl: string
  /** What confirms a subscription. */
  readonly subscribeUrl: string
  /** The requests that confirmed one. */
  readonly confirmations: readonly VendorRequest[]
}

const CERTIFICATE = '/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem'
const EXPIRED = '/SimpleNotificationService-fedcba9876543210fedcba9876543210.pem'
const PEM = { 'content-type': 'application/x-pem-file' }

/** The part of SNS that its messages point to: certificates, and the address that confirms a subscription. */
export async function startSnsCertificateServer(options: ServerOptions = {}): Promise<SnsCertificateServer> {
  const confirmations: VendorRequest[] = []
  const server = await startVendorServer(
    {
      answers: {
        missing: { status: 404, body: '<ErrorResponse/>' },
        unavailable: { status: 503, body: '<ErrorResponse/>' },
      },
      accept: (request) => {
        if (request.path === CERTIFICATE) return { status: 200, headers: PEM, body: snsCertificate.certificate }
        if (request.path === EXPIRED) return { status: 200, headers: PEM, body: snsCertificate.expired }
        if (request.query.get('Action') !== 'ConfirmSubscription') return { status: 404, body: '<ErrorResponse/>' }
        confirmations.push(request)
        return { status: 200, headers: { 'content-type': 'text/xml' }, body: '<ConfirmSubscriptionResponse/>' }
      },
    },
    options,
  )
  return {
    ...server,
    confirmations,
    certificateUrl: `${server.url}${CERTIFICATE}`,
    expiredCertificateUrl: `${server.url}${EXPIRED}`,
    subscribeUrl: `${server.url}/?Action=ConfirmSubscription&Token=2336412f37fb687f5d51e6e241d09c805a5a57b3`,
  }
}
