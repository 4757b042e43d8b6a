import { DateTime } from 'luxon'
import { instantOf, isTimeZone, localOf, parseDate } from '../model/timing.ts'
import { knownLocale, type Style, styled } from './locale-text.ts'
import { type LocalDate, strftime } from './strftime.ts'

/** How a tenant reads dates. */
export interface DateSettings {
  locale: string
  timeZone: string
  /** Of dates that say nothing else. */
  dateFormat: string
  /** What `now` means; without it, nothing. */
  now?: number
}

const DAY = /^\d{4}-\d\d-\d\d$/
const DATE_TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/i
const FULL_DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d/
const OFFSET = /[T ].*(?:Z|[+-]\d\d(?::?\d\d)?)$/i

/** Whether text is a whole date-time such as `2026-03-15T09:30:00Z`, and therefore a date even where nobody said so. */
export function isFullDateTime(text: string): boolean {
  return text.length >= 16 && text.length <= 40 && FULL_DATE_TIME.test(text) && readText(text, 'UTC') !== null
}

/**
 * Reads ISO 8601 text, `now`, and numbers as seconds since 1970 (milliseconds where seconds would lie in the year 5138).
 * Null where it is no date. A day, and a time without an offset, are the tenant's own and never shifted.
 */
export function readDate(value: unknown, { timeZone, now }: Pick<DateSettings, 'timeZone' | 'now'>): LocalDate | null {
  const zone = isTimeZone(timeZone) ? timeZone : 'UTC'
  if (typeof value === 'number') return fromInstant(Math.abs(value) < 1e11 ? value * 1_000 : value, zone)
  if (typeof value !== 'string' || value.length > 40) return null
  const text = value.trim()
  if (text === 'now' || text === 'today') return now === undefined ? null : fromInstant(now, zone)
  if (/^\d{9,14}$/.test(text)) return readDate(Number(text), { timeZone: zone })
  return readText(text, zone)
}

function readText(text: string, zone: string): LocalDate | null {
  const isDay = DAY.test(text)
  if (!isDay && !DATE_TIME.test(text)) return null
  if (!isDay && OFFSET.test(text)) {
    const instant = parseDate(text, 'UTC')
    return instant === null ? null : fromInstant(instant, zone)
  }
  const local = parseDate(isDay ? `${text}T00:00Z` : `${text}Z`, 'UTC')
  if (local === null) return null
  return { local, hasTime: !isDay, instant: () => instantOf(local, zone), timeZone: zone }
}

const MAX_MS = 8_640_000_000_000_000

function fromInstant(instant: number, zone: string): LocalDate | null {
  // A day less than the calendar has, so that the zone's offset cannot lead out of it.
  if (!(Math.abs(instant) <= MAX_MS - 86_400_000)) return null
  return { local: localOf(instant, zone), hasTime: true, instant: () => instant, timeZone: zone }
}

const MAX_FORMAT = 200

/**
 * In the words of `settings.locale`. `format`: `short`, `medium`, `long`, `full` (with the time of day, where there is
 * one and `withTime` asks for it), `iso`, strftime where it has a `%`, otherwise a pattern.
 */
export function formatDate(
  date: LocalDate,
  format: string,
  { locale }: Pick<DateSettings, 'locale'>,
  { withTime = false }: { withTime?: boolean } = {},
): string {
  if (isStyle(format)) return styled(date.local, locale, format, withTime && date.hasTime ? 'short' : null)
  // In the calendar and the digits that a pattern's other characters are of, whatever the locale prefers.
  const shown = DateTime.fromMillis(date.local, {
    zone: 'utc',
    locale: knownLocale(locale),
    numberingSystem: 'latn',
    outputCalendar: 'gregory',
  })
  const bounded = format.slice(0, MAX_FORMAT)
  if (bounded.includes('%')) return strftime(date, shown, bounded)
  const parts = parsePattern(bounded === 'iso' ? 'yyyy-MM-dd' : bounded)
  return (date.hasTime ? parts : withoutTime(parts))
    .map((part) => ('token' in part ? shown.toFormat(part.token) : part.text))
    .join('')
}

/** The time of day alone, as the locale writes it; null for a day. */
export function formatTime(date: LocalDate, { locale }: Pick<DateSettings, 'locale'>): string | null {
  return date.hasTime ? styled(date.local, locale, null, 'short') : null
}

/** What is wrong with a tenant's `dateFormat`; null when it can be used. */
export function dateFormatProblem(format: string): string | null {
  if (isStyle(format) || format === 'iso' || format.includes('%')) return null
  const parts = parsePattern(format)
  const wrong = parts.find((part) => 'isUnknown' in part)
  if (wrong && 'text' in wrong) return `has "${wrong.text}", which means nothing: use ${FIELDS}, and quote words ('at')`
  return parts.some((part) => 'token' in part)
    ? null
    : 'must be short, medium, long, full, iso, or a pattern such as dd-MMM-yyyy'
}

function isStyle(format: string): format is Style {
  return format === 'short' || format === 'medium' || format === 'long' || format === 'full'
}

/** A piece of `dd-MMM-yyyy`: one of Luxon's tokens, or text as it stands. */
type PatternPart = { token: string; isTime: boolean } | { text: string; isUnknown?: true }

const FIELDS = 'd, dd, M, MM, MMM, MMMM, yy, yyyy, EEE, EEEE, H, HH, h, hh, m, mm, s, ss and a'
const FIELD = /^(?:d{1,2}|M{1,4}|y|yy|yyyy|E{1,4}|H{1,2}|h{1,2}|m{1,2}|s{1,2}|a)$/
/** Y and D mean something else in Unicode's patterns; here they are what everybody means by them. */
const ALIASES: Readonly<Record<string, string>> = { Y: 'y', D: 'd', L: 'M' }

/** Letters are fields; words among them are quoted: `d 'de' MMMM`. Two quotes are one. */
function parsePattern(pattern: string): PatternPart[] {
  return [...pattern.matchAll(/'((?:[^']|'')*)'?|([A-Za-z])\2*|[^A-Za-z']+/g)].map(([all, quoted, letter]) => {
    if (quoted !== undefined) return { text: quoted === '' ? "'" : quoted.replaceAll("''", "'") }
    if (letter === undefined) return { text: all }
    const field = (ALIASES[letter] ?? letter).repeat(all.length)
    if (!FIELD.test(field)) return { text: all, isUnknown: true }
    // A weekday as it stands alone: `Do`, not `Do.`.
    const token = letter === 'E' ? 'c'.repeat(Math.max(3, all.length)) : field
    return { token, isTime: /[Hhmsa]/.test(letter) }
  })
}

/** A pattern that ends with a time of day leaves it away from a date that has none. */
function withoutTime(parts: PatternPart[]): PatternPart[] {
  const isTime = (part: PatternPart): boolean => 'token' in part && part.isTime
  const last = parts.findLastIndex((part) => 'token' in part && !part.isTime)
  return last >= 0 && parts.slice(last).some(isTime) ? parts.slice(0, last + 1) : parts
}
