import { addressOf } from '../model/recipient.ts'
import type { ReplanAnswer } from '../operate/act.ts'
import type { NotificationView } from '../store/store.ts'
import { type ChainDeps, wordsFor } from './next-in-chain.ts'

/**
 * Plans a notification anew that was born parked: account, template and words as they are now. Answers what still
 * stands in the way where it cannot be sent yet.
 */
export async function replan(deps: ChainDeps, notification: NotificationView): Promise<ReplanAnswer> {
  const { channel, to, reason: stopped } = notification
  if (addressOf(channel, to) === null)
    return { problem: { reason: 'no_recipient', error: `There is no address for ${channel}.` } }
  const words = await wordsFor(deps, notification, channel)
  if (!words) {
    const reason = stopped === 'no_active_channels' || stopped === 'render_failed' ? stopped : 'no_templates_found'
    return {
      problem: { reason, error: `${channel} still lacks an active account or a template that can be rendered.` },
    }
  }
  const { account, content, templateId, templateVersion } = words
  return { replacement: { accountId: account.id, provider: account.provider, content, templateId, templateVersion } }
}
