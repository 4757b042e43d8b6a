import type { NotificationStatus } from './notification.ts'
import type { Reason } from './reason.ts'

/**
 * What a provider later says of a message it accepted, by rank: the highest that was ever heard is where the
 * notification stands. Any order and any repetition therefore come to the same end (P6).
 */
export const RECEIPTS = {
  delivered: { rank: 1, to: 'delivered', reason: null, action: 'deliver' },
  bounced: { rank: 2, to: 'parked', reason: 'bounced', action: 'park' },
  complained: { rank: 3, to: 'parked', reason: 'complained', action: 'park' },
  read: { rank: 4, to: 'read', reason: null, action: 'read' },
} as const satisfies Record<string, { rank: number; to: NotificationStatus; reason: Reason | null; action: string }>

export type ReceiptKind = keyof typeof RECEIPTS

export const RECEIPT_KINDS = Object.keys(RECEIPTS) as ReceiptKind[]

/**
 * The rank of where a notification stands; null where no receipt may move it: somebody or something has closed it.
 * `sent` and `uncertain` wait to be told. What is parked for another reason than a receipt stays: its message was not
 * accepted, or an operator set it aside.
 */
export function standingRank(status: NotificationStatus, reason: string | null): number | null {
  switch (status) {
    case 'sent':
    case 'uncertain':
      return 0
    case 'delivered':
    case 'read':
      return RECEIPTS[status].rank
    case 'parked':
      if (reason === 'bounced' || reason === 'complained') return RECEIPTS[reason].rank
      return null
    case 'queued':
    case 'retrying':
    case 'sending':
    case 'failed':
    case 'discarded':
    case 'cancelled':
      return null
  }
}

/** Whether a receipt moves a notification from where it stands. */
export function outranks(kind: ReceiptKind, status: NotificationStatus, reason: string | null): boolean {
  const standing = standingRank(status, reason)
  return standing !== null && RECEIPTS[kind].rank > standing
}
