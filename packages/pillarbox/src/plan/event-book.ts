import type { NotificationView } from '../model/notification.ts'
import type { Clock } from '../model/ports.ts'
import type { Address } from '../model/recipient.ts'
import { createTimedMap } from '../runtime/timed-cache.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'
import type { Store } from '../store/store.ts'
import type { ContextBook } from './context-book.ts'
import { type DueEvent, failedEvent, openEvent, type StoppedEvent, withAnswer } from './due-event.ts'
import { recognisedAs } from './people.ts'
import { noRecipient, type Recipient } from './recipients.ts'
import { askHook, type ResolveHook } from './resolve-hook.ts'

/** Events that were planned before and are looked at again: another channel, a retry, a resend. */
export interface EventBook {
  /** The event as planning would see it now, the host's hook included; or why it would not. Rejects when the store does. */
  open(tenantId: string, eventId: string): Promise<DueEvent | StoppedEvent>
  /** Whom a notification of the event is for, with what their contact knows by now. */
  recipientOf(due: DueEvent, notification: NotificationView): Promise<Recipient>
}

export interface EventBookDeps {
  store: Pick<Store, 'events' | 'people'>
  contexts: ContextBook
  sealing: Pick<PayloadSeal, 'openPayload'>
  resolve: ResolveHook | null
  clock: Clock
  /** How old what was read may be. Default: a second. */
  maxAgeMs?: number
}

/** When a mass send falls back, thousands of its notifications ask for the same large event within a second. */
const MAX_KEPT = 8
const MAX_AGE_MS = 1_000
/** Among more than these nobody is looked for: what the notification itself knows has to do. */
const MAX_SEARCHED = 1_000

export function createEventBook(deps: EventBookDeps): EventBook {
  const { store, contexts, clock, maxAgeMs = MAX_AGE_MS } = deps
  const known = createTimedMap<DueEvent>({ clock, maxAgeMs, maxEntries: MAX_KEPT })

  async function read(tenantId: string, eventId: string): Promise<DueEvent | StoppedEvent> {
    const event = await store.events.find(tenantId, eventId)
    if (!event) return failedEvent('invalid_event', `the event ${eventId} is gone`)
    const due = openEvent(deps.sealing, event, await contexts.get(tenantId, event.type))
    if ('kind' in due) return due
    if (due.type.delivery.kind === 'none') {
      const error = `${event.type} says nothing to anybody: its delivery is none`
      return { kind: 'cancelled', reason: 'no_templates_found', error }
    }
    const [answer] = await askHook(deps, [event])
    if (answer === undefined || 'unasked' in answer) return due
    if ('cancel' in answer) return { kind: 'cancelled', reason: 'cancelled_by_host', error: answer.cancel }
    if ('failed' in answer) return failedEvent('planning_failed', answer.failed)
    return withAnswer(due, answer)
  }

  return {
    async open(tenantId, eventId) {
      const key = `${tenantId}\n${eventId}`
      const kept = known.peek(key)
      if (kept) return kept
      const due = await read(tenantId, eventId)
      // Secrets are opened for one use, not kept.
      if (!('kind' in due) && !due.isSecret) known.set(key, due)
      return due
    },
    async recipientOf(due, { tenantId, to, place, contactId, conversationId, templateId, locale, correctedFrom }) {
      const found = findAgain(due, to, place)
      const contact = contactId === null ? null : await store.people.findContact(tenantId, contactId)
      // What somebody corrected by hand counts for more than what the event says.
      // Of one that has words the locale is their template's, which need not be what the recipient prefers.
      const recipient: Recipient = found
        ? {
            ...found,
            place,
            address: correctedFrom === null ? { ...to, ...found.address } : { ...found.address, ...to },
          }
        : { ...noRecipient, place, address: to, locale: templateId === null ? locale : null }
      return { ...recognisedAs(recipient, { contact, conversationId }), contactId }
    },
  }
}

/**
 * The recipient that a notification's address was made from: whoever is at its place, if they are still the same, or
 * somebody of whom all that they say themselves is in it.
 */
function findAgain({ audience }: DueEvent, to: NotificationView['to'], place: string | null): Recipient | null {
  const own = place === null ? null : audience.at(Number(place))
  if (own && 'recipient' in own && hasSome(to, own.recipient.address)) return own.recipient
  if (audience.hasExpandedList || audience.size > MAX_SEARCHED) return null
  let only: Recipient | null = null
  for (let place = 0; place < audience.size; place++) {
    const entry = audience.at(place)
    if (!entry || !('recipient' in entry)) continue
    const { recipient } = entry
    const said = Object.entries(recipient.address)
    if (said.length > 0 && said.every(([field, value]) => to[field as keyof typeof to] === value)) return recipient
    only = audience.size === 1 ? recipient : null
  }
  // The only one there is, though a path or the payload's reading has changed since.
  return to.list === undefined ? only : null
}

/** Whether the two have an address in common; a name is none. */
function hasSome(to: Address, address: Address): boolean {
  return Object.entries(address).some(([field, value]) => field !== 'name' && to[field as keyof Address] === value)
}
