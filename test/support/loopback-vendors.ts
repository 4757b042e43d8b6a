import {
  type AcsServer,
  type AwsSmsServer,
  awsSmsEvent,
  eventGridCallback,
  type InteraktServer,
  interaktCallback,
  type MetaServer,
  type Msg91Server,
  metaCallback,
  msg91Report,
  type SesServer,
  type SnsCertificateServer,
  type SnsServer,
  sesEvent,
  snsDelivery,
  snsMessage,
  startAcsServer,
  startAwsSmsServer,
  startInteraktServer,
  startMetaServer,
  startMsg91Server,
  startSesServer,
  startSnsCertificateServer,
  startSnsServer,
  type VendorCallback,
} from '@pillarbox/vendors'

/** Every vendor that calls back. */
export interface Vendors {
  readonly meta: MetaServer
  readonly interakt: InteraktServer
  readonly msg91: Msg91Server
  readonly acs: AcsServer
  readonly ses: SesServer
  readonly awsSms: AwsSmsServer
  readonly sns: SnsServer
  readonly certificates: SnsCertificateServer
  close(): Promise<void>
}

export async function startVendors(): Promise<Vendors> {
  const vendors = {
    meta: await startMetaServer(),
    interakt: await startInteraktServer(),
    msg91: await startMsg91Server(),
    acs: await startAcsServer(),
    ses: await startSesServer(),
    awsSms: await startAwsSmsServer(),
    sns: await startSnsServer(),
    certificates: await startSnsCertificateServer(),
  }
  return {
    ...vendors,
    close: async () => void (await Promise.all(Object.values(vendors).map((server) => server.close()))),
  }
}

/** What a vendor knows of a message that it took: its own id for it, and ours. */
export interface Taken {
  id: string
  reference: string | null
  /** E.164, or an email address. */
  to: string
}

export type News = 'delivered' | 'read' | 'failed'

/** One vendor's way from an account to a callback. */
export interface Line {
  name: string
  /** The last part of the webhook's path. */
  source: string
  channel: 'whatsapp' | 'sms' | 'email'
  /** The account to make; `topicArn` where the vendor publishes to one. */
  account(vendors: Vendors): Record<string, unknown>
  /** What the vendor took for this address. */
  taken(vendors: Vendors, to: string): Taken | undefined
  /** What it can report beside a delivery and a failure. */
  reportsReads: boolean
  /** Why a message that failed is parked. */
  reason: string
  /** The vendor's words, signed. */
  callback(vendors: Vendors, news: News, message: Taken, options?: { at?: number; topicArn?: string }): VendorCallback
}

export const APP_SECRET = 'the secret of the app'
export const INTERAKT_SECRET = 'the secret of the webhook'
export const TOPIC = 'arn:aws:sns:us-east-1:123456789012:reports'

const AWS = { accessKeyId: 'AKIAEXAMPLEEXAMPLE00', secretAccessKey: 'anExampleOfASecretAccessKey0000000000000' }
const digits = (phone: string): string => phone.replace('+', '')

/** A message of SNS, each with an id of its own. */
function published(
  { certificates }: Vendors,
  message: unknown,
  { at = Date.now(), topicArn = TOPIC }: { at?: number; topicArn?: string } = {},
): VendorCallback {
  return snsMessage({
    certificateUrl: certificates.certificateUrl,
    topicArn,
    at,
    message,
    messageId: crypto.randomUUID(),
  })
}

