import type { Capability, Provider, SendRequest } from '../../packages/pillarbox/src/channels/channel.ts'
import { CHANNELS } from '../../packages/pillarbox/src/model/channel.ts'
import type { Outcome } from '../../packages/pillarbox/src/model/outcome.ts'
import type { Random } from '../../packages/pillarbox/src/model/ports.ts'
import { RECEIPT_KINDS, type ReceiptKind } from '../../packages/pillarbox/src/model/receipt.ts'
import type { ReceiptSource } from '../../packages/pillarbox/src/receipts/receipt-source.ts'
import type { Scheduler } from './scheduler.ts'

/** One call as the vendor's side of the wire saw it. */
export interface Call {
  at: number
  worker: string
  notificationId: string
  attempt: number
  accountId: string
}

/** One message the vendor accepted: what a recipient would have seen. */
export interface Message {
  id: string
  at: number
  key: string
  notificationId: string
  accountId: string
}

/** The vendor: it outlives every worker, and its record is the oracle of a run. */
export interface Vendor {
  calls: Call[]
  messages: Message[]
  /** From now on every call is answered at once with success. */
  calm(): void
  /** The vendor as one worker reaches it. */
  provider(worker: string): Provider
}

export interface VendorFaults {
  transient: number
  throttled: number
  /** The same, but only of this recipient. */
  tooOften: number
  /** Known not accepted, and to be tried again after a long while. */
  deferred: number
  /** The credentials are refused: the account is paused until somebody activates it. */
  unauthorized: number
  permanent: number
  /** The request never arrives, and no answer comes. */
  lostRequest: number
  /** The message is accepted and the answer is lost. */
  lostReply: number
  /** The request arrives only after the caller has given up. */
  delayed: number
  /** How likely each kind of receipt is to be sent, and then to be repeated. */
  receipts: Record<ReceiptKind, number>
}

/** What the vendor says of its messages later: in any order, often more than once, sometimes before we know the message. */
export type OnReceipt = (message: Message, tenantId: string, kind: ReceiptKind) => void

/** What the vendor's callbacks hold: our own id comes back, and the time makes a repetition another callback. */
export interface VendorReport {
  messageId: string
  notificationId: string
  kind: ReceiptKind
  at: number
}

/** Reads the vendor's callbacks. */
export const vendorReceipts: Pick<ReceiptSource, 'parse'> = {
  parse({ rawBody }) {
    const { messageId: providerMessageId, notificationId, kind, at } = JSON.parse(rawBody.toString()) as VendorReport
    const facts = {
      provider: 'vendor',
      providerMessageId,
      notificationId,
      at,
      recipient: null,
      isPartial: false,
      eventId: null,
    }
    if (kind !== 'failed' && kind !== 'bounced') return { events: [{ ...facts, kind }], unreadable: 0 }
    const failure = {
      kind: 'permanent',
      code: '550',
      error: 'given up',
      reason: 'unreachable',
    } as const
    return { events: [{ ...facts, kind, failure }], unreadable: 0 }
  },
}

export function createVendor(scheduler: Scheduler, random: Random, faults: VendorFaults, onReceipt: OnReceipt): Vendor {
  const calls: Call[] = []
  const messages: Message[] = []
  let calm = false
  /** What one account has sent is unknown to another, as if they were with different vendors. */
  const byKey = new Map<string, Message>()
  const placeOf = ({ account, key }: SendRequest): string => `${account.id} ${key}`

  function accept(request: SendRequest): Message {
    const known = request.account.settings['capability'] === 'key' ? byKey.get(placeOf(request)) : undefined
    if (known) return known
    const { notificationId, key, account } = request
    const message = { id: `m${messages.length + 1}`, at: scheduler.now, key, notificationId, accountId: account.id }
    messages.push(message)
    byKey.set(placeOf(request), message)
    report(message, account.tenantId)
    return message
  }

  function report(message: Message, tenantId: string): void {
    for (const kind of RECEIPT_KINDS)
      for (let copies = 0; copies < 3 && random() < faults.receipts[kind]; copies++)
        scheduler.at(scheduler.now + random() * 1_500, () => onReceipt(message, tenantId, kind))
  }

  async function answer(request: SendRequest): Promise<Outcome> {
    if (calm) return { kind: 'accepted', providerMessageId: accept(request).id }
    let chance = random()
    const hit = (share: number): boolean => {
      chance -= share
      return chance < 0
    }
    await scheduler.after(random() * 40)
    if (hit(faults.transient)) return { kind: 'transient', code: '503', error: 'unavailable' }
    if (hit(faults.throttled)) return { kind: 'throttled', code: '429', error: 'slow down', retryAfterMs: 200 }
    if (hit(faults.tooOften))
      return { kind: 'throttled', code: '131056', error: 'not him again', retryAfterMs: 300, scope: 'recipient' }
    if (hit(faults.deferred))
      return { kind: 'transient', code: '131049', error: 'not now', retryAfterMs: 2_000, isDeferred: true }
    if (hit(faults.unauthorized)) return { kind: 'unauthorized', code: '401', error: 'who are you' }
    if (hit(faults.permanent))
      return { kind: 'permanent', code: '400', error: 'no such number', reason: 'invalid_recipient' }
    if (hit(faults.lostRequest)) return noAnswer(request)
    if (hit(faults.lostReply)) {
      accept(request)
      return noAnswer(request)
    }
    if (hit(faults.delayed)) {
      scheduler.at(scheduler.now + 500 + random() * 5_000, () => accept(request))
      return noAnswer(request)
    }
    const message = accept(request)
    await scheduler.after(random() * 40)
    return { kind: 'accepted', providerMessageId: message.id }
  }

  function noAnswer({ signal }: SendRequest): Promise<Outcome> {
    const outcome: Outcome = { kind: 'unknown', code: 'timeout', error: 'no answer' }
    return new Promise((resolve) => {
      if (signal.aborted) resolve(outcome)
      else signal.addEventListener('abort', () => resolve(outcome), { once: true })
    })
  }

  return {
    calls,
    messages,
    calm() {
      calm = true
    },
    provider: (worker) => ({
      name: 'vendor',
      channels: CHANNELS,
      capability: (account) => account.settings['capability'] as Capability,
      send(request) {
        const { notificationId, attempt, account } = request
        calls.push({ at: scheduler.now, worker, notificationId, attempt, accountId: account.id })
        return answer(request)
      },
      async lookup(request) {
        await scheduler.after(random() * 20)
        if (!calm && random() < faults.transient) throw new Error('the vendor cannot be asked')
        const found = byKey.get(placeOf(request))
        return found ? { kind: 'accepted', providerMessageId: found.id } : null
      },
    }),
  }
}
