import { instantOf, isTimeZone, localOf, parseDate } from '../model/timing.ts'
import { formatPattern, parsePattern } from './date-pattern.ts'
import { dateFormat as formatOf, plainSigns, type Style } from './locale-text.ts'
import { strftime } from './strftime.ts'

/** How a tenant reads dates. */
export interface DateSettings {
  locale: string
  timeZone: string
  /** Of dates that say nothing else. */
  dateFormat: string
  /** What `now` means; without it, nothing. */
  now?: number
}

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

/**
 * In the words of `settings.locale`. `format`: `short`, `medium`, `long`, `full` (with the time of day, where there is
 * one and `withTime` asks for it), `iso`, strftime where it has a `%`, otherwise a pattern.
 */
export function formatDate(
  date: LocalDate,
  format: string,
  settings: Pick<DateSettings, 'locale'>,
  { withTime = false }: { withTime?: boolean } = {},
): string {
  if (isStyle(format)) {
    const time = withTime && date.hasTime ? 'short' : null
    return plainSigns(formatOf(settings.locale, format, time).format(date.local))
  }
  if (format.includes('%')) return strftime(date, format, settings.locale)
  return formatPattern(date, format === 'iso' ? 'yyyy-MM-dd' : format, settings.locale)
}

/** The time of day alone, as the locale writes it; null for a day. */
export function formatTime(date: LocalDate, { locale }: Pick<DateSettings, 'locale'>): string | null {
  return date.hasTime ? plainSigns(formatOf(locale, null, 'short').format(date.local)) : null
}

/** What is wrong with a tenant's `dateFormat`; null when it can be used. */
export function dateFormatProblem(format: string): string | null {
  if (isStyle(format) || format === 'iso') return null
  const parts = format.includes('%') ? null : parsePattern(format)
  const wrong = parts?.find((part) => 'unknown' in part)
  if (wrong && 'unknown' in wrong)
    return `has "${wrong.unknown}", which means nothing: use d, M, y, E, H, h, m, s and a, and quote words ('at')`
  return parts && !parts.some((part) => 'field' in part)
    ? 'must be short, medium, long, full, iso, or a pattern such as dd-MMM-yyyy'
    : null
}

function isStyle(format: string): format is Style {
  return format === 'short' || format === 'medium' || format === 'long' || format === 'full'
}
