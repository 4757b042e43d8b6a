import type { ErrorLine } from '../channels/error-lines.ts'
import { at, outcomeOf, type Rule, textAt } from '../channels/vendor-answers.ts'
import type { Account } from '../model/account.ts'
import {
  type Callback,
  forged,
  type KeptCallback,
  type Parsed,
  type ReceiptEvent,
  type ReceiptFacts,
  type ReceiptSource,
  type Verified,
} from './receipt-source.ts'

/** Reading what strangers wrote: nothing here throws, and nothing comes out that is not of the form it should have. */

/**
 * What one of a vendor's statuses means. Tables of them are data: one line per status, one test per line. `nothing`: it is
 * known, and says nothing about whether the message arrived.
 */
export type Meaning =
  | { means: 'sent' | 'delivered' | 'read' | 'complained' | 'nothing'; words: string }
  | { means: 'failed' | 'bounced'; rule: Rule; words: string }

export type Meanings = Readonly<Record<string, Meaning>>

export const failed = (line: ErrorLine): Meaning => ({ means: 'failed', rule: line, words: line.words })

export const bounced = (line: ErrorLine): Meaning => ({ means: 'bounced', rule: line, words: line.words })

/** The meaning of a vendor's word; undefined where the table has none. */
export function meaningOf(table: Meanings, word: string | null): Meaning | undefined {
  return word !== null && Object.hasOwn(table, word) ? table[word] : undefined
}

/** A vendor's word as it may stand in an error text, and its meaning; undefined: nobody knows it. */
export interface Judged {
  code: string
  meaning: Meaning | undefined
}

/** What a report says beside its status; it speaks of the whole message, and is no event with an id, unless it says so. */
type ReportFacts = Omit<ReceiptFacts, 'isPartial' | 'eventId'> & Partial<ReceiptFacts>

/** Gathers what a callback says, and counts what cannot be read. */
export interface Reading {
  /**
   * Notes a report. Of a message that neither its id nor our reference names, or of a status nobody knows, it only
   * counts that there was one.
   */
  add(facts: ReportFacts, judged: Judged): void
  /** Counts a report that is none. */
  miss(): void
}

/**
 * A source of receipts. Its `verify` sees only what may be genuine: somebody has an account, and the vendor asks this way.
 * `vendor` as failures name it: error texts hold the vendor's code and our words for it, and nothing it sent.
 */
export function receiptSource({
  vendor,
  verify,
  read,
  ...source
}: Omit<ReceiptSource, 'verify' | 'parse'> & {
  vendor: string
  verify(callback: Callback, accounts: readonly Account[]): Verified | Promise<Verified>
  read(kept: KeptCallback, reading: Reading): void
}): ReceiptSource {
  return {
    ...source,
    async verify(callback, accounts) {
      if (accounts.length === 0) return forged('no_account')
      if (callback.method !== 'POST' && callback.method !== source.handshake) return forged('wrong_method')
      return await verify(callback, accounts)
    },
    parse(kept) {
      const reading = startReading(vendor)
      read(kept, reading)
      return reading.result()
    },
  }
}

function startReading(vendor: string): Reading & { result(): Parsed } {
  const events: ReceiptEvent[] = []
  let unreadable = 0
  return {
    add(reported, { code, meaning }) {
      const facts = { isPartial: false, eventId: null, ...reported }
      const isNamed = facts.providerMessageId !== null || facts.notificationId !== null
      if (!meaning || !isNamed) unreadable++
      else if (meaning.means === 'failed' || meaning.means === 'bounced') {
        const failure = outcomeOf(meaning.rule, code, `${vendor} reported ${code}: ${meaning.words}`)
        events.push({ ...facts, kind: meaning.means, failure })
      } else if (meaning.means !== 'nothing') events.push({ ...facts, kind: meaning.means })
    },
    miss: () => {
      unreadable++
    },
    result: () => ({ events, unreadable }),
  }
}

/** Undefined where it is no JSON, or none that a vendor would write. */
export function jsonIn(given: Buffer | string): unknown {
  const text = given.toString()
  if (isDeep(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const DEEPEST = 64
const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * Whether lists and objects stand in one another deeper than any vendor's. To parse a megabyte of nothing but brackets
 * takes half a second, in which nobody else is served; to count them takes none.
 */
function isDeep(text: string): boolean {
  let depth = 0
  let isInText = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (isInText) {
      if (code === BACKSLASH) i++
      else if (code === QUOTE) isInText = false
    } else if (code === QUOTE) isInText = true
    // `[` and `{`, `]` and `}` differ in one bit.
    else if ((code | 0x20) === 0x7b) {
      if (++depth > DEEPEST) return true
    } else if ((code | 0x20) === 0x7d) depth--
  }
  return false
}

/** None where there is no list. */
export function listAt(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found = at(value, ...path)
  return Array.isArray(found) ? found : []
}

/** A vendor's id: printable and short, so that it can be looked for in any database. */
export function idAt(value: unknown, ...path: readonly (string | number)[]): string | null {
  const text = textAt(value, ...path)
  return text !== null && /^[\x21-\x7e]{1,512}$/.test(text) ? text : null
}

/** Our own reference: the notification's id. */
export function referenceAt(value: unknown, ...path: readonly (string | number)[]): string | null {
  const text = textAt(value, ...path)
  return text !== null && /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i.test(text) ? text.toLowerCase() : null
}

/** A code that may stand in an error text. */
export function codeAt(value: unknown, ...path: readonly (string | number)[]): string {
  const text = textAt(value, ...path)
  return text !== null && /^[\w ./-]{1,64}$/.test(text) ? text : 'unknown'
}

/** E.164, of digits with a country code. */
export function phoneAt(value: unknown, ...path: readonly (string | number)[]): string | null {
  const digits = /^\+?(\d{7,15})$/.exec(textAt(value, ...path) ?? '')?.[1]
  return digits === undefined ? null : `+${digits}`
}

export function emailAt(value: unknown, ...path: readonly (string | number)[]): string | null {
  const text = textAt(value, ...path)
  return text !== null && /^[^\s@\p{Cc}]{1,64}@[^\s@\p{Cc}]{1,255}$/u.test(text) ? text : null
}

const DATE_TIME = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) ?(Z|[+-]\d{2}:?\d{2})?$/i

/** A time in words, `zone` being what the vendor means when it names none. */
export function instantIn(text: string | null, zone: 'Z' | '+05:30'): number | null {
  const [, date, time, offset] = DATE_TIME.exec(text ?? '') ?? []
  if (date === undefined) return null
  const written = (offset ?? zone).toUpperCase().replace(/^([+-]\d{2})(\d{2})$/, '$1:$2')
  const ms = Date.parse(`${date}T${time}${written}`)
  return Number.isNaN(ms) ? null : ms
}

/** Seconds since 1970, as a number or in digits. */
export function secondsAt(value: unknown, ...path: readonly (string | number)[]): number | null {
  const text = textAt(value, ...path)
  return text !== null && /^\d{1,12}$/.test(text) ? Number(text) * 1_000 : null
}

const EARLIEST = Date.UTC(2010, 0)
const DAY_MS = 86_400_000

/** The first of these times that can be believed, else when the callback came. */
export function believed({ receivedAt }: KeptCallback, ...times: readonly (number | null)[]): number {
  return times.find((ms) => ms !== null && ms >= EARLIEST && ms <= receivedAt + DAY_MS) ?? receivedAt
}
