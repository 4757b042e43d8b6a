import type { Capability, Provider, SendRequest } from '../channels/channel.ts'
import type { Account } from '../model/account.ts'
import type { Content } from '../model/notification.ts'
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
    signal,
    exchange,
  }
}

/** Calls the provider. Never rejects: a provider that throws has a bug, and what it did before is unknown. */
export function callProvider(provider: Provider, request: SendRequest, deadline: CallDeadline): Promise<Outcome> {
  const threw = (error: unknown): Outcome => ({ kind: 'unknown', code: 'provider_threw', error: inWords(error) })
  try {
    return deadline.within(provider.send(request), checked, threw, deadline.timeout)
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
