import type { NotificationStatus, SettledStatus } from './notification.ts'
import { REASONS, type Reason, type StoredReason } from './reason.ts'

/**
 * What a provider later says of a message it accepted, by rank: the highest that was ever heard is where the
 * notification stands. Any order and any repetition therefore come to the same end (P6).
 *
 *   uncertain ──sent──▶ sent ──failed──▶ parked ──delivered──▶ delivered ──bounced──▶ parked ──complained──▶ parked
 *     ──read──▶ read, each arrow also from everything before it
 *
 * `failed` is what a vendor says that gave a message up; of two such words `delivered` is the better informed. `bounced`
 * may follow a delivery: a server took the mail and sent it back. Who complains has read it, and who opens a mail
 * after all has it.
 */
export const RECEIPTS = {
  sent: { rank: 1, to: 'sent', action: 'send' },
  failed: { rank: 2, to: 'parked', action: 'park' },
  delivered: { rank: 3, to: 'delivered', action: 'deliver' },
  bounced: { rank: 4, to: 'parked', action: 'park' },
  complained: { rank: 5, to: 'parked', action: 'park' },
  read: { rank: 6, to: 'read', action: 'read' },
} as const satisfies Record<string, { rank: number; to: SettledStatus; action: string }>

export type ReceiptKind = keyof typeof RECEIPTS

export const RECEIPT_KINDS = Object.keys(RECEIPTS) as ReceiptKind[]

/** Where a notification is, and the receipt that brought it there, if one did. */
export interface Standing {
  status: NotificationStatus
  heard: ReceiptKind | null
}

/** The rank of where a notification stands; null where no receipt may move it: somebody or something else closed it. */
export function standingRank({ status, heard }: Standing): number | null {
  switch (status) {
    case 'uncertain':
      return 0
    case 'sent':
    case 'delivered':
    case 'read':
      return RECEIPTS[status].rank
    case 'parked':
    case 'failed':
      // Without a receipt its message was not accepted, an operator set it aside, or another channel took over.
      return heard === null ? null : RECEIPTS[heard].rank
    case 'queued':
    case 'retrying':
    case 'sending':
    case 'discarded':
    case 'cancelled':
    case 'skipped':
      return null
  }
}

/** Whether a receipt moves a notification from where it stands. */
export function outranks(kind: ReceiptKind, standing: Standing): boolean {
  const rank = standingRank(standing)
  return rank !== null && RECEIPTS[kind].rank > rank
}

/**
 * What a receipt about one recipient of several says of the message as a whole: that somebody has it. A mail to a list of
 * which one bounced is not a bounced mail. Null: nothing.
 */
export function wordOfOne(kind: ReceiptKind): ReceiptKind | null {
  if (kind === 'read' || kind === 'delivered') return 'delivered'
  return kind === 'sent' ? kind : null
}

/** Why a message failed or bounced, and whether somebody has to look at it. */
export interface ReceiptFailure {
  reason: Reason
  code: string
  error: string
  to: 'parked' | 'failed'
}

/** Where a receipt takes a notification that it outranks. */
export interface Landing {
  status: 'sent' | 'delivered' | 'read' | 'parked' | 'failed'
  reason: StoredReason | null
  error: string | null
  /** The verb of the transition. */
  action: string
}

/** `takenOverBy`: the channel that the chain goes on with, or went on with before. */
export function landingOf(kind: ReceiptKind, failure: ReceiptFailure | null, takenOverBy: string | null): Landing {
  const { to: status, action } = RECEIPTS[kind]
  if (kind === 'failed' || kind === 'bounced') {
    const reason = kind === 'bounced' ? kind : (failure?.reason ?? 'permanent_refusal')
    const error = failure?.error ?? REASONS[reason]
    if (takenOverBy !== null)
      return { status: 'failed', reason: `fallback_triggered:${takenOverBy}`, error, action: 'fail' }
    return failure?.to === 'failed'
      ? { status: 'failed', reason, error, action: 'fail' }
      : { status, reason, error, action }
  }
  if (kind === 'complained') return { status, reason: kind, error: REASONS.complained, action }
  return { status, reason: null, error: null, action }
}

/** Providers whose vendors report what became of a message. Of any other's, nothing more is heard once it was accepted. */
export const PROVIDERS_WITH_RECEIPTS = ['meta', 'interakt', 'msg91', 'sns', 'aws-sms', 'ses', 'acs'] as const

export function sendsReceipts(provider: string | null): boolean {
  return (PROVIDERS_WITH_RECEIPTS as readonly (string | null)[]).includes(provider)
}

/**
 * Providers whose reports do not always repeat our reference, and are found by the vendor's message id: SNS knows of no
 * reference, SES leaves it out of what it tells the owner of an address, Meta and End User Messaging where an older version of
 * the webhook's fields or a forwarder does.
 */
export const FOUND_BY_MESSAGE_ID = ['sns', 'ses', 'meta', 'aws-sms'] as const

/**
 * Providers whose vendor chooses the id of a message: people look for it. The condition of the index `attempts_message` names
 * the same ones.
 */
export const MESSAGE_ID_PROVIDERS = ['meta', 'interakt', 'msg91', 'sns', 'aws-sms', 'ses', 'acs', 'fcm', 'wns'] as const

export function isFoundByMessageId(provider: string): boolean {
  return (FOUND_BY_MESSAGE_ID as readonly string[]).includes(provider)
}

export interface ReceiptView {
  kind: ReceiptKind
  at: number
  receivedAt: number
  provider: string
  providerMessageId: string
  recipient: string | null
  code: string | null
  error: string | null
}
