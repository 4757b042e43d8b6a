import { CHANNELS, type Channel, type EntityRef, type Recipient } from './event.ts'
import {
  describe,
  isPlainObject,
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
    super(`Invalid event: ${problems.map(({ path, message }) => `${path || 'it'} ${message}`).join('; ')}`)
    this.problems = problems
  }
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
  if (!Array.isArray(events)) report('', `must be a list of events, not ${describe(events)}`)
  const rows = problems.length > 0 ? [] : events.map((event, index) => readEvent(event, `/${index}`, newId, report))
  if (problems.length > 0) throw new InvalidEventError(problems)
  return rows.filter((row) => row !== null)
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

const EVENT_FIELDS = [
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
]
const RECIPIENT_TEXTS = { profileId: 200, userId: 200, name: 200, phone: 40, email: 254 } as const
const RECIPIENT_FIELDS = [...(Object.keys(RECIPIENT_TEXTS) as (keyof typeof RECIPIENT_TEXTS)[]), 'locale'] as const

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
  const entity = readRef(event['entity'], `${path}/entity`, report)
  const conversation = optional(event['conversation'], (value) => readRef(value, `${path}/conversation`, report))
  return {
    tenantId: readForm(event['tenantId'], TENANT, `${path}/tenantId`, report),
    id: optional(event['id'], (value) => readText(value, MAX_ID_LENGTH, `${path}/id`, report)) ?? newId(),
    type: readForm(event['type'], EVENT_TYPE, `${path}/type`, report),
    entityType: entity.type,
    entityId: entity.id,
    payload: jsonObjectText(event['payload'], `${path}/payload`, report) ?? '',
    occurredAt: optional(event['occurredAt'], (value) => readInstant(value, `${path}/occurredAt`, report)),
    dueAt: optional(event['dueAt'], (value) => readInstant(value, `${path}/dueAt`, report)),
    correlationId: optional(event['correlationId'], (value) =>
      readText(value, MAX_ID_LENGTH, `${path}/correlationId`, report),
    ),
    locale: optional(event['locale'], (value) => readForm(value, LOCALE, `${path}/locale`, report)),
    recipients: jsonOrNull(
      optional(event['recipients'], (value) => readRecipients(value, `${path}/recipients`, report)),
    ),
    channels: jsonOrNull(optional(event['channels'], (value) => readChannels(value, `${path}/channels`, report))),
    conversation: jsonOrNull(conversation),
    schemaVersion:
      optional(event['schemaVersion'], (value) => readVersion(value, `${path}/schemaVersion`, report)) ?? 1,
  }
}

function readRef(value: unknown, path: string, report: Report): EntityRef {
  if (!isPlainObject(value)) {
    report(path, `must be { type, id }, not ${describe(value)}`)
    return { type: '', id: '' }
  }
  refuseOtherFields(value, ['type', 'id'], path, report)
  return {
    type: readForm(value['type'], ENTITY_TYPE, `${path}/type`, report),
    id: readText(value['id'], MAX_ID_LENGTH, `${path}/id`, report),
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
    refuseOtherFields(entry, RECIPIENT_FIELDS, at, report)
    for (const field of RECIPIENT_FIELDS) {
      // A name that is empty, as forms leave it, is none.
      if (field === 'name' && entry[field] === '') continue
      const given = optional(entry[field], (text) =>
        field === 'locale'
          ? readForm(text, LOCALE, `${at}/${field}`, report)
          : readText(text, RECIPIENT_TEXTS[field], `${at}/${field}`, report),
      )
      if (given !== null) recipient[field] = given
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
const LATEST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

function readInstant(value: unknown, path: string, report: Report): number {
  const ms = value instanceof Date ? value.getTime() : typeof value === 'string' ? parseIso(value) : Number.NaN
  if (ms >= 0 && ms <= LATEST_MS) return ms
  report(
    path,
    Number.isNaN(ms)
      ? 'must be a valid Date, or ISO 8601 text with a zone such as "2026-03-15T09:00:00Z"'
      : 'must lie between the years 1970 and 9999',
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

function readForm(
  value: unknown,
  { form, wanted }: { form: RegExp; wanted: string },
  path: string,
  report: Report,
): string {
  if (typeof value === 'string' && form.test(value)) return value
  report(path, `must be ${wanted}${typeof value === 'string' ? '' : `, not ${describe(value)}`}`)
  return ''
}

function readText(value: unknown, maxLength: number, path: string, report: Report): string {
  if (typeof value !== 'string' || value.length === 0 || value.length > maxLength) {
    report(
      path,
      `must be text of 1 to ${maxLength} characters${typeof value === 'string' ? '' : `, not ${describe(value)}`}`,
    )
    return ''
  }
  const problem = textProblem(value)
  if (problem !== null) report(path, problem)
  else if (BROKEN_LINE.test(value)) report(path, 'must be one line without control characters')
  return value
}

/** Ids and addresses may come to stand in a header. */
const BROKEN_LINE = /[\p{Cc}\u2028\u2029]/u

function refuseOtherFields(value: object, known: readonly string[], path: string, report: Report): void {
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) report(pointer(path, key), `is not one of ${known.join(', ')}`)
  }
}

function optional<T>(value: unknown, read: (value: unknown) => T): T | null {
  return value === undefined || value === null ? null : read(value)
}

function jsonOrNull(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value)
}
