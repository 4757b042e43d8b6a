import { createHash, createHmac } from 'node:crypto'
import type * as AcsSdk from '@azure/communication-email'
import type { Account } from '../../model/account.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Clock } from '../../model/ports.ts'
import type { Provider, SendRequest, Verification } from '../channel.ts'
import { emailAddress, endpoint, headerSecret, httpUrl, listUnsubscribe, replyTo } from '../fields.ts'
import type { Outbound, OutboundAnswer, OutboundRequest } from '../outbound.ts'
import { optionalSdk } from '../sdk.ts'
import {
  acceptedAs,
  badSettings,
  baseOf,
  callVendor,
  type Failure,
  jsonOf,
  noted,
  outcomeOf,
  present,
  retryAfterOf,
  textAt,
  unclear,
} from '../vendor-answers.ts'
import { acsRule } from './acs-errors.ts'
import { type Mailbox, mailOf } from './mail.ts'

const SDK = '@azure/communication-email'
const API_VERSION = '2025-09-01'
const MOST_RECIPIENTS = 50
/** Of no message: only who asks is of interest. */
const NO_OPERATION = '00000000-0000-4000-8000-000000000000'

/**
 * Email by Azure Communication Services. The id of the operation is the notification's own, so that what became of a call
 * without an answer can be asked; that the mail was delivered comes by Event Grid. The vendor's client makes and signs
 * the request; it goes out by `outbound`, once.
 */
export function acsProvider({
  outbound,
  clock,
  importSdk = () => import('@azure/communication-email'),
}: {
  outbound: Outbound
  clock: Clock
  importSdk?: () => Promise<typeof AcsSdk>
}): Provider {
  const sdk = optionalSdk(SDK, importSdk)

  async function send(request: SendRequest): Promise<Outcome> {
    const { account, key, signal } = request
    const resource = resourceOf(account)
    const message = messageOf(request)
    if ('kind' in message) return message
    if ('kind' in resource) return resource
    const loaded = await sdk()
    if (loaded.kind !== 'sdk') return loaded
    const exchange: AcsExchange = { came: null }
    const httpClient = clientOver(outbound, resource, signal, exchange)
    const client = new loaded.module.EmailClient(
      resource.origin,
      { key: resource.accessKey },
      { httpClient, retryOptions: { maxRetries: 0 }, redirectOptions: { maxRetries: 0 } },
    )
    // What counts is what came over the wire; the client's own errors say less about it.
    const refused = await client.beginSend(message, { operationId: key }).then(
      () => null,
      (error: unknown) => error,
    )
    const { came } = exchange
    if (came === null) return badSettings(`the ACS client makes no call: ${nameOf(refused)}`)
    return came.kind === 'answer' ? judge(noted(request, came), clock.now()) : came
  }

  /** Whether an earlier call was taken. Asking changes nothing, so that no answer leaves no doubt. */
  async function lookup({ account, key, signal }: SendRequest): Promise<Outcome | null> {
    const answer = await operation(account, key, signal)
    if (answer.kind === 'answer' && answer.status === 404) return null
    const outcome = answer.kind === 'answer' ? judge(answer, clock.now()) : answer
    return outcome.kind === 'unknown' ? { ...outcome, kind: 'transient' } : outcome
  }

  async function verify(account: Account, signal: AbortSignal): Promise<Verification> {
    const loaded = await sdk()
    if (loaded.kind !== 'sdk') return { isGood: false, error: loaded.error }
    const answer = await operation(account, NO_OPERATION, signal)
    if (answer.kind !== 'answer') return { isGood: false, error: answer.error }
    if (answer.status === 404 || answer.status === 200)
      return { isGood: true, detail: 'Azure Communication Services knows the access key.' }
    return { isGood: false, error: `ACS says: ${refusalOf(answer).words}` }
  }

  async function operation(account: Account, id: string, signal: AbortSignal): Promise<OutboundAnswer | Failure> {
    const resource = resourceOf(account)
    if ('kind' in resource) return resource
    const path = `/emails/operations/${encodeURIComponent(id)}?api-version=${API_VERSION}`
    return await callVendor(outbound, {
      method: 'GET',
      url: `${resource.origin}${resource.prefix}${path}`,
      headers: { accept: 'application/json', ...signatureOf(resource, path, clock.now()) },
      signal,
    })
  }

  return {
    name: 'acs',
    channels: ['email'],
    words: `Email by Azure Communication Services. A list may have ${MOST_RECIPIENTS} members; send to a longer one with \`expand\`.`,
    sdk: SDK,
    capability: () => 'lookup',
    // Our choice: “Get Send Result” of the REST reference names no time after which an operation is known. A call that was
    // cut off may still be on its way to where operations are looked up.
    lookupLagMs: 60_000,
    fields: {
      settings: {
        fromAddress: {
          words: 'The address it is from: a sender of a domain that is linked to the resource.',
          isRequired: true,
          problem: emailAddress,
        },
        replyTo,
        listUnsubscribe,
        endpoint,
      },
      secrets: {
        connectionString: {
          words: 'The resource’s connection string: `endpoint=https://…/;accesskey=…`.',
          isRequired: true,
          problem: connectionString,
        },
        webhookToken: {
          words: 'What Event Grid’s reports carry in their address; made if not given.',
          problem: headerSecret,
        },
      },
    },
    send,
    lookup,
    verify,
  }
}

