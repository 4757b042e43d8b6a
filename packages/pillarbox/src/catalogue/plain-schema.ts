import { hasFormat } from './check-payload.ts'
import { draftOf } from './schema-safety.ts'

/** A schema or a value of a payload: of either nothing is known but that it was JSON. */
type JsonFields = Readonly<Record<string, unknown>>

/** Keywords and values that are looked at: some tens of nanoseconds each. */
const MAX_STEPS = 2_000
/** Longer texts are not counted or held against a form here. */
const MAX_TEXT = 300
/** Those that are checked in time that grows with the text's length only. */
const FORMATS = new Set(['date-time', 'date', 'uuid', 'email'])
/** What says nothing about a payload. */
const REMARKS = [
  'title',
  'description',
  '$comment',
  'default',
  'examples',
  'example',
  'deprecated',
  'readOnly',
  'writeOnly',
]

/**
 * Whether a payload is surely as its schema says, found out in so few steps that it needs no process of its own. It
 * interprets the keywords that nearly all schemas consist of, each of which looks at a value once; nothing is compiled. False
 * only means that `checkPayload` has to be asked: the payload may be wrong, the schema may say more than is known here, or there
 * is too much to look at.
 */
export function isSurelyValid(schema: unknown, payload: unknown): boolean {
  return fits(schema, payload, { left: MAX_STEPS })
}

interface Steps {
  left: number
}

function fits(schema: unknown, value: unknown, steps: Steps): boolean {
  if (schema === true) return true
  if (!isFields(schema)) return false
  for (const keyword of Object.keys(schema)) {
    const rule = RULES.get(keyword)
    if (!rule || !takeSteps(steps, 1) || !rule(schema[keyword], value, steps, schema)) return false
  }
  return true
}

function takeSteps(steps: Steps, count: number): boolean {
  steps.left -= count
  return steps.left >= 0
}

/** Whether a value surely keeps to what a keyword asks for; `beside`: the schema that the keyword stands in. */
type SchemaRule = (asked: unknown, value: unknown, steps: Steps, beside: JsonFields) => boolean

const RULES: ReadonlyMap<string, SchemaRule> = new Map<string, SchemaRule>([
  ...REMARKS.map((remark): [string, SchemaRule] => [remark, () => true]),
  ['$schema', (_asked, _value, _steps, beside) => draftOf(beside) !== null],
  [
    'type',
    (asked, value) => (Array.isArray(asked) ? asked.some((type) => isOfType(type, value)) : isOfType(asked, value)),
  ],
  ['const', (asked, value) => isScalar(asked) && asked === value],
  [
    'enum',
    (asked, value, steps) =>
      Array.isArray(asked) && takeSteps(steps, asked.length) && isScalar(value) && asked.includes(value),
  ],
  ['minimum', ofNumbers((value, least) => value >= least)],
  ['maximum', ofNumbers((value, most) => value <= most)],
  ['exclusiveMinimum', ofNumbers((value, below) => value > below)],
  ['exclusiveMaximum', ofNumbers((value, above) => value < above)],
  // A character may be two units of text.
  ['minLength', ofTexts((value, least) => value.length >= 2 * least || charactersIn(value) >= least)],
  ['maxLength', ofTexts((value, most) => value.length <= most || charactersIn(value) <= most)],
  [
    'format',
    (asked, value) =>
      typeof value !== 'string' ||
      (value.length <= MAX_TEXT && isName(asked) && FORMATS.has(asked) && hasFormat(asked, value)),
  ],
  ['minItems', ofLists((value, least) => value.length >= least)],
  ['maxItems', ofLists((value, most) => value.length <= most)],
  [
    'items',
    (asked, value, steps) =>
      !Array.isArray(value) || value.every((element) => takeSteps(steps, 1) && fits(asked, element, steps)),
  ],
  [
    'required',
    (asked, value, steps) =>
      Array.isArray(asked) &&
      takeSteps(steps, asked.length) &&
      (!isFields(value) || asked.every((name) => isName(name) && has(value, name))),
  ],
  [
    'properties',
    (asked, value, steps) =>
      isFields(asked) &&
      (!isFields(value) ||
        Object.keys(asked).every(
          (name) => takeSteps(steps, 1) && (!has(value, name) || fits(asked[name], value[name], steps)),
        )),
  ],
  [
    'additionalProperties',
    (asked, value, steps, { properties }) => {
      if (asked === true || !isFields(value)) return true
      const known = isFields(properties) ? properties : {}
      return Object.keys(value).every(
        (name) => takeSteps(steps, 1) && (Object.hasOwn(known, name) || fits(asked, value[name], steps)),
      )
    },
  ],
])

function ofNumbers(isRight: (value: number, asked: number) => boolean): SchemaRule {
  return (asked, value) => typeof asked === 'number' && (typeof value !== 'number' || isRight(value, asked))
}

function ofTexts(isRight: (value: string, asked: number) => boolean): SchemaRule {
  return (asked, value) => typeof asked === 'number' && (typeof value !== 'string' || isRight(value, asked))
}

function ofLists(isRight: (value: readonly unknown[], asked: number) => boolean): SchemaRule {
  return (asked, value) => typeof asked === 'number' && (!Array.isArray(value) || isRight(value, asked))
}

/** Not known of a long text. */
function charactersIn(text: string): number {
  return text.length > MAX_TEXT ? Number.NaN : Array.from(text).length
}

function isOfType(type: unknown, value: unknown): boolean {
  switch (type) {
    case 'string':
    case 'boolean':
      return typeof value === type
    case 'number':
      return Number.isFinite(value)
    case 'integer':
      return Number.isInteger(value)
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isFields(value)
    default:
      return false
  }
}

function isScalar(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value === null
}

function isName(value: unknown): value is string {
  return typeof value === 'string'
}

function isFields(value: unknown): value is JsonFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function has(value: JsonFields, name: string): boolean {
  return Object.hasOwn(value, name) && value[name] !== undefined
}
