import { calendarNames } from './locale-text.ts'

/** `dd-MMM-yyyy` in pieces. */
export type PatternPart = { text: string } | { field: Field; width: number } | { unknown: string }

type Field = 'y' | 'M' | 'd' | 'E' | 'H' | 'h' | 'm' | 's' | 'a'

/** As Unicode has them; and Y and D, which mean something else there, as everybody means them. */
const FIELDS: Readonly<Record<string, Field>> = {
  y: 'y',
  Y: 'y',
  M: 'M',
  L: 'M',
  d: 'd',
  D: 'd',
  E: 'E',
  H: 'H',
  h: 'h',
  m: 'm',
  s: 's',
  a: 'a',
}
const OF_THE_DAY: ReadonlySet<Field> = new Set(['H', 'h', 'm', 's', 'a'])
const MAX_PATTERN = 100

const read = new Map<string, PatternPart[]>()
const MAX_READ = 500

/** Letters are fields; words among them are quoted: `d 'de' MMMM`. Two quotes are one. */
export function parsePattern(pattern: string): PatternPart[] {
  const known = read.get(pattern)
  if (known) return known
  const parts = [...pattern.slice(0, MAX_PATTERN).matchAll(/'((?:[^']|'')*)'?|([A-Za-z])\2*|[^A-Za-z']+/g)].map(partOf)
  if (read.size >= MAX_READ) read.clear()
  read.set(pattern, parts)
  return parts
}

function partOf([all, quoted, letter]: RegExpExecArray): PatternPart {
  if (quoted !== undefined) return { text: quoted === '' ? "'" : quoted.replaceAll("''", "'") }
  if (letter === undefined) return { text: all }
  const field = FIELDS[letter]
  return field ? { field, width: all.length } : { unknown: all }
}

/** A pattern that ends with a time of day leaves it away from a date that has none. */
export function formatPattern(
  { local, hasTime }: { local: number; hasTime: boolean },
  pattern: string,
  locale: string,
): string {
  const date = new Date(local)
  const parts = parsePattern(pattern)
  return (hasTime ? parts : withoutTime(parts))
    .map((part) => {
      if ('text' in part) return part.text
      return 'unknown' in part ? part.unknown : format(date, part.field, part.width, locale)
    })
    .join('')
}

function withoutTime(parts: PatternPart[]): PatternPart[] {
  const isTime = (part: PatternPart): boolean => 'field' in part && OF_THE_DAY.has(part.field)
  const last = parts.findLastIndex((part) => 'field' in part && !isTime(part))
  return last >= 0 && parts.slice(last).some(isTime) ? parts.slice(0, last + 1) : parts
}

function format(date: Date, field: Field, width: number, locale: string): string {
  const padded = (value: number): string => String(value).padStart(Math.min(width, 4), '0')
  switch (field) {
    case 'y':
      return width === 2 ? String(date.getUTCFullYear() % 100).padStart(2, '0') : padded(date.getUTCFullYear())
    case 'M': {
      if (width <= 2) return padded(date.getUTCMonth() + 1)
      const { long, short } = calendarNames(locale).months
      return (width === 3 ? short : long)[date.getUTCMonth()] ?? ''
    }
    case 'd':
      return padded(date.getUTCDate())
    case 'E': {
      const { long, short } = calendarNames(locale).weekdays
      return (width <= 3 ? short : long)[date.getUTCDay()] ?? ''
    }
    case 'H':
      return padded(date.getUTCHours())
    case 'h':
      return padded(date.getUTCHours() % 12 || 12)
    case 'm':
      return padded(date.getUTCMinutes())
    case 's':
      return padded(date.getUTCSeconds())
    case 'a':
      return calendarNames(locale).halves[date.getUTCHours() < 12 ? 0 : 1]
  }
}
