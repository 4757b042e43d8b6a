import { createHash } from 'node:crypto'

/** What a notification stopped by. */
export interface StopCause {
  reason: string
  /** The provider's, where a provider said it. */
  code: string | null
  error: string | null
  accountId: string | null
}

/** So much of an error is looked at: a vendor may say a megabyte, and what is wrong stands at its beginning. */
const MOST_READ = 600
const MOST_WORDS = 60
/** A code that a vendor made of a sentence is no longer one. */
const MOST_OF_CODE = 100

/**
 * The same for every notification of a tenant that stopped by the same cause: reason, provider's code, account, and the
 * error without what is different each time. Sixteen hexadecimal digits of SHA-256, because errors come from strangers,
 * who must not be able to make theirs look like another one.
 */
export function fingerprintOf({ reason, code, error, accountId }: StopCause): string {
  const parts = [reason, code?.slice(0, MOST_OF_CODE) ?? null, causeText(error), accountId]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)
}

/**
 * An error without numbers, ids and addresses: its words in lower case, each of those replaced by a sign. One pass over a
 * bounded beginning, whatever the text is.
 */
export function causeText(error: string | null): string | null {
  if (error === null) return null
  const words: string[] = []
  for (const word of error.slice(0, MOST_READ).toWellFormed().split(SEPARATORS)) {
    const shown = wordOf(word)
    // A telephone number in groups is one number.
    if (shown === '' || (shown === '#' && words.at(-1) === '#')) continue
    if (words.length === MOST_WORDS) break
    words.push(shown)
  }
  return words.length > 0 ? words.join(' ') : null
}

const SEPARATORS = /[\s"'“”‘’`<>()[\]{},;:|]+/
const EDGES = /^[.!?*_=-]+|[.!?*_=-]+$/g
/** Neither a word of any language nor a number: a token, a key, a hash. */
const LONGEST_WORD = 30

function wordOf(text: string): string {
  const word = text.replaceAll(EDGES, '')
  if (word.includes('@')) return '<address>'
  if (word.startsWith('//')) return '<url>'
  if (/\p{N}/u.test(word) || word.length > LONGEST_WORD) return '#'
  return word.toLowerCase()
}
