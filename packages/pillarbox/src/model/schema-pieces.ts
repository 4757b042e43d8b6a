import { type Static, type TSchema, type TUnsafe, Type } from 'typebox'
import { BODY_FORMATS } from './catalogue.ts'
import { CHANNELS } from './channel.ts'

/** What the schemas of several stages are made of. */

export const ChannelName = Type.Enum([...CHANNELS])

export const BodyFormatName = Type.Enum([...BODY_FORMATS], {
  description: 'What a body is. Absent or null: HTML where it has an element of HTML, else text.',
})

export const JsonObject = Type.Record(Type.String(), Type.Unknown())

/** One type or null, written as JSON Schema and OpenAPI 3.1 have it. */
export function Nullable<T extends TSchema>(schema: T): TUnsafe<Static<T> | null> {
  const { type, enum: values, ...rest } = schema as unknown as { type?: string; enum?: unknown[] }
  if (values) return Type.Unsafe<Static<T> | null>({ ...rest, enum: [...values, null] })
  if (type !== undefined) return Type.Unsafe<Static<T> | null>({ ...rest, type: [type, 'null'] })
  return Type.Unsafe<Static<T> | null>({ anyOf: [schema, { type: 'null' }] })
}
