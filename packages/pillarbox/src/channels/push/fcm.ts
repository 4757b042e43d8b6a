import { createPrivateKey, createSign } from 'node:crypto'
import type { Account } from '../../model/account.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Clock } from '../../model/ports.ts'
import type { Provider, SendRequest, Verification } from '../channel.ts'
import { endpoint, httpUrl, matching } from '../fields.ts'
import type { Outbound, OutboundAnswer } from '../outbound.ts'
import { perAccount } from '../per-account.ts'
import { createTokenCache } from '../token-cache.ts'
import {
  acceptedAs,
  at,
  baseOf,
  callVendor,
  type Failure,
  jsonOf,
  noted,
  outcomeOf,
  present,
  retryAfterOf,
  textAt,
} from '../vendor-answers.ts'
import { BAD_TOKEN, fcmRule } from './fcm-errors.ts'

const VENDOR = 'https://fcm.googleapis.com'
const TOKEN_URL = 'https://oauth2.googleapis.com/token'
const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging'
const ASSERTION_SECONDS = 3_600
const RESERVED = /^(?:from|gcm|google)/i

interface ServiceAccount {
  client_email: string
  private_key: string
  private_key_id?: string
  token_uri?: string
}

/**
 * Push messages by Firebase Cloud Messaging, HTTP v1. The access token is made from the service account and kept. FCM has
 * no idempotency key and no receipts: `sent` is the last that is ever heard.
 */
export function fcmProvider({ outbound, clock }: { outbound: Outbound; clock: Clock }): Provider {
  const tokens = createTokenCache({ outbound, clock })
  const serviceOf = perAccount(({ secrets }) => readServiceAccount(secrets['serviceAccount'] ?? ''))
  const ofAccount = perAccount(tokenDependsOn)

  async function send(request: SendRequest): Promise<Outcome> {
    const answer = await post(request.account, { message: messageOf(request) }, request.signal)
    return answer.kind === 'answer' ? judge(noted(request, answer), clock.now()) : answer
  }

  async function post(account: Account, json: object, signal: AbortSignal): Promise<OutboundAnswer | Failure> {
    const service = serviceOf(account)
    if (typeof service === 'string') return outcomeOf({ does: 'halt' }, 'bad_service_account', service)
    const tokenUrl = textAt(account.settings, 'tokenUrl') ?? service.token_uri ?? TOKEN_URL
    const form = () => ({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: assertionOf(service, tokenUrl, clock.now()),
    })
    const url = `${baseOf(account.settings, VENDOR)}/v1/projects/${projectOf(account)}/messages:send`
    return await tokens.call(
      { of: ofAccount(account), url: tokenUrl, form, signal },
      (token) =>
        callVendor(outbound, { method: 'POST', url, headers: { authorization: `Bearer ${token}` }, json, signal }),
      (answer) => answer.status === 401 && refusalOf(answer).code === 'UNAUTHENTICATED',
    )
  }

  /** FCM checks a message without sending it: credentials and project are then known to be good. */
  async function verify(account: Account, signal: AbortSignal): Promise<Verification> {
    const message = { topic: 'pillarbox-verify', notification: { title: 'x', body: 'x' } }
    const answer = await post(account, { validate_only: true, message }, signal)
    if (answer.kind !== 'answer') return { isGood: false, error: answer.error }
    return answer.status === 200
      ? { isGood: true, detail: `FCM takes messages for project ${projectOf(account)}.` }
      : { isGood: false, error: `FCM says: ${refusalOf(answer).words}` }
  }

  return {
    name: 'fcm',
    channels: ['push'],
    words:
      'Push messages to Android, iOS and the web by Firebase Cloud Messaging, HTTP v1. FCM tells nothing more of a message that it took.',
    capability: () => 'none',
    fields: {
      settings: {
        projectId: {
          words: 'The Firebase project’s id.',
          isRequired: true,
          problem: matching(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/, 'a project’s id, such as my-app-1a2b3'),
        },
        tokenUrl: {
          words: 'Where access tokens come from, in place of the service account’s own.',
          problem: httpUrl,
          dials: true,
        },
        endpoint,
      },
      secrets: {
        serviceAccount: {
          words: 'The service account’s key file: JSON, as text or as an object.',
          isRequired: true,
          problem: (value) => {
            const service = readServiceAccount(String(value))
            return typeof service === 'string' ? `cannot be used: ${service}` : null
          },
        },
      },
    },
    send,
    verify,
  }
}

