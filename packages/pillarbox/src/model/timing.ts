import type { Timing } from './catalogue.ts'
import { valueAt } from './path.ts'

/** What a due time is reckoned from. */
export interface Moment {
  /** When the event happened. */
  eventAt: number
  payload: Record<string, unknown>
  /** The tenant's, e.g. `Europe/Berlin`. */
  timeZone: string
  now: number
}

/** `dueAt` may be past: then at once. `expired`: too late for it to make sense. `problem`: it cannot be reckoned. */
export type Due = { dueAt: number } | { expired: string } | { problem: string }

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** A little lateness is the planner's, not the event's. */
const LATE_MS = MINUTE_MS
/** The latest and earliest instant there is. */
const MAX_MS = 8_640_000_000_000_000

/**
 * When an event's notifications are due. A time that is already past is answered as it is (at once), except that
 * - what was to go out before a date is expired once the date itself is past, and
 * - with `ifPast: skip` everything is expired that should have gone out more than a minute ago.
 */
export function dueAt(timing: Timing, moment: Moment): Due {
  const { eventAt, payload, timeZone, now } = moment
  if (timing.at !== null && !isTimeOfDay(timing.at))
    return { problem: `the timing's local time "${timing.at}" is not one such as "09:00"` }
  if ((timing.at !== null || timing.field !== null) && !isTimeZone(timeZone))
    return { problem: `the tenant's time zone "${timeZone}" is not known` }

  const base = timing.field === null ? { at: eventAt } : dateAt(payload, timing.field, timeZone)
  if ('problem' in base) return base
  const due = reckon(timing, base.at, timeZone)
  if (!(Math.abs(due) <= MAX_MS)) return { problem: 'the due time lies beyond every calendar' }

  if (timing.field !== null && timing.offsetMs < 0 && base.at <= now)
    return { expired: `${timing.field} was ${iso(base.at)}: too late to say so beforehand` }
  if (timing.ifPast === 'skip' && due < now - LATE_MS)
    return { expired: `it was due ${iso(due)} and is not to be sent late` }
  return { dueAt: due }
}

function reckon({ offsetMs, field, at }: Timing, base: number, timeZone: string): number {
  if (at === null) return base + offsetMs
  if (field === null) return nextTimeOfDay(base + offsetMs, at, timeZone)
  // Whole days are days of the calendar: one day before is the day before, also when a day has 23 or 25 hours.
  const days = Math.trunc(offsetMs / DAY_MS)
  const local = localOf(base + (offsetMs - days * DAY_MS), timeZone)
  return instantOf(midnight(local) + days * DAY_MS + timeOfDayMs(at), timeZone)
}

/** The first such time of day at or after an instant. */
function nextTimeOfDay(from: number, at: string, timeZone: string): number {
  const today = midnight(localOf(from, timeZone)) + timeOfDayMs(at)
  const first = instantOf(today, timeZone)
  return first >= from ? first : instantOf(today + DAY_MS, timeZone)
}

function dateAt(
  payload: Record<string, unknown>,
  field: string,
  timeZone: string,
): { at: number } | { problem: string } {
  const value = valueAt(payload, field)
  if (value === undefined || value === null || value === '')
    return { problem: `the payload has no ${field}, from which the due time is reckoned` }
  const at = typeof value === 'string' ? parseDate(value, timeZone) : null
  return at === null
    ? { problem: `${field} is not a date such as "2026-03-15", "2026-03-15T09:00" or "2026-03-15T09:00:00Z"` }
    : { at }
}

const DATE = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?: ?(Z|[+-]\d\d(?::?\d\d)?))?)?$/i

/**
 * The instant a date in ISO 8601 means; null where it is none. Without an offset it is a local time of `timeZone`,
 * and a date alone is its midnight there.
 */
