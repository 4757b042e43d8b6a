import type { Channel } from '../model/channel.ts'
import { type Address, addressOf } from '../model/recipient.ts'
import type { DueEvent } from './due-event.ts'
import type { Recipient } from './recipients.ts'
import { atEveryAddress, type Bans, channelsFor } from './routes.ts'

/** Which addresses are suppressed, as planning asks it; `dispatch/suppressions.ts` answers. */
export interface SuppressionCheck {
  /** Whether it is known, and was a moment ago, that the tenant has no suppression on the channel. */
  hasNone(tenantId: string, channel: Channel): boolean
  /** What is asked in one turn is one question to the store for each tenant and channel. */
  sift(
    notification: { tenantId: string; channel: Channel; to: Address },
    targets: null,
  ): Promise<{ targets: string[] | null } | { reason: 'suppressed'; error: string }>
}

/** Which addresses of an event's recipients are suppressed, on the channels it asks for; all asked at once. */
export async function bansOn(
  suppressions: SuppressionCheck,
  due: DueEvent,
  recipients: readonly Recipient[],
): Promise<Bans> {
  const bans = new Map<string, string>()
  const { tenantId } = due
  const channels = channelsFor(due).filter((channel) => !suppressions.hasNone(tenantId, channel))
  if (channels.length === 0) return bans
  const asked = recipients.flatMap((recipient) => {
    const { address: to } = atEveryAddress(due, recipient)
    return channels.map(async (channel) => {
      const address = addressOf(channel, to)
      // Of a list, those who are suppressed are left out when it is sent to.
      if (address === null || to.list !== undefined) return
      const sifted = await suppressions.sift({ tenantId, channel, to }, null)
      if ('reason' in sifted) bans.set(`${channel} ${address}`, sifted.error)
    })
  })
  await Promise.all(asked)
  return bans
}
