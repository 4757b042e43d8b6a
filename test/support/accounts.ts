import { generateKeyPairSync } from 'node:crypto'
import type { Channel } from '../../packages/pillarbox/src/model/channel.ts'

/** An account of each provider with everything set that its provider knows, as callers of the API send it. */
export interface SampleAccount {
  channel: Channel
  settings: Record<string, unknown>
  secrets: Record<string, unknown>
}

const AWS = {
  region: 'eu-central-1',
  topicArn: 'arn:aws:sns:eu-central-1:123456789012:receipts',
  endpoint: 'https://gateway.example.com/aws',
}
const AWS_KEY = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: 'token==',
  webhookToken: 'a-token-of-our-own',
}
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
const SERVICE_ACCOUNT = {
  client_email: 'sender@example.iam.gserviceaccount.com',
  private_key: privateKey,
  token_uri: 'https://oauth2.example.com/token',
}

export const SAMPLE_ACCOUNTS: Readonly<Record<string, SampleAccount>> = {
  meta: {
    channel: 'whatsapp',
    settings: {
      phoneNumberId: '1234567890',
      wabaId: '9876543210',
      apiVersion: 'v26.0',
      tier: 'TIER_2',
      messageType: 'template',
      endpoint: 'https://graph.example.com',
    },
    secrets: { accessToken: 'EAAexample', appSecret: '0123456789abcdef', verifyToken: 'a token of ours' },
  },
  interakt: {
    channel: 'whatsapp',
    settings: { endpoint: 'https://interakt.example.com/' },
    secrets: { apiKey: 'a2V5Og==', webhookSecret: 'a secret', webhookToken: 'a-token-of-our-own' },
  },
  msg91: {
    channel: 'sms',
    settings: { senderId: 'ATLASH', dltEntityId: '1101', route: '4', endpoint: 'https://msg91.example.com' },
    secrets: { authKey: 'key', webhookToken: 'a-token-of-our-own' },
  },
  sns: {
    channel: 'sms',
    settings: {
      ...AWS,
      senderId: 'EXAMPLE',
      originationNumber: '+15550100123',
      messageType: 'Promotional',
      maxPrice: '0.50',
      dltEntityId: '1101',
    },
    secrets: AWS_KEY,
  },
  'aws-sms': {
    channel: 'sms',
    settings: {
      ...AWS,
      senderId: 'pool-0123456789abcdef',
      configurationSet: 'events',
      messageType: 'PROMOTIONAL',
      maxPrice: '0.50',
      timeToLive: 3_600,
      protectConfigurationId: 'protect-1',
      dltEntityId: '1101',
    },
    secrets: AWS_KEY,
  },
  smtp: {
    channel: 'email',
    settings: {
      host: 'mail.example.com',
      port: 587,
      tls: 'starttls',
      user: 'tours@example.com',
      fromAddress: 'Example Tours <tours@example.com>',
      replyTo: 'desk@example.com',
      listUnsubscribe: 'mailto:leave@example.com',
      maxConnections: 5,
      oauth2: { tokenUrl: 'https://login.example.com/token', clientId: 'client', scope: 'mail' },
    },
    secrets: { password: 'pass word', oauth2ClientSecret: 'hidden' },
  },
  ses: {
    channel: 'email',
    settings: {
      ...AWS,
      fromAddress: '"Tours, Inc." <info@bücher.example>',
      replyTo: 'desk@example.com',
      configurationSet: 'events',
      listUnsubscribe: 'https://example.com/leave/{notificationId}',
    },
    secrets: AWS_KEY,
  },
  acs: {
    channel: 'email',
    settings: {
      fromAddress: 'info@example.com',
      replyTo: 'desk@example.com',
      listUnsubscribe: 'https://example.com/leave',
      endpoint: 'https://acs.example.com:8443',
    },
    secrets: {
      connectionString: 'endpoint=https://acs.example.com/;accesskey=a2V5a2V5',
      webhookToken: 'a-token-of-our-own',
    },
  },
  fcm: {
    channel: 'push',
    settings: {
      projectId: 'example-1a2b3',
      tokenUrl: 'https://oauth2.example.com/token',
      endpoint: 'https://fcm.example.com',
    },
    secrets: { serviceAccount: SERVICE_ACCOUNT },
  },
  wns: {
    channel: 'push',
    settings: {
      packageSid: 'ms-app://S-1-15-2-1234-5678',
      tenantId: '0b0b0b0b-0000-4000-8000-000000000001',
      appId: '0b0b0b0b-0000-4000-8000-000000000002',
      tokenUrl: 'https://login.example.com/token',
      endpoint: 'https://wns.example.com',
    },
    secrets: { clientSecret: 'a~secret' },
  },
  webhook: {
    channel: 'webhook',
    settings: { url: 'https://hooks.example.com/pillarbox?from=us' },
    secrets: { signingSecret: `whsec_${Buffer.alloc(32, 7).toString('base64')}` },
  },
}

