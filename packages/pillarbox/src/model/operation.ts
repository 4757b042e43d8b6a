import { ACTIONS, type Action, type NotificationStatus } from './notification.ts'

/**
 * One act of an operator on very many notifications, which were chosen beforehand.
 *
 *   preview ──start──▶ grace ──▶ canary ──▶ running ──▶ done        grace | canary | running ──pause──▶ paused ──resume──▶ back
 *   grace ──undo──▶ cancelled                                       grace | canary | running | paused ──cancel──▶ cancelled
 *   canary ──one of them fails, or none is heard of in time──▶ failed
 *
 * The table's check constraint restates the statuses.
 */
export const OPERATION_STATUSES = ['grace', 'canary', 'running', 'paused', 'cancelled', 'done', 'failed'] as const
export type OperationStatus = (typeof OPERATION_STATUSES)[number]

/** What an operation does to each of its notifications: an act, or sending what was sent once more. */
export type BulkAction = Action | 'resend'

/** What was sent, or was given up for another channel, can be told again; what has stopped is retried instead. */
const RESEND_FROM = ['sent', 'delivered', 'read', 'failed'] as const satisfies readonly NotificationStatus[]

export const BULK_ACTIONS = [...(Object.keys(ACTIONS) as Action[]), 'resend'] as const satisfies readonly BulkAction[]

/** From where an action moves a notification. */
export function movableBy(action: BulkAction): readonly NotificationStatus[] {
  return action === 'resend' ? RESEND_FROM : ACTIONS[action].from
}

/** Whether something is sent by it, so that it has an outcome to wait for. */
export function sends(action: BulkAction): boolean {
  return action === 'retry' || action === 'resend'
}

export interface BulkOptions {
  /** In the words its event would be told in now. */
  rerender?: boolean
}

export interface Operation {
  id: string
  tenantId: string
  action: BulkAction
  options: BulkOptions
  status: OperationStatus
  /** How many notifications it was asked to move. */
  total: number
  done: number
  /** They were no longer as they had been when they were chosen. */
  leftAlone: number
  /** They could not be moved, and say why. */
  failed: number
  startedBy: string
  startedAt: number
  note: string | null
  perSecond: number | null
  canary: number
  graceUntil: number | null
  endedAt: number | null
  /** Why it failed or was given up. */
  problem: string | null
}

/** One notification of an operation, by its place in the selection. */
export interface ItemRef {
  operationId: string
  place: number
}

export const ITEM_OUTCOMES = ['done', 'left_alone', 'failed'] as const
export type ItemOutcome = (typeof ITEM_OUTCOMES)[number]

/** What became of one notification of an operation. */
export interface OperationItem {
  place: number
  notificationId: string
  /** Null: nothing was done about it yet. */
  outcome: ItemOutcome | null
  why: string | null
  /** What was sent beside it. */
  resultId: string | null
}

/** Where a notification stands, as far as it matters to whoever chose it: if any of it is different, it has moved. */
export interface Stand {
  status: NotificationStatus
  attempt: number
  settledAt: number | null
}

export function isSameStand(one: Stand, other: Stand): boolean {
  return one.status === other.status && one.attempt === other.attempt && one.settledAt === other.settledAt
}
