import { INSTANT_WORDS, instantMs } from '@pillarbox/client/contract'
import { Ajv, type FuncKeywordDefinition, type ValidateFunction } from 'ajv'
import * as ajvFormats from 'ajv-formats'
import type { FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify'
import type { TSchema } from 'typebox'
import type { FieldError } from '../model/errors.ts'
import { schemaErrors } from '../model/schema-errors.ts'
import { readWord } from '../model/words.ts'
import { PATTERN_WORDS } from './schemas.ts'

// At run time the default export is the plugin; under nodenext its types say it is a namespace.
const addFormats = ajvFormats.default as unknown as (ajv: Ajv) => Ajv

const COMMON = {
  allErrors: true,
  useDefaults: true,
  removeAdditional: false,
  strict: true,
  allowUnionTypes: true,
} as const

/** Bodies are taken as they are: no coercion, nothing removed. */
const bodies = addFormats(new Ajv({ ...COMMON, coerceTypes: false }))

/** Everything in a URL is text: numbers, booleans and single values for lists are read from it. */
const parameters = addFormats(new Ajv({ ...COMMON, coerceTypes: 'array' }))

// The stock format takes leap seconds and lower-case letters, of which no instant can be made.
for (const ajv of [bodies, parameters])
  ajv.addFormat('date-time', { type: 'string', validate: (text) => instantMs(text) !== null })

// A word from a closed set is read in any case, and in other systems' words where these mean one of the set.
for (const ajv of [bodies, parameters]) ajv.removeKeyword('enum').addKeyword(anyCaseEnum())

type EnumCheck = ReturnType<NonNullable<FuncKeywordDefinition['compile']>>

function anyCaseEnum(): FuncKeywordDefinition {
  return {
    keyword: 'enum',
    schemaType: 'array',
    modifying: true,
    errors: true,
    compile(allowedValues: unknown[]) {
      const validate: EnumCheck = (data: unknown, context) => {
        const read = typeof data === 'string' ? readWord(data, allowedValues) : data
        if (context && read !== data) context.parentData[context.parentDataProperty] = read
        if (allowedValues.includes(read)) return true
        validate.errors = [{ keyword: 'enum', params: { allowedValues } }]
        return false
      }
      return validate
    },
  }
}

const compiled = new Map<string, ValidateFunction>()

/** Schemas of the same words are compiled once: many routes share theirs, and an app that is built again has the same. */
export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const isBody = httpPart === 'body'
  const words = `${isBody ? 'body' : 'parameters'} ${JSON.stringify(schema)}`
  const known = compiled.get(words) ?? (isBody ? bodies : parameters).compile(schema)
  compiled.set(words, known)
  return known
}

/**
 * A validator compiler for a route whose documented body is validated item by item in the handler, or by a choice of
 * schemas: `check` stands in for the schema, everything else is validated as usual.
 */
export function withBodyCheck(
  check: (body: unknown) => FastifySchemaValidationError[] | null,
): FastifySchemaCompiler<TSchema> {
  return (route) => {
    if (route.httpPart !== 'body') return validatorCompiler(route)
    return (body: unknown) => {
      const errors = check(body)
      return errors ? { error: errors as unknown as Error } : { value: body }
    }
  }
}

/** The same for a body that may be left out, which is null then. */
export function optionalBody(schema: TSchema): FastifySchemaCompiler<TSchema> {
  const check = bodyCheck(schema)
  return withBodyCheck((body) => (body === null ? null : check(body)))
}

export type BodyCheck = (body: unknown) => FastifySchemaValidationError[] | null

/** `null` when the value has the schema's form, else what is wrong. */
export function bodyCheck(schema: TSchema): BodyCheck {
  // Compiled at first use: an app that never sees such a body does not pay for it.
  let validate: ValidateFunction | undefined
  return (body) => {
    validate ??= bodies.compile(schema)
    return validate(body) ? null : ((validate.errors ?? []) as FastifySchemaValidationError[])
  }
}

/** What is wrong, field by field, in words that never repeat the value. */
export function fieldErrors(validation: readonly FastifySchemaValidationError[], context: string): FieldError[] {
  const errors = schemaErrors(validation, WORDS)
  if (context === 'body') return errors
  return errors.map(({ path, message }) => ({ path: path.replace(/^\//, '').replaceAll('/', '.'), message }))
}

const WORDS = { formats: { 'date-time': `must be ${INSTANT_WORDS}` }, patterns: PATTERN_WORDS }
