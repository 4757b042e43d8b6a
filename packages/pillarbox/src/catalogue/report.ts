import { closest } from '../model/closest.ts'
import type { FieldError } from '../model/errors.ts'

/** What is to be said of a document, or of a part of one. Paths are JSON pointers. */
export interface Findings {
  problems: FieldError[]
  /** Legal, and probably not meant. */
  warnings: FieldError[]
}

/** Collects what is found in a document that anybody may have written: every fault is reported, none is thrown. */
export interface CatalogueReport extends Findings {
  wrong(path: string, message: string): void
  /** Legal, and probably not meant. */
  odd(path: string, message: string): void
  /** Something at `path`, or below it, is wrong: that it is missing or empty is then not said as well. */
  isFaulty(path: string): boolean
  /** `did you mean "x"?`, or nothing where no known name is near. */
  meant(given: unknown, known: readonly string[]): string
  /** Takes over what another check found in the value at `path`; its paths begin there. */
  pass(found: Findings | undefined, path: string): void
}

/** Nobody reads more; a hostile document could make millions. */
export const MAX_REPORTED = 1_000
const MAX_GUESSES = 50

export function createReport(): CatalogueReport {
  const problems: FieldError[] = []
  const warnings: FieldError[] = []
  /** The path of every problem, and of everything that it stands in. */
  const faulty = new Set<string>()
  let guesses = 0
  const report: CatalogueReport = {
    problems,
    warnings,
    wrong(path, message) {
      if (problems.length >= MAX_REPORTED) return
      problems.push({ path, message })
      for (let at = path; !faulty.has(at); at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) faulty.add(at)
    },
    odd(path, message) {
      if (warnings.length < MAX_REPORTED) warnings.push({ path, message })
    },
    isFaulty: (path) => faulty.has(path),
    meant(given, known) {
      if (typeof given !== 'string' || guesses >= MAX_GUESSES) return ''
      guesses += 1
      const name = closest(given.slice(0, 100), known)
      return name === null ? '' : `did you mean "${name}"?`
    },
    pass(found, path) {
      for (const problem of found?.problems ?? []) report.wrong(`${path}${problem.path}`, problem.message)
      for (const warning of found?.warnings ?? []) report.odd(`${path}${warning.path}`, warning.message)
    },
  }
  return report
}

/** `(got "24h"; write PT24H)` */
export function got(value: unknown, advice = ''): string {
  return `(got ${shown(value)}${advice === '' ? '' : `; ${advice}`})`
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  const text = JSON.stringify(value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
