import type { Value } from './script.ts'

/** Collects the values of a statement that is put together from parts. */
export interface Parameters {
  readonly values: Value[]
  /** Adds a value and answers its placeholder, e.g. `$3`. */
  add(value: Value): string
}

export function parameters(): Parameters {
  const values: Value[] = []
  return { values, add: (value) => `$${values.push(value)}` }
}
