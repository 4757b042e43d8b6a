import { parseDuration } from '../model/duration.ts'
import { isTimeOfDay } from '../model/timing.ts'

const NAME = '[A-Za-z_][\\w-]*'
const AT_MOST_200 = '(?=.{1,200}$)'

/** The forms of text in a catalogue that are more than a word, as patterns of JSON Schema. */
export const PATTERNS = {
  /** Leads to one value of the payload. */
  path: `^${AT_MOST_200}${NAME}(\\.${NAME})*$`,
  /** May go through one list: `passengers[].phone`. */
  recipientPath: `^${AT_MOST_200}${NAME}(\\.${NAME})*(\\[\\](\\.${NAME})*)?$`,
  /** May go through any lists. */
  secretPath: `^${AT_MOST_200}${NAME}(\\[\\])?(\\.${NAME}(\\[\\])?)*$`,
  timeOfDay: '^([01]\\d|2[0-3]):[0-5]\\d$',
} as const

/** What an author who wrote `value` for a text of that form probably meant, as advice; empty where nobody knows. */
export function meantBy({ pattern, format }: { pattern?: string; format?: string }, value: unknown): string {
  const text = (typeof value === 'string' || typeof value === 'number' ? String(value) : '').slice(0, 200).trim()
  if (format === 'duration') return durationMeant(text)
  switch (pattern) {
    case PATTERNS.timeOfDay:
      return timeMeant(text)
    case PATTERNS.path:
      return SECRET_PATH.test(text) ? 'it cannot go through a list' : ''
    case PATTERNS.recipientPath:
      return SECRET_PATH.test(text) ? 'it may go through one list only' : ''
    default:
      return ''
  }
}

const SECRET_PATH = new RegExp(PATTERNS.secretPath)

/** 9:00 → "09:00"; 9.30 am and the like are left to the author. */
function timeMeant(text: string): string {
  const [, hours = '', minutes = ''] = /^(\d{1,2}):(\d\d)(?::00)?$/.exec(text) ?? []
  const meant = `${hours.padStart(2, '0')}:${minutes}`
  return isTimeOfDay(meant) ? `write "${meant}"` : ''
}

const UNITS: [RegExp, string, string][] = [
  [/^s(ec(ond)?s?)?$/, 'PT', 'S'],
  [/^m(in(ute)?s?)?$/, 'PT', 'M'],
  [/^h((ou)?rs?)?$/, 'PT', 'H'],
  [/^d(ays?)?$/, 'P', 'D'],
  [/^w(eeks?)?$/, 'P', 'W'],
]

/** 24h, 2 days, 1h30m → PT24H, P2D, PT1H30M. */
function durationMeant(text: string): string {
  if (/^P\d+[YM]/i.test(text)) return 'months and years have no fixed length: write days, such as P30D'
  const [, count, unit = ''] = /^\+?(\d{1,6})\s*([a-z]{1,8})$/i.exec(text) ?? []
  for (const [form, before, after] of UNITS)
    if (count !== undefined && form.test(unit.toLowerCase())) return `write ${before}${count}${after}`
  const upper = text.toUpperCase()
  for (const candidate of [upper, `P${upper}`, `PT${upper}`])
    if (candidate !== text && parseDuration(candidate) !== null) return `write ${candidate}`
  return ''
}
