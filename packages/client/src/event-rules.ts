/**
 * The rules for an event, once, for every way in: `publish()` on either database, `POST /api/events`, the SQL function
 * `pillarbox.publish` and the engine's own intake. `check-event.ts` applies them; the JSON Schema of the route is made of
 * them; the SQL function repeats them, and one corpus of events (`test/contract/`) holds all ways to the same answers.
 */

/** The ways a notification can reach somebody. One word each, in SQL, types, routes, metrics and docs. */
export const CHANNELS = ['whatsapp', 'sms', 'email', 'push', 'in_app', 'webhook'] as const
export type Channel = (typeof CHANNELS)[number]

/** Text of one form: the pattern for programs, and what the text must be for people. */
export interface TextForm {
  pattern: RegExp
  words: string
}

export const TENANT_ID: TextForm = {
  pattern: /^[a-z0-9-]{1,63}$/,
  words: '1 to 63 of the characters a-z, 0-9 and "-"',
}

export const EVENT_TYPE: TextForm = {
  pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
  words: '1 to 100 letters, digits, ".", "_" and "-", a letter or digit first',
}

/** Under which subject the event goes to those who subscribe to what happens. */
export const TOPIC: TextForm = {
  pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/,
  words: '1 to 200 letters, digits, ".", "_" and "-", a letter or digit first',
}

/** The topic of an event that names none: `booking.events` for `booking.confirmed`. */
export function defaultTopic(type: string): string {
  return `${type.split('.', 1)[0]}.events`
}

/** The trace that an event belongs to, by W3C Trace Context: version, trace id, parent id and flags, in lower-case hex. */
export const TRACEPARENT: TextForm = {
  pattern: /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/,
  words: 'a traceparent by W3C Trace Context, such as 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
}

export const ENTITY_TYPE: TextForm = {
  pattern: /^[A-Za-z][A-Za-z0-9_-]{0,62}$/,
  words: '1 to 63 letters, digits, "_" and "-", a letter first',
}

export const LOCALE: TextForm = {
  pattern: /^(?=.{2,35}$)[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/,
  words: 'a locale such as de-DE',
}

/** Spelled out, because the OpenAPI document has the pattern below and not every reader of one knows `\p{Cc}`. */
const CONTROL_CHARACTERS = '\\u0000-\\u001f\\u007f-\\u009f'

/** Ids and addresses may come to stand in a header: no control character, no line break of any kind. */
export const LINE_PATTERN = new RegExp(`^[^${CONTROL_CHARACTERS}\\u2028\\u2029]*$`, 'u')

/** Lengths count characters, not the units of UTF-16 that JavaScript counts. */
export const lineWords = (maxLength: number): string =>
  `one line of 1 to ${maxLength} characters without control characters`

/** Of an event's id, an entity's id and a correlation id. */
export const MAX_ID_LENGTH = 200

/** What an event may say of a recipient, beside the recipient's locale. */
export const RECIPIENT_LENGTHS = { profileId: 200, userId: 200, name: 200, phone: 40, email: 254 } as const

export const MAX_RECIPIENTS = 10_000
export const MAX_SCHEMA_VERSION = 1_000_000

/** Of the years that every store keeps. */
export const EARLIEST_MS = 0
export const LATEST_MS = Date.UTC(9998, 11, 31, 23, 59, 59, 999)
export const INSTANT_WORDS = 'a time of the years 1970 to 9998 with its zone, such as 2026-03-15T09:00:00Z'

/** As JSON in UTF-8, without spaces. */
export const MAX_PAYLOAD_BYTES = 1_048_576

/** The payload itself is the first level. */
export const MAX_JSON_DEPTH = 32

/** The one key that objects cannot have without trouble: assigning to it sets a prototype, and the key is lost. */
export const FORBIDDEN_KEY = '__proto__'
