import type { Account } from '../../model/account.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Clock } from '../../model/ports.ts'
import type { Provider, SendRequest, Verification } from '../channel.ts'
import { httpUrl, secretText } from '../fields.ts'
import type { Outbound, OutboundAnswer } from '../outbound.ts'
import { callVendor, noted, outcomeOf, present, retryAfterOf, textAt, tooLong } from '../vendor-answers.ts'
import { SIGNING_SECRET, signedHeaders, signingKeys } from './signature.ts'
import { WEBHOOK_STATUSES, webhookRule } from './webhook-errors.ts'

/** What a receiver of Standard Webhooks takes at most, by the standard's advice. */
const LONGEST_BODY = 20_000

/**
 * A signed POST to somebody else's endpoint, in the form of Standard Webhooks. `webhook-id` is the same over all attempts,
 * so a receiver that looks at it gets each notification once: that is why the outcome of a call in doubt is simply to call
 * again. A signing secret of several, separated by spaces, signs with each, so that one can be changed for another.
 */
export function webhookProvider({ outbound, clock }: { outbound: Outbound; clock: Clock }): Provider {
  async function send(request: SendRequest): Promise<Outcome> {
    const { account, notificationId, signal } = request
    const url = request.to.url ?? textAt(account.settings, 'url')
    if (!url) return outcomeOf({ does: 'dead' }, 'no_url', 'there is no URL to send to')
    const body = JSON.stringify(messageOf(request, clock.now()))
    if (Buffer.byteLength(body) > LONGEST_BODY) return tooLong(`${LONGEST_BODY} bytes`)
    const secret = account.secrets['signingSecret'] ?? ''
    const signed = signedHeaders(secret, { id: notificationId, body, now: clock.now() })
    if (signed === null) return outcomeOf({ does: 'halt' }, 'bad_signing_secret', `signingSecret ${SIGNING_SECRET}`)
    const answer = await callVendor(outbound, {
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json', ...signed },
      body,
      signal,
    })
    if (answer.kind === 'answer') return judge(noted(request, answer), notificationId, clock.now())
    // The receiver's address is the tenant's data, not the account's: a bad one is no reason to stop the account.
    return answer.kind === 'unauthorized'
      ? outcomeOf({ does: 'fail', reason: 'invalid_recipient' }, answer.code, answer.error)
      : answer
  }

  async function verify(account: Account): Promise<Verification> {
    return signingKeys(account.secrets['signingSecret'] ?? '') === null
      ? { isGood: false, error: `signingSecret ${SIGNING_SECRET}.` }
      : { isGood: true, detail: 'The signing secret can be used; receivers are not asked.' }
  }

  return {
    name: 'webhook',
    channels: ['webhook'],
    words:
      'A POST to somebody else’s endpoint, signed as Standard Webhooks has it. `webhook-id` is the same over all attempts, so that a receiver can tell a repeat.',
    capability: () => 'key',
    // The time that Standard Webhooks 1.0.0 gives as its example (“Verifying signatures”); a receiver may know no other.
    keyWindowMs: 5 * 60_000,
    fields: {
      settings: { url: { words: 'Where to send what names no URL of its own.', problem: httpUrl, dials: true } },
      secrets: {
        signingSecret: {
          words:
            '`whsec_` and base64 of 24 to 64 bytes; or several, separated by spaces, while one is changed for another.',
          isRequired: true,
          problem: (value) => secretText(value) ?? (signingKeys(String(value)) === null ? SIGNING_SECRET : null),
        },
      },
    },
    send,
    verify,
  }
}

function messageOf({ content, correlationId }: SendRequest, now: number): Record<string, unknown> {
  return {
    type: content.subject ?? 'notification',
    timestamp: new Date(now).toISOString(),
    data: { ...content.data, ...present({ body: content.body || null }) },
    ...present({ correlationId }),
  }
}

function judge(answer: OutboundAnswer, notificationId: string, now: number): Outcome {
  const { status } = answer
  // Receivers name nothing; what they were given is what they know it by.
  if (status >= 200 && status < 300) return { kind: 'accepted', providerMessageId: notificationId }
  const words = WEBHOOK_STATUSES[status]?.words ?? 'the receiver did not take it'
  return outcomeOf(webhookRule(status), String(status), `answered ${status}: ${words}`, retryAfterOf(answer, now))
}
