import { pointerTo } from './json-pointer.ts'
import { toE164 } from './phone.ts'

/** A text by which a person is known, in lower case, and the mark that takes its place. */
export interface Needle {
  text: string
  mark: string
}

/**
 * How an address may stand in texts that others wrote: as it is, as part of a URL, and a telephone number without its plus,
 * as vendors have it.
 */
export function needlesOf(address: string, mark: string): Needle[] {
  const forms = [address, encodeURIComponent(address), ...(/^\+\d+$/.test(address) ? [address.slice(1)] : [])]
  return [...new Set(forms.map((form) => form.toLowerCase()))].map((text) => ({ text, mark }))
}

/** Whoever a person is known to be, for looking through what was written about them. */
export interface Traces {
  needles: readonly Needle[]
  /** Values that stand for the person only where they stand alone, such as names and user ids, in lower case. */
  values: ReadonlyMap<string, string>
  /** The country that telephone numbers without a country code are taken to be of. */
  region: string | null
}

/** Puts marks in the place of all that a person is known by. What does not name them is answered as it is. */
export interface Eraser {
  text(text: string): string
  /**
   * The same of an id that others chose, of which an address may be a part (`later-ada@example.com`). Always the same for the
   * same id, so that whatever names it still does.
   */
  id(id: string): string
  json(value: unknown): unknown
  /** What of a text names the person. */
  mentionsIn(text: string): string[]
  /** The same of JSON, each with the pointer to its place. */
  mentionsInJson(value: unknown): { path: string; value: string }[]
}

/** Deeper than any intake takes. */
const MAX_DEPTH = 1_000

export function createEraser({ needles, values, region }: Traces): Eraser {
  const marks = new Map(needles.map(({ text, mark }) => [text, mark]))
  const phones = new Map(needles.filter(({ text }) => text.startsWith('+')).map(({ text, mark }) => [text, mark]))
  const pattern = patternOf([...marks.keys()], TEXT_BEFORE)
  const idPattern = patternOf([...marks.keys()], ID_BEFORE)

  const replaced = (given: string, by: RegExp | null): string =>
    by === null ? given : given.replaceAll(by, (found) => marks.get(found.toLowerCase()) ?? found)
  const text = (given: string): string => replaced(given, pattern)

  /** A whole value: it may be a name, an id, or a telephone number as people write it. */
  function whole(given: string): string {
    const known = values.get(given.trim().toLowerCase())
    if (known !== undefined) return known
    const erased = text(given)
    if (erased !== given || phones.size === 0 || !/^[+\d][\d\s()./-]{5,30}$/.test(given)) return erased
    return phones.get(toE164(given, region) ?? '') ?? given
  }

  function json(value: unknown, depth = 0): unknown {
    if (typeof value === 'string') return whole(value)
    if (typeof value === 'number') {
      const erased = whole(String(value))
      return erased === String(value) ? value : erased
    }
    if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value
    if (Array.isArray(value)) return value.map((element) => json(element, depth + 1))
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [text(name), json(field, depth + 1)]))
  }

  const mentionsIn = (given: string): string[] => (pattern === null ? [] : (given.match(pattern) ?? []))

  function mentions(value: unknown, path: string, depth = 0): { path: string; value: string }[] {
    if (typeof value === 'string' || typeof value === 'number') {
      const given = String(value)
      if (whole(given) === given) return []
      const parts = mentionsIn(given)
      return (parts.length > 0 ? parts : [given]).map((part) => ({ path, value: part }))
    }
    if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return []
    return Object.entries(value).flatMap(([name, field]) => [
      ...mentionsIn(name).map((part) => ({ path, value: part })),
      ...mentions(field, pointerTo(path, text(name)), depth + 1),
    ])
  }

  return {
    text,
    id: (given) => replaced(given, idPattern),
    json: (value) => json(value),
    mentionsIn,
    mentionsInJson: (value) => mentions(value, ''),
  }
}

/** In a text, what a mailbox may go on with to the left makes it another one; in an id it is what ids are put together with. */
const TEXT_BEFORE = String.raw`(?<![\w.+-])`
const ID_BEFORE = '(?<![a-z0-9])'

/**
 * The longest first, so that a form with its plus is not taken for the one without. What is part of a longer number or
 * mailbox is somebody else's; behind an escaped character of a URL a text begins anew.
 */
function patternOf(texts: readonly string[], before: string): RegExp | null {
  if (texts.length === 0) return null
  const forms = texts
    .toSorted((a, b) => b.length - a.length)
    .map((text) => {
      const literal = text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)
      if (/^(?:\+|%2b)?\d+$/.test(text)) return String.raw`(?:(?<=%[0-9a-f]{2})|(?<!\d))${literal}(?!\d)`
      return String.raw`(?:(?<=%[0-9a-f]{2})|${before})${literal}(?!\w|-|\.\w)`
    })
  return new RegExp(forms.join('|'), 'gi')
}
