import type { Provider } from '../channels/channel.ts'
import type { Account } from '../model/account.ts'
import type { Channel } from '../model/channel.ts'
import type { Content } from '../model/notification.ts'
import type { Outcome } from '../model/outcome.ts'
import { isSealedContent, type PayloadSeal } from '../security/payload-seal.ts'
import type { Claim } from './dispatch-store.ts'
import type { ListTargets } from './list-targets.ts'
import { policyOf, type Refusal, type SettleDeps } from './settle.ts'
import type { SuppressionBook } from './suppressions.ts'

export interface PrepareCallDeps extends SettleDeps {
  /** Opens content that holds secrets, for this call only. */
  openContent: PayloadSeal['openContent']
  /** Whom a recipient list stands for now. */
  listTargets(tenantId: string, list: string, channel: Channel): Promise<ListTargets>
  /** Which addresses must not be used, and the place to remember dead ones. */
  suppressions: SuppressionBook
}

/** The account that sends, and its provider; or why the claim must not be sent. */
export function findSender(
  { registry }: PrepareCallDeps,
  { expiresAt, claimedAt, channel }: Claim,
  account: Account | null,
): { account: Account; provider: Provider } | Refusal {
  if (expiresAt !== null && expiresAt <= claimedAt)
    return { to: 'cancelled', reason: 'expired', error: 'not sent before its expiry' }
  if (!account) return { to: 'parked', reason: 'no_active_channels', error: 'the account no longer exists' }
  const { name, status, statusReason } = account
  if (status === 'suspended')
    return { to: 'parked', reason: 'channel_suspended', error: `account ${name} is suspended` }
  const provider = registry(channel, account.provider)
  if (!provider)
    return { to: 'parked', reason: 'provider_missing', error: `no provider "${account.provider}" for ${channel}` }
  if (status === 'paused') {
    const error = `account ${name} is paused: ${statusReason ?? 'its credentials were refused'}`
    return { to: 'released', reason: 'auth_failed', error }
  }
  return { account, provider }
}

/** The words to send. Sealed under a key that this process has not got, they wait, parked, for a process that has it. */
export function openContent(
  deps: PrepareCallDeps,
  { content, tenantId, notificationId }: Claim,
): { content: Content; secrets: readonly string[] } | Refusal {
  if (!content) return { to: 'parked', reason: 'content_scrubbed', error: 'its content held secrets and was removed' }
  if (!isSealedContent(content)) return { content, secrets: NO_SECRETS }
  const opened = deps.openContent(content, { tenantId, notificationId })
  return 'error' in opened ? { to: 'parked', reason: 'content_unreadable', error: opened.error } : opened
}

const NO_SECRETS: readonly string[] = []

/** Whether nobody has to be asked whom a notification goes to, which is nearly always so. */
export function isToItsAddress({ suppressions }: PrepareCallDeps, claim: Claim): boolean {
  const { to, tenantId, channel, overridesSuppression } = claim
  return to.list === undefined && (overridesSuppression || suppressions.hasNone(tenantId, channel))
}

/** Resolves its recipient list, if it is addressed to one, and leaves out who is suppressed. */
export async function findRecipients(
  deps: PrepareCallDeps,
  claim: Claim,
  account: Account,
): Promise<{ targets: string[] | null } | Refusal | { outcome: Outcome }> {
  const { to, tenantId, channel } = claim
  let unread = 'recipient list'
  try {
    const listed = to.list === undefined ? { targets: null } : await deps.listTargets(tenantId, to.list, channel)
    if ('reason' in listed) return { to: 'parked', ...listed }
    unread = 'suppression list'
    const left = await deps.suppressions.sift(claim, listed.targets)
    if (!('reason' in left)) return left
    // A suppressed address is no good either, and nobody needs to look where the policy is to leave it at that.
    return { to: policyOf(claim, account).onUndeliverable === 'fail' ? 'failed' : 'parked', ...left }
  } catch (error) {
    const text = `the ${unread} could not be read: ${String(error)}`
    return { outcome: { kind: 'transient', code: 'list_unavailable', error: text } }
  }
}
