import type { SandboxMessage } from '../channels/sandbox/vendor.ts'
import type { NewCallback } from '../model/callback.ts'
import { RECEIPT_KINDS, type ReceiptKind } from '../model/receipt.ts'
import type { ReceiptEvent, ReceiptNews, ReceiptSource } from './receipt-source.ts'

/**
 * What the pretend vendor reports, when somebody at the console asks it to. It comes by no webhook: the API writes the callback
 * itself, and from there it goes the way of every vendor's.
 */
export const sandboxReceipts: Pick<ReceiptSource, 'parse'> = {
  parse({ rawBody, receivedAt }) {
    const event = eventIn(rawBody, receivedAt)
    return event === null ? { events: [], unreadable: 1 } : { events: [event], unreadable: 0 }
  },
}

/** The callback in which the pretend vendor reports on a message; `at` tells two reports of the same kind apart. */
export function pretendCallback(
  { id, notificationId, tenantId, accountId }: Pick<SandboxMessage, 'id' | 'notificationId' | 'tenantId' | 'accountId'>,
  kind: ReceiptKind,
  at: number,
): NewCallback {
  const body = Buffer.from(JSON.stringify({ messageId: id, notificationId, kind, at }))
  return { source: 'sandbox', tenantId, accountIds: [accountId], headers: {}, body }
}

function eventIn(rawBody: Buffer, receivedAt: number): ReceiptEvent | null {
  const { messageId, notificationId, kind, at } = fieldsIn(rawBody)
  const known = RECEIPT_KINDS.find((each) => each === kind)
  if (known === undefined || typeof notificationId !== 'string') return null
  return {
    provider: 'sandbox',
    providerMessageId: typeof messageId === 'string' ? messageId : null,
    notificationId,
    at: typeof at === 'number' ? at : receivedAt,
    recipient: null,
    isPartial: false,
    eventId: null,
    ...newsOf(known),
  }
}

function fieldsIn(rawBody: Buffer): Record<string, unknown> {
  try {
    const read: unknown = JSON.parse(rawBody.toString('utf8'))
    return typeof read === 'object' && read !== null ? (read as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** A bounce is of an address that is no good; a failure says nothing about the address. */
function newsOf(kind: ReceiptKind): ReceiptNews {
  if (kind === 'bounced') {
    const error = 'the sandbox says: the address does not exist'
    return { kind, failure: { kind: 'permanent', code: 'bounced', error, reason: 'invalid_recipient', isDead: true } }
  }
  if (kind === 'failed') {
    const error = 'the sandbox says: it gave the message up'
    return { kind, failure: { kind: 'permanent', code: 'failed', error, reason: 'permanent_refusal' } }
  }
  return { kind }
}
