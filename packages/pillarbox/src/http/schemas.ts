import { MAX_ID_LENGTH, TENANT_ID, textProblem } from '@pillarbox/client/contract'
import { type TSchema, Type } from 'typebox'
import { PATTERN_WORDS as BODY_PATTERN_WORDS, instantMs, Line, Nullable } from '../intake/body-fields.ts'
import { AddressFields } from '../intake/notification-body.ts'
import { CHANNELS } from '../model/channel.ts'
import { parseDuration } from '../model/duration.ts'
import { ERRORS, type ErrorCode, type FieldError, found, invalidBody } from '../model/errors.ts'
import type { Warning } from '../model/notification.ts'
import type { PageOf } from '../model/page.ts'
import { REASONS } from '../model/reason.ts'

/** What routes' schemas share. They validate, type and document alike. */

/** The forms of names. Each has its words below: what is refused is told in those, not as a pattern. */
export const PATTERNS = {
  tenantSlug: TENANT_ID.pattern.source,
  site: '^[A-Za-z0-9][\\w.-]{0,99}$',
  incarnation: '^[\\w.-]{1,100}$',
  provider: '^[a-z0-9][a-z0-9-]{0,39}$',
  settingName: '^[A-Za-z][A-Za-z0-9_]{0,63}$',
  headerName: '^[A-Za-z0-9-]{1,64}$',
  fingerprint: '^[0-9a-f]{16}$',
  reason: `^(?:${Object.keys(REASONS).join('|')}|fallback_triggered:[a-z_]{1,20})$`,
} as const

/** What text of each pattern must be, for people. */
export const PATTERN_WORDS: Record<string, string> = {
  ...BODY_PATTERN_WORDS,
  [PATTERNS.tenantSlug]: `must be ${TENANT_ID.words}`,
  [PATTERNS.site]: 'must be 1 to 100 letters, digits, dots, _ or -, and begin with a letter or digit',
  [PATTERNS.incarnation]: 'must be 1 to 100 letters, digits, dots, _ or -',
  [PATTERNS.provider]: 'must be 1 to 40 lower-case letters, digits or -, and begin with a letter or digit',
  [PATTERNS.settingName]: 'has a name that is not 1 to 64 letters, digits or _, beginning with a letter',
  [PATTERNS.headerName]: 'must be the name of a header: 1 to 64 letters, digits or -',
  [PATTERNS.fingerprint]: 'must be the fingerprint of a cause: 16 digits and letters from a to f',
  [PATTERNS.reason]: `must be one of ${Object.keys(REASONS).join(', ')}, or fallback_triggered:<channel>`,
}

export const Id = Type.String({ description: 'A UUIDv7.' })
export const Time = Type.String({ format: 'date-time' })
export const TimeOrNull = Nullable(Time)
export const TextOrNull = Nullable(Type.String())

/** `?tenantId=`, which only an ops key may give. */
export const ForOps = {
  tenantId: Type.Optional(Type.String({ maxLength: 63, description: 'For ops keys: the tenant.' })),
}

/** `?limit=` and `?cursor=`. */
export const Paging = {
  limit: Type.Integer({ minimum: 1, maximum: 200, default: 50, description: 'As many as a page has at most.' }),
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: 2_000, description: 'From the previous answer’s nextCursor.' }),
  ),
}

/** `?from=` and `?to=`, by when something was made. */
export const MadeBetween = {
  from: Type.Optional(Type.String({ format: 'date-time', description: 'Made at this time or later.' })),
  to: Type.Optional(Type.String({ format: 'date-time', description: 'Made before this time.' })),
}

/** `?channel=`. */
export const OnChannel = {
  channel: Type.Optional(Type.Enum([...CHANNELS], { description: 'Only those of this channel.' })),
}

/** A filter for exactly this text. */
export const Exactly = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ maxLength, description }))

export type Properties = Record<string, TSchema>

/** An object of a request, in which unknown properties are refused. */
export const Closed = <T extends Properties>(
  properties: T,
  options: { title?: string; description?: string; examples?: object[]; minProperties?: number } = {},
) => Type.Object(properties, { additionalProperties: false, ...options })

/** Why somebody does something. */
export const Note = Type.Optional(Line(1, 1_000, 'Why, in your own words. Kept in the audit.'))

/** The shortest and the longest duration that is taken. */
export interface DurationBounds {
  least: string
  most: string
}

export function durationWords({ least, most }: DurationBounds): string {
  return `must be an ISO 8601 duration from ${least} to ${most}`
}

/** Milliseconds of a duration; null where it is none, or not within its bounds. */
export function durationWithin(text: string, { least, most }: DurationBounds): number | null {
  const ms = parseDuration(text)
  return ms !== null && ms >= (parseDuration(least) ?? 0) && ms <= (parseDuration(most) ?? 0) ? ms : null
}

/** The same of a field of a body, where anything else is refused. */
export function durationField(path: string, text: string, bounds: DurationBounds): number {
  const ms = durationWithin(text, bounds)
  if (ms === null) throw invalidBody([{ path, message: durationWords(bounds) }])
  return ms
}

/** Where to send something instead. */
export const CorrectedAddress = Closed(AddressFields, {
  minProperties: 1,
  description: 'A corrected address: what is given replaces that field.',
})

