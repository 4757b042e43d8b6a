import type { Account } from '../../model/account.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Clock } from '../../model/ports.ts'
import { TIER_NAMES } from '../../model/tiers.ts'
import type { Provider, SendRequest, Verification } from '../channel.ts'
import { digits, endpoint, headerSecret, matching, oneOf } from '../fields.ts'
import type { Outbound, OutboundAnswer } from '../outbound.ts'
import {
  at,
  baseOf,
  callVendor,
  jsonOf,
  noted,
  outcomeOf,
  present,
  retryAfterOf,
  textAt,
  tooLong,
  unclear,
} from '../vendor-answers.ts'
import { metaRule, metaStatusRule } from './meta-errors.ts'

const VENDOR = 'https://graph.facebook.com'
const VERSION = 'v26.0'
const WITHOUT_APP_SECRET =
  'Without the secret appSecret its callbacks cannot be verified: all are refused, and no message is ever shown as delivered, read or failed after it was sent.'
const LONGEST_TEXT = 4_096

/**
 * WhatsApp by Meta's Cloud API. With a provider template it sends that approved template, otherwise a session message,
 * which Meta delivers only within 24 hours of the recipient's last word. Meta has no idempotency key; the notification's
 * id travels as `biz_opaque_callback_data` and comes back in receipts.
 */
export function metaProvider({ outbound, clock }: { outbound: Outbound; clock: Clock }): Provider {
  async function send(request: SendRequest): Promise<Outcome> {
    const { account, signal } = request
    const { body, providerTemplate } = request.content
    if (!providerTemplate && account.settings['messageType'] === 'template')
      return outcomeOf(
        { does: 'fail', reason: 'template_rejected' },
        'no_template',
        'the account sends approved templates only, and this message has none',
      )
    if (!providerTemplate && body.length > LONGEST_TEXT) return tooLong(`${LONGEST_TEXT} characters`)
    const answer = await callVendor(outbound, {
      method: 'POST',
      url: `${numberUrl(account)}/messages`,
      headers: authorization(account),
      json: messageOf(request),
      signal,
    })
    return answer.kind === 'answer' ? judge(noted(request, answer), clock.now()) : answer
  }

  async function verify(account: Account, signal: AbortSignal): Promise<Verification> {
    const answer = await callVendor(outbound, {
      method: 'GET',
      url: `${numberUrl(account)}?fields=display_phone_number,verified_name`,
      headers: authorization(account),
      signal,
    })
    if (answer.kind !== 'answer') return { isGood: false, error: answer.error }
    const json = jsonOf(answer)
    if (answer.status === 200) {
      const name = textAt(json, 'verified_name') ?? 'a number'
      const known = `Meta knows it as ${name}, ${textAt(json, 'display_phone_number') ?? 'unnamed'}.`
      return { isGood: true, detail: account.secrets['appSecret'] ? known : `${known} ${WITHOUT_APP_SECRET}` }
    }
    return { isGood: false, error: `Meta says: ${textAt(json, 'error', 'message') ?? `status ${answer.status}`}` }
  }

  /** Meta calls the address at once to see whether it is ours. The override goes before the address that the app itself names. */
  async function connect(account: Account, webhookUrl: string, signal: AbortSignal): Promise<Verification> {
    const { settings, secrets } = account
    const wabaId = textAt(settings, 'wabaId')
    if (wabaId === null)
      return { isGood: false, error: 'Set wabaId first: Meta is told by it whose receipts are meant.' }
    if (!secrets['verifyToken'])
      return { isGood: false, error: 'Set the secret verifyToken first: Meta asks for it when it checks the address.' }
    const answer = await callVendor(outbound, {
      method: 'POST',
      url: `${graphUrl(account)}/${wabaId}/subscribed_apps`,
      headers: authorization(account),
      json: { override_callback_uri: webhookUrl, verify_token: secrets['verifyToken'] },
      signal,
    })
    if (answer.kind !== 'answer') return { isGood: false, error: answer.error }
    const json = jsonOf(answer)
    if (answer.status === 200 && at(json, 'success') === true)
      return {
        isGood: true,
        detail: `The app is subscribed to the business account ${wabaId}, and Meta sends its receipts to ${webhookUrl}.`,
      }
    return { isGood: false, error: `Meta says: ${textAt(json, 'error', 'message') ?? `status ${answer.status}`}` }
  }

  return {
    name: 'meta',
    channels: ['whatsapp'],
    words:
      'WhatsApp by Meta’s Cloud API. With a `providerTemplate` it sends that approved template, without one a session message, which Meta delivers only within 24 hours of the recipient’s last word.',
    capability: () => 'none',
    fields: {
      settings: {
        phoneNumberId: { words: 'The id of the business phone number.', isRequired: true, problem: digits },
        wabaId: {
          words: 'The id of the WhatsApp business account, which `POST …/{id}/connect` needs.',
          problem: digits,
        },
        apiVersion: {
          words: `The version of the Graph API; ${VERSION} by default.`,
          problem: matching(/^v\d{1,3}\.\d$/, `a version such as ${VERSION}`),
        },
        tier: {
          words: 'The number’s [tier](#tiers), which is its pace where the account names no other.',
          problem: oneOf(...TIER_NAMES),
        },
        messageType: {
          words: '`auto` (default): a template where there is one. `template`: never a session message.',
          problem: oneOf('auto', 'template'),
        },
        endpoint,
      },
      secrets: {
        accessToken: {
          words: 'A system user’s token with whatsapp_business_messaging.',
          isRequired: true,
          problem: headerSecret,
        },
        appSecret: { words: 'The app’s secret, which receipts are signed with.', without: WITHOUT_APP_SECRET },
        verifyToken: {
          words: 'What Meta repeats when the webhook is set up.',
          without: 'Meta cannot be told of the webhook: it asks for this token, and is refused.',
        },
      },
    },
    send,
    verify,
    connect,
  }
}

