import { type Context, defaultOperators, isTruthy, toValue, toValueSync } from 'liquidjs'
import type { Filling } from './filling.ts'
import { COST } from './limits.ts'
import { filterText, writtenText } from './values.ts'

/** A filter of ours: the value, then the arguments, as the template gives them. */
export type Handler = (filling: Filling, value: unknown, ...args: unknown[]) => unknown

const MAX_PROPERTY_STEPS = 20

/**
 * The filters of lists. Those of liquidjs work through a list without looking up, some of them with a new context for
 * every element; these are charged before they begin, and find properties as placeholders do.
 */
export const LIST_FILTERS: Readonly<Record<string, Handler>> = {
  array_to_sentence_string(filling, value, connector) {
    const words = textsOf(filling, value)
    const joined = words.length > 2 ? `${words.slice(0, -1).join(', ')},` : words.slice(0, -1).join('')
    return words.length < 2 ? words.join('') : `${joined} ${textOf(filling, connector ?? 'and')} ${words.at(-1)}`
  },
  compact: (filling, value) => listOf(filling, value).filter((element) => (toValue(element) ?? null) !== null),
  concat: (filling, value, more) => [...listOf(filling, value), ...listOf(filling, more)],
  find: (filling, value, property, expected) => search(filling, value, property, expected)?.element,
  find_index: (filling, value, property, expected) => search(filling, value, property, expected)?.index,
  first: (filling, value) => listOf(filling, value)[0],
  group_by(filling, value, property) {
    const groups = new Map<unknown, unknown[]>()
    const read = reader(filling, property)
    for (const element of listOf(filling, value)) {
      const name: unknown = toValue(read(element))
      const group = groups.get(name)
      if (group) group.push(element)
      else groups.set(name, [element])
    }
    return [...groups].map(([name, items]) => ({ name, items }))
  },
  has: (filling, value, property, expected) => search(filling, value, property, expected) !== undefined,
  join(filling, value, separator) {
    const words = textsOf(filling, value)
    const between = separator === undefined ? ' ' : textOf(filling, separator)
    filling.rendering.work.use(words.reduce((sum, { length }) => sum + length, between.length * words.length))
    return words.join(between)
  },
  last: (filling, value) => listOf(filling, value).at(-1),
  map: (filling, value, property) => listOf(filling, value).map(reader(filling, property)),
  pop: (filling, value) => listOf(filling, value).slice(0, -1),
  push: (filling, value, element) => [...listOf(filling, value), element],
  reject: (filling, value, property, expected) => matching(filling, value, property, expected, false),
  reverse: (filling, value) => listOf(filling, value).toReversed(),
  shift: (filling, value) => listOf(filling, value).slice(1),
  size(_filling, value) {
    const own: unknown = toValue(value)
    return typeof own === 'string' || Array.isArray(own) ? own.length : 0
  },
  sort: (filling, value, property) => sorted(filling, value, property, (own) => own),
  sort_natural: (filling, value, property) =>
    sorted(filling, value, property, (own) => (typeof own === 'string' ? own.toLowerCase() : own)),
  sum(filling, value, property) {
    const read = reader(filling, property)
    return listOf(filling, value).reduce<number>((sum, element) => sum + numberOf(read(element)), 0)
  },
  uniq(filling, value) {
    const seen = new Map<unknown, unknown>()
    for (const element of listOf(filling, value)) if (!seen.has(toValue(element))) seen.set(toValue(element), element)
    return [...seen.values()]
  },
  unshift: (filling, value, element) => [element, ...listOf(filling, value)],
  where: (filling, value, property, expected) => matching(filling, value, property, expected, true),
}

/** As a number; 0 for what is none. A list is none: JavaScript would write it out first. */
export function numberOf(value: unknown): number {
  const own: unknown = toValue(value)
  return typeof own === 'object' ? 0 : Number(own) || 0
}

/** A value as a list, paid for. */
function listOf(filling: Filling, value: unknown): unknown[] {
  const own: unknown = toValue(value)
  if (own === undefined || own === null) return []
  if (!Array.isArray(own)) return [value]
  filling.rendering.work.weigh(own)
  return own
}

function textsOf(filling: Filling, value: unknown): string[] {
  return listOf(filling, value).map((element) => writtenText(element, filling.rendering.work))
}

function textOf(filling: Filling, value: unknown): string {
  return filterText(value, filling.rendering.work)
}

/** Reads `address.city` of each element; the element itself without a property. */
function reader(filling: Filling, property: unknown): (element: unknown) => unknown {
  const path = property === undefined ? [] : textOf(filling, property).split('.').slice(0, MAX_PROPERTY_STEPS)
  if (path.length === 0) return (element) => element
  return (element) => {
    filling.rendering.work.use(path.length * COST.element)
    return filling.findIn(element, path)
  }
}

function sorted(filling: Filling, value: unknown, property: unknown, fold: (own: unknown) => unknown): unknown[] {
  const read = reader(filling, property)
  return listOf(filling, value)
    .map((element) => ({ element, by: fold(toValue(read(element))) }))
    .sort((a, b) => compare(a.by, b.by))
    .map(({ element }) => element)
}

/** What cannot be compared goes to the end. */
function compare(a: unknown, b: unknown): number {
  if (!isComparable(a) || !isComparable(b)) return Number(isComparable(b)) - Number(isComparable(a))
  return a < b ? -1 : a > b ? 1 : 0
}

function isComparable(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

function matching(filling: Filling, value: unknown, property: unknown, expected: unknown, isWanted: boolean) {
  const matches = matcher(filling, property, expected)
  return listOf(filling, value).filter((element) => matches(element) === isWanted)
}

function search(filling: Filling, value: unknown, property: unknown, expected: unknown) {
  const list = listOf(filling, value)
  const index = list.findIndex(matcher(filling, property, expected))
  return index < 0 ? undefined : { index, element: list[index] }
}

function matcher(filling: Filling, property: unknown, expected: unknown): (element: unknown) => boolean {
  const read = reader(filling, property)
  return (element) => {
    const value = read(element)
    return expected === undefined ? isTruthy(value, filling) : isEqual(value, expected, filling)
  }
}

function isEqual(value: unknown, expected: unknown, filling: Context): boolean {
  return Boolean(toValueSync(defaultOperators['==']?.(value, expected, filling) as never))
}