function projectOf({ settings }: Account): string {
  return encodeURIComponent(textAt(settings, 'projectId') ?? '')
}

function tokenDependsOn({ id, settings, secrets }: Account): string[] {
  return [id, secrets['serviceAccount'] ?? '', textAt(settings, 'tokenUrl') ?? '']
}

/** The key file, or what is wrong with it. */
function readServiceAccount(given: string): ServiceAccount | string {
  let json: unknown
  try {
    json = JSON.parse(given)
  } catch {
    return 'serviceAccount is not JSON'
  }
  const [client_email, private_key] = [textAt(json, 'client_email'), textAt(json, 'private_key')]
  if (client_email === null || private_key === null) return 'serviceAccount has no client_email or private_key'
  try {
    const { asymmetricKeyType } = createPrivateKey(private_key)
    if (asymmetricKeyType !== 'rsa') return 'the private_key of serviceAccount is no RSA key'
  } catch {
    return 'the private_key of serviceAccount cannot be read'
  }
  const [private_key_id, token_uri] = [textAt(json, 'private_key_id'), textAt(json, 'token_uri')]
  if (token_uri !== null && httpUrl(token_uri) !== null) return 'the token_uri of serviceAccount is not a URL'
  return { client_email, private_key, ...present({ private_key_id, token_uri }) }
}

function assertionOf(service: ServiceAccount, audience: string, now: number): string {
  const seconds = Math.floor(now / 1_000)
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = part({ alg: 'RS256', typ: 'JWT', kid: service.private_key_id })
  const claims = part({
    iss: service.client_email,
    scope: SCOPE,
    aud: audience,
    iat: seconds,
    exp: seconds + ASSERTION_SECONDS,
  })
  const signature = createSign('RSA-SHA256').update(`${header}.${claims}`).sign(service.private_key, 'base64url')
  return `${header}.${claims}.${signature}`
}

/** FCM's data are strings under names of its own choosing; the rest would be refused. */
function messageOf({ to, content, notificationId }: SendRequest): Record<string, unknown> {
  const data: Record<string, string> = { notificationId }
  for (const [name, value] of Object.entries(content.data))
    if (!RESERVED.test(name)) data[name] = typeof value === 'string' ? value : JSON.stringify(value)
  return {
    token: to.deviceToken,
    notification: present({ title: content.subject, body: content.body }),
    data,
  }
}

function refusalOf(answer: OutboundAnswer): { code: string; words: string; isAboutToken: boolean } {
  const json = jsonOf(answer)
  const details = at(json, 'error', 'details')
  const fcm = (Array.isArray(details) ? (details as unknown[]) : []).find((detail) =>
    textAt(detail, '@type')?.endsWith('FcmError'),
  )
  const status = textAt(json, 'error', 'status')
  const code = textAt(fcm, 'errorCode') ?? status ?? String(answer.status)
  const words = textAt(json, 'error', 'message') ?? `status ${answer.status}`
  return { code, words, isAboutToken: fcm !== undefined && code === 'INVALID_ARGUMENT' }
}

function judge(answer: OutboundAnswer, now: number): Outcome {
  if (answer.status === 200) return acceptedAs(textAt(jsonOf(answer), 'name'), 'FCM')
  const { code, words, isAboutToken } = refusalOf(answer)
  const rule = isAboutToken ? BAD_TOKEN : fcmRule(code, answer.status)
  return outcomeOf(rule, code, `FCM says: ${words}`, retryAfterOf(answer, now))
}
