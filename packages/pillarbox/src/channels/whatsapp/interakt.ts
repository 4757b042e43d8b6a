import type { Account } from '../../model/account.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Clock } from '../../model/ports.ts'
import type { Provider, SendRequest, Verification } from '../channel.ts'
import { endpoint, headerSecret } from '../fields.ts'
import type { Outbound, OutboundAnswer } from '../outbound.ts'
import {
  acceptedAs,
  at,
  baseOf,
  callVendor,
  jsonOf,
  noted,
  outcomeOf,
  present,
  retryAfterOf,
  textAt,
} from '../vendor-answers.ts'
import { interaktRule } from './interakt-errors.ts'

const VENDOR = 'https://api.interakt.ai'

/**
 * WhatsApp by Interakt, a partner of Meta. It takes templates by name and lists of values, free text within 24 hours of
 * the customer's last word, and our id as `callbackData`, which comes back in receipts. It has no idempotency key.
 * Interakt's own fallback to SMS stays off: the chain is ours.
 */
export function interaktProvider({ outbound, clock }: { outbound: Outbound; clock: Clock }): Provider {
  const call = (account: Account, json: Record<string, unknown>, signal: AbortSignal) =>
    callVendor(outbound, {
      method: 'POST',
      url: `${baseOf(account.settings, VENDOR)}/v1/public/message/`,
      // The key from the dashboard is base64 already.
      headers: { authorization: `Basic ${account.secrets['apiKey'] ?? ''}` },
      json,
      signal,
    })

  async function send(request: SendRequest): Promise<Outcome> {
    const answer = await call(request.account, messageOf(request), request.signal)
    return answer.kind === 'answer' ? judge(noted(request, answer), clock.now()) : answer
  }

  /** Interakt has no call that only looks: one with nothing in it is refused by its content, or by its key. */
  async function verify(account: Account, signal: AbortSignal): Promise<Verification> {
    const answer = await call(account, {}, signal)
    if (answer.kind !== 'answer') return { isGood: false, error: answer.error }
    if (answer.status === 400) return { isGood: true, detail: 'Interakt knows the key.' }
    return { isGood: false, error: `Interakt says: ${textAt(jsonOf(answer), 'message') ?? `status ${answer.status}`}` }
  }

  return {
    name: 'interakt',
    channels: ['whatsapp'],
    words:
      'WhatsApp by Interakt, a partner of Meta: approved templates, and free text within 24 hours of the customer’s last word.',
    capability: () => 'none',
    fields: {
      settings: { endpoint },
      secrets: {
        apiKey: {
          words: 'The secret key of Interakt’s developer settings, as it is shown there.',
          isRequired: true,
          problem: headerSecret,
        },
        webhookSecret: { words: 'What receipts are signed with.' },
        webhookToken: {
          words: 'What receipts carry in their address where no secret is set; made if not given.',
          problem: headerSecret,
        },
      },
    },
    send,
    verify,
  }
}

function messageOf({ to, content, notificationId, locale }: SendRequest): Record<string, unknown> {
  const common = { fullPhoneNumber: (to.phone ?? '').replace(/^\+/, ''), callbackData: notificationId }
  const template = content.providerTemplate
  if (!template) return { ...common, type: 'Text', data: { message: content.body } }
  return {
    ...common,
    type: 'Template',
    template: {
      name: template['name'],
      languageCode: textAt(template, 'language') ?? textAt(template, 'language', 'code') ?? locale?.slice(0, 2) ?? 'en',
      ...valuesOf(template),
    },
  }
}

/** Interakt's own lists where the template has them, else the texts of Meta's components. */
function valuesOf(template: Record<string, unknown>): Record<string, unknown> {
  const { headerValues, bodyValues, buttonValues, fileName } = template
  const own = { headerValues, bodyValues, buttonValues, fileName }
  if (Object.values(own).some((value) => value !== undefined)) return own
  const components = Array.isArray(template['components']) ? (template['components'] as unknown[]) : []
  const texts = (component: unknown): string[] => {
    const parameters = at(component, 'parameters')
    return Array.isArray(parameters) ? parameters.map((parameter) => textAt(parameter, 'text') ?? '') : []
  }
  const of = (type: string): unknown[] =>
    components.filter((component) => String(textAt(component, 'type')).toLowerCase() === type)
  const some = (values: string[]): string[] | null => (values.length > 0 ? values : null)
  const buttons = of('button').map((button, i): [string, string[]] => [
    textAt(button, 'index') ?? String(i),
    texts(button),
  ])
  return present({
    headerValues: some(of('header').flatMap(texts)),
    bodyValues: some(of('body').flatMap(texts)),
    buttonValues: buttons.length > 0 ? Object.fromEntries(buttons) : null,
  })
}

function judge(answer: OutboundAnswer, now: number): Outcome {
  const json = jsonOf(answer)
  const { status } = answer
  if (status >= 200 && status < 300)
    return acceptedAs(at(json, 'result') === true ? textAt(json, 'id') : null, 'Interakt')
  const words = textAt(json, 'message') ?? 'nothing more'
  return outcomeOf(interaktRule(status, words), String(status), `Interakt says: ${words}`, retryAfterOf(answer, now))
}
