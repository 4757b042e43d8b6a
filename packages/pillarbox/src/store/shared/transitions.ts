import type { Completion } from '../../dispatch/dispatch-store.ts'
import { fingerprintOf, type StopCause } from '../../model/fingerprint.ts'
import {
  ACTIONS,
  type Action,
  type EndedChain,
  type NewNotification,
  type NotificationStatus,
  type SettledStatus,
  skippedByChain,
} from '../../model/notification.ts'
import type { ActRequest } from '../../plan/notification-store.ts'
import { type AuditRow, moveReason, skipReason } from './audit.ts'
import type { Ending } from './plan-changes.ts'

/**
 * What a worker's result, a stop or an operator's act does to the rows of a notification, as data. Both engines apply
 * these changes and decide nothing themselves. What a receipt does is in `receipt-changes.ts`.
 */

/** A row of `settled`: where a notification came to rest. */
export interface SettledRow {
  notificationId: string
  tenantId: string
  status: SettledStatus
  reason: string | null
  lastError: string | null
  spent: number
  attempt: number
  possibleDuplicate: boolean
  /** The provider's, where a provider stopped it. */
  code: string | null
  /** See `printOf`. */
  fingerprint: string | null
}

/** What was called off, or has arrived, did not stop by a cause that somebody could mend. */
export const PRINTED: readonly NotificationStatus[] = ['parked', 'uncertain', 'failed', 'discarded', 'skipped']

/** The fingerprint of a row in `settled`; null where its status has none. */
export function printOf(
  status: NotificationStatus,
  cause: Omit<StopCause, 'reason'> & { reason: string | null },
): string | null {
  const { reason } = cause
  return reason !== null && PRINTED.includes(status) ? fingerprintOf({ ...cause, reason }) : null
}

/** Of a notification that is born stopped. */
export function bornPrint({ stopped, accountId }: NewNotification): string | null {
  return stopped && printOf(stopped.status, { ...stopped, code: null, accountId })
}

/** The verb of a worker's transition out of `sending`, by where it leads. */
export const RESULT_VERBS = {
  sent: 'send',
  retrying: 'retry',
  parked: 'park',
  uncertain: 'hold',
  failed: 'fail',
  cancelled: 'cancel',
} as const satisfies Record<Completion['to'], string>

/** What a result does, as long as its token is still that of the dispatch row. */
export interface CompletionChanges extends Completion {
  skipped: EndedChain['skipped']
  /** How long the dispatch row waits for its next attempt; null: the row goes. */
  waitMs: number | null
  /** The status of the row that is written to `settled`; null: none is. */
  settledAs: SettledStatus | null
  /** Of that row. */
  fingerprint: string | null
  /** The verb of the audit row that is written; null: none is, because the attempt's own row tells the transition. */
  auditedAs: string | null
  /** Why the audit says that the notification moved to the account `moveTo`; null: it does not move. */
  moveReason: string | null
  /** The lane that has due work by this; null: none. */
  dueLane: string | null
}

export function completionChanges(completion: Completion): CompletionChanges {
  const { to, outcome, accountId, next, code, error } = completion
  const isOver = to !== 'retrying'
  const moveTo = isOver ? null : completion.moveTo
  const waitMs = isOver ? null : wholeMs(completion.delayMs)
  const settledAs = to === 'sent' || to === 'retrying' ? null : to
  return {
    ...completion,
    ageMs: wholeMs(completion.ageMs),
    durationMs: wholeMs(completion.durationMs),
    moveTo,
    waitMs,
    settledAs,
    fingerprint: settledAs && printOf(settledAs, { reason: completion.reason, code, error, accountId }),
    auditedAs: outcome === null ? RESULT_VERBS[to] : null,
    skipped: next === null ? skippedByChain(completion) : [],
    moveReason: moveTo && moveReason(accountId, moveTo.accountId),
    dueLane: waitMs === 0 ? (moveTo?.accountId ?? accountId) : null,
  }
}

/**
 * What a result does whose token is no longer that of the dispatch row: its attempt is kept as a late one. The attempt is
 * never flagged as a possible duplicate, because it changes nothing about the notification.
 */
export function lateChanges(completion: Completion): CompletionChanges {
  return { ...completionChanges(completion), possibleDuplicate: false }
}

/** Accepted, and nothing else to say: the dispatch row goes and the attempt is recorded. Most results are like this. */
export function isSent({ to, outcome, code, error, reason, resolvedTargets, refused }: Completion): boolean {
  const isAccepted = to === 'sent' && outcome === 'accepted'
  const isToAll = resolvedTargets === null && refused === null
  return isAccepted && code === null && error === null && reason === null && isToAll
}

const MAX_INT4 = 2_147_483_647

/** Milliseconds as both engines store them. */
export function wholeMs(ms: number): number {
  return Math.min(MAX_INT4, Math.max(0, Math.round(ms)))
}