export function parseDate(text: string, timeZone: string): number | null {
  if (text.length > 40) return null
  const match = DATE.exec(text.trim())
  if (!match) return null
  const [, year = '', month = '', day = '', hour = '0', minute = '0', second = '0', fraction = '', offset] = match
  const local = utc(Number(year), Number(month), Number(day))
  if (local === null || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null
  const ms =
    local +
    (Number(hour) * 60 + Number(minute)) * MINUTE_MS +
    Number(second) * 1_000 +
    Number(fraction.slice(0, 3).padEnd(3, '0'))
  if (offset === undefined) return instantOf(ms, timeZone)
  const offsetMs = parseOffset(offset)
  return offsetMs === null ? null : ms - offsetMs
}

function parseOffset(text: string): number | null {
  if (text === 'Z' || text === 'z') return 0
  const digits = text.slice(1).replace(':', '')
  const [hours, minutes] = [Number(digits.slice(0, 2)), Number(digits.slice(2) || '0')]
  if (hours > 23 || minutes > 59) return null
  return (text.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * MINUTE_MS
}

/** A day's midnight as if it were UTC; null for a day that the month does not have. */
function utc(year: number, month: number, day: number): number | null {
  const date = new Date(0)
  // Not Date.UTC: it takes the years 0 to 99 for 1900 to 1999.
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() : null
}

const TIME_OF_DAY = /^([01]\d|2[0-3]):([0-5]\d)$/

export function isTimeOfDay(text: string): boolean {
  return TIME_OF_DAY.test(text)
}

function timeOfDayMs(text: string): number {
  const [hours = 0, minutes = 0] = text.split(':').map(Number)
  return (hours * 60 + minutes) * MINUTE_MS
}

// ── local times ──────────────────────────────────────────────────────────────────────────────────────────────────
//
// A local time is written as the instant at which a clock in UTC would show it: its fields are read with getUTC*, and
// whole days are whole multiples of 24 hours.

export function isTimeZone(timeZone: string): boolean {
  return formatterOf(timeZone) !== null
}

/** What clocks in the zone show at an instant. */
export function localOf(instant: number, timeZone: string): number {
  return instant + offsetAt(instant, timeZone)
}

/**
 * When clocks in the zone show a local time. One that a daylight-saving change skips moves forward by the gap; of one
 * that occurs twice it is the first.
 */
export function instantOf(local: number, timeZone: string): number {
  // A day either side is before and after any one change; in a gap and in an overlap alike the earlier offset is right.
  const before = offsetAt(local - DAY_MS, timeZone)
  const after = offsetAt(local + DAY_MS, timeZone)
  if (before === after || offsetAt(local - before, timeZone) === before) return local - before
  return offsetAt(local - after, timeZone) === after ? local - after : local - before
}

function midnight(local: number): number {
  return Math.floor(local / DAY_MS) * DAY_MS
}

function offsetAt(instant: number, timeZone: string): number {
  const formatter = formatterOf(timeZone)
  if (!formatter || !(Math.abs(instant) <= MAX_MS)) return 0
  const fields: Record<string, string> = {}
  for (const { type, value } of formatter.formatToParts(instant)) fields[type] = value
  const number = (field: string): number => Number(fields[field])
  const year = fields['era']?.startsWith('B') ? 1 - number('year') : number('year')
  const day = utc(year, number('month'), number('day'))
  if (day === null) return 0
  const shown = day + (number('hour') * 60 + number('minute')) * MINUTE_MS + number('second') * 1_000
  // Zones have no offsets finer than a second.
  return shown - Math.floor(instant / 1_000) * 1_000
}

/** Making one costs a hundred times what using it does. A process sees few zones; whoever invents many is forgotten. */
const formatters = new Map<string, Intl.DateTimeFormat | null>()
const MAX_FORMATTERS = 1_000

function formatterOf(timeZone: string): Intl.DateTimeFormat | null {
  const known = formatters.get(timeZone)
  if (known !== undefined) return known
  const formatter = makeFormatter(timeZone)
  if (formatters.size >= MAX_FORMATTERS) formatters.clear()
  formatters.set(timeZone, formatter)
  return formatter
}

function makeFormatter(timeZone: string): Intl.DateTimeFormat | null {
  try {
    return new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
      timeZone,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch {
    return null
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
