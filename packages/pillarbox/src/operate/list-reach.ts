import { addressIdentity } from '../model/address.ts'
import type { Channel } from '../model/channel.ts'
import type { ListMember, RecipientList } from '../model/recipient-list.ts'
import type { Suppression } from '../model/suppression.ts'
import type { Store } from '../store/store.ts'
import { forEachMember } from './recipient-lists.ts'

/** Whom of a list each channel reaches, and who is kept from being told by a suppression. */
export interface ListReach {
  members: number
  channels: ChannelReach[]
  unreachable: UnreachableMember[]
}

interface ChannelReach {
  channel: Channel
  /** Somebody could be told on it at all. */
  hasAccount: boolean
  reachable: number
  suppressed: number
  missing: number
}

interface UnreachableMember extends Pick<ListMember, 'name' | 'email' | 'phone'> {
  channel: Channel
  cause: Suppression['cause']
  error: string | null
  suppressionId: string
}

/** The channels that a list can be sent to, and what of a member each one uses. */
const USES = { email: 'email', sms: 'phone', whatsapp: 'phone' } as const satisfies Partial<Record<Channel, string>>
const CHANNELS = Object.keys(USES) as (keyof typeof USES)[]

export const MOST_UNREACHABLE = 100
const CHUNK = 2_000

export async function reachOf(
  store: Pick<Store, 'lists' | 'suppressions' | 'accounts'>,
  list: RecipientList,
): Promise<ListReach> {
  const members: ListMember[] = []
  await forEachMember(store, list, (member) => void members.push(member))
  const accounts = await store.accounts.list(list.tenantId)
  const unreachable: UnreachableMember[] = []
  const channels: ChannelReach[] = []
  for (const channel of CHANNELS) {
    const reached = members.filter((member) => member[USES[channel]] !== null)
    const found = await suppressedAmong(store, list.tenantId, channel, reached)
    unreachable.push(...found)
    channels.push({
      channel,
      hasAccount: accounts.some((account) => account.channel === channel && account.status === 'active'),
      reachable: reached.length - found.length,
      suppressed: found.length,
      missing: members.length - reached.length,
    })
  }
  return { members: members.length, channels, unreachable: unreachable.slice(0, MOST_UNREACHABLE) }
}

async function suppressedAmong(
  { suppressions }: Pick<Store, 'suppressions'>,
  tenantId: string,
  channel: keyof typeof USES,
  members: readonly ListMember[],
): Promise<UnreachableMember[]> {
  if (!(await suppressions.any(tenantId, channel))) return []
  const found: UnreachableMember[] = []
  for (let from = 0; from < members.length; from += CHUNK) {
    const chunk = members.slice(from, from + CHUNK)
    const addresses = chunk.map((member) => member[USES[channel]] ?? '')
    const known = new Map(
      (await suppressions.among(tenantId, channel, addresses)).map((each) => [
        addressIdentity(channel, each.address),
        each,
      ]),
    )
    for (const { name, email, phone } of chunk) {
      const suppressed = known.get(addressIdentity(channel, { email, phone }[USES[channel]] ?? ''))
      if (suppressed)
        found.push({
          name,
          email,
          phone,
          channel,
          cause: suppressed.cause,
          error: suppressed.error,
          suppressionId: suppressed.id,
        })
    }
  }
  return found
}
