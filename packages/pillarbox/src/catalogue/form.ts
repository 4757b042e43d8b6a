import { Ajv, type DefinedError } from 'ajv'
import { parseDuration } from '../model/duration.ts'
import { pointerKeys, pointerTo } from '../model/json-pointer.ts'
import { once } from './once.ts'
import { type CatalogueReport, got, MAX_REPORTED } from './report.ts'
import { type CatalogueRemains, CatalogueSchema } from './schema.ts'
import { meantBy } from './text-forms.ts'

/**
 * Reports every value of a document that does not have the form that schema.ts declares. Answers the document without
 * those values, so that what is left can be checked further; null where nothing is left, or not all faults are known.
 */
export function checkForm(report: CatalogueReport, document: unknown): CatalogueRemains | null {
  const validate = validator()
  if (validate(document)) return document
  // A name of the wrong form is an error by itself and once more by the keyword that asks for names.
  const errors = (validate.errors as DefinedError[]).filter(({ keyword }) => keyword !== 'propertyNames')
  for (const error of errors.slice(0, MAX_REPORTED)) report.wrong(pathOf(error), messageOf(error, report))
  return errors.length > MAX_REPORTED ? null : withoutFaults(document, errors.map(pathOf))
}

/** Compiled when first needed: most processes never read a catalogue. */
const validator = once(() =>
  // Verbose: an error carries the value and the schema that it broke, from which its words are made.
  new Ajv({
    strict: true,
    allowUnionTypes: true,
    ownProperties: true,
    allErrors: true,
    verbose: true,
    formats: { duration: (text: string) => parseDuration(text) !== null },
  }).compile(CatalogueSchema),
)

/** The place of the value that is wrong. Ajv names the object for a key, and the list for an item. */
function pathOf({ instancePath, propertyName, ...error }: DefinedError): string {
  if (propertyName !== undefined) return pointerTo(instancePath, propertyName)
  switch (error.keyword) {
    case 'additionalProperties':
      return pointerTo(instancePath, error.params.additionalProperty)
    case 'required':
      return pointerTo(instancePath, error.params.missingProperty)
    case 'uniqueItems':
      return pointerTo(instancePath, Math.max(error.params.i, error.params.j))
    default:
      return instancePath
  }
}

function messageOf(error: DefinedError, report: CatalogueReport): string {
  const { data } = error
  const schema = (error.parentSchema ?? {}) as FormSchema
  if (error.propertyName !== undefined) return `must be named with ${schema.title}`
  const mustBe = `must be ${expected(schema)} ${got(data, advice(schema, data, report))}`
  switch (error.keyword) {
    case 'additionalProperties': {
      const known = Object.keys(schema.properties ?? {})
      const meant = report.meant(error.params.additionalProperty, known)
      return `is not a known field: ${meant || `it must be one of ${known.join(', ')}`}`
    }
    case 'required':
      return 'is required'
    case 'uniqueItems':
      return `names ${String((data as unknown[])[error.params.i])} a second time; leave it out`
    case 'maxLength':
      return `must have at most ${error.params.limit} characters (got ${(data as string).length})`
    case 'minItems':
      return 'must not be empty'
    case 'maxItems':
    case 'maxProperties':
      // The keys of an object with known fields are no entries: its title says what it must be.
      if (schema.properties) return mustBe
      return `must have at most ${error.params.limit} entries (got ${Object.keys(data as object).length})`
    default:
      return mustBe
  }
}

/** The part of a schema that words are made of. */
interface FormSchema {
  title?: string
  type?: string | string[]
  enum?: (string | null)[]
  pattern?: string
  format?: string
  properties?: object
}

const TYPE_WORDS: Record<string, string> = {
  string: 'text',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}

/** Completes "must be". */
function expected({ title, enum: choices, type }: FormSchema): string {
  if (title !== undefined) return title
  if (choices) return `one of ${choices.filter((choice) => choice !== null).join(', ')}`
  return [type ?? []]
    .flat()
    .flatMap((name) => TYPE_WORDS[name] ?? [])
    .join(' or ')
}

/** How the author can mend the value, where that can be guessed. */
function advice(schema: FormSchema, value: unknown, report: CatalogueReport): string {
  const { title, enum: choices, type } = schema
  if (choices)
    return report.meant(
      value,
      choices.filter((choice) => choice !== null),
    )
  const types = [type].flat()
  if (types.includes('array') && typeof value === 'string') return 'write [ ] around it'
  if (!types.includes('string')) return ''
  const isPlain = title === undefined && (typeof value === 'number' || typeof value === 'boolean')
  return isPlain ? 'put it in quotes' : meantBy(schema, value)
}

/** A copy with nothing in place of the values at `paths`. */
function withoutFaults(document: unknown, paths: readonly string[]): CatalogueRemains | null {
  if (paths.includes('')) return null
  const rest: unknown = structuredClone(document)
  for (const path of paths) {
    const keys = pointerKeys(path)
    const last = keys.pop() ?? ''
    let holder = rest as Record<string, unknown> | undefined
    for (const key of keys) holder = holder?.[key] as Record<string, unknown> | undefined
    if (holder) holder[last] = undefined
  }
  return rest as CatalogueRemains
}
