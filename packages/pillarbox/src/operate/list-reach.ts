import { addressIdentity } from '../model/address.ts'
import type { Channel } from '../model/channel.ts'
import type { ListMember, RecipientList } from '../model/recipient-list.ts'
import type { Suppression } from '../model/suppression.ts'
import type { Store } from '../store/store.ts'
import { memberPages, type NextTurn } from './recipient-lists.ts'

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

interface ReachDeps {
  store: Pick<Store, 'lists' | 'suppressions' | 'accounts'>
  nextTurn: NextTurn
}

export async function reachOf(deps: ReachDeps, list: Pick<RecipientList, 'tenantId' | 'id'>): Promise<ListReach> {
  const { store } = deps
  const accounts = await store.accounts.list(list.tenantId)
  const reaches = CHANNELS.map((channel) => {
    const hasAccount = accounts.some((account) => account.channel === channel && account.status === 'active')
    const counts: ChannelReach = { channel, hasAccount, reachable: 0, suppressed: 0, missing: 0 }
    return { channel, counts, unreachable: [] as UnreachableMember[] }
  })
  let count = 0
  for await (const members of memberPages(deps, list)) {
    count += members.length
    for (const { channel, counts, unreachable } of reaches) {
      const reached = members.filter((member) => member[USES[channel]] !== null)
      const found = await suppressedAmong(store, list.tenantId, channel, reached)
      unreachable.push(...found.slice(0, MOST_UNREACHABLE - unreachable.length))
      counts.reachable += reached.length - found.length
      counts.suppressed += found.length
      counts.missing += members.length - reached.length
    }
  }
  return {
    members: count,
    channels: reaches.map(({ counts }) => counts),
    unreachable: reaches.flatMap(({ unreachable }) => unreachable).slice(0, MOST_UNREACHABLE),
  }
}

async function suppressedAmong(
  { suppressions }: Pick<Store, 'suppressions'>,
  tenantId: string,
  channel: keyof typeof USES,
  members: readonly ListMember[],
): Promise<UnreachableMember[]> {
  if (!(await suppressions.any(tenantId, channel))) return []
  const addresses = members.map((member) => member[USES[channel]] ?? '')
  const known = new Map(
    (await suppressions.among(tenantId, channel, addresses)).map((each) => [
      addressIdentity(channel, each.address),
      each,
    ]),
  )
  // None of most pages is suppressed.
  if (known.size === 0) return []
  return members.flatMap(({ name, email, phone }) => {
    const suppressed = known.get(addressIdentity(channel, { email, phone }[USES[channel]] ?? ''))
    if (!suppressed) return []
    const { cause, error, id: suppressionId } = suppressed
    return { name, email, phone, channel, cause, error, suppressionId }
  })
}
