import type { ReplanAnswer } from '../operate/act.ts'
import type { NotificationView } from '../store/store.ts'
import { type ChainDeps, wordsFor } from './next-in-chain.ts'

/**
 * Plans a notification anew that was born parked: account, template and words as they are now. Answers what still
 * stands in the way where it cannot be sent yet.
 */
export async function replan(deps: ChainDeps, notification: NotificationView): Promise<ReplanAnswer> {
  const words = await wordsFor(deps, notification, notification.channel)
  if (!words) {
    const reason = notification.reason === 'no_active_channels' ? 'no_active_channels' : 'no_templates_found'
    return { problem: { reason, error: `${notification.channel} still lacks an active template or account.` } }
  }
  const { account, content, templateId, templateVersion } = words
  return { replacement: { accountId: account.id, provider: account.provider, content, templateId, templateVersion } }
}