type BadValue = readonly [provider: string, path: string, value: unknown]

const each = (providers: readonly string[], bad: readonly (readonly [path: string, value: unknown])[]): BadValue[] =>
  providers.flatMap((provider) => bad.map(([path, value]): BadValue => [provider, path, value]))

/** Values that are refused: the provider, the field's path in the body, and the value. */
export const BAD_VALUES: readonly BadValue[] = [
  ...each(
    ['meta', 'interakt', 'msg91', 'sns', 'aws-sms', 'ses', 'acs', 'fcm', 'wns'],
    [
      ['/settings/endpoint', 'graph.example.com'],
      ['/settings/endpoint', 'ftp://graph.example.com'],
      ['/settings/endpoint', 'https://'],
      ['/settings/endpoint', 'https://user:password@graph.example.com'],
      ['/settings/endpoint', 'https://graph.example.com/?x='],
      ['/settings/endpoint', 'https://graph.example.com/#top'],
    ],
  ),
  ...each(
    ['sns', 'aws-sms', 'ses'],
    [
      ['/settings/region', 'Frankfurt'],
      ['/settings/region', 'eu_central_1'],
      ['/settings/region', 'eu-central-1.evil.example/'],
      ['/settings/topicArn', 'receipts'],
      ['/settings/topicArn', 'arn:aws:sqs:eu-central-1:123456789012:receipts'],
      ['/secrets/accessKeyId', 'AKID EXAMPLE'],
      ['/secrets/secretAccessKey', ' secret'],
      ['/secrets/sessionToken', 'token\n'],
    ],
  ),
  ...each(
    ['smtp', 'ses', 'acs'],
    [
      ['/settings/fromAddress', 'tours'],
      ['/settings/fromAddress', 'info@@example.com'],
      ['/settings/fromAddress', 'Tours <tours@example.com>, other@example.com'],
      ['/settings/fromAddress', 'Tours\r\nBcc: evil@example.com <tours@example.com>'],
      ['/settings/replyTo', 'desk@'],
      ['/settings/listUnsubscribe', 'leave@example.com'],
      ['/settings/listUnsubscribe', 'http://example.com/leave'],
      ['/settings/listUnsubscribe', 'https://example.com/>, <https://evil.example.com/'],
    ],
  ),
  ...each(['interakt', 'msg91', 'acs', 'sns', 'aws-sms', 'ses'], [['/secrets/webhookToken', 'a token']]),
  ...each(['msg91', 'sns', 'aws-sms'], [['/settings/dltEntityId', '11-01']]),
  ['meta', '/settings/phoneNumberId', '+49 170 1234567'],
  ['meta', '/settings/phoneNumberId', 1234567890],
  ['meta', '/settings/wabaId', 'my business'],
  ['meta', '/settings/apiVersion', '26'],
  ['meta', '/settings/apiVersion', 'v26.0/../v1.0'],
  ['meta', '/settings/tier', 'TIER_9'],
  ['meta', '/settings/messageType', 'session'],
  ['meta', '/settings/onUndeliverable', 'retry'],
  ['meta', '/secrets/accessToken', 'EAA with a space'],
  ['meta', '/secrets/accessToken', 'EAAexample\n'],
  ['meta', '/secrets/accessToken', 'ключ'],
  ['meta', '/secrets/accessToken', ''],
  ['interakt', '/secrets/apiKey', 'Basic a2V5'],
  ['msg91', '/settings/senderId', 'Atlas Homestays'],
  ['msg91', '/settings/senderId', 'AB'],
  ['msg91', '/settings/route', 'route 4'],
  ['msg91', '/secrets/authKey', 'key\r\nx-evil: 1'],
  ['sns', '/settings/senderId', 'TWELVELETTERS'],
  ['sns', '/settings/senderId', '12345'],
  ['sns', '/settings/originationNumber', '0170 1234567'],
  ['sns', '/settings/originationNumber', '+0123456789'],
  ['sns', '/settings/messageType', 'TRANSACTIONAL'],
  ['sns', '/settings/maxPrice', 0.5],
  ['sns', '/settings/maxPrice', 'cheap'],
  ['aws-sms', '/settings/senderId', '+4917'],
  ['aws-sms', '/settings/senderId', 'our pool'],
  ['aws-sms', '/settings/configurationSet', 'all events'],
  ['aws-sms', '/settings/messageType', 'Promotional'],
  ['aws-sms', '/settings/maxPrice', '100'],
  ['aws-sms', '/settings/timeToLive', 4],
  ['aws-sms', '/settings/timeToLive', '3600'],
  ['aws-sms', '/settings/protectConfigurationId', 'protect me'],
  ['smtp', '/settings/host', 'smtp://mail.example.com'],
  ['smtp', '/settings/host', 'mail.example.com:587'],
  ['smtp', '/settings/host', 'mail example'],
  ['smtp', '/settings/port', 0],
  ['smtp', '/settings/port', 65_536],
  ['smtp', '/settings/port', '587'],
  ['smtp', '/settings/tls', 'sometimes'],
  ['smtp', '/settings/user', ' '],
  ['smtp', '/settings/maxConnections', 0],
  ['smtp', '/settings/maxConnections', '5'],
  ['smtp', '/settings/oauth2', 'https://login.example.com/token'],
  ['smtp', '/settings/oauth2/tokenUrl', 'login.example.com'],
  ['smtp', '/settings/oauth2/clientId', ''],
  ['smtp', '/settings/oauth2/scope', ['mail']],
  ['smtp', '/secrets/password', 'pass\nword'],
  ['ses', '/settings/configurationSet', 'all events'],
  ['acs', '/secrets/connectionString', 'a2V5a2V5'],
  ['acs', '/secrets/connectionString', 'endpoint=acs.example.com;accesskey=a2V5a2V5'],
  ['acs', '/secrets/connectionString', 'endpoint=https://acs.example.com/;accesskey=two words'],
  ['fcm', '/settings/projectId', 'Example Project'],
  ['fcm', '/settings/projectId', '../other'],
  ['fcm', '/settings/tokenUrl', '/token'],
  ['fcm', '/secrets/serviceAccount', 'sender@example.iam.gserviceaccount.com'],
  ['fcm', '/secrets/serviceAccount', {}],
  ['fcm', '/secrets/serviceAccount', { ...SERVICE_ACCOUNT, private_key: 'none' }],
  ['fcm', '/secrets/serviceAccount', { ...SERVICE_ACCOUNT, token_uri: 'oauth2.example.com' }],
  ['wns', '/settings/packageSid', 'my package'],
  ['wns', '/settings/tenantId', 'a/b?c'],
  ['wns', '/settings/appId', 'an app'],
  ['wns', '/settings/tokenUrl', 'token'],
  ['wns', '/secrets/clientSecret', 'line\nbreak'],
  ['webhook', '/settings/url', 'hooks.example.com'],
  ['webhook', '/settings/url', 'https://user@hooks.example.com/'],
  ['webhook', '/secrets/signingSecret', 'a secret'],
  ['webhook', '/secrets/signingSecret', 'whsec_c2hvcnQ='],
  ['webhook', '/secrets/signingSecret', `whsec_${Buffer.alloc(65).toString('base64')}`],
  ['webhook', '/secrets/signingSecret', 'whsec_no base64, though it is long enough for 24 bytes!'],
  ['webhook', '/secrets/signingSecret', `whsec_${Buffer.alloc(32).toString('base64')} plain`],
]

/** Any text of one line will do for these: only their vendor knows better. */
export const FREE_TEXT: readonly string[] = [
  'meta/secrets/appSecret',
  'meta/secrets/verifyToken',
  'interakt/secrets/webhookSecret',
  'smtp/secrets/oauth2ClientSecret',
]
