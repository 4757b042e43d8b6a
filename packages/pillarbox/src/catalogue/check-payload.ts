import { Ajv, type Options, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import * as ajvFormats from 'ajv-formats'
import type { EventType } from '../model/catalogue.ts'
import { errorText, type FieldError } from '../model/errors.ts'
import { type SchemaError, schemaErrors } from '../model/schema-errors.ts'
import type { PayloadSchema } from '../model/schema-paths.ts'
import { parseDate } from '../model/timing.ts'
import { hasAtMost } from './bounds.ts'
import { once } from './once.ts'
import { draftOf, type SchemaDraft, safetyProblems, schemaWarnings } from './schema-safety.ts'
import { sealable } from './sealable.ts'

// At run time the default export is the plugin; under nodenext its types say it is a namespace.
const addFormats = ajvFormats.default as unknown as (ajv: Ajv) => Ajv

/** What an event type's payload must look like. */
export type PayloadRules = Pick<EventType, 'payload' | 'secrets'>

const MAX_ERRORS = 50
/** Payloads with more values than this are told their first fault only: all of them could be millions. */
const MAX_VALUES = 2_000
const MAX_KEPT = 500

/**
 * What is wrong with an event's payload by its type's schema: nothing, where the list is empty. Paths are JSON pointers
 * into the payload (`/guest/phone`); messages never repeat a value. A secret field may be sealed, whatever its schema.
 * Used by every intake and, for events written in a host's own transaction, when they are planned. Never throws, but may
 * take for ever: the schema is a stranger's, and the payload another's.
 */
export function checkPayload(type: PayloadRules, payload: unknown): FieldError[] {
  if (type.payload === null) return []
  try {
    const { first, all } = compiledFor(type, type.payload)
    if (first(payload)) return []
    const validate = hasAtMost(payload, MAX_VALUES) ? all() : first
    if (validate !== first) validate(payload)
    return wordsFor(validate.errors ?? []).slice(0, MAX_ERRORS)
  } catch (error) {
    // A schema that was stored before this version refused its like, or a payload too deep to be looked at.
    return [{ path: '', message: `cannot be checked by its schema: ${errorText(error)}` }]
  }
}

/** What keeps a payload's schema from being used, and what in it is probably not meant. Paths are within the schema. */
export function checkSchema(schema: PayloadSchema): { problems: FieldError[]; warnings: FieldError[] } {
  const unsafe = safetyProblems(schema)
  const warnings = schemaWarnings(schema, knownNames())
  if (unsafe.length > 0) return { problems: unsafe, warnings }
  try {
    const meta = metaSchemas[draftOf(schema) ?? '2020-12']()
    if (meta.validateSchema(schema) !== true) {
      const problems = wordsFor(meta.errors ?? [])
      return { problems: problems.length > 0 ? problems : [{ path: '', message: 'is not a JSON Schema' }], warnings }
    }
    // The compiled schema is kept: it is imported again and again, and events of its type are checked by it.
    compiledFor({ payload: schema, secrets: [] }, schema)
    return { problems: [], warnings }
  } catch (error) {
    return { problems: [{ path: '', message: `is not a JSON Schema: ${errorText(error)}` }], warnings }
  }
}

interface CompiledSchema {
  /** Stops at the first fault. */
  first: ValidateFunction
  /** Names every fault; compiled when first needed. */
  all(): ValidateFunction
}

/**
 * What was compiled, by the schema's object while a caller keeps that, else by the schema's text: the same schema is read
 * from the store again and again.
 */
const byObject = new WeakMap<object, { compiled: CompiledSchema; secrets: string }>()
const byText = new Map<string, CompiledSchema>()

function compiledFor({ secrets }: PayloadRules, schema: PayloadSchema): CompiledSchema {
  const known = byObject.get(schema)
  if (known?.secrets === String(secrets)) return known.compiled
  const text = JSON.stringify([schema, secrets])
  const compiled = byText.get(text) ?? lazily(schema, secrets)
  byText.delete(text)
  byText.set(text, compiled)
  for (const oldest of byText.keys()) {
    if (byText.size <= MAX_KEPT) break
    byText.delete(oldest)
  }
  byObject.set(schema, { compiled, secrets: String(secrets) })
  return compiled
}

function lazily(schema: PayloadSchema, secrets: readonly string[]): CompiledSchema {
  let all: ValidateFunction | undefined
  return { first: compile(schema, secrets, false), all: () => (all ??= compile(schema, secrets, true)) }
}

function compile(schema: PayloadSchema, secrets: readonly string[], allErrors: boolean): ValidateFunction {
  const problem = safetyProblems(schema)[0]
  if (problem) throw new Error(`${problem.path || 'it'} ${problem.message}`)
  // Names of its own would clash with those of other schemas, and nothing can refer to them.
  const { $id: _, $schema: __, ...own } = sealable(schema, secrets)
  // Each schema has an Ajv instance of its own: both are freed together.
  return instance(draftOf(schema) ?? '2020-12', { allErrors, meta: false, validateSchema: false }).compile(own)
}

/** Date-times may leave the zone out: they are then read in the tenant's. */
const FORMATS: Record<string, string> = {
  date: 'must be a date such as 2026-03-15',
  'date-time': 'must be an ISO 8601 time, such as 2026-03-15T09:30:00Z, or 2026-03-15T09:30 in the tenant’s zone',
  email: 'must be an email address, such as a@example.com',
  uuid: 'must be a UUID',
  uri: 'must be a URI',
}

const MAX_FORMATTED = 4_096

function instance(draft: SchemaDraft, options: Options): Ajv {
  const common: Options = {
    strict: false,
    logger: false,
    inlineRefs: false,
    ownProperties: true,
    addUsedSchema: false,
    ...options,
  }
  const ajv = addFormats(draft === 'draft-07' ? new Ajv(common) : new Ajv2020(common))
  for (const [name, format] of Object.entries(ajv.formats))
    if (format instanceof RegExp)
      ajv.addFormat(name, (text: string) => text.length <= MAX_FORMATTED && format.test(text))
  ajv.addFormat('date-time', (text: string) => /\d[T ]\d/i.test(text) && parseDate(text, 'UTC') !== null)
  return ajv
}

const formats = once(() => instance('2020-12', { meta: false }).formats)

/** Whether text is of a format, as every schema that names it has it checked; false where there is no such format. */
export function hasFormat(name: string, text: string): boolean {
  const format = formats()[name]
  const check = typeof format === 'object' && 'validate' in format ? format.validate : format
  return typeof check === 'function' && (check as (text: string) => boolean)(text)
}

/** The validators of schemas themselves. Made when first needed: most processes are never given a schema. */
const metaSchemas: Record<SchemaDraft, () => Ajv> = {
  '2020-12': once(() => instance('2020-12', { allErrors: true })),
  'draft-07': once(() => instance('draft-07', { allErrors: true })),
}

/** What a schema of either draft may say. `example` is OpenAPI's. */
const knownNames = once(() => {
  const drafts = (['2020-12', 'draft-07'] as const).map((draft) => instance(draft, { meta: false }))
  return {
    keywords: ['example', ...drafts.flatMap(({ RULES }) => Object.keys(RULES.keywords))],
    formats: drafts.flatMap(({ formats }) => Object.keys(formats)),
  }
})

function wordsFor(errors: readonly SchemaError[]): FieldError[] {
  const words = schemaErrors(errors, { formats: FORMATS })
  if (words.length > 0) return words
  // Only a choice was wrong, and none of its alternatives has anything to say.
  return errors.slice(0, 1).map(({ instancePath, message }) => ({ path: instancePath, message: message ?? 'is wrong' }))
}
