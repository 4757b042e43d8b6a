import { Settings } from 'luxon'

/**
 * What Intl knows of a locale, made once and kept: making a formatter costs a hundred times what using it does. A locale
 * that Intl does not know is read as English, never as the machine's own.
 */

const kept = new Map<string, unknown>()
const MAX_KEPT = 2_000

function keep<T>(key: string, make: () => T): T {
  const known = kept.get(key)
  if (known !== undefined) return known as T
  const made = make()
  if (kept.size >= MAX_KEPT) {
    kept.clear()
    // Luxon keeps formatters by locale without a bound of its own.
    Settings.resetCaches()
  }
  kept.set(key, made)
  return made
}

export function knownLocale(locale: string): string {
  return keep(`locale ${locale}`, () => {
    try {
      return Intl.DateTimeFormat.supportedLocalesOf(locale.replaceAll('_', '-'))[0] ?? 'en'
    } catch {
      return 'en'
    }
  })
}

/** Null where `options` has something that Intl does not know, such as a currency of four letters. */
export function numberFormat(locale: string, options: Intl.NumberFormatOptions): Intl.NumberFormat | null {
  const { style, currency, minimumFractionDigits, maximumFractionDigits } = options
  return keep(`number ${locale} ${style} ${currency} ${minimumFractionDigits} ${maximumFractionDigits}`, () => {
    try {
      return new Intl.NumberFormat(knownLocale(locale), options)
    } catch {
      return null
    }
  })
}

export type Style = 'short' | 'medium' | 'long' | 'full'

/** A local time, which is written as if it were UTC, as the locale writes dates, times of day, or both. */
export function styled(local: number, locale: string, dateStyle: Style | null, timeStyle: Style | null): string {
  const format = keep(`date ${locale} ${dateStyle} ${timeStyle}`, () => {
    const styles = { ...(dateStyle && { dateStyle }), ...(timeStyle && { timeStyle }) }
    return new Intl.DateTimeFormat(knownLocale(locale), { ...styles, timeZone: 'UTC' })
  })
  return plainSigns(format.format(local))
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
