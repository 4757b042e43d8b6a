import { checkJson } from '@pillarbox/client/contract'
import { type FieldError, PillarboxError } from '../model/errors.ts'
import { sentence } from './problems.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The handler itself calls `refuseUnfit`, for each item of a list: one bad item spoils no other. */
    judgesJson?: boolean
  }
}

/** Longer lists of items are refused as a whole: nothing is said of each. */
export const MAX_ITEMS = 1_000

/** Deeper bodies are refused before they are parsed, which would take long. What fits is judged by `refuseUnfit`. */
const MAX_READ_DEPTH = 1_000

/**
 * Parses a request body. What other parsers read in different ways is refused with 400, so that nothing means one thing
 * here and another behind us: bad UTF-8, a byte order mark, a key twice in one object, anything that is not JSON.
 * A whole number that a double would change becomes a bigint, so that whoever judges the body finds it in its place.
 * An empty body is `undefined`.
 */
export function parseJsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  const text = decode(bytes)
  scan(text)
  try {
    return LONG_NUMBER.test(text) ? JSON.parse(text, keepLongNumber as Reviver) : JSON.parse(text)
  } catch (error) {
    // The engine's message quotes the body; only the place is passed on.
    const place = /at position \d+/.exec(String(error))?.[0]
    throw malformed(place ? `The body is not valid JSON ${place}.` : 'The body is not valid JSON.')
  }
}

/** What a body, or one item of it, holds that no store could keep and give back as it is. Words as of an event's payload. */
export function unfitJson(value: unknown): FieldError[] {
  const errors: FieldError[] = []
  checkJson(value, (path, message) => {
    if (errors.length < MAX_ERRORS) errors.push({ path, message })
  })
  return errors
}

const MAX_ERRORS = 50

/** Throws 422 for what `unfitJson` finds. */
export function refuseUnfit(body: unknown): void {
  const errors = unfitJson(body)
  if (errors.length > 0) throw new PillarboxError('invalid_body', sentence('The body', errors), { errors })
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(bytes: Buffer): string {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    throw malformed('The body is not valid UTF-8.')
  }
  if (text.charCodeAt(0) === 0xfeff) throw malformed('The body begins with a byte order mark.')
  return text
}

/** Fewer digits always fit a double. In a text it may match too: then the slower way is taken for nothing. */
const LONG_NUMBER = /(?:^|[\s:,[-])\d{16}/

type Reviver = (key: string, value: unknown) => unknown

/** Only a whole number that is written out promises to be exact. The third parameter is ES2026, and Node 24 has it. */
function keepLongNumber(_key: string, value: unknown, { source }: { source?: string }): unknown {
  if (typeof value !== 'number' || source === undefined || !/^-?\d{16,}$/.test(source)) return value
  return String(value) === source ? value : BigInt(source)
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

/**
 * One pass over the text for what `JSON.parse` does not say: repeated keys, and a depth that would take long.
 * It knows just enough JSON for that; whatever is malformed is left for the parser to refuse.
 */
function scan(text: string): void {
  /** Per open container: the keys seen, or null for a list. */
  const open: (Set<string> | null)[] = []
  let isKeyNext = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === QUOTE) {
      const end = stringEnd(text, i)
      if (end < 0) return
      const keys = open.at(-1)
      if (isKeyNext && keys) noteKey(keys, text.slice(i, end + 1))
      isKeyNext = false
      i = end
    } else if (c === OPEN_BRACE || c === OPEN_BRACKET) {
      if (open.length >= MAX_READ_DEPTH)
        throw new PillarboxError('invalid_body', `The body is nested deeper than ${MAX_READ_DEPTH} levels.`)
      isKeyNext = c === OPEN_BRACE
      open.push(isKeyNext ? new Set() : null)
    } else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) {
      open.pop()
      isKeyNext = false
    } else if (c === COMMA) isKeyNext = open.at(-1) instanceof Set
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
  if (keys.has(key)) {
    const shown = JSON.stringify(key.slice(0, 100).toWellFormed())
    throw malformed(`The body has the key ${shown} twice in one object.`)
  }
  keys.add(key)
}

function malformed(detail: string): PillarboxError {
  return new PillarboxError('malformed_json', detail)
}
