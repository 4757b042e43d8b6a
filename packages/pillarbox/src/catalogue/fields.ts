import { closest } from '../model/closest.ts'
import { formatDuration, parseDuration } from '../model/duration.ts'
import type { FieldError } from '../model/errors.ts'

/** Reading the fields of a document that anybody may have written: every fault is reported, none is thrown. */

export type Json = Record<string, unknown>

/** What is to be said of a document, or of a part of one. Paths are JSON pointers. */
export interface Findings {
  problems: FieldError[]
  /** Legal, and probably not meant. */
  warnings: FieldError[]
}

export interface Report {
  readonly problems: FieldError[]
  readonly warnings: FieldError[]
  wrong(path: string, message: string): void
  /** Legal, and probably not meant. */
  odd(path: string, message: string): void
  /** `did you mean "x"?`, or nothing where no known name is near. */
  meant(given: unknown, known: readonly string[]): string
  /** Takes over what somebody else found, below `path`. */
  pass(found: Findings | undefined, path: string): void
}

/** Nobody reads more; a hostile document could make millions. */
const MAX_REPORTED = 1_000
const MAX_GUESSES = 50

export function createReport(): Report {
  const problems: FieldError[] = []
  const warnings: FieldError[] = []
  const add = (to: FieldError[], path: string, message: string): void =>
    void (to.length < MAX_REPORTED && to.push({ path, message }))
  let guesses = 0
  return {
    problems,
    warnings,
    wrong: (path, message) => add(problems, path, message),
    odd: (path, message) => add(warnings, path, message),
    meant(given, known) {
      if (typeof given !== 'string' || guesses >= MAX_GUESSES) return ''
      guesses += 1
      const name = closest(given.slice(0, 100), known)
      return name === null ? '' : `did you mean "${name}"?`
    },
    pass(found, path) {
      for (const problem of found?.problems ?? []) add(problems, `${path}${problem.path}`, problem.message)
      for (const warning of found?.warnings ?? []) add(warnings, `${path}${warning.path}`, warning.message)
    },
  }
}

