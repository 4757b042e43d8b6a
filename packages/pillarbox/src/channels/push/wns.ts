import type { Account } from '../../model/account.ts'
import { escapeHtml } from '../../model/html.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Clock } from '../../model/ports.ts'
import type { Provider, SendRequest, Verification } from '../channel.ts'
import { ruleFor } from '../error-lines.ts'
import { endpoint, httpUrl, matching } from '../fields.ts'
import type { Outbound, OutboundAnswer } from '../outbound.ts'
import { createTokenCache, type TokenRequest } from '../token-cache.ts'
import {
  badSettings,
  callVendor,
  type Failure,
  noted,
  outcomeOf,
  retryAfterOf,
  textAt,
  tooLong,
  unclear,
} from '../vendor-answers.ts'
import { WNS_ANSWERS } from './wns-errors.ts'

const LEGACY_TOKEN_URL = 'https://login.live.com/accesstoken.srf'
const CHANNEL_HOSTS = '.notify.windows.com'
const LONGEST_BYTES = 5_000

/**
 * Windows push notifications. The device token is its channel's URI, which comes from outside: it is called only where its
 * host is Microsoft's, unless the account's `endpoint` says to call another host. With `tenantId` and `appId` the token
 * comes from Entra (Windows App SDK), with `packageSid` from the older service. A 200 means little: WNS says in a header
 * whether it took the notification.
 */
export function wnsProvider({ outbound, clock }: { outbound: Outbound; clock: Clock }): Provider {
  const tokens = createTokenCache({ outbound, clock })

  async function send(request: SendRequest): Promise<Outcome> {
    const { account, signal } = request
    const url = channelUrl(account, request.to.deviceToken ?? '')
    if (url === null) return outcomeOf({ does: 'dead' }, 'bad_channel', 'the device token is not a WNS channel’s URI')
    const body = toastOf(request)
    if (Buffer.byteLength(body) > LONGEST_BYTES) return tooLong(`${LONGEST_BYTES} bytes`)
    const asked = tokenRequest(account, signal)
    if ('kind' in asked) return asked
    const headers = { 'content-type': 'text/xml', 'x-wns-type': 'wns/toast', 'x-wns-requestforstatus': 'true' }
    const answer = await tokens.call(
      asked,
      (token) =>
        callVendor(outbound, {
          method: 'POST',
          url,
          headers: { ...headers, authorization: `Bearer ${token}` },
          body,
          signal,
        }),
      ({ status }) => status === 401,
    )
    return answer.kind === 'answer' ? judge(noted(request, answer), request.notificationId, clock.now()) : answer
  }

  async function verify(account: Account, signal: AbortSignal): Promise<Verification> {
    const asked = tokenRequest(account, signal)
    if ('kind' in asked) return { isGood: false, error: asked.error }
    tokens.forget(asked.of)
    const token = await tokens.get(asked)
    return token.kind === 'token'
      ? { isGood: true, detail: 'Microsoft gives an access token for this app.' }
      : { isGood: false, error: token.error }
  }

  return {
    name: 'wns',
    channels: ['push'],
    words:
      'Toasts on Windows by WNS; a device’s token is its channel’s URI. WNS tells nothing more of a notification that it took.',
    capability: () => 'none',
    fields: {
      settings: {
        packageSid: { words: 'The package SID of a store app.', problem: plainId },
        tenantId: { words: 'The directory of an app of the Windows App SDK.', problem: plainId },
        appId: { words: 'That app’s id.', problem: plainId },
        tokenUrl: {
          words: 'Where access tokens come from, in place of Microsoft’s.',
          problem: httpUrl,
          dials: true,
        },
        endpoint,
      },
      secrets: { clientSecret: { words: 'The app’s client secret.', isRequired: true } },
    },
    checkSettings: (settings) =>
      settings['packageSid'] || (settings['tenantId'] && settings['appId'])
        ? []
        : [{ path: '/settings/packageSid', message: 'is missing: either packageSid, or tenantId and appId' }],
    send,
    verify,
  }
}

const plainId = matching(/^[A-Za-z0-9:/._-]+$/, 'an id of letters, digits and hyphens')

function tokenRequest({ id, settings, secrets }: Account, signal: AbortSignal): TokenRequest | Failure {
  const names = ['tenantId', 'appId', 'packageSid', 'tokenUrl']
  const [tenantId, appId, packageSid, own] = names.map((name) => textAt(settings, name) ?? '')
  const isEntra = Boolean(tenantId && appId)
  if (!isEntra && !packageSid) return badSettings('either packageSid, or tenantId and appId, must be set')
  const entraUrl = `https://login.microsoftonline.com/${encodeURIComponent(tenantId ?? '')}/oauth2/v2.0/token`
  const secret = secrets['clientSecret'] ?? ''
  return {
    of: [id, secret, ...names.map((name) => textAt(settings, name) ?? '')],
    url: own || (isEntra ? entraUrl : LEGACY_TOKEN_URL),
    form: () => ({
      grant_type: 'client_credentials',
      client_id: (isEntra ? appId : packageSid) ?? '',
      client_secret: secret,
      scope: isEntra ? 'https://wns.windows.com/.default' : 'notify.windows.com',
    }),
    signal,
  }
}

/** The channel's URI, with the account's own host where it has one; null where it is not one. */
function channelUrl({ settings }: Account, token: string): string | null {
  if (!URL.canParse(token)) return null
  const url = new URL(token)
  const own = textAt(settings, 'endpoint')
  if (own !== null) return `${own.replace(/\/+$/, '')}${url.pathname}${url.search}`
  const isMicrosofts = url.protocol === 'https:' && url.port === '' && url.hostname.endsWith(CHANNEL_HOSTS)
  return isMicrosofts ? url.href : null
}

function toastOf({ content, notificationId }: SendRequest): string {
  const launch = JSON.stringify({ notificationId, ...content.data })
  const lines = [content.subject, content.body].filter((line) => line !== null && line !== '')
  const texts = lines.map((line, i) => `<text id="${i + 1}">${escaped(line ?? '')}</text>`).join('')
  return `<toast launch="${escaped(launch)}"><visual><binding template="ToastGeneric">${texts}</binding></visual></toast>`
}

/** XML text; what XML cannot say at all is left out. */
function escaped(value: string): string {
  return escapeHtml(value.replaceAll(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, ''))
}

function judge(answer: OutboundAnswer, notificationId: string, now: number): Outcome {
  const { status, headers } = answer
  const word = headers['x-wns-status'] ?? headers['x-wns-notificationstatus']
  // Its own id where it gives one: it is of use only to Microsoft's support.
  if (status === 200 && word === 'received')
    return { kind: 'accepted', providerMessageId: headers['x-wns-msg-id'] ?? notificationId }
  if (status === 200 && (word === undefined || !Object.hasOwn(WNS_ANSWERS, word)))
    return unclear(`WNS answered 200 with status "${word ?? ''}"`)
  const code = status === 200 ? (word ?? '') : String(status)
  const words = headers['x-wns-error-description'] ?? WNS_ANSWERS[code]?.words ?? 'nothing more'
  return outcomeOf(ruleFor(WNS_ANSWERS, code, status), code, `WNS says: ${words}`, retryAfterOf(answer, now))
}
