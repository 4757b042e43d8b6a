import type { LocalDate } from './dates.ts'
import { calendarNames, dateFormat, plainSigns } from './locale-text.ts'

const DIRECTIVE = /%([-_0^#:]*)(\d{0,2})([A-Za-z%])/g
const MAX_FORMAT = 200

/** What `{{ when | date: "%d.%m.%Y" }}` means, in the tenant's zone and the locale's words. Unknown directives stay. */
export function strftime(date: LocalDate, format: string, locale: string): string {
  return format.slice(0, MAX_FORMAT).replace(DIRECTIVE, (all, flags: string, width: string, letter: string) => {
    const directive = DIRECTIVES[letter]
    if (!directive) return all
    const [value, digits = 0] = directive(date, { locale, flags })
    let text = String(value)
    if (flags.includes('^')) text = text.toUpperCase()
    if (flags.includes('#')) text = text === text.toUpperCase() ? text.toLowerCase() : text.toUpperCase()
    if (flags.includes('-')) return text
    const isPaddedBySpace = flags.includes('_') || (!flags.includes('0') && (digits < 0 || typeof value === 'string'))
    return text.padStart(Number(width) || Math.abs(digits), isPaddedBySpace ? ' ' : '0')
  })
}

interface Asked {
  locale: string
  flags: string
}

/** A value and how many digits it is padded to, by spaces where that is negative. */
type Directive = (date: LocalDate, asked: Asked) => [value: string | number, digits?: number]

const utc = ({ local }: LocalDate): Date => new Date(local)
const hour12 = (date: LocalDate): number => utc(date).getUTCHours() % 12 || 12

/** Several at once. */
const compound =
  (format: string): Directive =>
  (date, { locale }) => [strftime(date, format, locale)]

const name =
  (kind: 'months' | 'weekdays', form: 'long' | 'short'): Directive =>
  (date, { locale }) => {
    const index = kind === 'months' ? utc(date).getUTCMonth() : utc(date).getUTCDay()
    return [calendarNames(locale)[kind][form][index] ?? '']
  }

const half = (date: LocalDate, locale: string): string =>
  calendarNames(locale).halves[utc(date).getUTCHours() < 12 ? 0 : 1]

/** Days before the year's first `firstDay` are of week 0. */
function weekOfYear(date: LocalDate, firstDay: number): number {
  return Math.floor((dayOfYear(date) - 1 - ((utc(date).getUTCDay() - firstDay + 7) % 7) + 7) / 7)
}

function dayOfYear(date: LocalDate): number {
  const at = utc(date)
  return Math.floor((at.getTime() - Date.UTC(at.getUTCFullYear(), 0, 1)) / 86_400_000) + 1
}

function offset(date: LocalDate, flags: string): string {
  const minutes = Math.round((date.local - date.instant()) / 60_000)
  const digits = (value: number): string => String(value).padStart(2, '0')
  const size = Math.abs(minutes)
  return `${minutes < 0 ? '-' : '+'}${digits(Math.floor(size / 60))}${flags.includes(':') ? ':' : ''}${digits(size % 60)}`
}

const DIRECTIVES: Readonly<Record<string, Directive>> = {
  a: name('weekdays', 'short'),
  A: name('weekdays', 'long'),
  b: name('months', 'short'),
  B: name('months', 'long'),
  h: name('months', 'short'),
  c: (date, { locale }) => [plainSigns(dateFormat(locale, 'medium', 'medium').format(date.local))],
  C: (date) => [Math.floor(utc(date).getUTCFullYear() / 100), 2],
  d: (date) => [utc(date).getUTCDate(), 2],
  D: compound('%m/%d/%y'),
  e: (date) => [utc(date).getUTCDate(), -2],
  F: compound('%Y-%m-%d'),
  H: (date) => [utc(date).getUTCHours(), 2],
  I: (date) => [hour12(date), 2],
  j: (date) => [dayOfYear(date), 3],
  k: (date) => [utc(date).getUTCHours(), -2],
  l: (date) => [hour12(date), -2],
  L: (date) => [utc(date).getUTCMilliseconds(), 3],
  m: (date) => [utc(date).getUTCMonth() + 1, 2],
  M: (date) => [utc(date).getUTCMinutes(), 2],
  n: () => ['\n'],
  p: (date, { locale }) => [half(date, locale).toUpperCase()],
  P: (date, { locale }) => [half(date, locale).toLowerCase()],
  r: compound('%I:%M:%S %p'),
  R: compound('%H:%M'),
  s: (date) => [Math.floor(date.instant() / 1_000)],
  S: (date) => [utc(date).getUTCSeconds(), 2],
  t: () => ['\t'],
  T: compound('%H:%M:%S'),
  u: (date) => [utc(date).getUTCDay() || 7],
  U: (date) => [weekOfYear(date, 0), 2],
  w: (date) => [utc(date).getUTCDay()],
  W: (date) => [weekOfYear(date, 1), 2],
  x: (date, { locale }) => [plainSigns(dateFormat(locale, 'short', null).format(date.local))],
  X: (date, { locale }) => [plainSigns(dateFormat(locale, null, 'medium').format(date.local))],
  y: (date) => [((utc(date).getUTCFullYear() % 100) + 100) % 100, 2],
  Y: (date) => [utc(date).getUTCFullYear(), 4],
  z: (date, { flags }) => [offset(date, flags)],
  Z: (date) => [date.timeZone],
  '%': () => ['%'],
}