/** One step further down a JSON pointer (RFC 6901). */
export function step(path: string, key: string): string {
  return `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** `(got "24h"; write PT24H)` */
export function got(value: unknown, advice = ''): string {
  return `(got ${shown(value)}${advice === '' ? '' : `; ${advice}`})`
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  const text = JSON.stringify(value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

/** An object's fields, unknown ones reported; null where it is no object. */
export function fieldsOf(
  report: Report,
  value: unknown,
  path: string,
  { known, needed = [], what }: { known: readonly string[]; needed?: readonly string[]; what: string },
): Json | null {
  const json = objectOf(value)
  if (!json) {
    report.wrong(path, `must be ${what} ${got(value)}`)
    return null
  }
  for (const key of Object.keys(json))
    if (!known.includes(key))
      report.wrong(
        step(path, key),
        `is not a known field: ${report.meant(key, known) || `it must be one of ${known.join(', ')}`}`,
      )
  for (const key of needed) if (json[key] === undefined) report.wrong(step(path, key), 'is required')
  return json
}

/** An object whose keys are the writer's own; empty where it is absent or none. */
export function recordOf(report: Report, value: unknown, path: string, what: string, max: number): Json {
  if (value === undefined || value === null) return {}
  const json = objectOf(value)
  if (!json) {
    report.wrong(path, `must be ${what} ${got(value)}`)
    return {}
  }
  const count = Object.keys(json).length
  if (count <= max) return json
  report.wrong(path, `must have at most ${max} entries (got ${count})`)
  return {}
}

export function itemsOf(
  report: Report,
  value: unknown,
  path: string,
  { min = 0, max }: { min?: number; max: number },
): unknown[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) {
    report.wrong(path, `must be a list ${got(value, typeof value === 'string' ? 'write [ ] around it' : '')}`)
    return []
  }
  if (value.length >= min && value.length <= max) return value as unknown[]
  report.wrong(
    path,
    value.length < min ? 'must not be empty' : `must have at most ${max} entries (got ${value.length})`,
  )
  return []
}

/** What a text must look like, in words and with an example. */
export interface Form {
  pattern: RegExp
  what: string
  such: string
}

export const WORD: Form = {
  pattern: /^[A-Za-z][\w-]{0,62}$/,
  what: 'a word of letters, digits, "_" and "-"',
  such: 'booking',
}
export const LOCALE: Form = { pattern: /^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,4}$/, what: 'a locale', such: 'de-DE' }

/** Null where it is absent or wrong, which has then been reported. */
export function textOf(report: Report, value: unknown, path: string, form: Form | { max: number }): string | null {
  if (value === undefined) return null
  if ('max' in form) {
    if (typeof value === 'string' && value.length <= form.max) return value
    if (typeof value === 'string') report.wrong(path, `must have at most ${form.max} characters (got ${value.length})`)
    else report.wrong(path, `must be text ${got(value, isScalar(value) ? 'put it in quotes' : '')}`)
    return null
  }
  if (typeof value === 'string' && form.pattern.test(value)) return value
  report.wrong(path, `must be ${form.what}, such as ${form.such} ${got(value)}`)
  return null
}

export function oneOf<const T extends string>(
  report: Report,
  value: unknown,
  path: string,
  known: readonly T[],
): T | null {
  if (value === undefined || value === null) return null
  const found = known.find((name) => name === value)
  if (found === undefined)
    report.wrong(
      path,
      `must be ${known.map((name) => `"${name}"`).join(' or ')} ${got(value, report.meant(value, known))}`,
    )
  return found ?? null
}

export function flagOf(report: Report, value: unknown, path: string): boolean {
  if (value === undefined || value === null) return false
  if (typeof value !== 'boolean') report.wrong(path, `must be true or false ${got(value)}`)
  return value === true
}

const NAME = '[A-Za-z_][\\w-]*'
const PATH = new RegExp(`^${NAME}(\\.${NAME})*$`)
const LIST_PATH = new RegExp(`^${NAME}(\\[\\])?(\\.${NAME}(\\[\\])?)*$`)

/** A dot path into the payload; null where it is absent or wrong. */
export function asPath(
  report: Report,
  value: unknown,
  path: string,
  { throughLists = false }: { throughLists?: boolean } = {},
): string | null {
  if (value === undefined || value === null) return null
  const isPath = typeof value === 'string' && value.length <= 200 && (throughLists ? LIST_PATH : PATH).test(value)
  if (isPath) return value
  const examples = throughLists ? 'guest.phone or passengers[].phone' : 'guest.phone'
  const isList = typeof value === 'string' && LIST_PATH.test(value.slice(0, 200))
  report.wrong(
    path,
    isList && !throughLists
      ? `must be a dot path to one value; it cannot go through a list ${got(value)}`
      : `must be a dot path into the payload, such as ${examples} ${got(value)}`,
  )
  return null
}

/** Ten years: more is a slip. */
const MAX_MS = 3_650 * 86_400_000

/** Milliseconds; null where it is absent or wrong. */
export function durationOf(report: Report, value: unknown, path: string, { minMs }: { minMs: number }): number | null {
  if (value === undefined || value === null) return null
  const ms = typeof value === 'string' ? parseDuration(value) : null
  if (ms === null) report.wrong(path, `must be an ISO 8601 duration such as PT24H ${got(value, durationMeant(value))}`)
  else if (ms < minMs || ms > MAX_MS)
    report.wrong(path, `must be between ${formatDuration(minMs)} and ${formatDuration(MAX_MS)} ${got(value)}`)
  else return ms
  return null
}

const UNITS: [RegExp, string, string][] = [
  [/^s(ec(ond)?s?)?$/, 'PT', 'S'],
  [/^m(in(ute)?s?)?$/, 'PT', 'M'],
  [/^h((ou)?rs?)?$/, 'PT', 'H'],
  [/^d(ays?)?$/, 'P', 'D'],
  [/^w(eeks?)?$/, 'P', 'W'],
]

/** What a duration in another notation was probably meant to be. */
function durationMeant(value: unknown): string {
  const text = (typeof value === 'string' || typeof value === 'number' ? String(value) : '').slice(0, 40).trim()
  if (/^P\d+[YM]/i.test(text)) return 'months and years have no fixed length: write days, such as P30D'
  const [, count, unit = ''] = /^\+?(\d{1,6})\s*([a-z]{1,8})$/i.exec(text) ?? []
  for (const [form, before, after] of UNITS)
    if (count !== undefined && form.test(unit.toLowerCase())) return `write ${before}${count}${after}`
  const upper = text.toUpperCase()
  for (const candidate of [upper, `P${upper}`, `PT${upper}`])
    if (candidate !== text && parseDuration(candidate) !== null) return `write ${candidate}`
  return ''
}

const MAX_DEPTH = 32
const MAX_KEY = 200
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

/** What no store could keep or no reader should have to look at: the first such thing, or null. */
export function unusable(value: unknown, path = '', depth = 0): FieldError | null {
  if (typeof value === 'string') return textProblem(value, path)
  if (typeof value === 'number')
    return Number.isFinite(value) ? null : { path, message: 'is a number that cannot be kept' }
  if (typeof value === 'boolean' || value === null || value === undefined) return null
  if (typeof value !== 'object') return { path, message: 'is nothing that JSON can hold' }
  if (depth >= MAX_DEPTH) return { path, message: `is nested deeper than ${MAX_DEPTH} levels` }
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) {
      const problem = unusable(item, `${path}/${i}`, depth + 1)
      if (problem) return problem
    }
    return null
  }
  for (const [key, field] of Object.entries(value)) {
    if (key.length > MAX_KEY)
      return { path, message: `has a field with a name of ${key.length} characters; ${MAX_KEY} are allowed` }
    const at = step(path, key)
    if (FORBIDDEN_KEYS.has(key)) return { path: at, message: 'is a name that cannot be used' }
    const problem = textProblem(key, path) ?? unusable(field, at, depth + 1)
    if (problem) return problem
  }
  return null
}

function textProblem(text: string, path: string): FieldError | null {
  if (text.includes('\0')) return { path, message: 'contains a NUL character' }
  return text.isWellFormed() ? null : { path, message: 'contains half a surrogate pair' }
}

function isScalar(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'boolean'
}

function objectOf(value: unknown): Json | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null
}