function graphUrl({ settings }: Account): string {
  return `${baseOf(settings, VENDOR)}/${textAt(settings, 'apiVersion') ?? VERSION}`
}

function numberUrl(account: Account): string {
  return `${graphUrl(account)}/${textAt(account.settings, 'phoneNumberId') ?? ''}`
}

function authorization({ secrets }: Account): Record<string, string> {
  return { authorization: `Bearer ${secrets['accessToken'] ?? ''}` }
}

function messageOf({ to, content, notificationId, locale }: SendRequest): Record<string, unknown> {
  const common = {
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    to: to.phone,
    biz_opaque_callback_data: notificationId,
  }
  const template = content.providerTemplate
  if (!template) return { ...common, type: 'text', text: { body: content.body, preview_url: false } }
  const language = template['language'] ?? (locale ?? 'en').replace('-', '_')
  return {
    ...common,
    type: 'template',
    template: {
      name: template['name'],
      language: typeof language === 'string' ? { code: language } : language,
      ...present({ components: template['components'] }),
    },
  }
}

/** Meta says to branch on the code, not on the status. A 200 without a message's id is no success. */
function judge(answer: OutboundAnswer, now: number): Outcome {
  const json = jsonOf(answer)
  const id = textAt(json, 'messages', 0, 'id')
  if (answer.status === 200 && id !== null) return { kind: 'accepted', providerMessageId: id }
  const code = Number(at(json, 'error', 'code'))
  if (Number.isInteger(code) && at(json, 'error', 'code') !== '') {
    const details = textAt(json, 'error', 'error_data', 'details') ?? textAt(json, 'error', 'error_data')
    const words = [textAt(json, 'error', 'message'), details].filter((part) => part !== null).join(': ')
    const rule = metaRule(code, answer.status)
    return outcomeOf(rule, String(code), `Meta says: ${words || 'nothing more'}`, retryAfterOf(answer, now))
  }
  const error = `Meta answered ${answer.status} without a message id or an error code`
  if (answer.status >= 400)
    return outcomeOf(metaStatusRule(answer.status), String(answer.status), error, retryAfterOf(answer, now))
  return unclear(error)
}
