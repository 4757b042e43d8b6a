import { Drop, toValue } from 'liquidjs'
import { type DateSettings, formatDate, readDate } from './dates.ts'
import { COST, type WorkBudget } from './limits.ts'
import type { LocalDate } from './strftime.ts'

/**
 * A date of the payload. Filters and comparisons see what the payload has; where it is written out, it is in the
 * tenant's zone, format and language. A Drop, because that is the one kind of value liquidjs asks for its own.
 */
export class DateText extends Drop {
  readonly #text: string
  readonly #date: LocalDate
  readonly #settings: DateSettings

  constructor(text: string, date: LocalDate, settings: DateSettings) {
    super()
    this.#text = text
    this.#date = date
    this.#settings = settings
  }

  override valueOf(): string {
    return this.#text
  }

  override toString(): string {
    return formatDate(this.#date, this.#settings.dateFormat, this.#settings, { withTime: true })
  }

  toJSON(): string {
    return this.#text
  }
}

/** Text that is a date as one; any other as it is. */
export function dateText(text: string, settings: DateSettings): string | DateText {
  const date = readDate(text, { timeZone: settings.timeZone })
  return date ? new DateText(text, date, settings) : text
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
