import { FORBIDDEN_KEY, MAX_JSON_DEPTH, MAX_PAYLOAD_BYTES } from './event-rules.ts'

/** Where something is wrong, as a JSON pointer, and what. */
export interface Problem {
  path: string
  message: string
}

export type Report = (path: string, message: string) => void

/**
 * A copy of a payload and its JSON text, or null with every problem reported. What JSON would change or drop without a
 * word is a problem; so is what a database would refuse, because a refused statement aborts the host's whole transaction.
 * Two things are taken as everybody expects: a property that is `undefined` is left out, and a `Date` becomes its ISO text.
 */
export function payloadCopy(
  value: unknown,
  path: string,
  report: Report,
): { copy: Record<string, unknown>; text: string } | null {
  if (!isPlainObject(value)) {
    report(path, `must be an object such as {"bookingId": 1}, not ${describe(value)}`)
    return null
  }
  const walk = newWalk({ bytes: MAX_PAYLOAD_BYTES, depth: MAX_JSON_DEPTH }, path, report)
  const copy = copyOfObject(value, walk) as Record<string, unknown>
  const text = walk.isSound ? JSON.stringify(copy) : ''
  // One look at the whole instead of one at every string: JSON writes what cannot be stored as one of these escapes.
  if (!walk.isSound || text.includes('\\u0000') || text.includes('\\ud')) checkParsed(copy, walk)
  if (!walk.isSound) return null
  if (text.length <= MAX_PAYLOAD_BYTES / MAX_BYTES_PER_UNIT) return { copy, text }
  const bytes = byteLength(text)
  if (bytes <= MAX_PAYLOAD_BYTES) return { copy, text }
  report(path, tooLarge(MAX_PAYLOAD_BYTES, `${bytes} bytes`))
  return null
}

/**
 * A copy of what is to be sent to a server, or null with every problem reported: only what JSON would change or drop
 * without a word. Sizes, levels and texts are left to the server, which refuses one item of a list and not the others.
 */
export function jsonCopy(value: unknown, path: string, report: Report): unknown {
  const walk = newWalk({ bytes: MAX_SENT_BYTES, depth: MAX_SENT_DEPTH }, path, report)
  const copy = copyOf(value, walk)
  return walk.isSound ? copy : null
}

/** Reports everything in a parsed body, of any form, that could not be stored and given back as it is. */
export function checkJson(value: unknown, report: Report): void {
  checkParsed(value, newWalk({ bytes: MAX_SENT_BYTES, depth: MAX_JSON_DEPTH }, '', report))
}

/** More than a server takes, and little enough to be walked. */
const MAX_SENT_BYTES = 4 * 1024 * 1024
const MAX_SENT_DEPTH = 1_000

/** Of UTF-8, for a unit of UTF-16. */
const MAX_BYTES_PER_UNIT = 3

function tooLarge(maxBytes: number, found: string): string {
  return `must not be larger than ${maxBytes / 1024 ** 2} MiB (${maxBytes} bytes) as JSON, and has ${found}`
}

/** What is wrong with `text` as stored text, or null. */
export function textProblem(text: string): string | null {
  if (text.includes('\0')) return 'must not hold the NUL character, which PostgreSQL cannot store'
  if (!text.isWellFormed()) return 'must not hold half of a surrogate pair, which is no valid Unicode'
  return null
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype) return true
  // A root prototype, be it of another realm; what a class made has a longer chain.
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

export function describe(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value !== 'object') return value === undefined ? 'undefined' : `a ${typeof value}`
  const maker: unknown = isPlainObject(value) ? undefined : (value as { constructor?: unknown }).constructor
  return typeof maker === 'function' && maker.name ? `an instance of ${maker.name}` : 'an object'
}

/** More of a key is not repeated in a path: keys come from outside, and may be as long as the payload. */
const MAX_KEY_SHOWN = 100

