import { MAX_BCC } from '../channels/channel.ts'
import { isEmail } from '../model/address.ts'
import type { Channel } from '../model/channel.ts'
import type { Reason } from '../model/reason.ts'
import type { ListStore } from '../plan/list-store.ts'

export type ListTargets = { targets: string[] } | { reason: Reason; error: string }

const PAGE = 1_000

/**
 * Everybody a recipient list stands for at this moment, each once. One message names them all, so only email can be
 * sent to a list as a whole, and only to one of at most `MAX_BCC`; anything else is sent with `expand`, a notification
 * per member. Rejects only when the store does.
 */
export async function listTargets(
  lists: Pick<ListStore, 'findByName' | 'members'>,
  tenantId: string,
  name: string,
  channel: Channel,
): Promise<ListTargets> {
  if (channel !== 'email')
    return {
      reason: 'no_recipient',
      error: `a recipient list is addressed as a whole by email only; for ${channel} use expand: true, one notification per member`,
    }
  const list = await lists.findByName(tenantId, name)
  if (!list) return { reason: 'list_not_found', error: `there is no recipient list "${name}"` }
  const targets = new Map<string, string>()
  let after: string | null = null
  do {
    const page = await lists.members(tenantId, list.id, after, PAGE)
    for (const { email } of page.members)
      if (email !== null && isEmail(email) && !targets.has(email.toLowerCase())) targets.set(email.toLowerCase(), email)
    after = page.next
  } while (after !== null && targets.size <= MAX_BCC)
  if (targets.size > MAX_BCC)
    return {
      reason: 'list_too_large',
      error: `the recipient list "${name}" has more than ${MAX_BCC} addresses, too many for one message: use expand: true, one notification per member`,
    }
  if (targets.size === 0)
    return { reason: 'list_empty', error: `the recipient list "${name}" has no member with an email address` }
  return { targets: [...targets.values()] }
}
