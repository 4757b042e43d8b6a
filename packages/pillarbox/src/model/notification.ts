/**
 * One thing to deliver to one recipient on one channel, and where it stands.
 *
 *   live      queued ──claim──▶ sending ──accepted──▶ sent ──receipt──▶ delivered ──receipt──▶ read
 *             sending ──transient, or unknown and resent──▶ retrying ──claim──▶ sending
 *             sending ──released unsent──▶ queued | retrying
 *   stopped   sending ──permanent, or out of attempts──▶ parked ──retry──▶ queued
 *             sending ──unknown, and the policy is to hold──▶ uncertain ──retry──▶ queued, ──receipt──▶ sent …
 *             parked | uncertain ──discard──▶ discarded      queued | retrying ──cancel, expiry──▶ cancelled
 *             queued | retrying | uncertain ──park──▶ parked sent | delivered ──receipt: failed, bounced──▶ parked
 *             sending | sent | delivered ──permanent, and a fallback channel is next──▶ failed
 *             parked | failed by a receipt ──a receipt of higher rank──▶ delivered | read | parked | failed
 *
 * Who moves what: a worker everything out of `sending`; receipts everything out of `sent`, and on from where a receipt
 * led (`model/receipt.ts`); an operator everything out of `parked` and `uncertain`. `discarded`, `cancelled` and `read`
 * are closed, and `failed` too where it was not a receipt that said so.
 *
 * Where it is kept: a `dispatch` row while work remains (queued, retrying, sending), a `settled` row once it has come
 * to rest anywhere but `sent`; with neither it is `sent`. One that a receipt took from `uncertain` to `sent` has a
 * `settled` row that says so. The tables' check constraints restate this.
 */
export const NOTIFICATION_STATUSES = [
  'queued',
  'sending',
  'retrying',
  'sent',
  'delivered',
  'read',
  'parked',
  'uncertain',
  'failed',
  'discarded',
  'cancelled',
] as const

export type NotificationStatus = (typeof NOTIFICATION_STATUSES)[number]

/** Statuses with a `dispatch` row: a worker still has something to do. */
export type LiveStatus = 'queued' | 'retrying' | 'sending'

/** Statuses with a `settled` row; `sent` has one only where a receipt led there. */
export type SettledStatus =
  | 'sent'
  | 'delivered'
  | 'read'
  | 'parked'
  | 'uncertain'
  | 'failed'
  | 'discarded'
  | 'cancelled'

export const NEXT_STATUSES = {
  queued: ['sending', 'parked', 'cancelled'],
  retrying: ['sending', 'parked', 'cancelled'],
  sending: ['sent', 'retrying', 'queued', 'parked', 'uncertain', 'failed', 'cancelled'],
  sent: ['delivered', 'read', 'parked', 'failed'],
  delivered: ['read', 'parked', 'failed'],
  read: [],
  parked: ['queued', 'discarded', 'delivered', 'read', 'failed'],
  uncertain: ['queued', 'discarded', 'parked', 'sent', 'delivered', 'read', 'failed'],
  failed: ['delivered', 'read', 'parked'],
  discarded: [],
  cancelled: [],
} as const satisfies Record<NotificationStatus, readonly NotificationStatus[]>

export function canMove(from: NotificationStatus, to: NotificationStatus): boolean {
  return (NEXT_STATUSES[from] as readonly NotificationStatus[]).includes(to)
}

/** No arrow leaves a closed status. */
export function isClosed(status: NotificationStatus): boolean {
  return NEXT_STATUSES[status].length === 0
}

export function isLive(status: NotificationStatus): status is LiveStatus {
  return status === 'queued' || status === 'retrying' || status === 'sending'
}

/** What an operator may ask for, where it may be asked, and what it leads to. */
export const ACTIONS = {
  retry: { from: ['parked', 'uncertain'], to: 'queued' },
  discard: { from: ['parked', 'uncertain'], to: 'discarded' },
  cancel: { from: ['queued', 'retrying'], to: 'cancelled' },
  park: { from: ['queued', 'retrying', 'uncertain'], to: 'parked' },
} as const satisfies Record<string, { from: readonly NotificationStatus[]; to: NotificationStatus }>

export type Action = keyof typeof ACTIONS