export const LINES: readonly Line[] = [
  {
    name: 'Meta',
    source: 'meta',
    channel: 'whatsapp',
    account: ({ meta }) => ({
      channel: 'whatsapp',
      provider: 'meta',
      name: 'meta',
      settings: { phoneNumberId: '1234567890', wabaId: '9876543210', endpoint: meta.url },
      secrets: { accessToken: 'token', appSecret: APP_SECRET, verifyToken: 'verify' },
    }),
    taken: ({ meta }, to) =>
      meta.messages
        .filter((message) => digits(message.to) === digits(to))
        .map(({ id, callbackData }) => ({ id, reference: callbackData, to }))[0],
    reportsReads: true,
    reason: 'unreachable',
    callback: (_vendors, news, { id, reference, to }, { at = Date.now() } = {}) =>
      metaCallback(APP_SECRET, [
        {
          id,
          status: news,
          at,
          recipient: digits(to),
          ...(reference !== null && { callbackData: reference }),
          ...(news === 'failed' && { errorCode: 131026 }),
        },
      ]),
  },
  {
    name: 'Interakt',
    source: 'interakt',
    channel: 'whatsapp',
    account: ({ interakt }) => ({
      channel: 'whatsapp',
      provider: 'interakt',
      name: 'interakt',
      settings: { endpoint: interakt.url },
      secrets: { apiKey: 'key', webhookSecret: INTERAKT_SECRET },
    }),
    taken: ({ interakt }, to) =>
      interakt.messages
        .filter((message) => message.to === digits(to))
        .map(({ id, callbackData }) => ({ id, reference: callbackData, to }))[0],
    reportsReads: true,
    reason: 'unreachable',
    callback: (_vendors, news, { id, reference, to }, { at = Date.now() } = {}) =>
      interaktCallback(
        {
          id,
          type: `message_api_${news}`,
          at,
          phone: digits(to),
          ...(reference !== null && { callbackData: reference }),
          ...(news === 'failed' && { errorCode: 131026 }),
        },
        { secret: INTERAKT_SECRET },
      ),
  },
  {
    name: 'MSG91',
    source: 'msg91',
    channel: 'sms',
    account: ({ msg91 }) => ({
      channel: 'sms',
      provider: 'msg91',
      name: 'msg91',
      settings: { senderId: 'PILBOX', endpoint: msg91.url },
      secrets: { authKey: 'key' },
    }),
    taken: ({ msg91 }, to) =>
      msg91.messages
        .filter((message) => message.to === digits(to))
        .map(({ requestId, reference }) => ({ id: requestId, reference, to }))[0],
    reportsReads: false,
    reason: 'unreachable',
    callback: (_vendors, news, { id, reference, to }, { at = Date.now() } = {}) =>
      msg91Report('v2', {
        requestId: id,
        number: digits(to),
        status: news === 'delivered' ? 1 : 2,
        at,
        ...(reference !== null && { crqid: reference }),
      }),
  },
  {
    name: 'Azure Communication Services',
    source: 'acs',
    channel: 'email',
    account: ({ acs }) => ({
      channel: 'email',
      provider: 'acs',
      name: 'acs',
      settings: { fromAddress: 'sender@example.com' },
      secrets: { connectionString: acs.connectionString },
    }),
    taken: ({ acs }, to) =>
      acs.mails
        .filter((mail) => mail.to.some(({ address }) => address === to))
        .map(({ id }) => ({ id, reference: id, to }))[0],
    reportsReads: true,
    reason: 'bounced',
    callback: (_vendors, news, { id, to }, { at = Date.now() } = {}) => {
      const status = ({ delivered: 'Delivered', read: 'view', failed: 'Bounced' } as const)[news]
      return eventGridCallback([{ messageId: id, recipient: to, status, at, id: crypto.randomUUID() }])
    },
  },
  {
    name: 'Amazon SES',
    source: 'ses',
    channel: 'email',
    account: ({ ses }) => ({
      channel: 'email',
      provider: 'ses',
      name: 'ses',
      settings: { region: 'us-east-1', fromAddress: 'sender@example.com', endpoint: ses.url, topicArn: TOPIC },
      secrets: AWS,
    }),
    taken: ({ ses }, to) =>
      ses.mails.filter((mail) => mail.to.includes(to)).map(({ id }) => ({ id, reference: null, to }))[0],
    reportsReads: true,
    reason: 'bounced',
    callback: (vendors, news, { id, to, reference }, options = {}) => {
      const { at = Date.now() } = options
      const type = ({ delivered: 'Delivery', read: 'Open', failed: 'Bounce' } as const)[news]
      const event = sesEvent(type, {
        messageId: id,
        recipients: [to],
        at,
        bounce: 'Permanent/NoEmail',
        ...(reference !== null && { tags: { notificationId: reference } }),
      })
      return published(vendors, event, options)
    },
  },
  {
    name: 'AWS End User Messaging',
    source: 'sns-sms',
    channel: 'sms',
    account: ({ awsSms }) => ({
      channel: 'sms',
      provider: 'aws-sms',
      name: 'aws-sms',
      settings: { region: 'us-east-1', endpoint: awsSms.url, topicArn: TOPIC },
      secrets: AWS,
    }),
    taken: ({ awsSms }, to) =>
      awsSms.messages
        .filter((message) => message.to === to)
        .map(({ id, context }) => ({ id, reference: context['notificationId'] ?? null, to }))[0],
    reportsReads: true,
    reason: 'unreachable',
    callback: (vendors, news, { id, to, reference }, options = {}) => {
      const type = { delivered: 'TEXT_DELIVERED', read: 'RCS_READ', failed: 'TEXT_UNREACHABLE' }[news]
      const context = reference === null ? {} : { notificationId: reference }
      const event = awsSmsEvent(type, { messageId: id, phone: to, at: options.at ?? Date.now(), context })
      return published(vendors, event, options)
    },
  },
  {
    name: 'Amazon SNS',
    source: 'sns-sms',
    channel: 'sms',
    account: ({ sns }) => ({
      channel: 'sms',
      provider: 'sns',
      name: 'sns',
      settings: { region: 'us-east-1', endpoint: sns.url, topicArn: TOPIC },
      secrets: AWS,
    }),
    taken: ({ sns }, to) =>
      sns.messages.filter((message) => message.to === to).map(({ id }) => ({ id, reference: null, to }))[0],
    reportsReads: false,
    reason: 'unreachable',
    callback: (vendors, news, { id, to }, options = {}) => {
      const { at = Date.now() } = options
      const providerResponse = 'Phone is currently unreachable/unavailable'
      const record = snsDelivery({
        messageId: id,
        phone: to,
        at,
        status: news === 'delivered' ? 'SUCCESS' : 'FAILURE',
        ...(news === 'failed' && { providerResponse }),
      })
      return published(vendors, record, options)
    },
  },
]

export function lineOf(name: string): Line {
  const line = LINES.find((each) => each.name === name)
  if (!line) throw new Error(`there is no line of ${name}`)
  return line
}
