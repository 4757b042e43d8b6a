import type { EntityRef } from './event.ts'
import {
  CHANNELS,
  type Channel,
  EARLIEST_MS,
  ENTITY_TYPE,
  EVENT_TYPE,
  INSTANT_WORDS,
  LATEST_MS,
  LINE_PATTERN,
  LOCALE,
  lineWords,
  MAX_ID_LENGTH,
  MAX_RECIPIENTS,
  MAX_SCHEMA_VERSION,
  RECIPIENT_LENGTHS,
  TENANT_ID,
  type TextForm,
  TOPIC,
  TRACEPARENT,
} from './event-rules.ts'
import {
  describe,
  isPlainObject,
  jsonCopy,
  type Problem,
  payloadCopy,
  pointer,
  type Report,
  textProblem,
} from './json-text.ts'

/** Thrown before any statement has run, so the transaction it was meant for is still good. Lists everything wrong. */
export class InvalidEventError extends Error {
  override readonly name = 'InvalidEventError'
  readonly code = 'invalid_event'
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    super(`Invalid event: ${problems.map(({ path, message }) => `${placeOf(path)} ${message}`).join('; ')}`)
    this.problems = problems
  }
}

/** `payload.items[2].price`: a JSON pointer as the host would write it. */
function placeOf(path: string): string {
  const steps = path.split('/').slice(1)
  const place = steps.map((step) => {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (/^\d+$/.test(key)) return `[${key}]`
    return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
  })
  return place.join('').replace(/^\./, '') || 'it'
}

/** An event that keeps every rule: times in ms since 1970, null for what was left out, nothing twice. */
export interface CheckedEvent {
  tenantId: string
  id: string
  type: string
  entity: EntityRef
  payload: Record<string, unknown>
  /** The JSON of `payload`. */
  payloadText: string
  occurredAt: number | null
  dueAt: number | null
  correlationId: string | null
  topic: string | null
  traceparent: string | null
  locale: string | null
  recipients: CheckedRecipient[] | null
  channels: Channel[] | null
  conversation: EntityRef | null
  schemaVersion: number
}

export type CheckedRecipient = { [Field in RecipientField]?: string }
type RecipientField = keyof typeof RECIPIENT_LENGTHS | 'locale'

/**
 * Reads an event that may hold anything, with `newId` for the id of one that has none. Where a rule is broken the answer
 * lists every problem, at most 50. The event names its tenant; with `tenantId` the caller does, and the event must not.
 */
export function checkEvent(
  event: unknown,
  { newId, tenantId }: { newId: () => string; tenantId?: string },
): { event: CheckedEvent } | { problems: Problem[] } {
  const problems: Problem[] = []
  const checked = readEvent(event, '', { newId, tenantId }, collector(problems))
  return checked === null || problems.length > 0 ? { problems } : { event: checked }
}

/**
 * Events as they are sent to a server, which judges them one by one. Throws `InvalidEventError` where a payload holds
 * what JSON would change or drop without a word: the server could not know.
 */
export function sendableEvents<Event extends { payload: object }>(events: readonly Event[], isList: boolean): Event[] {
  const problems: Problem[] = []
  const report = collector(problems)
  const copies = events.map((event, index) => {
    if (!isGiven(event.payload)) return event
    return { ...event, payload: jsonCopy(event.payload, `${isList ? `/${index}` : ''}/payload`, report) }
  })
  if (problems.length > 0) throw new InvalidEventError(problems)
  return copies
}

/** One event that keeps the rules; throws `InvalidEventError`. */
export function validEvent(event: unknown, newId: () => string): CheckedEvent {
  const checked = checkEvent(event, { newId })
  if ('problems' in checked) throw new InvalidEventError(checked.problems)
  return checked.event
}

/** Several events in the given order; one bad event refuses them all. Paths of problems start with the index. */
export function validEvents(events: readonly unknown[], newId: () => string): CheckedEvent[] {
  const problems: Problem[] = []
  const report = collector(problems)
  if (!Array.isArray(events)) {
    throw new InvalidEventError([{ path: '', message: `must be a list of events, not ${describe(events)}` }])
  }
  const checked: CheckedEvent[] = []
  for (let index = 0; index < events.length; index += 1) {
    const event = readEvent(events[index], `/${index}`, { newId, tenantId: undefined }, report)
    if (event !== null) checked.push(event)
  }
  if (problems.length > 0) throw new InvalidEventError(problems)
  return checked
}