/** A notification that waits for a worker, as it was when its dispatch row was locked. */
export interface WaitingNotification {
  notificationId: string
  tenantId: string
  from: 'queued' | 'retrying'
  attempt: number
  spent: number
  possibleDuplicate: boolean
  accountId: string | null
}

/** Why waiting notifications are stopped: their account was suspended, or a later event cancelled them. */
export interface StopReason {
  to: 'parked' | 'cancelled'
  action: 'park' | 'cancel'
  reason: string
  error: string
  actor: string
}

/** What a later event does to the schedules and the waiting notifications that it puts an end to. */
export function stopBy({ reason, error }: Ending): StopReason & { to: 'cancelled' } {
  return { to: 'cancelled', action: 'cancel', reason, error, actor: 'system' }
}

/** The dispatch row goes; these are written. */
export function stopChanges(waiting: WaitingNotification, stop: StopReason): { settled: SettledRow; audit: AuditRow } {
  const { from, accountId, ...rest } = waiting
  const { notificationId, tenantId, attempt } = rest
  const { to, action, reason, error, actor } = stop
  const cause = { code: null, fingerprint: printOf(to, { reason, code: null, error, accountId }) }
  return {
    settled: { ...rest, ...cause, status: to, reason, lastError: error },
    audit: { tenantId, actor, action, notificationId, attempt, from, to, reason },
  }
}

/** A notification as it was when an operator's act locked the row of `dispatch` or `settled` that it rests in. */
export interface RestingNotification {
  notificationId: string
  tenantId: string
  from: NotificationStatus
  attempt: number
  spent: number
  possibleDuplicate: boolean
  accountId: string | null
  lastError: string | null
  code: string | null
  /** Null where it waits. */
  fingerprint: string | null
  /** Where it stood when it was discarded; null: it is not. */
  discardedFrom: NotificationStatus | null
  /** Null where it waits. */
  stoppedBecause: string | null
}

export interface ActChanges {
  /** The row in `settled` from now on, in place of the one that the notification rested in; null: none. */
  settled: SettledRow | null
  /** The new dispatch row; null: none. */
  queued: { possibleDuplicate: boolean; attempt: number } | null
  audit: AuditRow
}

/** Why a notification stands where an operator's act has put it. A receipt gives none of these. */
export const ACT_REASONS = {
  retry: null,
  discard: 'discarded_by_operator',
  cancel: 'cancelled_by_operator',
  park: 'parked_by_operator',
  restore: 'restored_by_operator',
} as const satisfies Record<Action, string | null>

/** What an operator's act does; null: the act does not move a notification that rests there. */
export function actChanges(
  {
    action,
    actor,
    note,
    correction,
    obstacle,
    overridesSuppression,
    item,
  }: Pick<ActRequest, 'action' | 'actor' | 'note' | 'correction' | 'obstacle' | 'overridesSuppression' | 'item'>,
  resting: RestingNotification,
): ActChanges | null {
  const { from, discardedFrom, stoppedBecause, accountId, ...rest } = resting
  const { notificationId, tenantId, attempt } = rest
  const { to } = ACTIONS[action]
  // What could be retried can be sent to a corrected address, what was skipped for want of one above all.
  const { from: movable } = ACTIONS[correction ? 'retry' : action]
  if (!(movable as readonly NotificationStatus[]).includes(from)) return null
  const reason = correction ? 'corrected_by_operator' : ACT_REASONS[action]
  // The reason of what is queued again is gone from its row: only the audit still says why it had stopped.
  const why = overridesSuppression ? 'suppression_overridden' : (reason ?? stoppedBecause)
  const audit: AuditRow = {
    tenantId,
    actor,
    action,
    notificationId,
    attempt,
    from,
    to,
    reason: why,
    note: note ?? null,
    operationId: item?.operationId ?? null,
  }
  // The call in doubt of an uncertain notification may have arrived: if it is sent again, that may be a second time.
  const isInDoubt = action === 'restore' ? discardedFrom === 'uncertain' : from === 'uncertain' && action !== 'discard'
  const possibleDuplicate = rest.possibleDuplicate || isInDoubt
  if (obstacle) {
    if (from !== 'skipped') return null
    const { reason: now, error } = obstacle
    const fingerprint = printOf('skipped', { reason: now, code: null, error, accountId })
    return {
      settled: { ...rest, status: 'skipped', reason: now, lastError: error, code: null, fingerprint },
      queued: null,
      audit: { ...audit, to: 'skipped', reason: skipReason(stoppedBecause, now) },
    }
  }
  if (to === 'queued') return { settled: null, queued: { possibleDuplicate, attempt }, audit }
  // Whether it is given up or not, it stopped by what it stopped by. Who parks it by hand is a cause of its own.
  const { lastError: error } = rest
  const cause =
    action === 'park' ? { code: null, fingerprint: printOf(to, { reason, code: null, error, accountId }) } : {}
  const fingerprint = to === 'cancelled' ? { fingerprint: null } : {}
  return { settled: { ...rest, ...cause, ...fingerprint, status: to, reason, possibleDuplicate }, queued: null, audit }
}