/** The path of a member, escaped as RFC 6901 says. */
export function pointer(path: string, key: string | number): string {
  const step = String(key)
  const shown = step.length <= MAX_KEY_SHOWN ? step : `${step.slice(0, MAX_KEY_SHOWN).toWellFormed()}…`
  return `${path}/${shown.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

interface Walk {
  limits: { bytes: number; depth: number }
  /** Every value takes at least a byte, so this ends the walk over an object that shares its parts many times over. */
  nodesLeft: number
  isSound: boolean
  ancestors: object[]
  /** Where the walk began, and the keys from there to where it is: a path is made only where there is a problem. */
  path: string
  keys: (string | number)[]
  report: Report
}

function newWalk(limits: Walk['limits'], path: string, report: Report): Walk {
  return { limits, nodesLeft: limits.bytes, isSound: true, ancestors: [], path, keys: [], report }
}

/** A copy, so that what was looked at is what is written: a getter is asked once. Texts are looked at later. */
function copyOf(value: unknown, walk: Walk): unknown {
  walk.nodesLeft -= 1
  if (walk.nodesLeft < 0) return walk.nodesLeft === -1 ? refuseWhole(walk) : null
  switch (typeof value) {
    case 'boolean':
    case 'string':
      return value
    case 'number':
      return Number.isFinite(value) ? value : refuse(walk, `is ${value}, which JSON cannot hold`)
    case 'bigint':
      return refuse(walk, bigintProblem(value))
    case 'undefined':
      return refuse(walk, 'is undefined inside a list, which JSON would turn into null')
    case 'function':
    case 'symbol':
      return refuse(walk, `is a ${typeof value}, which JSON would drop`)
    case 'object':
      return value === null ? null : copyOfObject(value, walk)
  }
}

function bigintProblem(value: bigint): string {
  if (Number.isSafeInteger(Number(value)))
    return 'is a bigint, which JSON does not have: pass it as a number or as text'
  return 'is a whole number that a reader of JSON may not keep exactly: pass it as text'
}

function copyOfObject(value: object, walk: Walk): unknown {
  const isList = Array.isArray(value)
  if (!isList && !isPlainObject(value)) {
    if (!(value instanceof Date)) {
      return refuse(walk, `is ${describe(value)}, which JSON would not keep as it is: pass plain data`)
    }
    return Number.isNaN(value.getTime()) ? refuse(walk, 'is an invalid Date') : value.toISOString()
  }
  if (walk.ancestors.includes(value)) return refuse(walk, 'refers back to an object that holds it')
  const { depth } = walk.limits
  if (walk.ancestors.length >= depth) return refuse(walk, tooDeep(depth))
  refuseSymbols(value, walk)
  walk.ancestors.push(value)
  const copy = isList ? copyOfList(value, walk) : copyOfFields(value, walk)
  walk.ancestors.pop()
  return copy
}

function copyOfList(list: readonly unknown[], walk: Walk): unknown[] {
  const copy: unknown[] = []
  for (let index = 0; index < list.length && walk.nodesLeft >= 0; index += 1) {
    walk.keys.push(index)
    copy.push(copyOf(list[index], walk))
    walk.keys.pop()
  }
  // Indexes come first among the keys.
  const lastKey = Object.keys(list).at(-1) ?? '0'
  if (!/^\d+$/.test(lastKey)) refuse(walk, `has "${lastKey}" beside its items, which JSON would drop`)
  return copy
}

const FORBIDDEN_KEY_WORDS = 'is a name that readers of JSON may take for a prototype'

function refuseSymbols(value: object, walk: Walk): void {
  for (const symbol of Object.getOwnPropertySymbols(value)) {
    // A hidden one is somebody's tool, and no data.
    if (!Object.prototype.propertyIsEnumerable.call(value, symbol)) continue
    refuse(walk, `has the key ${String(symbol)}, which JSON would drop`)
  }
}

function copyOfFields(fields: Record<string, unknown>, walk: Walk): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(fields)) {
    if (walk.nodesLeft < 0) break
    const value = fields[key]
    if (value === undefined) continue
    walk.keys.push(key)
    if (key === FORBIDDEN_KEY) refuse(walk, FORBIDDEN_KEY_WORDS)
    else copy[key] = copyOf(value, walk)
    walk.keys.pop()
  }
  return copy
}

/**
 * Reports what is wrong with a value that came out of a parser, or that was copied above: texts that cannot be stored,
 * keys included. The parser may also have left numbers that JSON cannot hold, a forbidden key and more levels than allowed.
 */
function checkParsed(value: unknown, walk: Walk): void {
  if (typeof value === 'string') {
    const problem = textProblem(value)
    if (problem !== null) refuse(walk, problem)
  } else if (typeof value === 'number' || typeof value === 'bigint') copyOf(value, walk)
  else if (typeof value === 'object' && value !== null) {
    const { depth } = walk.limits
    if (walk.keys.length >= depth) refuse(walk, tooDeep(depth))
    else if (Array.isArray(value)) for (const [index, item] of value.entries()) checkMember(index, item, walk)
    else for (const key of Object.keys(value)) checkMember(key, (value as Record<string, unknown>)[key], walk)
  }
}

function checkMember(key: string | number, value: unknown, walk: Walk): void {
  walk.keys.push(key)
  const problem = typeof key === 'string' ? keyProblem(key) : null
  if (problem === null) checkParsed(value, walk)
  else refuse(walk, problem)
  walk.keys.pop()
}

function keyProblem(key: string): string | null {
  return key === FORBIDDEN_KEY ? FORBIDDEN_KEY_WORDS : textProblem(key)
}

function tooDeep(depth: number): string {
  return `is nested deeper than ${depth} levels`
}

function refuse(walk: Walk, message: string): null {
  walk.isSound = false
  walk.report(
    walk.keys.reduce<string>((path, key) => pointer(path, key), walk.path),
    message,
  )
  return null
}

/** The walk ended before it saw everything, so nobody knows how large it is. */
function refuseWhole(walk: Walk): null {
  walk.isSound = false
  walk.report(walk.path, tooLarge(walk.limits.bytes, 'more'))
  return null
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).byteLength
}