/** Where and with which key. A prefix is a gateway's: it is not signed, since ACS does not see it. */
interface AcsResource {
  origin: string
  prefix: string
  accessKey: string
}

const CONNECTION_STRING = 'must be endpoint=https://…/;accesskey=…, as the Azure portal shows it'

function partsOf(given: string): { endpoint: string; accessKey: string } {
  const parts = new Map<string, string>()
  for (const part of given.split(';')) {
    const [name, ...rest] = part.split('=')
    if (name && rest.length > 0) parts.set(name.trim().toLowerCase(), rest.join('=').trim())
  }
  return { endpoint: parts.get('endpoint') ?? '', accessKey: parts.get('accesskey') ?? '' }
}

/** The connection string is a secret: nothing that is wrong with it is quoted. */
function connectionString(value: unknown): string | null {
  const parts = partsOf(String(value))
  const isGood = httpUrl(parts.endpoint) === null && /^[\x21-\x7e]+$/.test(parts.accessKey)
  return isGood ? null : CONNECTION_STRING
}

function resourceOf({ settings, secrets }: Account): AcsResource | Failure {
  const parts = partsOf(secrets['connectionString'] ?? '')
  const base = baseOf(settings, parts.endpoint)
  const { accessKey } = parts
  if (!/^https?:\/\//.test(base) || !URL.canParse(base) || accessKey === '')
    return badSettings(`the connection string ${CONNECTION_STRING}`)
  const { origin, pathname } = new URL(base)
  return { origin, prefix: pathname.replace(/\/+$/, ''), accessKey }
}

/** How ACS wants a request without a body signed. */
function signatureOf({ origin, accessKey }: AcsResource, path: string, now: number): Record<string, string> {
  const date = new Date(now).toUTCString()
  const hash = createHash('sha256').update('').digest('base64')
  const { host } = new URL(origin)
  const signature = createHmac('sha256', Buffer.from(accessKey, 'base64'))
    .update(`GET\n${path}\n${date};${host};${hash}`)
    .digest('base64')
  return {
    'x-ms-date': date,
    'x-ms-content-sha256': hash,
    authorization: `HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=${signature}`,
  }
}

interface AcsExchange {
  came: OutboundAnswer | Failure | null
}

type HttpClient = NonNullable<AcsSdk.EmailClientOptions['httpClient']>
type PipelineResponse = Awaited<ReturnType<HttpClient['sendRequest']>>

/** The SDK's way out, for one call. */
function clientOver(outbound: Outbound, resource: AcsResource, signal: AbortSignal, exchange: AcsExchange): HttpClient {
  return {
    async sendRequest(request): Promise<PipelineResponse> {
      // The SDK asks at once what became of the operation. That has a small quota of its own, and says nothing yet.
      if (exchange.came !== null) return { request, status: 200, headers: headersOf({}), bodyAsText: STILL_RUNNING }
      const { 'accept-encoding': _, ...headers } = request.headers.toJSON()
      const came = await callVendor(outbound, {
        method: request.method as OutboundRequest['method'],
        url: request.url.replace(resource.origin, `${resource.origin}${resource.prefix}`),
        headers,
        ...(typeof request.body === 'string' ? { body: request.body } : {}),
        signal,
      })
      exchange.came = came
      if (came.kind !== 'answer') throw new Error(came.error)
      const { status } = came
      return { request, status, headers: headersOf(came.headers), bodyAsText: came.body.toString('utf8') }
    },
  }
}

const STILL_RUNNING = JSON.stringify({ status: 'Running' })

/** The SDK's form of headers; names are in lower case already. */
function headersOf(headers: Record<string, string>): PipelineResponse['headers'] {
  const values = new Map(Object.entries(headers))
  return {
    get: (name) => values.get(name.toLowerCase()),
    has: (name) => values.has(name.toLowerCase()),
    set: (name, value) => void values.set(name.toLowerCase(), String(value)),
    delete: (name) => void values.delete(name.toLowerCase()),
    toJSON: () => Object.fromEntries(values),
    [Symbol.iterator]: () => values.entries(),
  }
}

/** The mail as ACS wants it, or why it cannot have it. */
function messageOf(request: SendRequest): AcsSdk.EmailMessage | Failure {
  const mail = mailOf(request, 'ACS', MOST_RECIPIENTS)
  if ('kind' in mail) return mail
  return {
    senderAddress: mail.from.address,
    content: { subject: mail.subject, plainText: mail.text, ...present({ html: mail.html }) },
    recipients: {
      ...(mail.to ? { to: [named(mail.to)] } : {}),
      ...(mail.bcc.length > 0 ? { bcc: mail.bcc.map((address) => ({ address })) } : {}),
    },
    ...(mail.replyTo ? { replyTo: [named(mail.replyTo)] } : {}),
    ...(Object.keys(mail.headers).length > 0 ? { headers: mail.headers } : {}),
  }
}

function named({ address, name }: Mailbox): AcsSdk.EmailAddress {
  return { address, ...present({ displayName: name }) }
}

/** For an answer to the call, and for one about the operation: both name it and say how it stands. */
function judge(answer: OutboundAnswer, now: number): Outcome {
  const json = jsonOf(answer)
  const id = textAt(json, 'id')
  const state = textAt(json, 'status')
  const hasFailed = state === 'Failed' || state === 'Canceled'
  const isGood = answer.status >= 200 && answer.status < 300
  if (isGood && !hasFailed) return acceptedAs(id, 'ACS')
  if (answer.status < 400 && !hasFailed) return unclear(`ACS answered ${answer.status} with something else`)
  const { code, words } = refusalOf(answer)
  // Only with a refusal does it say when to send again; elsewhere it says when to ask about the operation.
  const retryAfterMs = isGood ? undefined : retryAfterOf(answer, now)
  return outcomeOf(acsRule(code, isGood ? 400 : answer.status, words), code, `ACS says: ${words}`, retryAfterMs)
}

function refusalOf(answer: OutboundAnswer): { code: string; words: string } {
  const json = jsonOf(answer)
  const code = textAt(json, 'error', 'code') ?? answer.headers['x-ms-error-code'] ?? String(answer.status)
  const target = textAt(json, 'error', 'target')
  const words = textAt(json, 'error', 'message') ?? `status ${answer.status}`
  return { code, words: target === null ? words : `${words} (${target})` }
}

/** The SDK's errors may quote what it was given: only what kind of error it was goes on. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'no reason given'
}
