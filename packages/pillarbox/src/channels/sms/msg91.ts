import type { Account } from '../../model/account.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Clock } from '../../model/ports.ts'
import type { Provider, SendRequest, Verification } from '../channel.ts'
import { ruleFor } from '../error-lines.ts'
import { digits, endpoint, headerSecret, matching } from '../fields.ts'
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
  unclear,
} from '../vendor-answers.ts'
import { MSG91_ERRORS } from './msg91-errors.ts'

const VENDOR = 'https://control.msg91.com'
/** The route for messages that are not advertising. */
const TRANSACTIONAL = '4'

/**
 * SMS in India by MSG91. With a `flowId` the flow of that id is sent with its variables, and MSG91 knows the registered
 * text; without one the rendered words are sent as they are, with the DLT ids of template and entity. Our notification's
 * id travels as `CRQID` and comes back in delivery reports. There is no idempotency key.
 */
export function msg91Provider({ outbound, clock }: { outbound: Outbound; clock: Clock }): Provider {
  const call = (account: Account, path: string, json: Record<string, unknown>, signal: AbortSignal) =>
    callVendor(outbound, {
      method: 'POST',
      url: `${baseOf(account.settings, VENDOR)}${path}`,
      headers: { authkey: account.secrets['authKey'] ?? '' },
      json,
      signal,
    })

  async function send(request: SendRequest): Promise<Outcome> {
    const isFlow = textAt(request.content.providerTemplate, 'flowId') !== null
    const [path, body] = isFlow ? ['/api/v5/flow', flowOf(request)] : ['/api/v2/sendsms', wordsOf(request)]
    const answer = await call(request.account, path, body, request.signal)
    return answer.kind === 'answer' ? judge(noted(request, answer), clock.now()) : answer
  }

  /** A flow to nobody: MSG91 complains of the key before it complains of the rest. */
  async function verify(account: Account, signal: AbortSignal): Promise<Verification> {
    const answer = await call(account, '/api/v5/flow', { template_id: '', recipients: [] }, signal)
    if (answer.kind !== 'answer') return { isGood: false, error: answer.error }
    const { code, words } = refusalOf(answer)
    return ruleFor(MSG91_ERRORS, code, answer.status).does === 'halt'
      ? { isGood: false, error: `MSG91 says: ${words}` }
      : { isGood: true, detail: 'MSG91 knows the key.' }
  }

  return {
    name: 'msg91',
    channels: ['sms'],
    words:
      'SMS in India by MSG91. With `providerTemplate.flowId` it sends that flow with its variables, without one the words as they are, with the DLT ids of template and entity.',
    capability: () => 'none',
    fields: {
      settings: {
        senderId: {
          words: 'The registered header: six letters.',
          isRequired: true,
          problem: matching(/^[A-Za-z0-9]{3,11}$/, '3 to 11 letters and digits'),
        },
        dltEntityId: { words: 'The principal entity’s id on the DLT platform.', problem: digits },
        route: {
          words: `${TRANSACTIONAL} for service messages (default), 1 for promotional ones.`,
          problem: matching(/^[A-Za-z0-9]{1,20}$/, 'a route of the panel, such as 4'),
        },
        endpoint,
      },
      secrets: {
        authKey: { words: 'The authentication key of the panel.', isRequired: true, problem: headerSecret },
        webhookToken: {
          words: 'What delivery reports carry in their address; made if not given.',
          problem: headerSecret,
        },
      },
    },
    send,
    verify,
  }
}

/** Country code and number, without the plus. */
function mobileOf({ to }: SendRequest): string {
  return (to.phone ?? '').replace(/^\+/, '')
}

function flowOf(request: SendRequest): Record<string, unknown> {
  const template = request.content.providerTemplate ?? {}
  const variables = at(template, 'variables')
  return {
    template_id: textAt(template, 'flowId'),
    sender: textAt(request.account.settings, 'senderId'),
    short_url: '0',
    recipients: [
      {
        ...(typeof variables === 'object' ? variables : {}),
        // Last: a variable of that name must not send it to somebody else.
        mobiles: mobileOf(request),
        CRQID: request.notificationId,
      },
    ],
  }
}

function wordsOf(request: SendRequest): Record<string, unknown> {
  const { account, content } = request
  return {
    sender: textAt(account.settings, 'senderId'),
    route: textAt(account.settings, 'route') ?? TRANSACTIONAL,
    // The numbers have their country codes.
    country: '0',
    CRQID: request.notificationId,
    ...present({
      unicode: /^\p{ASCII}*$/u.test(content.body) ? null : '1',
      DLT_TE_ID: textAt(content.providerTemplate, 'dltTemplateId'),
      PE_ID: textAt(content.providerTemplate, 'dltEntityId') ?? textAt(account.settings, 'dltEntityId'),
    }),
    sms: [{ message: content.body, to: [mobileOf(request)] }],
  }
}

/** MSG91 says what came of it in `type`, whatever the status. */
function judge(answer: OutboundAnswer, now: number): Outcome {
  const json = jsonOf(answer)
  const type = textAt(json, 'type')
  if (type === 'success') return acceptedAs(textAt(json, 'request_id') ?? textAt(json, 'message'), 'MSG91')
  if (type === null && answer.status < 400) return unclear(`MSG91 answered ${answer.status} with something else`)
  const { code, words } = refusalOf(answer)
  return outcomeOf(ruleFor(MSG91_ERRORS, code, answer.status), code, `MSG91 says: ${words}`, retryAfterOf(answer, now))
}

function refusalOf(answer: OutboundAnswer): { code: string; words: string } {
  const json = jsonOf(answer)
  const words = textAt(json, 'message') ?? `status ${answer.status}`
  const code = textAt(json, 'code') ?? /^(?:code:? ?)?(\d{3})\b/i.exec(words)?.[1] ?? String(answer.status)
  return { code, words }
}
