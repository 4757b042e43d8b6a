import type { Capability, Provider, SendRequest } from '../channels/channel.ts'
import { inTrace } from '../channels/trace.ts'
import type { Account } from '../model/account.ts'
import type { AttemptView, Content } from '../model/notification.ts'
import { ATTEMPT_OUTCOMES, type Exchange, type Outcome } from '../model/outcome.ts'
import type { CallDeadline } from './deadline.ts'
import type { Claim } from './dispatch-store.ts'

/** Who calls which provider about which claim. */
export interface ProviderCall {
  claim: Claim
  account: Account
  provider: Provider
  /** Secret values in the content, to be kept out of what the provider says about it. */
  secrets?: readonly string[]
  /** The members of the recipient list it is addressed to; null or absent where it has an address of its own. */
  targets?: readonly string[] | null
  /** What the provider wrote down of the call; absent where none was made. */
  exchange?: Exchange
  /** What may be done about a call in doubt, where that is less by now than its provider can do. */
  capability?: Capability
}

export function requestOf(
  { claim, account, targets, exchange = { answer: null, refused: null } }: ProviderCall,
  content: Content,
  signal: AbortSignal,
): SendRequest {
  return {
    account,
    channel: claim.channel,
    key: claim.notificationId,
    notificationId: claim.notificationId,
    attempt: claim.attempt,
    to: targets ? { ...claim.to, bcc: targets } : claim.to,
    content,
    locale: claim.locale,
    correlationId: claim.correlationId,
    traceparent: claim.traceparent ?? null,
    signal,
    exchange,
  }
}

/** Calls the provider. Never rejects: a provider that throws has a bug, and what it did before is unknown. */
export function callProvider(provider: Provider, request: SendRequest, deadline: CallDeadline): Promise<Outcome> {
  const threw = (error: unknown): Outcome => ({ kind: 'unknown', code: 'provider_threw', error: inWords(error) })
  try {
    const sending = inTrace(request.traceparent ?? null, () => provider.send(request))
    return deadline.within(sending, checked, threw, deadline.timeout)
  } catch (error) {
    return Promise.resolve(threw(error))
  }
}

/** What the vendor says of an earlier call whose outcome is unknown; null when it cannot tell or never saw that call. */
export async function askAboutEarlierCall(
  provider: Provider,
  request: SendRequest,
  deadline: CallDeadline,
): Promise<Outcome | null> {
  if (!provider.lookup || capabilityOf(provider, request.account) !== 'lookup') return null
  // Asking changed nothing, so failing to ask is an ordinary reason to try again later.
  const failed: Outcome = {
    kind: 'transient',
    code: 'lookup_failed',
    error: 'the provider could not be asked about an earlier call',
  }
  // Where the vendor never saw the call, but said so too late, the call cannot be made now.
  const read = (answer: Outcome | null) => (answer ? checked(answer) : deadline.signal.aborted ? failed : null)
  try {
    return await deadline.within(provider.lookup(request), read, () => failed, failed)
  } catch {
    return failed
  }
}

/** A provider that cannot say what it is capable of is trusted with nothing. */
export function capabilityOf(provider: Provider, account: Account): Capability {
  try {
    return provider.capability(account)
  } catch {
    return 'none'
  }
}

/** An answer that is no outcome says nothing about the call. */
function checked(outcome: Outcome): Outcome {
  if (!ATTEMPT_OUTCOMES.includes(outcome?.kind)) return malformed('the provider answered something that is no outcome')
  if (outcome.kind !== 'accepted') return { ...outcome, code: inWords(outcome.code), error: inWords(outcome.error) }
  return outcome.providerMessageId ? outcome : malformed('the provider accepted without naming the message')
}

function malformed(error: string): Outcome {
  return { kind: 'unknown', code: 'malformed_reply', error }
}

/** Not everything that a provider answers or throws can be made a string of. */
function inWords(value: unknown): string {
  try {
    return String(value)
  } catch {
    return 'the provider gave a value that has no words'
  }
}

/** What the time since the earlier calls of a notification leaves of what its provider can do about a doubt. */
export interface Doubt {
  /** The vendor knows no repeat of the first call any more. */
  isKeyOld: boolean
  /** How long the vendor may still not know of the last call. */
  lagLeftMs: number
  /** How many calls were made; null where nobody knows. */
  calls: number | null
}

/** The code of a look-up that found nothing, and came too early to be believed. */
const TOO_EARLY = 'lookup_too_early'

export function doubtOf(
  { keyWindowMs = Number.POSITIVE_INFINITY, lookupLagMs = 0 }: Provider,
  attempts: readonly AttemptView[],
  now: number,
): Doubt {
  const made = attempts.filter(({ code }) => code !== TOO_EARLY)
  const firstAt = Math.min(...made.map(({ startedAt }) => startedAt))
  const lastAt = Math.max(...made.map(({ startedAt, durationMs }) => startedAt + durationMs))
  return {
    isKeyOld: now - firstAt >= keyWindowMs,
    lagLeftMs: made.length === 0 ? 0 : Math.max(0, lastAt + lookupLagMs - now),
    calls: made.length,
  }
}

/** Nothing was found, which says nothing yet: asked again once the vendor must know. Burns no attempt. */
export function tooEarly(lagLeftMs: number): Outcome {
  const error = 'the provider knows of no earlier call, and may not know of it yet'
  return { kind: 'throttled', scope: 'recipient', code: TOO_EARLY, error, retryAfterMs: lagLeftMs }
}
