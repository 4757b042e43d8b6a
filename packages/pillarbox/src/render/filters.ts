import { type FilterImplOptions, filters as library, toValue } from 'liquidjs'
import { escapeHtml } from '../model/html.ts'
import { isTimeZone } from '../model/timing.ts'
import { formatAmount, formatMoney, readAmount } from './amounts.ts'
import { formatDate, formatTime } from './dates.ts'
import type { Filling } from './filling.ts'
import { COST } from './limits.ts'
import { type Handler, LIST_FILTERS, numberOf } from './list-filters.ts'
import { dateOf, filterText, writtenText } from './values.ts'

/** Filters of liquidjs that take text and give text. */
const TEXT =
  'append prepend lstrip rstrip strip downcase upcase capitalize remove remove_first remove_last replace ' +
  'replace_first replace_last split squish strip_newlines strip_html normalize_whitespace truncate truncatewords ' +
  'number_of_words slugify newline_to_br escape escape_once xml_escape base64_encode sha256 hmac_sha256'
const NUMBERS = 'abs at_least at_most ceil divided_by floor minus plus modulo times round'
/** These throw at text that they cannot read, or write; then the text stays as it is. */
const FALLIBLE = 'url_decode url_encode cgi_escape uri_escape base64_decode'

/** Filters that templates cannot have, and why. */
export const REFUSED_FILTERS: Readonly<Record<string, string>> = {
  raw: 'it would let a value into HTML without being escaped; put the markup into the template instead',
  sample: 'a message must come out the same whenever it is rendered',
  ...Object.fromEntries(
    ['where_exp', 'reject_exp', 'group_by_exp', 'find_exp', 'find_index_exp', 'has_exp'].map((name) => [
      name,
      `it cannot be bounded; use ${name.slice(0, -4)}`,
    ]),
  ),
}

/** Everything a template can pipe through. A filter that is not named here does not exist. */
export function filtersFor({ isHtml }: { isHtml: boolean }): Record<string, FilterImplOptions> {
  const filters: Record<string, FilterImplOptions> = {}
  for (const name of TEXT.split(' ')) filters[name] = ours(textual(name))
  for (const name of FALLIBLE.split(' ')) filters[name] = ours(fallible(textual(name)))
  for (const name of NUMBERS.split(' ')) filters[name] = ours(numeric(name))
  for (const [name, handler] of Object.entries(LIST_FILTERS)) filters[name] = ours(handler)
  for (const [name, handler] of Object.entries(OWN)) filters[name] = ours(handler)
  if (isHtml) {
    // What these give is HTML already: escaping it once more would show the reader the escapes.
    for (const [name, handler] of Object.entries(HTML)) filters[name] = { handler: ours(handler), raw: true }
  }
  return filters
}

type LibraryHandler = Extract<FilterImplOptions, (...args: never[]) => unknown>

function ours(handler: Handler): LibraryHandler {
  return function (value: unknown, ...args: unknown[]): unknown {
    return handler(this.context as Filling, value, ...args)
  }
}

function fromLibrary(name: string): (filling: Filling, value: unknown, ...args: unknown[]) => unknown {
  const filter = library[name] as LibraryHandler
  return (filling, value, ...args) => {
    // All that these filters take from it.
    const self = { context: filling } as unknown as ThisParameterType<LibraryHandler>
    return filter.call(self, value, ...args) as unknown
  }
}

function textual(name: string): Handler {
  const call = fromLibrary(name)
  return (filling, value, ...args) => {
    const { work } = filling.rendering
    const text = filterText(value, work)
    work.use(text.length)
    const plain = args.map((arg) => (typeof arg === 'number' || arg === undefined ? arg : filterText(arg, work)))
    return call(filling, text, ...plain)
  }
}

function fallible(handler: Handler): Handler {
  return (filling, value, ...args) => {
    const text = filterText(value, filling.rendering.work).toWellFormed()
    try {
      return handler(filling, text, ...args)
    } catch (error) {
      if (error instanceof URIError || (error instanceof Error && error.message.includes('base64'))) return text
      throw error
    }
  }
}

