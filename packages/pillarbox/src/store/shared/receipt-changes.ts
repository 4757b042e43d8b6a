import type { EndedChain, Takeover } from '../../model/notification.ts'
import { landingOf, outranks, type ReceiptKind, type Standing, wordOfOne } from '../../model/receipt.ts'
import type { NewReceipt } from '../../receipts/receipt-store.ts'
import type { AuditRow } from './audit.ts'
import { printOf, type SettledRow } from './transitions.ts'

/** A notification that receipts are about, as it was when its rows were locked. */
export interface ReceivingNotification extends Standing {
  id: string
  tenantId: string
  accountId: string | null
  reason: string | null
  attempt: number
  possibleDuplicate: boolean
  /** The channel that took over before; null: none did. */
  takenOverBy: string | null
}

/** What receipts do to one notification. */
export interface ReceiptChanges {
  /** What its row in `settled` says from now on; null: the row stays as it is. */
  settled:
    | (Pick<SettledRow, 'status' | 'reason' | 'lastError' | 'code' | 'fingerprint'> & { heard: ReceiptKind })
    | null
  audits: AuditRow[]
  /** The notification that takes over. */
  next: Takeover | null
  /** Where nobody does, what is written of the channels of its chain. */
  skipped: EndedChain['skipped']
  /** The receipts that moved the notification. */
  moved: NewReceipt[]
}

/**
 * Each receipt that outranks where the notification stands moves it. Nobody takes over from a notification that may have
 * arrived, nor twice.
 */
export function receiptChanges(given: ReceivingNotification, receipts: readonly NewReceipt[]): ReceiptChanges {
  const { id: notificationId, tenantId, attempt } = given
  const changes: ReceiptChanges = { settled: null, audits: [], next: null, skipped: [], moved: [] }
  let { status, heard, reason, takenOverBy } = given
  for (const receipt of receipts) {
    const word = wordOf(receipt)
    if (word === null || !outranks(word, { status, heard })) continue
    const mayTakeOver = isFailure(word) && takenOverBy === null && !given.possibleDuplicate
    const next = mayTakeOver ? receipt.next : null
    takenOverBy ??= next?.channel ?? null
    const landing = landingOf(word, receipt.failure, takenOverBy)
    const [from, before] = [status, reason]
    ;({ status, reason } = landing)
    heard = word
    const { error } = landing
    const code = reason === null ? null : (receipt.failure?.code ?? null)
    const fingerprint = printOf(landing.status, { reason, code, error, accountId: given.accountId })
    changes.settled = { status: landing.status, reason, lastError: error, code, fingerprint, heard }
    // Another channel had taken over already: that stands.
    if (status === from && reason === before) continue
    changes.next ??= next
    if (mayTakeOver) changes.skipped = next ? [] : (receipt.skipped ?? changes.skipped)
    changes.moved.push(receipt)
    const { action } = landing
    changes.audits.push({ tenantId, actor: 'system', action, notificationId, attempt, from, to: status, reason })
  }
  return changes
}

/** What a receipt says of the message as a whole; null: nothing. */
export function wordOf({ kind, recipient }: NewReceipt): ReceiptKind | null {
  return recipient === null ? kind : wordOfOne(kind)
}

export function isFailure(word: ReceiptKind | null): boolean {
  return word === 'failed' || word === 'bounced'
}

/** When a notification was first delivered and read, by all that receipts say, whether or not they move it. */
export interface ToldTimes {
  delivered: number | null
  read: number | null
}

export function toldTimes(receipts: readonly NewReceipt[]): ToldTimes {
  const told: ToldTimes = { delivered: null, read: null }
  for (const receipt of receipts) {
    const word = wordOf(receipt)
    if (word === 'delivered' || word === 'read')
      told[word] = Math.min(told[word] ?? Number.POSITIVE_INFINITY, Math.round(receipt.at))
  }
  return told
}
