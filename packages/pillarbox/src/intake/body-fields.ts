import { Type } from 'typebox'
import { EVENT_TYPE_NAME } from '../model/catalogue.ts'

export { ChannelName, JsonObject, Nullable } from '../model/schema-pieces.ts'

/** The pieces that bodies are made of. A schema validates, types and documents alike. */

const LINE = '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$'

/** Text that may come to stand in a header: no control characters, no line breaks of any kind. */
export const Line = (minLength: number, maxLength: number, description?: string) =>
  Type.String({
    minLength,
    maxLength,
    pattern: LINE,
    ...(description !== undefined && { description }),
  })

/** The years that every store can keep, in whatever zone they are written. */
const YEARS = '^(?:19(?:7[1-9]|[89][0-9])|[2-8][0-9]{3}|9(?:[0-8][0-9]{2}|9(?:[0-8][0-9]|9[0-8])))-'

export const Instant = (description = 'An ISO 8601 time of the years 1971 to 9998.') =>
  Type.String({ format: 'date-time', pattern: YEARS, description })

const ENTITY_TYPE = '^[A-Za-z][\\w-]{0,62}$'

/** The name of a kind of entity, such as `booking`. */
export const EntityType = Type.String({ pattern: ENTITY_TYPE })

export const EntityRef = Type.Object({ type: EntityType, id: Line(1, 200) }, { additionalProperties: false })

const LOCALE = '^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$'

export const LocaleTag = Type.String({ pattern: LOCALE, maxLength: 35 })

/** Of an instant that is none, and of one whose year cannot be kept: the same words, so that they are said once. */
export const INSTANT_WORDS =
  'must be an ISO 8601 time with zone of the years 1971 to 9998, such as 2026-03-15T09:30:00Z'

/** What text of each pattern must be, for people. */
export const PATTERN_WORDS: Record<string, string> = {
  [LINE]: 'must be one line without control characters',
  [YEARS]: INSTANT_WORDS,
  [ENTITY_TYPE]: 'must be 1 to 63 letters, digits, _ or -, and begin with a letter',
  [LOCALE]: 'must be a locale such as en or de-CH',
  [EVENT_TYPE_NAME.source]: 'must be 1 to 100 letters, digits, dots, _ or -, and begin with a letter or digit',
}

/** Milliseconds of a time that has passed validation. */
export function instantMs(instant: string | null | undefined): number | null {
  return instant === null || instant === undefined ? null : Date.parse(instant)
}

/** The fields that say something: null stands for "not given" in what callers send. */
export function withoutNulls<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], null> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as never
}
