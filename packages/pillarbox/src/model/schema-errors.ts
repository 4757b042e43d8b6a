import type { FieldError } from './errors.ts'
import { pointerTo } from './json-pointer.ts'

/** What a JSON Schema validator says of one value. */
export interface SchemaError {
  keyword: string
  instancePath: string
  params: Record<string, unknown>
  message?: string | undefined
}

/** What a value of each format or pattern must be, in words. */
export interface SchemaWords {
  formats: Record<string, string>
  patterns?: Record<string, string>
}

/** What is wrong, field by field, in words that never repeat the value. */
export function schemaErrors(errors: readonly SchemaError[], words: SchemaWords): FieldError[] {
  const found: FieldError[] = []
  const seen = new Set<string>()
  for (const error of errors) {
    if (error.keyword === 'anyOf' || error.keyword === 'oneOf' || error.keyword === 'if') continue
    const field = fieldError(error, words)
    const key = `${field.path} ${field.message}`
    if (!seen.has(key)) found.push(field)
    seen.add(key)
  }
  return found
}

function fieldError({ keyword, instancePath: path, params, message }: SchemaError, words: SchemaWords) {
  const said = message ?? 'is not as expected'
  switch (keyword) {
    case 'additionalProperties':
      return { path: below(path, params['additionalProperty']), message: 'is not a known field' }
    case 'unevaluatedProperties':
      return { path: below(path, params['unevaluatedProperty']), message: 'is not a known field' }
    case 'required':
      return { path: below(path, params['missingProperty']), message: 'is required' }
    case 'enum':
      return { path, message: `must be one of ${(params['allowedValues'] as unknown[]).map(String).join(', ')}` }
    case 'const':
      return { path, message: `must be ${JSON.stringify(params['allowedValue'])}` }
    case 'pattern':
      return { path, message: words.patterns?.[String(params['pattern'])] ?? `must match ${String(params['pattern'])}` }
    case 'format':
      return { path, message: words.formats[String(params['format'])] ?? said }
    case 'type':
      return { path, message: `must be ${[params['type']].flat().join(' or ')}` }
    default:
      return { path, message: said.replace(/^must NOT have/, 'must not have') }
  }
}

/** The pointer to a field; a long name is cut, because it comes from outside. */
function below(path: string, name: unknown): string {
  return pointerTo(path, String(name).slice(0, 100))
}
