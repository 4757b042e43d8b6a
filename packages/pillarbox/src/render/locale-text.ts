/**
 * What Intl knows of a locale, made once and kept: making a formatter costs a hundred times what using it does. A locale
 * that is none is read as English, never as the machine's own.
 */

const kept = new Map<string, unknown>()
const MAX_KEPT = 2_000

function keep<T>(key: string, make: () => T): T {
  const known = kept.get(key)
  if (known !== undefined) return known as T
  const made = make()
  if (kept.size >= MAX_KEPT) kept.clear()
  kept.set(key, made)
  return made
}

/** The locale itself where Intl can read it, and what to fall back to. */
function localesOf(locale: string): string[] {
  return keep(`locales ${locale}`, () => {
    try {
      return [...Intl.getCanonicalLocales(locale.replaceAll('_', '-')), 'en']
    } catch {
      return ['en']
    }
  })
}

/** Null where `options` has something that Intl does not know, such as a currency of four letters. */
export function numberFormat(locale: string, options: Intl.NumberFormatOptions): Intl.NumberFormat | null {
  const { style, currency, minimumFractionDigits, maximumFractionDigits } = options
  return keep(`number ${locale} ${style} ${currency} ${minimumFractionDigits} ${maximumFractionDigits}`, () => {
    try {
      return new Intl.NumberFormat(localesOf(locale), options)
    } catch {
      return null
    }
  })
}

export type Style = 'short' | 'medium' | 'long' | 'full'

/** For local times, which are written as if they were UTC. */
export function dateFormat(locale: string, dateStyle: Style | null, timeStyle: Style | null): Intl.DateTimeFormat {
  return keep(`date ${locale} ${dateStyle} ${timeStyle}`, () => {
    const styles = { ...(dateStyle && { dateStyle }), ...(timeStyle && { timeStyle }) }
    return new Intl.DateTimeFormat(localesOf(locale), { ...styles, timeZone: 'UTC' })
  })
}

export interface CalendarNames {
  /** From January, as they stand in a date: `15. März`, `15 марта`. */
  months: { long: string[]; short: string[] }
  /** From Sunday. */
  weekdays: { long: string[]; short: string[] }
  /** Before and after noon. */
  halves: [string, string]
}

export function calendarNames(locale: string): CalendarNames {
  return keep(`names ${locale}`, () => {
    const named = (instants: number[], part: Intl.DateTimeFormatPartTypes, options: Intl.DateTimeFormatOptions) => {
      const format = new Intl.DateTimeFormat(localesOf(locale), { ...options, calendar: 'gregory', timeZone: 'UTC' })
      return instants.map((ms) => format.formatToParts(ms).find(({ type }) => type === part)?.value ?? '')
    }
    const months = Array.from({ length: 12 }, (_, month) => Date.UTC(2026, month, 15))
    const days = Array.from({ length: 7 }, (_, day) => Date.UTC(2026, 1, 1 + day))
    const [morning = '', evening = ''] = named([Date.UTC(2026, 0, 1, 1), Date.UTC(2026, 0, 1, 13)], 'dayPeriod', {
      hour: 'numeric',
      hour12: true,
    })
    return {
      months: {
        long: named(months, 'month', { day: 'numeric', month: 'long' }),
        short: named(months, 'month', { day: 'numeric', month: 'short' }),
      },
      weekdays: {
        long: named(days, 'weekday', { weekday: 'long' }),
        short: named(days, 'weekday', { weekday: 'short' }),
      },
      halves: [morning, evening],
    }
  })
}

/**
 * Intl writes narrow and unbreakable spaces, typographic apostrophes and minus signs. An ordinary one reads the same,
 * and does not turn a whole SMS into UCS-2.
 */
export function plainSigns(text: string): string {
  return text
    .replace(/[\u00a0\u202f\u2009]/g, ' ')
    .replaceAll('\u2019', "'")
    .replaceAll('\u2212', '-')
}
