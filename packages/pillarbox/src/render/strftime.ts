import type { DateTime } from 'luxon'
import { styled } from './locale-text.ts'

/** A date as the tenant's clocks and calendars show it, whatever zone the machine is in. */
export interface LocalDate {
  /** The instant at which a clock in UTC shows the same: its fields are read with getUTC*. */
  local: number
  /** False for a day, such as a check-in date. */
  hasTime: boolean
  /** When it is; for what is given without an offset, in the tenant's zone. */
  instant: () => number
  timeZone: string
}

const DIRECTIVE = /%([-_0^#:]*)(\d{0,2})([A-Za-z%])/g

/** What `{{ when | date: "%d.%m.%Y" }}` means, in the tenant's zone and the locale's words. Unknown directives stay. */
export function strftime(date: LocalDate, shown: DateTime, format: string): string {
  return format.replace(DIRECTIVE, (all, flags: string, width: string, letter: string) => {
    const [field, digits = 0, pad = digits > 0 ? '0' : ' '] = DIRECTIVES[letter] ?? []
    if (field === undefined) return all
    let text = typeof field === 'string' ? shown.toFormat(field) : String(field(shown, date, flags))
    if (flags.includes('^')) text = text.toUpperCase()
    if (flags.includes('#')) text = text === text.toUpperCase() ? text.toLowerCase() : text.toUpperCase()
    if (flags.includes('-')) return text
    const sign = flags.includes('_') ? ' ' : flags.includes('0') ? '0' : pad
    return text.padStart(Number(width) || digits, sign)
  })
}

/** A token of Luxon or what to work out, how many characters it has at least, and what is put in front of fewer. */
type Directive = [field: string | DateField, digits?: number, pad?: ' ']

type DateField = (shown: DateTime, date: LocalDate, flags: string) => string | number

const inStyle =
  (...styles: [date: 'short' | 'medium' | null, time: 'medium' | null]): DateField =>
  ({ locale }, { local }) =>
    styled(local, locale ?? 'en', ...styles)

/** Days before the year's first `firstDay` are of week 0. */
const weekFrom =
  (firstDay: number): DateField =>
  ({ ordinal, weekday }) =>
    Math.floor((ordinal + 6 - ((weekday - firstDay + 7) % 7)) / 7)

function offset(_shown: DateTime, date: LocalDate, flags: string): string {
  const minutes = Math.round((date.local - date.instant()) / 60_000)
  const digits = (value: number): string => String(Math.floor(value)).padStart(2, '0')
  const size = Math.abs(minutes)
  return `${minutes < 0 ? '-' : '+'}${digits(size / 60)}${flags.includes(':') ? ':' : ''}${digits(size % 60)}`
}

const DIRECTIVES: Readonly<Record<string, Directive>> = {
  a: ['ccc'],
  A: ['cccc'],
  b: ['MMM'],
  B: ['MMMM'],
  c: [inStyle('medium', 'medium')],
  C: [({ year }) => Math.floor(year / 100), 2],
  d: ['d', 2],
  D: ['MM/dd/yy'],
  e: ['d', 2, ' '],
  F: ['yyyy-MM-dd'],
  h: ['MMM'],
  H: ['H', 2],
  I: ['h', 2],
  j: ['o', 3],
  k: ['H', 2, ' '],
  l: ['h', 2, ' '],
  L: ['S', 3],
  m: ['M', 2],
  M: ['m', 2],
  n: [() => '\n'],
  p: [(shown) => shown.toFormat('a').toUpperCase()],
  P: [(shown) => shown.toFormat('a').toLowerCase()],
  r: [(shown) => shown.toFormat('hh:mm:ss a').toUpperCase()],
  R: ['HH:mm'],
  s: [(_shown, date) => Math.floor(date.instant() / 1_000)],
  S: ['s', 2],
  t: [() => '\t'],
  T: ['HH:mm:ss'],
  u: ['c'],
  U: [weekFrom(7), 2],
  w: [({ weekday }) => weekday % 7],
  W: [weekFrom(1), 2],
  x: [inStyle('short', null)],
  X: [inStyle(null, 'medium')],
  y: [({ year }) => ((year % 100) + 100) % 100, 2],
  Y: ['y', 4],
  z: [offset],
  Z: [(_shown, { timeZone }) => timeZone],
  '%': [() => '%'],
}
