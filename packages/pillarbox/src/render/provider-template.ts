import type { ProviderTemplate } from '../model/catalogue.ts'
import type { Channel } from '../model/channel.ts'

const MAX_DEPTH = 10
const MAX_VALUES = 1_000
const MAX_SPACES = 3

/** Whether text has anything to fill in. */
function hasLiquid(text: string): boolean {
  return text.includes('{{') || text.includes('{%')
}

/** Each text of a provider template that has something to fill in. Throws when there is too much of it. */
export function liquidTextsOf(template: ProviderTemplate | null | undefined): string[] {
  const texts: string[] = []
  if (template)
    mapTexts(template, (text) => {
      texts.push(text)
      return text
    })
  return texts
}

/**
 * Fills in every text. WhatsApp refuses a parameter that is empty, has a line break or tab, or more than three spaces in
 * a row, and with it the whole message: such a parameter is mended, and `warn` told its place.
 */
export function renderProviderTemplate(
  template: ProviderTemplate,
  channel: Channel,
  fill: (text: string) => string,
  warn: (place: string, message: string) => void,
): ProviderTemplate {
  return mapTexts(template, (text, place) => {
    const filled = fill(text)
    return channel === 'whatsapp' ? parameterOf(filled, place, warn) : filled
  })
}

function parameterOf(text: string, place: string, warn: (place: string, message: string) => void): string {
  // Run by run: a pattern for what stands around a break would go back over every run without one.
  const line = text
    .replace(/\s+/g, (run) => (/[\r\n\t\v\f\u2028\u2029]/.test(run) ? ' ' : run))
    .replace(new RegExp(` {${MAX_SPACES + 1},}`, 'g'), ' ')
  if (line.trim() === '' && isParameter(place)) {
    warn(place, 'it is empty, which WhatsApp refuses: "-" stands in its place')
    return '-'
  }
  if (line !== text) warn(place, 'line breaks, tabs or many spaces, which WhatsApp refuses, became one space')
  return line
}

/** The words of a parameter, and of a list of them; not a link, which no dash makes whole. */
function isParameter(place: string): boolean {
  return /(\.text|\])$/.test(place)
}

/** A copy with every text that has something to fill in replaced. */
function mapTexts(template: ProviderTemplate, replace: (text: string, place: string) => string): ProviderTemplate {
  let values = 0

  function map(value: unknown, place: string, depth: number): unknown {
    values += 1
    if (depth > MAX_DEPTH || values > MAX_VALUES)
      throw new Error(`limit exceeded: the provider template has more than ${MAX_VALUES} values, or is too deep`)
    if (typeof value === 'string') return hasLiquid(value) ? replace(value, place) : value
    if (Array.isArray(value)) return value.map((element, i) => map(element, `${place}[${i}]`, depth + 1))
    return typeof value === 'object' && value !== null ? mapFields(value, place, depth) : value
  }

  function mapFields(value: object, place: string, depth: number): ProviderTemplate {
    return Object.fromEntries(
      Object.entries(value).map(([name, field]) => [
        name,
        map(field, place === '' ? name : `${place}.${name}`, depth + 1),
      ]),
    )
  }

  return mapFields(template, '', 0)
}
