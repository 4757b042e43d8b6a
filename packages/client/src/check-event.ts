import { CHANNELS, type Channel, type EntityRef, type Recipient } from './event.ts'
import {
  describe,
  isPlainObject,
  jsonCopy,
  jsonObjectText,
  type Problem,
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

/** An event in the form of its row: times in ms since 1970, JSON as text. */
export interface EventRow {
  tenantId: string
  id: string
  type: string
  entityType: string
  entityId: string
  payload: string
  occurredAt: number | null
  dueAt: number | null
  correlationId: string | null
  locale: string | null
  recipients: string | null
  channels: string | null
  conversation: string | null
  schemaVersion: number
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

/** The row of one event; throws `InvalidEventError`. */
export function eventRow(event: unknown, newId: () => string): EventRow {
  const problems: Problem[] = []
  const row = readEvent(event, '', newId, collector(problems))
  if (row === null || problems.length > 0) throw new InvalidEventError(problems)
  return row
}

/** The rows of several, in the given order; one bad event refuses them all. Paths start with the index. */
export function eventRows(events: readonly unknown[], newId: () => string): EventRow[] {
  const problems: Problem[] = []
  const report = collector(problems)
  if (!Array.isArray(events)) {
    throw new InvalidEventError([{ path: '', message: `must be a list of events, not ${describe(events)}` }])
  }
  const rows: EventRow[] = []
  for (let index = 0; index < events.length; index += 1) {
    const row = readEvent(events[index], `/${index}`, newId, report)
    if (row !== null) rows.push(row)
  }
  if (problems.length > 0) throw new InvalidEventError(problems)
  return rows
}

const TENANT = { form: /^[a-z0-9-]{1,63}$/, wanted: '1 to 63 of the characters a-z, 0-9 and "-"' }
const EVENT_TYPE = {
  form: /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
  wanted: '1 to 100 letters, digits, ".", "_" and "-", a letter or digit first',
}
const ENTITY_TYPE = { form: /^[A-Za-z][\w-]{0,62}$/, wanted: '1 to 63 letters, digits, "_" and "-", a letter first' }
const LOCALE = { form: /^(?=.{2,35}$)[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, wanted: 'a locale such as "de-DE"' }
const MAX_ID_LENGTH = 200
const MAX_RECIPIENTS = 10_000
const MAX_SCHEMA_VERSION = 1_000_000
const MAX_PROBLEMS = 50

const EVENT_FIELDS: ReadonlySet<string> = new Set([
  'tenantId',
  'id',
  'type',
  'entity',
  'payload',
  'occurredAt',
  'dueAt',
  'correlationId',
  'locale',
  'recipients',
  'channels',
  'conversation',
  'schemaVersion',
])
const REF_FIELDS: ReadonlySet<string> = new Set(['type', 'id'])
const RECIPIENT_TEXTS = { profileId: 200, userId: 200, name: 200, phone: 40, email: 254 } as const
const RECIPIENT_FIELDS = [...(Object.keys(RECIPIENT_TEXTS) as (keyof typeof RECIPIENT_TEXTS)[]), 'locale'] as const
const KNOWN_RECIPIENT_FIELDS: ReadonlySet<string> = new Set(RECIPIENT_FIELDS)

function collector(problems: Problem[]): Report {
  return (path, message) => {
    if (problems.length < MAX_PROBLEMS) problems.push({ path, message })
  }
}

/** Null, or a row with gaps, where something was reported. */
function readEvent(event: unknown, path: string, newId: () => string, report: Report): EventRow | null {
  if (!isPlainObject(event)) {
    report(path, `must be an event, not ${describe(event)}`)
    return null
  }
  refuseOtherFields(event, EVENT_FIELDS, path, report)
  const { id, payload, occurredAt, dueAt, correlationId, locale, recipients, channels, conversation, schemaVersion } =
    event
  const entity = readRef(event['entity'], path, 'entity', report)
  return {
    tenantId: readForm(event['tenantId'], TENANT, path, 'tenantId', report),
    id: readText(isGiven(id) ? id : newId(), MAX_ID_LENGTH, path, 'id', report),
    type: readForm(event['type'], EVENT_TYPE, path, 'type', report),
    entityType: entity.type,
    entityId: entity.id,
    payload: jsonObjectText(payload, `${path}/payload`, report) ?? '',
    occurredAt: isGiven(occurredAt) ? readInstant(occurredAt, `${path}/occurredAt`, report) : null,
    dueAt: isGiven(dueAt) ? readInstant(dueAt, `${path}/dueAt`, report) : null,
    correlationId: isGiven(correlationId)
      ? readText(correlationId, MAX_ID_LENGTH, path, 'correlationId', report)
      : null,
    locale: isGiven(locale) ? readForm(locale, LOCALE, path, 'locale', report) : null,
    recipients: isGiven(recipients) ? JSON.stringify(readRecipients(recipients, `${path}/recipients`, report)) : null,
    channels: isGiven(channels) ? JSON.stringify(readChannels(channels, `${path}/channels`, report)) : null,
    conversation: isGiven(conversation) ? JSON.stringify(readRef(conversation, path, 'conversation', report)) : null,
    schemaVersion: isGiven(schemaVersion) ? readVersion(schemaVersion, `${path}/schemaVersion`, report) : 1,
  }
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
    id: readText(value['id'], MAX_ID_LENGTH, at, 'id', report),
  }
}

function readRecipients(value: unknown, path: string, report: Report): Recipient[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_RECIPIENTS) {
    report(path, `must be a list of 1 to ${MAX_RECIPIENTS} recipients; leave it out for the catalogue's`)
    return []
  }
  return value.map((entry: unknown, index) => {
    const at = pointer(path, index)
    const recipient: Recipient = {}
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
          : readText(given, RECIPIENT_TEXTS[field], at, field, report)
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

const ISO_INSTANT = /^\d{4}-\d{2}-(\d{2})T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|([+-])(\d{2}):(\d{2}))$/
/** Of the years that every store keeps. */
const LATEST_MS = Date.UTC(9998, 11, 31, 23, 59, 59, 999)

function readInstant(value: unknown, path: string, report: Report): number {
  const ms = value instanceof Date ? value.getTime() : typeof value === 'string' ? parseIso(value) : Number.NaN
  if (ms >= 0 && ms <= LATEST_MS) return ms
  report(
    path,
    Number.isNaN(ms)
      ? 'must be a valid Date, or ISO 8601 text with a zone such as "2026-03-15T09:00:00Z"'
      : 'must lie in the years 1970 to 9998',
  )
  return 0
}

/** NaN where the text is no instant. `Date.parse` alone would take 30 February for 2 March. */
function parseIso(text: string): number {
  const [, day, sign, hours, minutes] = ISO_INSTANT.exec(text) ?? []
  if (day === undefined) return Number.NaN
  const ms = Date.parse(text)
  const offsetMs = (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000
  return new Date(ms + offsetMs).getUTCDate() === Number(day) ? ms : Number.NaN
}

// The two that every event passes several times: they make a path only where there is a problem.

function readForm(
  value: unknown,
  { form, wanted }: { form: RegExp; wanted: string },
  path: string,
  field: string,
  report: Report,
): string {
  if (typeof value === 'string' && form.test(value)) return value
  report(`${path}/${field}`, `must be ${wanted}${typeof value === 'string' ? '' : `, not ${describe(value)}`}`)
  return ''
}

function readText(value: unknown, maxLength: number, path: string, field: string, report: Report): string {
  if (typeof value !== 'string' || value.length === 0 || value.length > maxLength) {
    report(
      `${path}/${field}`,
      `must be text of 1 to ${maxLength} characters${typeof value === 'string' ? '' : `, not ${describe(value)}`}`,
    )
    return ''
  }
  if (UNFIT.test(value)) {
    report(`${path}/${field}`, textProblem(value) ?? 'must be one line without control characters')
  }
  return value
}

/** Ids and addresses may come to stand in a header; halves of surrogate pairs are no text at all. */
const UNFIT = /[\p{Cc}\p{Cs}\u2028\u2029]/u

function refuseOtherFields(value: object, known: ReadonlySet<string>, path: string, report: Report): void {
  for (const key of Object.keys(value)) {
    if (!known.has(key)) report(pointer(path, key), `is not one of ${[...known].join(', ')}`)
  }
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}