const MAX_PROBLEMS = 50

/** The fields that every event may have; one that names its own tenant has `tenantId` as well. */
const EVENT_FIELDS: ReadonlySet<string> = new Set([
  'id',
  'type',
  'entity',
  'payload',
  'occurredAt',
  'dueAt',
  'correlationId',
  'topic',
  'traceparent',
  'locale',
  'recipients',
  'channels',
  'conversation',
  'schemaVersion',
])
const EVENT_FIELDS_WITH_TENANT: ReadonlySet<string> = new Set(['tenantId', ...EVENT_FIELDS])
const REF_FIELDS: ReadonlySet<string> = new Set(['type', 'id'])
const RECIPIENT_FIELDS = [...(Object.keys(RECIPIENT_LENGTHS) as (keyof typeof RECIPIENT_LENGTHS)[]), 'locale'] as const
const KNOWN_RECIPIENT_FIELDS: ReadonlySet<string> = new Set(RECIPIENT_FIELDS)

function collector(problems: Problem[]): Report {
  return (path, message) => {
    if (problems.length < MAX_PROBLEMS) problems.push({ path, message })
  }
}

/** Null, or an event with gaps, where something was reported. */
function readEvent(
  event: unknown,
  path: string,
  { newId, tenantId }: { newId: () => string; tenantId: string | undefined },
  report: Report,
): CheckedEvent | null {
  if (!isPlainObject(event)) {
    report(path, `must be an event, not ${describe(event)}`)
    return null
  }
  refuseOtherFields(event, tenantId === undefined ? EVENT_FIELDS_WITH_TENANT : EVENT_FIELDS, path, report)
  const { id, payload, occurredAt, dueAt, correlationId, topic, traceparent, locale } = event
  const { recipients, channels, conversation, schemaVersion } = event
  return {
    tenantId: tenantId ?? readForm(event['tenantId'], TENANT_ID, path, 'tenantId', report),
    id: readLine(isGiven(id) ? id : newId(), MAX_ID_LENGTH, path, 'id', report),
    type: readForm(event['type'], EVENT_TYPE, path, 'type', report),
    entity: readRef(event['entity'], path, 'entity', report),
    ...readPayload(payload, `${path}/payload`, report),
    occurredAt: isGiven(occurredAt) ? readInstant(occurredAt, `${path}/occurredAt`, report) : null,
    dueAt: isGiven(dueAt) ? readInstant(dueAt, `${path}/dueAt`, report) : null,
    correlationId: isGiven(correlationId)
      ? readLine(correlationId, MAX_ID_LENGTH, path, 'correlationId', report)
      : null,
    topic: isGiven(topic) ? readForm(topic, TOPIC, path, 'topic', report) : null,
    traceparent: isGiven(traceparent) ? readForm(traceparent, TRACEPARENT, path, 'traceparent', report) : null,
    locale: isGiven(locale) ? readForm(locale, LOCALE, path, 'locale', report) : null,
    recipients: isGiven(recipients) ? readRecipients(recipients, `${path}/recipients`, report) : null,
    channels: isGiven(channels) ? readChannels(channels, `${path}/channels`, report) : null,
    conversation: isGiven(conversation) ? readRef(conversation, path, 'conversation', report) : null,
    schemaVersion: isGiven(schemaVersion) ? readVersion(schemaVersion, `${path}/schemaVersion`, report) : 1,
  }
}

/** An event without a payload has nothing more to say; null in place of one is more likely a mistake. */
function readPayload(value: unknown, path: string, report: Report): Pick<CheckedEvent, 'payload' | 'payloadText'> {
  const copied = value === undefined ? null : payloadCopy(value, path, report)
  return copied === null ? { payload: {}, payloadText: '{}' } : { payload: copied.copy, payloadText: copied.text }
}

function readRef(value: unknown, path: string, field: string, report: Report): EntityRef {
  const at = `${path}/${field}`
  if (!isPlainObject(value)) {
    report(at, `must be { type, id }, not ${describe(value)}`)
    return { type: '', id: '' }
  }
  refuseOtherFields(value, REF_FIELDS, at, report)
  return {
    type: readForm(value['type'], ENTITY_TYPE, at, 'type', report),
    id: readLine(value['id'], MAX_ID_LENGTH, at, 'id', report),
  }
}