export const PageSchema = <T extends TSchema>(item: T) =>
  Type.Object({ items: Type.Array(item), nextCursor: Nullable(Type.String()) })

export const WarningSchema = Type.Object(
  {
    code: Type.String(),
    key: Type.Optional(Type.String()),
    message: Type.String(),
  },
  { title: 'Warning' },
)

/** What was found in a document that is legal and probably not meant; `key` is its path. */
export function foundWarnings(found: readonly FieldError[]): Warning[] {
  return found.map(({ path, message }) => ({ code: 'probably_not_meant', key: path, message }))
}

/** `version` of a body that changes something: what it is a change of. */
export const ReadVersion = {
  version: Type.Optional(
    Type.Integer({ minimum: 1, description: 'The one you read: 409 changed_meanwhile where it is another by now.' }),
  ),
}

const FieldErrorSchema = Type.Object({ path: Type.String(), message: Type.String() }, { title: 'FieldError' })

export const ProblemSchema = Type.Object(
  {
    type: Type.String(),
    title: Type.String(),
    status: Type.Integer(),
    code: Type.Enum(Object.keys(ERRORS) as ErrorCode[], { description: 'From the closed catalogue of error codes.' }),
    detail: Type.String(),
    requestId: Type.String(),
    errors: Type.Optional(Type.Array(FieldErrorSchema)),
    warnings: Type.Optional(
      Type.Array(WarningSchema, { description: 'With invalid_catalogue: what is legal and probably not meant.' }),
    ),
    notificationId: Type.Optional(Type.String({ description: 'With duplicate_notification: the first one.' })),
  },
  {
    title: 'Problem',
    description: 'What went wrong (RFC 9457).',
    examples: [
      {
        type: 'urn:pillarbox:problem:invalid_body',
        title: ERRORS.invalid_body.title,
        status: ERRORS.invalid_body.status,
        code: 'invalid_body',
        detail: '/to/email must be an email address.',
        requestId: '019bc186-4c2f-7a63-9d0e-5b1f6a7c8d9e',
        errors: [{ path: '/to/email', message: 'must be an email address' }],
      },
    ],
  },
)

/** What a single item of a list came to, where one bad item spoils no other. */
export const ItemResult = Type.Object(
  {
    index: Type.Integer(),
    id: Type.Optional(Type.String()),
    status: Type.Integer(),
    code: Type.Optional(Type.String()),
    detail: Type.Optional(Type.String()),
    errors: Type.Optional(Type.Array(FieldErrorSchema)),
  },
  { title: 'BatchResult' },
)

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export function isId(text: string): boolean {
  return UUID.test(text.toLowerCase())
}

/** An id out of a path. One that cannot be an id is simply not found. */
export function idParameter(request: { params: unknown }, name = 'id'): string {
  const id = String((request.params as Record<string, unknown>)[name]).toLowerCase()
  return found(isId(id) && id)
}

/** An event's id out of a path: any text that one may have. */
export function eventIdParameter(request: { params: unknown }): string {
  const { id } = request.params as { id: string }
  return found(id.length <= 2 * MAX_ID_LENGTH && !textProblem(id) && id)
}

/**
 * A row with these of its instants as JSON has them. What else is in the row may stay: an answer has the properties of
 * its schema and no others.
 */
export function withTimes<T extends { [N in K]: number | null }, K extends keyof T>(
  row: T,
  ...names: K[]
): WithTimes<T, K> {
  const times = names.map((name) => [name, isoOrNull(row[name])])
  return { ...row, ...Object.fromEntries(times) } as WithTimes<T, K>
}

type WithTimes<T, K extends keyof T> = Omit<T, K> & { [N in K]: T[N] extends number ? string : string | null }

/** Those of the instants that a query names, as filters have them. */
export function instantsMs<K extends string>(given: { [N in K]: string | undefined }): { [N in K]?: number } {
  const named = Object.entries<string | undefined>(given).filter(([, instant]) => instant !== undefined)
  return Object.fromEntries(named.map(([name, instant]) => [name, instantMs(instant)])) as { [N in K]?: number }
}

/** A page of the store's rows as a page of the API's objects. */
export function pageJson<Row, Json>({ items, nextCursor }: PageOf<Row>, json: (row: Row) => Json): PageOf<Json> {
  return { items: items.map((row) => json(row)), nextCursor }
}

export function iso(ms: number): string {
  return new Date(ms).toISOString()
}

export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : iso(ms)
}

/**
 * Pages through a list that is short enough to be read whole: newest first, by ids that sort by age, unless `isBefore` says otherwise. What an
 * item is sorted by must not change, or a page would miss what has moved to one that was read before.
 */
export function pageOf<T extends { id: string }>(
  all: readonly T[],
  page: { limit: number; cursor?: string },
  isBefore = (a: string, b: string): boolean => a > b,
): PageOf<T> {
  const { cursor } = page
  const sorted = all
    .filter(({ id }) => cursor === undefined || isBefore(cursor, id))
    .sort((a, b) => (isBefore(a.id, b.id) ? -1 : 1))
  const items = sorted.slice(0, page.limit)
  return { items, nextCursor: sorted.length > items.length ? (items.at(-1)?.id ?? null) : null }
}
