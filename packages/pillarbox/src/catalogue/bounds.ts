import type { FieldError } from '../model/errors.ts'
import { pointerTo } from '../model/json-pointer.ts'

const MAX_DEPTH = 32
const MAX_KEY = 200
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

/** The first thing in a document that no store could keep or no check should have to look at; null where all is well. */
export function unusable(value: unknown, path = '', depth = 0): FieldError | null {
  if (typeof value === 'string') return textProblem(value, path)
  if (typeof value === 'number')
    return Number.isFinite(value) ? null : { path, message: 'is a number that cannot be kept' }
  if (typeof value === 'boolean' || value === null || value === undefined) return null
  if (typeof value !== 'object') return { path, message: 'is nothing that JSON can hold' }
  if (depth >= MAX_DEPTH) return { path, message: `is nested deeper than ${MAX_DEPTH} levels` }
  for (const [key, field] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    const at = pointerTo(path, key)
    const problem = (typeof key === 'string' ? keyProblem(key, path, at) : null) ?? unusable(field, at, depth + 1)
    if (problem) return problem
  }
  return null
}

function keyProblem(key: string, path: string, at: string): FieldError | null {
  if (key.length > MAX_KEY)
    return { path, message: `has a field with a name of ${key.length} characters; ${MAX_KEY} are allowed` }
  if (FORBIDDEN_KEYS.has(key)) return { path: at, message: 'is a name that cannot be used' }
  return textProblem(key, path)
}

function textProblem(text: string, path: string): FieldError | null {
  if (text.includes('\0')) return { path, message: 'contains a NUL character' }
  return text.isWellFormed() ? null : { path, message: 'contains half a surrogate pair' }
}

/** Whether a document has at most so many values. Counts without recursion, and no further than needed. */
export function hasAtMost(value: unknown, most: number): boolean {
  const waiting = [value]
  for (let count = 0; waiting.length > 0; count += 1) {
    if (count > most || waiting.length > most) return false
    const next = waiting.pop()
    if (typeof next === 'object' && next !== null) for (const field of Object.values(next)) waiting.push(field)
  }
  return true
}
