import {
  type Account,
  baseOf,
  endpoint,
  headerSecret,
  jsonOf,
  matching,
  noted,
  type OutboundAnswer,
  type Outcome,
  type OwnProviderDeps,
  outcomeOf,
  outcomeOfFailure,
  type Provider,
  type Rule,
  retryAfterOf,
  type SendRequest,
  textAt,
  type Verification,
} from 'pillarbox'

const VENDOR = 'https://api.sms.example.com'
const HOUR_MS = 3_600_000

/** What the vendor's error codes mean. One line per code, one test per line. */
export const EXAMPLE_SMS_ERRORS: Readonly<Record<string, Rule & { words: string }>> = {
  invalid_key: { does: 'halt', words: 'The key is wrong or was revoked.' },
  no_credit: { does: 'halt', words: 'The account has no credit left.' },
  unknown_sender: { does: 'halt', words: 'The sender is not registered.' },
  invalid_number: { does: 'dead', words: 'There is no such number.' },
  opted_out: { does: 'dead', words: 'The recipient wants no more messages.' },
  unreachable: { does: 'fail', reason: 'unreachable', words: 'The recipient’s network cannot be reached.' },
  forbidden_content: { does: 'fail', reason: 'content_rejected', words: 'The network does not take these words.' },
  rate_limited: { does: 'throttle', words: 'The account sends too fast.' },
  number_busy: { does: 'throttle', scope: 'recipient', words: 'Too many messages to this number.' },
  quiet_hours: { does: 'defer', afterMs: 8 * HOUR_MS, words: 'Nobody may be written to at this hour.' },
  maintenance: { does: 'retry', afterMs: 120_000, words: 'The vendor is at work on its systems.' },
  internal: { does: 'retry', words: 'Something went wrong at the vendor.' },
}

/** SMS by a vendor that does not exist, as an example of a provider. */
export function exampleSmsProvider({ outbound, clock }: OwnProviderDeps): Provider {
  async function send(request: SendRequest): Promise<Outcome> {
    const { account, to, content, key, signal } = request
    const answer = await outbound.request({
      method: 'POST',
      url: `${baseOf(account.settings, VENDOR)}/v1/messages`,
      headers: { ...authorization(account), 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify({ to: to.phone, from: textAt(account.settings, 'sender'), text: content.body }),
      signal,
    })
    return answer.kind === 'failure' ? outcomeOfFailure(answer) : judge(noted(request, answer), clock.now())
  }

  async function verify(account: Account, signal: AbortSignal): Promise<Verification> {
    const answer = await outbound.request({
      method: 'GET',
      url: `${baseOf(account.settings, VENDOR)}/v1/account`,
      headers: authorization(account),
      signal,
    })
    if (answer.kind === 'failure') return { isGood: false, error: answer.error }
    if (answer.status === 200) return { isGood: true, detail: `Known as ${textAt(jsonOf(answer), 'name')}.` }
    return { isGood: false, error: `Example SMS says: ${refusalOf(answer).words}` }
  }

  return {
    name: 'example-sms',
    channels: ['sms'],
    words: 'SMS by a vendor that does not exist.',
    // The vendor knows a repeat by its Idempotency-Key: a call whose answer was lost may simply be made again.
    capability: () => 'key',
    fields: {
      settings: {
        sender: {
          words: 'Who it is from.',
          isRequired: true,
          problem: matching(/^[A-Za-z0-9]{3,11}$/, '3 to 11 letters and digits'),
        },
        endpoint,
      },
      secrets: { apiKey: { words: 'The key from the vendor’s panel.', isRequired: true, problem: headerSecret } },
    },
    send,
    verify,
  }
}

function authorization({ secrets }: Account): Record<string, string> {
  return { authorization: `Bearer ${secrets['apiKey'] ?? ''}` }
}

/** A 2xx without a message's id is no success: nobody knows what became of it. */
function judge(answer: OutboundAnswer, now: number): Outcome {
  const id = textAt(jsonOf(answer), 'id')
  if (answer.status < 300 && id !== null) return { kind: 'accepted', providerMessageId: id }
  if (answer.status < 400)
    return { kind: 'unknown', code: 'malformed_reply', error: `answered ${answer.status} without a message id` }
  const { code, words } = refusalOf(answer)
  return outcomeOf(ruleFor(code, answer.status), code, `Example SMS says: ${words}`, retryAfterOf(answer, now))
}

/** A code that is in no table goes by its status. */
function ruleFor(code: string, status: number): Rule {
  const known = Object.hasOwn(EXAMPLE_SMS_ERRORS, code) ? EXAMPLE_SMS_ERRORS[code] : undefined
  if (known) return known
  if (status === 401 || status === 403) return { does: 'halt' }
  if (status === 429) return { does: 'throttle' }
  return status >= 500 ? { does: 'retry' } : { does: 'fail', reason: 'permanent_refusal' }
}

function refusalOf(answer: OutboundAnswer): { code: string; words: string } {
  const json = jsonOf(answer)
  return {
    code: textAt(json, 'error', 'code') ?? String(answer.status),
    words: textAt(json, 'error', 'message') ?? `status ${answer.status}`,
  }
}
