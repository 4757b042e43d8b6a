import { PillarboxError } from '../model/errors.ts'

/** Deeper bodies are refused before anything looks at them. */
const MAX_DEPTH = 32

const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * Parses a request body strictly. What other parsers read in different ways is refused, so that nothing means one thing
 * here and another behind us:
 * - 400: bad UTF-8, a byte order mark, a key twice in one object, anything that is not JSON;
 * - 422: deeper than 32 levels, a key named `__proto__`, `constructor` or `prototype`, a NUL character or half a surrogate pair in
 *   text, a number too large for a double, a whole number that a double cannot hold exactly.
 * An empty body is `undefined`.
 */
export function parseJsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  const text = decode(bytes)
  scan(text)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    // The engine's message quotes the body; only the place is passed on.
    const place = /at position \d+/.exec(String(error))?.[0]
    throw new PillarboxError(
      'malformed_json',
      place ? `The body is not valid JSON ${place}.` : 'The body is not valid JSON.',
    )
  }
  inspect(value, '')
  return value
}

/** `null` when the text can be stored and sent as it is, else what is wrong with it. */
export function textProblem(text: string): string | null {
  if (text.includes('\0')) return 'contains a NUL character'
  return text.isWellFormed() ? null : 'contains half a surrogate pair'
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(bytes: Buffer): string {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    throw new PillarboxError('malformed_json', 'The body is not valid UTF-8.')
  }
  if (text.charCodeAt(0) === 0xfeff)
    throw new PillarboxError('malformed_json', 'The body begins with a byte order mark.')
  return text
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39

/**
 * One pass over the text for what is lost once it is parsed: depth, repeated keys, digits a double cannot hold.
 * It knows just enough JSON for that; whatever is malformed is left for the parser to refuse.
 */
function scan(text: string): void {
  /** Per open container: the keys seen, or null for a list. */
  const open: (Set<string> | null)[] = []
  let keyNext = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === QUOTE) {
      const end = stringEnd(text, i)
      if (end < 0) return
      const keys = open.at(-1)
      if (keyNext && keys) noteKey(keys, text.slice(i, end + 1))
      keyNext = false
      i = end
    } else if (c === OPEN_BRACE || c === OPEN_BRACKET) {
      if (open.length >= MAX_DEPTH)
        throw new PillarboxError('invalid_body', `The body is nested deeper than ${MAX_DEPTH} levels.`)
      open.push(c === OPEN_BRACE ? new Set() : null)
      keyNext = c === OPEN_BRACE
    } else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) {
      open.pop()
      keyNext = false
    } else if (c === COMMA) keyNext = open.at(-1) instanceof Set
    else if (c === MINUS || (c >= ZERO && c <= NINE)) i = numberEnd(text, i)
  }
}

/** Index of the closing quote, or -1. */
function stringEnd(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end > 0) {
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++
    if (slashes % 2 === 0) return end
    end = text.indexOf('"', end + 1)
  }
  return -1
}

function noteKey(keys: Set<string>, quoted: string): void {
  let key = quoted.slice(1, -1)
  if (key.includes('\\')) {
    try {
      key = String(JSON.parse(quoted))
    } catch {
      return
    }
  }
  if (keys.has(key))
    throw new PillarboxError('malformed_json', `The body has the key ${shown(key)} twice in one object.`)
  keys.add(key)
}

const NUMBER = /-?\d+(?:\.\d*)?(?:[eE][+-]?\d*)?/y

function numberEnd(text: string, start: number): number {
  NUMBER.lastIndex = start
  const literal = NUMBER.exec(text)?.[0]
  if (literal === undefined) return start
  // Only a whole number written out promises to be exact. 15 digits always fit; beyond that the round trip tells.
  if (literal.length > 15 && /^-?\d+$/.test(literal) && !isExact(literal))
    throw new PillarboxError(
      'invalid_body',
      `The number ${literal.slice(0, 24)}${literal.length > 24 ? '…' : ''} cannot be kept exactly; send it as text.`,
    )
  return start + literal.length - 1
}

function isExact(literal: string): boolean {
  const value = Number(literal)
  return Number.isFinite(value) && String(BigInt(value)) === literal
}

function inspect(value: unknown, path: string): void {
  if (typeof value === 'string') refuseText(value, path)
  else if (typeof value === 'number') {
    if (!Number.isFinite(value)) refuse(path, 'is a number too large to be kept')
  } else if (Array.isArray(value)) for (const [i, item] of value.entries()) inspect(item, `${path}/${i}`)
  else if (typeof value === 'object' && value !== null)
    for (const key of Object.keys(value)) {
      const at = `${path}/${key.slice(0, 100)}`
      if (FORBIDDEN_KEYS.has(key)) refuse(at, 'is a name that cannot be used')
      refuseText(key, path)
      inspect((value as Record<string, unknown>)[key], at)
    }
}

function refuseText(text: string, path: string): void {
  const problem = textProblem(text)
  if (problem) refuse(path, problem)
}

function refuse(path: string, message: string): never {
  const at = path.toWellFormed().replaceAll('\0', '')
  throw new PillarboxError('invalid_body', `${at || 'The body'} ${message}.`, { errors: [{ path: at, message }] })
}

function shown(key: string): string {
  return JSON.stringify(key.slice(0, 100).toWellFormed())
}
