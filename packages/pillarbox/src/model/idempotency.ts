import type { Channel } from './channel.ts'

/**
 * The keys that make a second notification for the same thing impossible: unique per tenant.
 * Parts are escaped, so that no part can reach into its neighbour's place.
 */
export function perEntityKey(parts: KeyParts & { entityId: string; eventType: string }): string {
  return automatic(parts.entityId, parts)
}

export function perEventKey(parts: KeyParts & { eventId: string; eventType: string }): string {
  return automatic(parts.eventId, parts)
}

/** `at` is when it is due: an entity that is told of at another time is told of anew. */
export function perOccurrenceKey(parts: KeyParts & { entityId: string; at: number; eventType: string }): string {
  // Without colons, which would be escaped.
  const time = new Date(parts.at).toISOString().replaceAll(/[-:]|\.000/g, '')
  return automatic(`${parts.entityId}@${time}`, parts)
}

/** A resend by hand: never equal to an automatic key, and new for every request. */
export function manualKey(parts: KeyParts & { entityId: string; requestId: string }): string {
  return `manual:${join([parts.entityId, parts.channel, parts.templateId, parts.requestId], parts.recipient)}`
}

/** The next channel of a fallback chain: one per notification and channel, however often the failure is reported. */
export function fallbackKey(notificationId: string, channel: Channel): string {
  return `fallback:${notificationId}:${channel}`
}

/** What is sent to a corrected address: new for every correction. */
export function correctedKey(notificationId: string, correctedId: string): string {
  return `corrected:${notificationId}:${correctedId}`
}

/**
 * Of a notification that is skipped: one per event, place and channel, however often the event is planned. It never
 * equals the key that the notification has once it can be sent, and so does not stand in its way.
 */
export function skippedKey({ eventId, place, channel }: { eventId: string; place: string; channel: Channel }): string {
  return `skipped:${join([eventId, channel, place], undefined)}`
}

/** Of a notification that was called off untold, once another one has the key that it had. */
export function cancelledKey(notificationId: string): string {
  return `cancelled:${notificationId}`
}

export interface KeyParts {
  channel: Channel
  templateId: string
  /** Where an event has several recipients, which one; otherwise absent. */
  recipient?: string
}

/** The words that the other keys begin with. */
const RESERVED: readonly string[] = ['manual', 'skipped']

/** An id that is the very word another kind of key begins with is written `%6Danual`, which no escaped part ever is. */
function automatic(id: string, parts: KeyParts & { eventType: string }): string {
  const key = join([id, parts.eventType, parts.channel, parts.templateId], parts.recipient)
  return RESERVED.includes(id) ? `%${id.charCodeAt(0).toString(16).toUpperCase()}${key.slice(1)}` : key
}

function join(parts: readonly string[], recipient: string | undefined): string {
  return [...parts, ...(recipient === undefined ? [] : [recipient])].map(escapedKeyPart).join(':')
}

/** Only `%` and `:` change, so ordinary ids read as they are. */
export function escapedKeyPart(part: string): string {
  return part.replaceAll('%', '%25').replaceAll(':', '%3A')
}
