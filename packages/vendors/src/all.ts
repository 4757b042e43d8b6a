import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startAcsServer } from './acs.ts'
import { startAwsSmsServer } from './aws-sms.ts'
import { startFcmServer } from './fcm.ts'
import { startInteraktServer } from './interakt.ts'
import { startMetaServer } from './meta.ts'
import { startMsg91Server } from './msg91.ts'
import { startSesServer } from './ses.ts'
import { startSmtpServer } from './smtp.ts'
import { startSnsServer } from './sns.ts'
import { startWebhookReceiver } from './webhook.ts'
import { startWnsServer } from './wns.ts'

/** A vendor that runs, and what a Pillarbox account needs in order to send through it. */
export interface RunningVendor {
  name: VendorName
  /** Where it listens. */
  address: string
  /** The body of `POST /api/channel-accounts`, secrets and all: none of them opens anything else. */
  account: { channel: string; provider: VendorName; name: string; settings: object; secrets: Record<string, string> }
  /** What it took, in order. */
  taken: readonly unknown[]
  /** The next message gets this answer. */
  answerWith(answer: never): void
  close(): Promise<void>
}

const AWS = { region: 'eu-central-1' }
const AWS_SECRETS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'anything' }
const FROM = 'Example <sender@example.com>'

type Start = (port: number) => Promise<Omit<RunningVendor, 'name' | 'account'> & { account: Draft }>
interface Draft {
  channel: string
  settings?: object
  secrets?: Record<string, string>
}

/** Each on its port, and the account that goes with it. */
const VENDORS = {
  meta: async (port) => {
    const { url, messages, ...server } = await startMetaServer({ port })
    const secrets = { accessToken: 'any-token', appSecret: 'app-secret', verifyToken: 'verify-token' }
    const account = { channel: 'whatsapp', settings: { phoneNumberId: '1234567890', endpoint: url }, secrets }
    return { ...server, address: url, taken: messages, account }
  },
  interakt: async (port) => {
    const { url, messages, ...server } = await startInteraktServer({ port })
    const account = { channel: 'whatsapp', settings: { endpoint: url }, secrets: { apiKey: 'any-key' } }
    return { ...server, address: url, taken: messages, account }
  },
  msg91: async (port) => {
    const { url, messages, ...server } = await startMsg91Server({ port })
    const settings = { senderId: 'EXAMPL', endpoint: url }
    return {
      ...server,
      address: url,
      taken: messages,
      account: { channel: 'sms', settings, secrets: { authKey: 'key' } },
    }
  },
  sns: async (port) => {
    const { url, messages, ...server } = await startSnsServer({ port })
    const account = { channel: 'sms', settings: { ...AWS, endpoint: url }, secrets: AWS_SECRETS }
    return { ...server, address: url, taken: messages, account }
  },
  'aws-sms': async (port) => {
    const { url, messages, ...server } = await startAwsSmsServer({ port })
    const account = { channel: 'sms', settings: { ...AWS, senderId: 'EXAMPLE', endpoint: url }, secrets: AWS_SECRETS }
    return { ...server, address: url, taken: messages, account }
  },
  smtp: async (port) => {
    const { port: chosen, mails, ...server } = await startSmtpServer({ port })
    const settings = { host: '127.0.0.1', port: chosen, tls: 'none', fromAddress: FROM }
    return { ...server, address: `smtp://127.0.0.1:${chosen}`, taken: mails, account: { channel: 'email', settings } }
  },
  ses: async (port) => {
    const { url, mails, ...server } = await startSesServer({ port })
    const account = { channel: 'email', settings: { ...AWS, fromAddress: FROM, endpoint: url }, secrets: AWS_SECRETS }
    return { ...server, address: url, taken: mails, account }
  },
  acs: async (port) => {
    const { url, mails, connectionString, ...server } = await startAcsServer({ port })
    const settings = { fromAddress: 'sender@example.com' }
    return {
      ...server,
      address: url,
      taken: mails,
      account: { channel: 'email', settings, secrets: { connectionString } },
    }
  },
  fcm: async (port) => {
    const { url, messages, serviceAccount, tokenUrl, ...server } = await startFcmServer({ port })
    const settings = { projectId: 'example', endpoint: url, tokenUrl }
    return {
      ...server,
      address: url,
      taken: messages,
      account: { channel: 'push', settings, secrets: { serviceAccount } },
    }
  },
  wns: async (port) => {
    const { url, notifications, tokenUrl, ...server } = await startWnsServer({ port })
    const settings = { packageSid: 'ms-app://S-1-15-2-1234-5678', endpoint: url, tokenUrl }
    const account = { channel: 'push', settings, secrets: { clientSecret: 'any-secret' } }
    return { ...server, address: url, taken: notifications, account }
  },
  webhook: async (port) => {
    const { url, received, ...server } = await startWebhookReceiver({ port })
    const secrets = { signingSecret: `whsec_${Buffer.alloc(32, 7).toString('base64')}` }
    return { ...server, address: url, taken: received, account: { channel: 'webhook', settings: { url }, secrets } }
  },
} satisfies Record<string, Start>