function numeric(name: string): Handler {
  const call = fromLibrary(name)
  return (filling, value, ...args) => call(filling, numberOf(value), ...args.map(numberOf))
}

const OWN: Readonly<Record<string, Handler>> = {
  /** `1.234,50` */
  amount(filling, value, decimals) {
    filling.rendering.work.use(COST.format)
    const amount = readAmount(toValue(value))
    const { locale } = filling.rendering.settings
    return amount === null ? value : formatAmount(amount, locale, decimals === undefined ? 2 : numberOf(decimals))
  },
  /** In the currency that it names, else the payload's `currency`, else the tenant's. */
  money(filling, value, currency) {
    filling.rendering.work.use(COST.format)
    const amount = readAmount(toValue(value))
    if (amount === null) return value
    const { settings, payload } = filling.rendering
    const code = [toValue(currency), payload.find(['currency']), settings.currency].find(isName)
    return formatMoney(amount, settings.locale, code)
  },
  date(filling, value, format, timeZone) {
    const { settings, work } = filling.rendering
    work.use(COST.format + (isName(format) ? Math.min(format.length, 200) * COST.key : 0))
    const date = dateOf(value, { ...settings, ...zoneOf(filling, timeZone) })
    if (!date) return value
    if (isName(format)) return formatDate(date, format, settings)
    return formatDate(date, settings.dateFormat, settings, { withTime: true })
  },
  time(filling, value, timeZone) {
    const { settings, work } = filling.rendering
    work.use(COST.format)
    const date = dateOf(value, { ...settings, ...zoneOf(filling, timeZone) })
    return date ? formatTime(date, settings) : value
  },
  default(filling, value, instead, ...named) {
    const own: unknown = toValue(value)
    const isEmpty = own === undefined || own === null || own === '' || (Array.isArray(own) && own.length === 0)
    const allowsFalse = named.some((pair) => Array.isArray(pair) && pair[0] === 'allow_false' && Boolean(pair[1]))
    filling.rendering.work.weigh(own)
    return isEmpty || (own === false && !allowsFalse) ? instead : value
  },
  slice(filling, value, from, length) {
    const own: unknown = toValue(value)
    const start = Math.trunc(numberOf(from))
    const count = length === undefined ? 1 : Math.trunc(numberOf(length))
    const list = Array.isArray(own) ? own : Array.from(filterText(own, filling.rendering.work))
    filling.rendering.work.use(list.length)
    const begin = start < 0 ? list.length + start : start
    const piece = begin < 0 || count < 0 ? [] : list.slice(begin, begin + count)
    return Array.isArray(own) ? piece : piece.join('')
  },
  to_integer: (_filling, value) => Math.trunc(numberOf(value)),
  json: fromLibrary('json'),
  jsonify: fromLibrary('json'),
  inspect: fromLibrary('inspect'),
}

const HTML: Readonly<Record<string, Handler>> = {
  escape: (filling, value) => escapeHtml(paid(filling, value)),
  xml_escape: (filling, value) => escapeHtml(paid(filling, value)),
  escape_once: textual('escape_once'),
  newline_to_br: (filling, value) => escapeHtml(paid(filling, value)).replace(/\r?\n/g, '<br>\n'),
}

/** As it would be written out, dates included. */
function paid(filling: Filling, value: unknown): string {
  const text = writtenText(value, filling.rendering.work)
  filling.rendering.work.use(text.length)
  return text
}

/** Another zone than the tenant's, where a template names one that exists. */
function zoneOf(filling: Filling, timeZone: unknown): { timeZone?: string } {
  if (!isName(timeZone)) return {}
  // Finding out whether a zone exists is dear.
  filling.rendering.work.use(COST.zone)
  return timeZone.length <= 60 && isTimeZone(timeZone) ? { timeZone } : {}
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}
