import { type FieldError, PillarboxError } from '../model/errors.ts'

/** Where a body holds a list whose items are judged one by one: it is the list, or its field `items` is. */
export type ItemsIn = 'body' | 'items'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** One bad item spoils no other: in its place the handler finds the `PillarboxError` that says what is wrong. */
    itemsIn?: ItemsIn
  }
}

/** Longer lists of items are refused as a whole: nothing is said of each. */
export const MAX_ITEMS = 1_000

/** Deeper bodies are refused before anything looks at them, and so are deeper items. */
const MAX_DEPTH = 32

/** Parsing what is absurdly deep takes long: an item beyond this is not read for the sake of the others. */
const MAX_READ_DEPTH = 1_000

const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * Parses a request body strictly. What other parsers read in different ways is refused, so that nothing means one thing
 * here and another behind us:
 * - 400: bad UTF-8, a byte order mark, a key twice in one object, anything that is not JSON;
 * - 422: deeper than 32 levels, a key named `__proto__`, `constructor` or `prototype`, a NUL character or half a surrogate pair in
 *   text, a number too large for a double, a whole number that a double cannot hold exactly.
 * An empty body is `undefined`. With `itemsIn`, what would be 422 inside an item is put in that item's place as a
 * `PillarboxError`, and the levels are counted from the item, as if it had come alone.
 */
export function parseJsonBody(bytes: Buffer, itemsIn: ItemsIn | null = null): unknown {
  if (bytes.length === 0) return undefined
  const text = decode(bytes)
  const badItems = scan(text, itemsIn)
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
  const items = itemsOf(value, itemsIn)
  if (items && items.length > MAX_ITEMS)
    throw invalid('The body', {
      path: itemsIn === 'items' ? '/items' : '',
      message: `must not have more than ${MAX_ITEMS} items`,
    })
  const wrong = inspect(value, '', items)
  if (wrong) throw invalid('The body', wrong)
  // An item that the scan refused is not looked at again: it may be too deep for that.
  for (const [i, item] of items?.entries() ?? []) {
    const problem = badItems.get(i) ?? inspect(item, '')
    if (problem && items) items[i] = invalid('The item', problem)
  }
  return value
}

function itemsOf(value: unknown, itemsIn: ItemsIn | null): unknown[] | null {
  const list = itemsIn === 'items' ? (value as { items?: unknown } | null)?.items : value
  return itemsIn !== null && Array.isArray(list) ? list : null
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
 * It knows just enough JSON for that; whatever is malformed is left for the parser to refuse. Answers what is wrong with
 * single items, by their index.
 */
function scan(text: string, itemsIn: ItemsIn | null): Map<number, FieldError> {
  /** Per open container: the keys seen, or null for a list. */
  const open: (Set<string> | null)[] = []
  /** How many more are open that are too deep to be kept account of. */
  let beyond = 0
  let keyNext = false
  let topKey = ''
  /** How many containers are open around an item, the list included; 0 outside of the list. */
  let around = 0
  let index = 0
  const badItems = new Map<number, FieldError>()
  const note = (message: string): void => {
    if (around === 0) throw new PillarboxError('invalid_body', `The body ${message}.`)
    badItems.set(index, { path: '', message })
  }
  /** One fault per item is enough, and so is none where the list is too long. */
  const isSettled = (): boolean => around > 0 && (index >= MAX_ITEMS || badItems.has(index))
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === QUOTE) {
      const end = stringEnd(text, i)
      if (end < 0) return badItems
      const keys = open.at(-1)
      if (keyNext && keys) {
        const key = noteKey(keys, text.slice(i, end + 1))
        if (open.length === 1) topKey = key
      }
      keyNext = false
      i = end
    } else if (c === OPEN_BRACE || c === OPEN_BRACKET) {
      const isDeep = open.length - around >= MAX_DEPTH
      if (isDeep) {
        if (!isSettled()) note(`is nested deeper than ${MAX_DEPTH} levels`)
        beyond += 1
        if (beyond > MAX_READ_DEPTH)
          throw new PillarboxError('invalid_body', `An item of the body is nested deeper than ${MAX_DEPTH} levels.`)
      } else open.push(c === OPEN_BRACE ? new Set() : null)
      keyNext = c === OPEN_BRACE && !isDeep
      if (around === 0 && c === OPEN_BRACKET && isItems(open, topKey, itemsIn)) around = open.length
    } else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) {
      if (beyond > 0) beyond -= 1
      else open.pop()
      if (open.length < around) around = 0
      keyNext = false
    } else if (c === COMMA) {
      keyNext = beyond === 0 && open.at(-1) instanceof Set
      if (around > 0 && open.length === around) index += 1
    } else if (c === MINUS || (c >= ZERO && c <= NINE)) i = numberEnd(text, i, isSettled() ? null : note)
  }
  return badItems
}

