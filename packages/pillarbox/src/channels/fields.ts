import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { isEmail, isPhone } from '../model/address.ts'
import type { Field, FieldForm } from './channel.ts'

/** Checks of settings and secrets that several providers share; each answers what is wrong, or null. */
export interface FieldCheck {
  (value: unknown): string | null
  /** What a form should offer, where that is not a line of text. */
  readonly form?: FieldForm
}

const LONGEST = 2_048
const LONGEST_SECRET = 16_384
/** Also the line breaks of Unicode, which some programs take for real ones. */
const CONTROL = /[\p{Cc}\u2028\u2029]/u

/** One line: whatever ends up in a header, a URL or a log cannot begin another. */
const lineOf =
  (longest: number): FieldCheck =>
  (value) => {
    if (typeof value !== 'string' || value.trim() === '') return 'must be text'
    if (value.length > longest) return `must not be longer than ${longest} characters`
    return CONTROL.test(value) ? 'must not contain line breaks or other control characters' : null
  }

export const text = lineOf(LONGEST)

export const secretText = lineOf(LONGEST_SECRET)

/** Text of a certain form; `words` complete "must be …". */
export const matching =
  (pattern: RegExp, words: string): FieldCheck =>
  (value) =>
    text(value) ?? (pattern.test(value as string) ? null : `must be ${words}`)

export const digits = matching(/^[0-9]{1,32}$/, 'digits, as text')

export const oneOf = (...values: readonly string[]): FieldCheck =>
  Object.assign(
    (value: unknown): string | null =>
      values.includes(value as string) ? null : `must be one of ${values.join(', ')}`,
    { form: { choices: values } },
  )

export const wholeNumber = (from: number, to: number): FieldCheck =>
  Object.assign(
    (value: unknown): string | null =>
      Number.isInteger(value) && Number(value) >= from && Number(value) <= to
        ? null
        : `must be a whole number from ${from} to ${to}`,
    { form: { from, to } },
  )

export const httpUrl: FieldCheck = (value) => {
  const problem = text(value)
  if (problem !== null) return problem
  const given = value as string
  if (!/^https?:\/\/[^\s]+$/i.test(given) || !URL.canParse(given)) return 'must be a URL with http or https'
  const { username, password } = new URL(given)
  return username === '' && password === '' ? null : 'must not hold a user or password: give them under secrets'
}

const baseUrl: FieldCheck = (value) =>
  httpUrl(value) ??
  (/[?#]/.test(value as string) ? 'must be scheme, host, port and a prefix, without a query or fragment' : null)

const LABEL = '[\\p{L}\\p{N}_](?:[\\p{L}\\p{N}_-]{0,61}[\\p{L}\\p{N}_])?'
const HOST = new RegExp(`^${LABEL}(?:\\.${LABEL})*\\.?$`, 'u')

export const hostName: FieldCheck = (value) =>
  text(value) ??
  (isIP(value as string) !== 0 || ((value as string).length <= 253 && HOST.test(value as string))
    ? null
    : 'must be a host name or an IP address, without scheme or port')

/** `Name <address>`, or an address alone. */
export const emailAddress: FieldCheck = (value) => {
  const problem = text(value)
  if (problem !== null) return problem
  const given = (value as string).trim()
  const address = /^[^<>]{0,200}<([^<>]+)>$/.exec(given)?.[1] ?? given
  const at = address.lastIndexOf('@')
  const ascii = `${address.slice(0, at + 1)}${domainToASCII(address.slice(at + 1))}`
  return isEmail(ascii) ? null : 'must be an email address, also as "Name <address>"'
}

export const phoneNumber: FieldCheck = (value) =>
  text(value) ??
  (isPhone(value as string) ? null : 'must be a telephone number with its country code, such as +15550100123')

/** What goes out in an HTTP header: a stray line break or space from copying would make every call fail. */
export const headerSecret: FieldCheck = (value) =>
  secretText(value) ?? (/^[\x21-\x7e]+$/.test(value as string) ? null : 'must be printable ASCII without spaces')

/** Every HTTP provider takes it. */
export const endpoint: Field = {
  words: 'Replaces the vendor’s base URL: scheme, host, port, optional prefix.',
  problem: baseUrl,
  dials: true,
}

/** Email: every provider of it takes these. */
export const replyTo: Field = { words: 'Where answers go.', problem: emailAddress }

export const listUnsubscribe: Field = {
  words: 'An https or mailto address to leave the list by; `{notificationId}` is filled in.',
  problem: matching(/^(?:https:\/\/|mailto:)[^\s<>]+$/, 'an https:// or mailto: address'),
}
