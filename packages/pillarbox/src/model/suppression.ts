import type { Channel } from './channel.ts'

export const SUPPRESSION_CAUSES = ['dead_address', 'bounced', 'complained', 'operator'] as const

export type SuppressionCause = (typeof SUPPRESSION_CAUSES)[number]

/** An address that is not used on a channel until somebody lifts the ban. */
export interface Suppression {
  id: string
  tenantId: string
  channel: Channel
  /** As notifications have it: E.164, device token, …; an email in lower case, since both cases are one mailbox. */
  address: string
  cause: SuppressionCause
  /** The provider's words. */
  error: string | null
  /** The notification that taught us. */
  notificationId: string | null
  createdBy: string
  createdAt: number
}