function readRecipients(value: unknown, path: string, report: Report): CheckedRecipient[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_RECIPIENTS) {
    report(path, `must be a list of 1 to ${MAX_RECIPIENTS} recipients; leave it out for the catalogue's`)
    return []
  }
  return value.map((entry: unknown, index) => {
    const at = pointer(path, index)
    const recipient: CheckedRecipient = {}
    if (!isPlainObject(entry)) {
      report(at, `must be an object with some of ${RECIPIENT_FIELDS.join(', ')}, not ${describe(entry)}`)
      return recipient
    }
    refuseOtherFields(entry, KNOWN_RECIPIENT_FIELDS, at, report)
    for (const field of RECIPIENT_FIELDS) {
      // A name that is empty, as forms leave it, is none.
      const given = entry[field]
      if (!isGiven(given) || (field === 'name' && given === '')) continue
      recipient[field] =
        field === 'locale'
          ? readForm(given, LOCALE, at, field, report)
          : readLine(given, RECIPIENT_LENGTHS[field], at, field, report)
    }
    return recipient
  })
}

function readChannels(value: unknown, path: string, report: Report): Channel[] {
  if (!Array.isArray(value) || value.length === 0) {
    report(path, "must be a list of at least one channel; leave it out for the catalogue's")
    return []
  }
  const channels = value.flatMap((entry: unknown, index) => {
    const channel = CHANNELS.find((known) => known === entry)
    if (channel === undefined) report(pointer(path, index), `must be one of ${CHANNELS.join(', ')}`)
    return channel ?? []
  })
  return [...new Set(channels)]
}

function readVersion(value: unknown, path: string, report: Report): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_SCHEMA_VERSION) return value
  report(path, `must be a whole number from 1 to ${MAX_SCHEMA_VERSION}`)
  return 1
}

function readInstant(value: unknown, path: string, report: Report): number {
  const ms = value instanceof Date ? value.getTime() : typeof value === 'string' ? parseIso(value) : Number.NaN
  if (isKept(ms)) return ms
  report(path, `must be ${INSTANT_WORDS}`)
  return 0
}

/** The ms since 1970 of ISO 8601 text with a zone, or null where it is no such text or of a year that is not kept. */
export function instantMs(text: string): number | null {
  const ms = parseIso(text)
  return isKept(ms) ? ms : null
}

function isKept(ms: number): boolean {
  return ms >= EARLIEST_MS && ms <= LATEST_MS
}

const ISO_INSTANT = /^\d{4}-\d{2}-(\d{2})T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|([+-])(\d{2}):(\d{2}))$/

/** NaN where the text is no instant. `Date.parse` alone would take 30 February for 2 March. */
function parseIso(text: string): number {
  const [, day, sign, hours, minutes] = ISO_INSTANT.exec(text) ?? []
  if (day === undefined) return Number.NaN
  const ms = Date.parse(text)
  const offsetMs = (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000
  return new Date(ms + offsetMs).getUTCDate() === Number(day) ? ms : Number.NaN
}

// Every event passes the next two functions several times: they make a path only where there is a problem.

function readForm(value: unknown, { pattern, words }: TextForm, path: string, field: string, report: Report): string {
  if (typeof value === 'string' && pattern.test(value)) return value
  report(`${path}/${field}`, `must be ${words}${butGot(value)}`)
  return ''
}

function readLine(value: unknown, maxLength: number, path: string, field: string, report: Report): string {
  if (typeof value === 'string') {
    const isLine = value.length > 0 && hasAtMost(maxLength, value) && LINE_PATTERN.test(value)
    if (isLine && value.isWellFormed()) return value
    report(`${path}/${field}`, (isLine ? textProblem(value) : null) ?? `must be ${lineWords(maxLength)}`)
  } else report(`${path}/${field}`, `must be ${lineWords(maxLength)}${butGot(value)}`)
  return ''
}

/** Whether the text has at most so many characters. A character takes one or two of the units that `length` counts. */
function hasAtMost(maxLength: number, text: string): boolean {
  if (text.length <= maxLength) return true
  return text.length <= 2 * maxLength && Array.from(text).length <= maxLength
}

function butGot(value: unknown): string {
  return typeof value === 'string' ? '' : `, not ${describe(value)}`
}

function refuseOtherFields(value: object, known: ReadonlySet<string>, path: string, report: Report): void {
  for (const key of Object.keys(value)) {
    if (!known.has(key)) report(pointer(path, key), `is not one of ${[...known].join(', ')}`)
  }
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}
