import { randomUUID, sign } from 'node:crypto'
import { Agent, request as httpRequest } from 'node:http'
import { systemClock } from '../../packages/pillarbox/src/runtime/system.ts'
import { createOutbound } from '../../packages/pillarbox/src/security/outbound.ts'
import { payload, wordsOf } from './payload.ts'
import type { Destination } from './peer.ts'
import { ACCESS, FROM, PHONE_NUMBER_ID, PROJECT, type ProviderName } from './vendor.ts'

/**
 * What one writes without an outbox: a vendor's client in a loop, which sends what the provider of that name sends. It
 * keeps nothing, repeats nothing, and gives up at the first error.
 */
export interface Client {
  send(message: Message): Promise<void>
  close(): void
}

/** Calls under way at once: what one account gets of the default 256 slots. */
export const CALLS = 128

/** Whom message `i` goes to, on whichever channel. */
export function recipientOf(i: number): Recipient {
  const { to, vars } = payload(i)
  return { name: vars.name, email: to, phone: `+49151${10_000_000 + i}`, deviceToken: `device-${i}` }
}

interface Recipient {
  name: string
  email: string
  phone: string
  deviceToken: string
}

/** One message with its words, as a worker reads it from its store: making it is not part of sending it. */
export interface Message extends Recipient {
  subject: string
  body: string
}

export function messageOf(i: number): Message {
  return { ...recipientOf(i), ...wordsOf(i) }
}

/** Loads what is large before the clock runs. */
export async function preloadSdk(provider: ProviderName): Promise<void> {
  if (provider === 'ses') await import('@aws-sdk/client-sesv2')
  if (provider === 'smtp') await import('nodemailer')
}

/** With the vendor's own client where there is one, else over the way out that providers use. */
export async function openClient(destination: Destination): Promise<Client> {
  switch (destination.provider) {
    case 'smtp':
      return smtpClient(destination)
    case 'ses':
      return sesClient(destination)
    case 'meta':
      return metaClient(destination, outboundPost())
    case 'fcm':
      return fcmClient(destination, outboundPost())
  }
}

/** With nothing but Node's own HTTP client and its pool of connections. */
export async function openHttpClient(destination: Destination): Promise<Client> {
  return destination.provider === 'fcm' ? fcmClient(destination, nodePost()) : metaClient(destination, nodePost())
}

async function smtpClient({ address: { host, port } }: Destination): Promise<Client> {
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({
    pool: true,
    host,
    port,
    ignoreTLS: true,
    maxConnections: CALLS,
    maxMessages: 100,
  })
  return {
    async send({ name, email, subject, body }) {
      await transport.sendMail({ from: FROM, to: { name, address: email }, subject, text: body })
    },
    close: () => transport.close(),
  }
}

async function sesClient({ address: { url } }: Destination): Promise<Client> {
  const { SESv2Client, SendEmailCommand } = await import('@aws-sdk/client-sesv2')
  const { accessKeyId, secretAccessKey, region } = ACCESS
  const client = new SESv2Client({
    region,
    endpoint: url,
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts: 1,
    requestHandler: { httpAgent: { keepAlive: true, maxSockets: CALLS } },
  })
  const part = (Data: string) => ({ Data, Charset: 'UTF-8' })
  return {
    async send({ name, email, subject, body }) {
      await client.send(
        new SendEmailCommand({
          FromEmailAddress: FROM,
          Destination: { ToAddresses: [`"${name}" <${email}>`] },
          Content: { Simple: { Subject: part(subject), Body: { Text: part(body) } } },
          EmailTags: [{ Name: 'notificationId', Value: randomUUID() }],
        }),
      )
    },
    close: () => client.destroy(),
  }
}

/** Posts JSON, or a form as it is; answers the JSON of a success. */
interface Post {
  (url: string, headers: Record<string, string>, body: string): Promise<unknown>
  close(): void
}

function outboundPost(): Post {
  const outbound = createOutbound({ clock: systemClock, allowPrivate: true })
  const post = async (url: string, headers: Record<string, string>, body: string): Promise<unknown> => {
    const answer = await outbound.request({ method: 'POST', url, headers, body })
    if (answer.kind === 'failure') throw new Error(answer.error)
    if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}`)
    return JSON.parse(answer.body.toString('utf8'))
  }
  return Object.assign(post, { close: () => outbound.close() })
}

function nodePost(): Post {
  const agent = new Agent({ keepAlive: true, maxSockets: CALLS })
  const post = (url: string, headers: Record<string, string>, body: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const length = { 'content-length': String(Buffer.byteLength(body)) }
      const open = httpRequest(url, { method: 'POST', agent, headers: { ...headers, ...length } }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          if (response.statusCode !== 200) reject(new Error(`${url} answered ${response.statusCode}`))
          else resolve(JSON.parse(Buffer.concat(chunks).toString('utf8')))
        })
      })
      open.on('error', reject)
      open.end(body)
    })
  return Object.assign(post, { close: () => agent.destroy() })
}

function metaClient({ address: { url } }: Destination, post: Post): Client {
  const to = `${url}/v25.0/${PHONE_NUMBER_ID}/messages`
  const headers = { authorization: `Bearer ${ACCESS.accessToken}`, 'content-type': 'application/json' }
  return {
    async send({ phone, body }) {
      const message = {
        messaging_product: 'whatsapp',
        recipient_type: 'individual',
        to: phone,
        biz_opaque_callback_data: randomUUID(),
        type: 'text',
        text: { body, preview_url: false },
      }
      await post(to, headers, JSON.stringify(message))
    },
    close: post.close,
  }
}

async function fcmClient({ address }: Destination, post: Post): Promise<Client> {
  const to = `${address.url}/v1/projects/${PROJECT}/messages:send`
  const authorization = `Bearer ${await fcmToken(address.serviceAccount ?? '', post)}`
  return {
    async send({ deviceToken, subject, body }) {
      const message = {
        token: deviceToken,
        notification: { title: subject, body },
        data: { notificationId: randomUUID() },
      }
      await post(to, { authorization, 'content-type': 'application/json' }, JSON.stringify({ message }))
    },
    close: post.close,
  }
}

/** Asked for once: it is good for an hour. */
async function fcmToken(serviceAccount: string, post: Post): Promise<string> {
  const { client_email, private_key, token_uri } = JSON.parse(serviceAccount) as Record<string, string>
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const seconds = Math.floor(systemClock.now() / 1_000)
  const scope = 'https://www.googleapis.com/auth/firebase.messaging'
  const claims = part({ iss: client_email, scope, aud: token_uri, iat: seconds, exp: seconds + 3_600 })
  const signed = `${part({ alg: 'RS256', typ: 'JWT' })}.${claims}`
  const signature = sign('RSA-SHA256', Buffer.from(signed), private_key ?? '').toString('base64url')
  const form = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion: `${signed}.${signature}`,
  })
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const { access_token } = (await post(token_uri ?? '', headers, form.toString())) as { access_token: string }
  return access_token
}
