import { createPrivateKey, createSign } from 'node:crypto'
import type { Account } from '../../model/account.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Clock } from '../../model/ports.ts'
import type { Provider, SendRequest, Verification } from '../channel.ts'
import { endpoint, httpUrl, matching } from '../fields.ts'
import type { Outbound, OutboundAnswer } from '../outbound.ts'
import { perAccount } from '../per-account.ts'
import { createTokenCache, type Token } from '../token-cache.ts'
import { at, baseOf, jsonOf, outcomeOf, outcomeOfFailure, retryAfterOf, textAt } from '../vendor-answers.ts'
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
    const { account, signal } = request
    const first = await post(account, { message: messageOf(request) }, signal)
    // A token may be refused that was good a moment ago, once.
    const isStale = first.kind === 'answer' && first.status === 401 && codeOf(first).code === 'UNAUTHENTICATED'
    if (isStale) tokens.forget(ofAccount(account))
    const answer = isStale ? await post(account, { message: messageOf(request) }, signal) : first
    if (answer.kind === 'answer') return judge(answer, clock.now())
    return answer.kind === 'failure' ? outcomeOfFailure(answer) : answer
  }

  async function post(account: Account, body: Record<string, unknown>, signal: AbortSignal) {
    const token = await tokenFor(account, signal)
    if (token.kind !== 'token') return token
    return await outbound.request({
      method: 'POST',
      url: `${baseOf(account.settings, VENDOR)}/v1/projects/${projectOf(account)}/messages:send`,
      headers: { authorization: `Bearer ${token.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    })
  }

  async function tokenFor(account: Account, signal: AbortSignal): Promise<Token> {
    const service = serviceOf(account)
    if (typeof service === 'string') return outcomeOf({ does: 'halt' }, 'bad_service_account', service) as Token
    const url = textAt(account.settings, 'tokenUrl') ?? service.token_uri ?? TOKEN_URL
    const form = () => ({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: assertionOf(service, url, clock.now()),
    })
    return await tokens.get({ of: ofAccount(account), url, form, signal })
  }

  /** FCM checks a message without sending it: credentials and project are then known to be good. */
  async function verify(account: Account, signal: AbortSignal): Promise<Verification> {
    const body = {
      validate_only: true,
      message: { topic: 'pillarbox-verify', notification: { title: 'x', body: 'x' } },
    }
    const answer = await post(account, body, signal)
    if (answer.kind === 'answer' && answer.status === 200)
      return { isGood: true, detail: `FCM takes messages for project ${projectOf(account)}.` }
    if (answer.kind === 'answer') return { isGood: false, error: `FCM says: ${codeOf(answer).words}` }
    return { isGood: false, error: answer.error }
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
          problem: (value) => problemOf(readServiceAccount(String(value))),
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

function problemOf(service: ServiceAccount | string): string | null {
  return typeof service === 'string' ? `cannot be used: ${service}` : null
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
    createPrivateKey(private_key)
  } catch {
    return 'the private_key of serviceAccount cannot be read'
  }
  const [private_key_id, token_uri] = [textAt(json, 'private_key_id'), textAt(json, 'token_uri')]
  if (token_uri !== null && httpUrl(token_uri) !== null) return 'the token_uri of serviceAccount is not a URL'
  return {
    client_email,
    private_key,
    ...(private_key_id === null ? {} : { private_key_id }),
    ...(token_uri === null ? {} : { token_uri }),
  }
}

function assertionOf(service: ServiceAccount, audience: string, now: number): string {
  const seconds = Math.floor(now / 1_000)
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = part({ alg: 'RS256', typ: 'JWT', ...(service.private_key_id ? { kid: service.private_key_id } : {}) })
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
    notification: { ...(content.subject === null ? {} : { title: content.subject }), body: content.body },
    data,
  }
}

function codeOf(answer: OutboundAnswer): { code: string; words: string; isAboutToken: boolean } {
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
  const name = textAt(jsonOf(answer), 'name')
  if (answer.status === 200)
    return name === null
      ? { kind: 'unknown', code: 'malformed_reply', error: 'FCM answered 200 without a message name' }
      : { kind: 'accepted', providerMessageId: name }
  const { code, words, isAboutToken } = codeOf(answer)
  const rule = isAboutToken ? BAD_TOKEN : fcmRule(code, answer.status)
  return outcomeOf(rule, code, `FCM says: ${words}`, retryAfterOf(answer, now))
}
