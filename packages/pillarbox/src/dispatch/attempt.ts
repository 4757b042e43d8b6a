import type { SendRequest } from '../channels/channel.ts'
import type { Account } from '../model/account.ts'
import type { AttemptView } from '../model/notification.ts'
import type { CallDeadline } from './deadline.ts'
import type { Claim, Completion } from './dispatch-store.ts'
import { findRecipients, findSender, isToItsAddress, openContent, type PrepareCallDeps } from './prepare-call.ts'
import {
  askAboutEarlierCall,
  callProvider,
  type Doubt,
  doubtOf,
  type ProviderCall,
  requestOf,
  tooEarly,
} from './provider-call.ts'
import { notTheProvidersDoing, settle, settleUnsent } from './settle.ts'
import { whenStoreAnswers } from './when-store-answers.ts'

export interface AttemptDeps extends PrepareCallDeps {
  /** The calls that were made for a notification before. */
  earlierCalls(notificationId: string): Promise<readonly AttemptView[]>
  /** May a provider call begin now (heartbeat)? Asked immediately before the first byte. */
  mayStart(): boolean
}

/**
 * One attempt, from a committed claim to the result that is to be written; null: nothing has left this process, and the claim
 * goes back as it was.
 *
 *   find the sender, or refuse what must not be sent ─▶ open sealed content ─▶ resolve a recipient list, leave out who is
 *   suppressed ─▶ ask about a call in doubt ─▶ call the provider within the deadline ─▶ settle (settle.ts): decide, move to
 *   another account or fall back to another channel
 *
 * It waits only where a step has something to wait for: of most messages only the provider's call is waited for.
 */
export async function attempt(
  deps: AttemptDeps,
  claim: Claim,
  account: Account | null,
  deadline: CallDeadline,
): Promise<Completion | null> {
  let call: ProviderCall
  let request: SendRequest
  try {
    const sender = findSender(deps, claim, account)
    if ('reason' in sender) return await settleUnsent(deps, claim, account, sender)

    const opened = openContent(deps, claim)
    if ('reason' in opened) return await settleUnsent(deps, claim, account, opened)

    const recipients = isToItsAddress(deps, claim) ? null : await findRecipients(deps, claim, sender.account)
    if (recipients && 'reason' in recipients) return await settleUnsent(deps, claim, account, recipients)
    // The store failed, not the provider.
    if (recipients && 'outcome' in recipients)
      return await settle(notTheProvidersDoing(deps), { claim, ...sender }, recipients.outcome, deps.clock.monotonic())

    if (!deps.mayStart()) return null
    const targets = recipients?.targets ?? null
    call = {
      claim,
      account: sender.account,
      provider: sender.provider,
      secrets: secretsOf(claim, opened.secrets),
      targets,
      exchange: { answer: null, refused: null },
    }
    request = requestOf(call, opened.content, deadline.signal)
  } catch (error) {
    // A bug, or content that meets one: the claim goes back and harms no other.
    const { notificationId, correlationId } = claim
    deps.logger.error({ notificationId, correlationId, error: String(error) }, 'a call could not be begun')
    return null
  }

  if (claim.possibleDuplicate) {
    const askedAt = deps.clock.monotonic()
    const { isKeyOld, lagLeftMs, calls } = await findDoubt(deps, call)
    // The vendor would take a repeat for another message.
    if (isKeyOld) call.capability = 'none'
    const found = await askAboutEarlierCall(call.provider, request, deadline)
    if (found) return settleFound(await settle(deps, call, found, askedAt), calls)
    if (lagLeftMs > 0) return settle(notTheProvidersDoing(deps), call, tooEarly(lagLeftMs), askedAt)
    // Asking takes as long as a call may: the lease may no longer last for another.
    if (!deps.mayStart()) return null
  }

  const startedAt = deps.clock.monotonic()
  const outcome = await callProvider(call.provider, request, deadline)
  return settle(deps, call, outcome, startedAt)
}

/** What the vendor may repeat and nobody is to read: a device token is as good as a key to the device. */
function secretsOf({ to: { deviceToken } }: Claim, ofContent: readonly string[]): readonly string[] {
  return deviceToken === undefined ? ofContent : [...ofContent, deviceToken]
}

/** A message that is found by asking after a single call is the only one. */
function settleFound(completion: Completion, calls: number | null): Completion {
  const isOnlyOne = completion.outcome === 'accepted' && (calls ?? completion.attempt - 1) === 1
  return isOnlyOne ? { ...completion, possibleDuplicate: false } : completion
}

/** Read only for a provider that makes a difference of it; what cannot be read is taken for too long ago. */
async function findDoubt(deps: AttemptDeps, { claim, provider }: ProviderCall): Promise<Doubt> {
  if (provider.keyWindowMs === undefined && provider.lookupLagMs === undefined)
    return { isKeyOld: false, lagLeftMs: 0, calls: null }
  try {
    const attempts = await whenStoreAnswers(deps.clock, () => deps.earlierCalls(claim.notificationId))
    return doubtOf(provider, attempts, claim.claimedAt)
  } catch {
    return { isKeyOld: true, lagLeftMs: provider.lookupLagMs ?? 0, calls: null }
  }
}
