import {
  ENTITY_TYPE,
  EVENT_TYPE,
  INSTANT_WORDS,
  LINE_PATTERN,
  LOCALE,
  MAX_ID_LENGTH,
  type TextForm,
  TOPIC,
  TRACEPARENT,
} from '@pillarbox/client/contract'
import { Type } from 'typebox'

export { BodyFormatName, ChannelName, JsonObject, Nullable } from '../model/schema-pieces.ts'

/** The pieces that bodies are made of. A schema validates, types and documents alike. */

/** Text that may come to stand in a header: no control characters, no line breaks of any kind. */
export const Line = (minLength: number, maxLength: number, description?: string) =>
  Type.String({
    minLength,
    maxLength,
    pattern: LINE_PATTERN.source,
    ...(description !== undefined && { description }),
  })

/** Text of a form that the rules for an event name. */
export const FormOf = ({ pattern }: TextForm, description?: string) =>
  Type.String({ pattern: pattern.source, ...(description !== undefined && { description }) })

export const Instant = (description = `An ISO 8601 time: ${INSTANT_WORDS}.`) =>
  Type.String({ format: 'date-time', description })

/** The name of a kind of entity, such as `booking`. */
export const EntityType = FormOf(ENTITY_TYPE)

export const EntityRef = Type.Object({ type: EntityType, id: Line(1, MAX_ID_LENGTH) }, { additionalProperties: false })

export const LocaleTag = FormOf(LOCALE)

/** A UUID of any version, in any case. */
export const UUID_PATTERN = '^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$'

/** What text of each pattern must be, for people. */
export const PATTERN_WORDS: Record<string, string> = {
  [LINE_PATTERN.source]: 'must be one line without control characters',
  [UUID_PATTERN]: 'must be a UUID',
  ...Object.fromEntries(
    [ENTITY_TYPE, LOCALE, EVENT_TYPE, TOPIC, TRACEPARENT].map(({ pattern, words }) => [
      pattern.source,
      `must be ${words}`,
    ]),
  ),
}

/** Milliseconds of a time that has passed validation. */
export function instantMs(instant: string | null | undefined): number | null {
  return instant === null || instant === undefined ? null : Date.parse(instant)
}

/** The fields that say something: null stands for "not given" in what callers send. */
export function withoutNulls<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], null> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as never
}
