/** Where something is wrong, as a JSON pointer, and what. */
export interface Problem {
  path: string
  message: string
}

export type Report = (path: string, message: string) => void

export const MAX_JSON_BYTES = 256 * 1024
export const MAX_JSON_DEPTH = 32

/**
 * The JSON text of an object, or null with every problem reported. What JSON would change or drop without a word is a
 * problem; so is what a database would refuse, because a refused statement aborts the host's whole transaction.
 * Two things are taken as everybody expects: a property that is `undefined` is left out, and a `Date` becomes its ISO text.
 */
export function jsonObjectText(value: unknown, path: string, report: Report): string | null {
  if (!isPlainObject(value)) {
    report(path, `must be a plain object, not ${describe(value)}`)
    return null
  }
  const walk: Walk = { nodesLeft: MAX_JSON_BYTES, isSound: true, ancestors: [], report }
  const copy = copyOf(value, path, walk)
  if (walk.nodesLeft < 0) report(path, TOO_LARGE)
  if (!walk.isSound || walk.nodesLeft < 0) return null
  const text = JSON.stringify(copy)
  if (byteLength(text) <= MAX_JSON_BYTES) return text
  report(path, TOO_LARGE)
  return null
}

const TOO_LARGE = `must not be larger than ${MAX_JSON_BYTES / 1024} KiB as JSON`

/** What is wrong with `text` as stored text, or null. */
export function textProblem(text: string): string | null {
  if (text.includes('\0')) return 'must not hold the NUL character, which PostgreSQL cannot store'
  if (!text.isWellFormed()) return 'must not hold half of a surrogate pair, which is no valid Unicode'
  return null
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
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

/** The path of a member, escaped as RFC 6901 says. */
export function pointer(path: string, key: string | number): string {
  return `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

interface Walk {
  /** Every value takes at least a byte, so this ends the walk over an object that shares its parts many times over. */
  nodesLeft: number
  isSound: boolean
  ancestors: object[]
  report: Report
}

/** A copy, so that what was looked at is what is written: a getter is asked once. */
function copyOf(value: unknown, path: string, walk: Walk): unknown {
  walk.nodesLeft -= 1
  if (walk.nodesLeft < 0) return null
  switch (typeof value) {
    case 'boolean':
      return value
    case 'string': {
      const problem = textProblem(value)
      return problem === null ? value : refuse(walk, path, problem)
    }
    case 'number':
      return Number.isFinite(value) ? value : refuse(walk, path, `is ${value}, which JSON would turn into null`)
    case 'bigint':
      return refuse(walk, path, 'is a bigint, which JSON does not have: pass it as text or as a number')
    case 'undefined':
      return refuse(walk, path, 'is undefined inside a list, which JSON would turn into null')
    case 'function':
    case 'symbol':
      return refuse(walk, path, `is a ${typeof value}, which JSON would drop`)
    case 'object':
      return value === null ? null : copyOfObject(value, path, walk)
  }
}

function copyOfObject(value: object, path: string, walk: Walk): unknown {
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? refuse(walk, path, 'is an invalid Date') : value.toISOString()
  }
  const isList = Array.isArray(value)
  if (!isList && !isPlainObject(value)) {
    return refuse(walk, path, `is ${describe(value)}, which JSON would not keep as it is: pass plain data`)
  }
  if (walk.ancestors.includes(value)) return refuse(walk, path, 'refers back to an object that holds it')
  if (walk.ancestors.length >= MAX_JSON_DEPTH)
    return refuse(walk, path, `is nested deeper than ${MAX_JSON_DEPTH} levels`)
  walk.ancestors.push(value)
  const copy = isList ? copyOfList(value, path, walk) : copyOfFields(value, path, walk)
  walk.ancestors.pop()
  return copy
}

function copyOfList(list: readonly unknown[], path: string, walk: Walk): unknown[] {
  const copy: unknown[] = []
  for (let index = 0; index < list.length && walk.nodesLeft >= 0; index += 1) {
    copy.push(copyOf(list[index], pointer(path, index), walk))
  }
  return copy
}

function copyOfFields(fields: Record<string, unknown>, path: string, walk: Walk): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(fields)) {
    if (walk.nodesLeft < 0) break
    const value = fields[key]
    if (value === undefined) continue
    const keyProblem =
      key === '__proto__' ? 'is a name that readers of JSON may take for a prototype' : textProblem(key)
    if (keyProblem !== null) refuse(walk, pointer(path, key), keyProblem)
    else copy[key] = copyOf(value, pointer(path, key), walk)
  }
  return copy
}

function refuse(walk: Walk, path: string, message: string): null {
  walk.isSound = false
  walk.report(path, message)
  return null
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).byteLength
}