export type VendorName = keyof typeof VENDORS

export const VENDOR_NAMES = Object.keys(VENDORS) as VendorName[]

export interface RunningVendors {
  /** The desk: where accounts are handed out, and what was taken can be looked at. */
  url: string
  vendors: readonly RunningVendor[]
  close(): Promise<void>
}

/**
 * Starts the vendors and a desk for them, one port after another: the desk first, then each vendor at its own place, also
 * where only some are wanted. Port 0: any that are free.
 */
export async function startVendors(
  names: readonly VendorName[] = VENDOR_NAMES,
  { port = 0 }: { port?: number } = {},
): Promise<RunningVendors> {
  const vendors: RunningVendor[] = []
  const close = async (): Promise<void> => {
    await Promise.all(vendors.map((vendor) => vendor.close()))
  }
  try {
    for (const name of names) {
      const start: Start = VENDORS[name]
      const { account, ...running } = await start(port === 0 ? 0 : port + 1 + VENDOR_NAMES.indexOf(name))
      const draft = { provider: name, name: `${name} on this machine`, settings: {}, secrets: {}, ...account }
      vendors.push({ ...running, name, account: draft })
    }
    const desk = await openDesk(vendors, port)
    return { url: desk.url, vendors, close: () => Promise.all([close(), desk.close()]).then(() => undefined) }
  } catch (error) {
    await close()
    throw error
  }
}

async function openDesk(vendors: readonly RunningVendor[], port: number) {
  const server = createServer((request, response) => {
    answer(vendors, request).then(
      (found) => say(response, found === undefined ? 404 : 200, found ?? { error: 'there is no such vendor or page' }),
      (error: unknown) => say(response, 400, { error: String(error) }),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  const { port: chosen } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${chosen}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Undefined where there is no such thing. */
async function answer(vendors: readonly RunningVendor[], request: IncomingMessage): Promise<unknown> {
  const [, what, name] = (request.url ?? '').split('/')
  if (what === '') return vendors.map(({ name: of, address }) => ({ name: of, address }))
  const vendor = vendors.find((one) => one.name === name)
  if (!vendor) return undefined
  const isPost = request.method === 'POST'
  if (what === 'accounts' && !isPost) return vendor.account
  if (what === 'taken' && !isPost) return vendor.taken
  if (what !== 'answers' || !isPost) return undefined
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  // The vendor's own answers and faults by name, or a whole reply: whoever asks knows which this vendor has.
  vendor.answerWith(JSON.parse(Buffer.concat(chunks).toString('utf8')) as never)
  return { next: 'the next message gets this answer' }
}

function say(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(`${JSON.stringify(body, null, 2)}\n`)
}
