import { addressIdentity } from '../model/address.ts'
import type { NotificationView } from '../model/notification.ts'
import { REASONS } from '../model/reason.ts'
import type { ReceiptFailure } from '../model/receipt.ts'
import { addressOf } from '../model/recipient.ts'
import type { SuppressionCause } from '../model/suppression.ts'
import type { Failure, ReceiptEvent } from './receipt-source.ts'
import type { NewReceipt } from './receipt-store.ts'

/** What a report asks for. Pure: the same question always has the same answer. */
export interface ReceiptVerdict {
  receipt: Omit<NewReceipt, 'next'>
  /** Whether the next channel of the chain may take over, should the receipt move the notification. */
  mayFallBack: boolean
  /** An address that is not to be used again. */
  dead: { address: string; cause: SuppressionCause; error: string } | null
}

/** `onUndeliverable`: what the account says; the event type's word goes before. */
export function verdictOn(event: ReceiptEvent, view: NotificationView, onUndeliverable: unknown): ReceiptVerdict {
  const isOfOne = isOneOfSeveral(event, view)
  const failure = 'failure' in event ? event.failure : null
  return {
    receipt: {
      tenantId: view.tenantId,
      notificationId: view.id,
      provider: event.provider,
      providerMessageId: event.providerMessageId ?? view.providerMessageId ?? view.id,
      kind: event.kind,
      recipient: isOfOne ? (event.recipient ?? 'unknown') : null,
      failure: failure && failureOf(failure, view.policy?.onUndeliverable ?? onUndeliverable),
      at: event.at,
    },
    mayFallBack: failure !== null && !isOfOne && hasNext(view),
    dead: deadAddress(event, view),
  }
}

/** Whether it speaks of one of those that one message went to, and not of the message as a whole. */
function isOneOfSeveral({ isPartial, recipient, kind }: ReceiptEvent, { resolvedTargets }: NotificationView): boolean {
  if (isPartial) return true
  if ((resolvedTargets?.length ?? 0) < 2) return false
  // Nobody opens, receives or sends back a mail but one at a time; that a vendor has it, or will not have it, is of all.
  return recipient !== null || (kind !== 'sent' && kind !== 'failed')
}

function failureOf(failure: Failure, onUndeliverable: unknown): ReceiptFailure {
  const { code, error } = failure
  if (failure.kind === 'unauthorized') return { reason: 'auth_failed', code, error, to: 'parked' }
  // The vendor has given it up: what could have been tried again by a call is over by now.
  if (failure.kind !== 'permanent') return { reason: 'unreachable', code, error, to: 'parked' }
  const { reason } = failure
  return { reason, code, error, to: reason === 'invalid_recipient' && onUndeliverable === 'fail' ? 'failed' : 'parked' }
}

/** A flagged one was sent more than once perhaps, and what failed may not have been the only message. */
function hasNext({ possibleDuplicate, fallback, fallbackTo }: NotificationView): boolean {
  return !possibleDuplicate && fallback.length > 0 && fallbackTo === null
}

function deadAddress(event: ReceiptEvent, view: NotificationView): ReceiptVerdict['dead'] {
  const cause = causeOf(event)
  const address = cause && addressMeant(event, view)
  if (!cause || !address) return null
  return { address, cause, error: 'failure' in event ? event.failure.error : REASONS.complained }
}

function causeOf(event: ReceiptEvent): SuppressionCause | null {
  if (event.kind === 'complained') return 'complained'
  if (!('failure' in event) || event.failure.kind !== 'permanent' || !event.failure.isDead) return null
  return event.kind === 'bounced' ? 'bounced' : 'dead_address'
}

/** As we have it: vendors spell addresses their own way. Of several, only one that it names. */
function addressMeant({ recipient }: ReceiptEvent, { channel, to, resolvedTargets }: NotificationView): string | null {
  const own = addressOf(channel, to)
  const targets = resolvedTargets ?? (own === null ? [] : [own])
  if (targets.length === 1) return targets[0] ?? null
  const named = recipient === null ? null : addressIdentity(channel, recipient)
  return targets.find((target) => addressIdentity(channel, target) === named) ?? null
}
