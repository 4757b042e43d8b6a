import type { Reason } from '../model/reason.ts'
import { type Rule, ruleOfStatus } from './vendor-answers.ts'

/** A line of a vendor's error table: what a code comes to, and our words for it. */
export type ErrorLine = Rule & { words: string }

export type ErrorTable = Readonly<Record<string, ErrorLine>>

/** A line for what an error's text says, where one code stands for several things. */
export type TextLine = ErrorLine & { says: RegExp }

/** By own properties only: the code is the vendor's, and may be any word. */
export function lineFor(table: ErrorTable, code: string): ErrorLine | undefined {
  return Object.hasOwn(table, code) ? table[code] : undefined
}

/** A code that is in no table goes by its status. */
export function ruleFor(table: ErrorTable, code: string, status: number): Rule {
  return lineFor(table, code) ?? ruleOfStatus(status)
}

export const retry = (words: string, afterMs?: number): ErrorLine => ({
  does: 'retry',
  words,
  ...(afterMs !== undefined && { afterMs }),
})

export const throttle = (words: string, more: { scope?: 'recipient'; afterMs?: number } = {}): ErrorLine => ({
  does: 'throttle',
  words,
  ...more,
})

export const defer = (words: string, afterMs: number): ErrorLine => ({ does: 'defer', words, afterMs })

export const fail = (words: string, reason: Reason = 'permanent_refusal'): ErrorLine => ({
  does: 'fail',
  words,
  reason,
})

export const dead = (words: string): ErrorLine => ({ does: 'dead', words })

/** Cannot be reached on this channel for now, as far as this message goes. */
export const unreachable = (words: string): ErrorLine => fail(words, 'unreachable')

export const halt = (words: string): ErrorLine => ({ does: 'halt', words })

export const unknown = (words: string): ErrorLine => ({ does: 'unknown', words })
