// Only on PostgreSQL: its statements take arrays; SQLite binds row by row.

import type { NewColumn, NewColumns } from '../shared/new-rows.ts'

/**
 * PostgreSQL array literals. A batch of any size is one parameter per column, so the statement's text, and with it its
 * prepared plan, never changes. Written by hand because the driver quotes every element, numbers and ids included.
 */

/** Of ids, whole numbers and booleans: nothing in them needs quoting. */
export function plainArray(values: readonly (string | number | boolean | null)[]): string {
  return values.includes(null) ? `{${values.map((value) => value ?? 'null').join(',')}}` : `{${values.join(',')}}`
}

/** Of text. A NUL, which PostgreSQL cannot store, becomes U+FFFD. */
export function textArray(values: readonly (string | null)[]): string {
  let literal = '{'
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (i > 0) literal += ','
    literal += value === null || value === undefined ? 'null' : `"${NEEDS_CARE.test(value) ? escaped(value) : value}"`
  }
  return `${literal}}`
}

/** Of JSON values, as `json[]` or `text[]` takes them; null stays SQL's null. */
export function jsonArray(values: readonly unknown[]): string {
  return textArray(values.map((value) => (value === null || value === undefined ? null : JSON.stringify(value))))
}

/** Milliseconds or counts as an int4 column takes them. */
export function wholeArray(values: readonly number[]): string {
  return `{${values.map((value) => Math.min(MAX_INT4, Math.max(0, Math.round(value)))).join(',')}}`
}

/** One array per column. A column that is null throughout stays empty, which `unnest` fills up. */
export function columnArrays<T>(columns: NewColumns<T>, rows: readonly T[]): string[] {
  return Object.values(columns).map(({ type, of }) => {
    const values = rows.map(of)
    if (values.every((value) => value === null)) return '{}'
    return type === 'text' || type === 'json' ? textArray(values as (string | null)[]) : plainArray(values)
  })
}

const ELEMENT = { text: 'text', uuid: 'uuid', json: 'json', int: 'int', instant: 'float8' } as const satisfies Record<
  NewColumn<unknown>['type'],
  string
>

/** The arrays of `columnArrays`, which are the first parameters, as a table `given`, and how its columns are selected. */
export function givenColumns<T>(columns: NewColumns<T>): { names: string; selected: string; arrays: string } {
  const names = Object.keys(columns)
  const types = Object.values(columns).map(({ type }) => type)
  return {
    names: names.join(', '),
    selected: names.map((name, i) => (types[i] === 'instant' ? `to_timestamp(${name} / 1000)` : name)).join(', '),
    arrays: types.map((type, i) => `$${i + 1}::${ELEMENT[type]}[]`).join(', '),
  }
}

/** Text as PostgreSQL can store it. */
export function storable(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\u{fffd}') : text
}

const MAX_INT4 = 2_147_483_647
const NEEDS_CARE = /["\\\0]/

function escaped(value: string): string {
  return storable(value).replaceAll(/["\\]/g, '\\$&')
}