/** Whether the list that was just opened is the one whose items are judged one by one. */
function isItems(open: readonly (Set<string> | null)[], topKey: string, itemsIn: ItemsIn | null): boolean {
  if (itemsIn === 'items') return open.length === 2 && open[0] instanceof Set && topKey === 'items'
  return itemsIn === 'body' && open.length === 1
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

function noteKey(keys: Set<string>, quoted: string): string {
  let key = quoted.slice(1, -1)
  if (key.includes('\\')) {
    try {
      key = String(JSON.parse(quoted))
    } catch {
      return ''
    }
  }
  if (keys.has(key))
    throw new PillarboxError('malformed_json', `The body has the key ${shown(key)} twice in one object.`)
  keys.add(key)
  return key
}

const NUMBER = /-?\d+(?:\.\d*)?(?:[eE][+-]?\d*)?/y

function numberEnd(text: string, start: number, note: ((message: string) => void) | null): number {
  NUMBER.lastIndex = start
  const literal = NUMBER.exec(text)?.[0]
  if (literal === undefined) return start
  // Only a whole number written out promises to be exact. 15 digits always fit; beyond that the round trip tells.
  if (note && literal.length > 15 && /^-?\d+$/.test(literal) && !isExact(literal))
    note(
      `has the number ${literal.slice(0, 24)}${literal.length > 24 ? '…' : ''}, which cannot be kept exactly; send it as text`,
    )
  return start + literal.length - 1
}

function isExact(literal: string): boolean {
  const value = Number(literal)
  return Number.isFinite(value) && String(BigInt(value)) === literal
}

/** The first thing in `value` that cannot be taken, or null. What is in the list `except` is left for later. */
function inspect(value: unknown, path: string, except: unknown[] | null = null): FieldError | null {
  if (typeof value === 'string') return textError(value, path)
  if (typeof value === 'number')
    return Number.isFinite(value) ? null : { path, message: 'is a number too large to be kept' }
  if (typeof value !== 'object' || value === null || value === except) return null
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) {
      const wrong = inspect(item, `${path}/${i}`)
      if (wrong) return wrong
    }
    return null
  }
  for (const key of Object.keys(value)) {
    const at = `${path}/${key.slice(0, 100)}`
    if (FORBIDDEN_KEYS.has(key)) return { path: at, message: 'is a name that cannot be used' }
    const wrong = textError(key, path) ?? inspect((value as Record<string, unknown>)[key], at, except)
    if (wrong) return wrong
  }
  return null
}

function textError(text: string, path: string): FieldError | null {
  const message = textProblem(text)
  return message === null ? null : { path, message }
}

function invalid(what: string, { path, message }: FieldError): PillarboxError {
  const at = path.toWellFormed().replaceAll('\0', '')
  return new PillarboxError('invalid_body', `${at || what} ${message}.`, { errors: [{ path: at, message }] })
}

function shown(key: string): string {
  return JSON.stringify(key.slice(0, 100).toWellFormed())
}
