/** Days and hours in the time zone of a tenant. A day is written `2026-03-29`, everywhere. */

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

export function dayIn(ms: number, zone: string): string {
  return part(ms, zone, { year: 'numeric', month: '2-digit', day: '2-digit' }, 'en-CA')
}

/** `09:00` */
export function clockIn(ms: number, zone: string): string {
  return part(ms, zone, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
}

export function addDays(day: string, count: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + count * DAY_MS).toISOString().slice(0, 10)
}

/** 0 is Monday. */
function weekdayOf(day: string): number {
  return (new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7
}

export function mondayOf(day: string): string {
  return addDays(day, -weekdayOf(day))
}

export function firstOfMonth(day: string): string {
  return `${day.slice(0, 7)}-01`
}

export function addMonths(day: string, count: number): string {
  const [year = 1970, month = 1] = day.split('-').map(Number)
  return new Date(Date.UTC(year, month - 1 + count, 1)).toISOString().slice(0, 10)
}

/** When a day begins there, in ms since 1970: the first moment that has its date, whatever the clocks do that night. */
export function startOfDay(day: string, zone: string): number {
  // No zone is more than 14 hours from UTC; within these hours the date changes once.
  let from = Date.parse(`${day}T00:00:00Z`) - 15 * HOUR_MS
  let to = from + 30 * HOUR_MS
  while (to - from > 1) {
    const middle = Math.floor((from + to) / 2)
    if (dayIn(middle, zone) < day) from = middle
    else to = middle
  }
  return to
}

/** `Wed 18 Nov`, with the year where it is not this one. */
export function dayWords(day: string, today: string): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    timeZone: 'UTC',
    ...(day.slice(0, 4) !== today.slice(0, 4) && { year: 'numeric' }),
  })
  return format.format(new Date(`${day}T00:00:00Z`)).replace(',', '')
}

export function monthWords(day: string): string {
  const format = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })
  return format.format(new Date(`${day}T00:00:00Z`))
}

export function isDay(text: string | undefined): text is string {
  return text !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`))
}

function part(ms: number, zone: string, options: Intl.DateTimeFormatOptions, locale = 'en-GB'): string {
  return formatter(locale, { ...options, timeZone: zone }).format(ms)
}

const made = new Map<string, Intl.DateTimeFormat>()

/** Making one takes much longer than using it. */
function formatter(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify([locale, options])
  const known = made.get(key) ?? new Intl.DateTimeFormat(locale, options)
  made.set(key, known)
  return known
}
