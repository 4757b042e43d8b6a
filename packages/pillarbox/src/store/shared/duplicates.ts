import { skippedKey } from '../../model/idempotency.ts'
import { type NewNotification, type SettledStatus, wordsOfFirst } from '../../model/notification.ts'

/** The notification that has the key which another one was to have. */
export interface KeyOwner {
  id: string
  eventId: string | null
  place: string | null
  /** Where it rests, and why; null: it is sent, or on its way. */
  status: SettledStatus | null
  reason: string | null
  /** A call that may have arrived was made before it came to rest. */
  possibleDuplicate: boolean
}

/** Whether the one that has the key is to give it to a planned notification: it was called off, and nobody has heard of it. */
export function givesKeyTo(planned: NewNotification, first: KeyOwner): boolean {
  const isCalledOff = first.status === 'cancelled' && first.reason === 'cancelled_by_event' && !first.possibleDuplicate
  return planned.followsCancelled === true && isCalledOff && first.eventId !== planned.eventId
}

/**
 * What is written in place of a planned notification whose key is another's: one that is skipped and names the first.
 * Null where that other one is the same planned again, after a crash or by a replay, and where no event planned it.
 */
export function duplicateOf(planned: NewNotification, first: KeyOwner): NewNotification | null {
  const { eventId, place, channel } = planned
  if (eventId === null || place === null) return null
  // One that was written before places were has none.
  if (first.eventId === eventId && (first.place === null || first.place === place)) return null
  return {
    ...planned,
    idempotencyKey: skippedKey({ eventId, place, channel }),
    accountId: null,
    provider: null,
    content: null,
    duplicateOf: first.id,
    stopped: { status: 'skipped', reason: 'duplicate', error: wordsOfFirst(first) },
  }
}
