/** ISO 8601 durations of fixed length: weeks, days, hours, minutes, seconds. Months and years have no fixed length. */
const FORM = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d{1,3})?)S)?)?$/

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const WEEK_MS = 7 * DAY_MS

/** Milliseconds of a duration such as `PT5S` or `P365D`; `null` where the text is not one. */
export function parseDuration(text: string): number | null {
  if (text.length > 40 || text === 'P' || text.endsWith('T')) return null
  const match = FORM.exec(text)
  if (!match) return null
  const [, weeks = '0', days = '0', hours = '0', minutes = '0', seconds = '0'] = match
  const ms =
    Number(weeks) * WEEK_MS +
    Number(days) * DAY_MS +
    Number(hours) * HOUR_MS +
    Number(minutes) * MINUTE_MS +
    Math.round(Number(seconds) * SECOND_MS)
  return Number.isSafeInteger(ms) ? ms : null
}

/** The shortest such text for `ms`, e.g. 90 000 → `PT1M30S`, 0 → `PT0S`. */
export function formatDuration(ms: number): string {
  let rest = Math.max(0, Math.round(ms))
  const take = (unit: number): number => {
    const count = Math.floor(rest / unit)
    rest -= count * unit
    return count
  }
  const days = take(DAY_MS)
  const hours = take(HOUR_MS)
  const minutes = take(MINUTE_MS)
  const seconds = rest / SECOND_MS
  const time = `${hours ? `${hours}H` : ''}${minutes ? `${minutes}M` : ''}${seconds ? `${seconds}S` : ''}`
  if (!days && !time) return 'PT0S'
  return `P${days ? `${days}D` : ''}${time ? `T${time}` : ''}`
}
