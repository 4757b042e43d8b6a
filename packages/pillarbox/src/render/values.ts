import { Drop, toValue } from 'liquidjs'
import type { DateKind } from '../model/schema-paths.ts'
import { type DateSettings, formatDate, readDate } from './dates.ts'
import { COST, type WorkBudget } from './limits.ts'
import type { LocalDate } from './strftime.ts'

/**
 * A date of the payload. Filters and comparisons see what the payload has; where it is written out, it is in the
 * tenant's zone, format and language. A Drop, because that is the one kind of value liquidjs asks for its own.
 */
export class DateText extends Drop {
  readonly #text: string
  readonly date: LocalDate
  readonly #settings: DateSettings

  constructor(text: string, date: LocalDate, settings: DateSettings) {
    super()
    this.#text = text
    this.date = date
    this.#settings = settings
  }

  override valueOf(): string {
    return this.#text
  }

  override toString(): string {
    return formatDate(this.date, this.#settings.dateFormat, this.#settings, { withTime: true })
  }

  toJSON(): string {
    return this.#text
  }
}

const MIDNIGHT = /^(\d{4}-\d\d-\d\d)[T ]00:00(?::00(?:\.0+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?$/i

/**
 * Text that is a date as one; any other as it is. Midnight is how most programs write a date that has no time of day:
 * where it may be one, it is that day in every zone, and not 5:30 in the morning in some.
 */
export function dateText(text: string, kind: DateKind, settings: DateSettings): string | DateText {
  const day = kind === 'date' ? MIDNIGHT.exec(text)?.[1] : undefined
  const date = readDate(day ?? text, { timeZone: settings.timeZone })
  return date ? new DateText(text, date, settings) : text
}

/** What a date filter works on: a day stays one in every zone. */
export function dateOf(value: unknown, settings: DateSettings): LocalDate | null {
  return value instanceof DateText && !value.date.hasTime ? value.date : readDate(toValue(value), settings)
}

/** What `capture` took of an HTML body: what was filled in is escaped already. */
export class SafeHtml extends Drop {
  readonly #html: string

  constructor(html: string) {
    super()
    this.#html = html
  }

  override valueOf(): string {
    return this.#html
  }

  override toString(): string {
    return this.#html
  }

  toJSON(): string {
    return this.#html
  }
}

const MAX_NESTED_LISTS = 10

/** How a value is written out. Lists as their elements side by side; an object not at all, rather than `[object Object]`. */
export function writtenText(value: unknown, work: WorkBudget, depth = 0): string {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
    case 'boolean':
    case 'bigint':
      return String(value)
    case 'object':
      if (value instanceof DateText || value instanceof SafeHtml) {
        work.use(COST.format)
        return value.toString()
      }
      if (Array.isArray(value)) {
        work.use(value.length * COST.element)
        if (depth >= MAX_NESTED_LISTS) return ''
        return value.map((element) => writtenText(element, work, depth + 1)).join('')
      }
      return value instanceof Drop ? writtenText(primitive(toValue(value)), work, depth) : ''
    default:
      return ''
  }
}

/** What a text filter works on: as written, but for a date, of which it is given what the payload has. */
export function filterText(value: unknown, work: WorkBudget): string {
  const own: unknown = toValue(value)
  return writtenText(own, work)
}

/** So that a Drop whose value is a Drop does not go round in circles. */
function primitive(value: unknown): unknown {
  return typeof value === 'object' ? null : value
}
