import type { Config } from '../../config/config.ts'
import type { Logger } from '../../model/ports.ts'
import type { EngineModule } from '../engine.ts'

export interface Finding {
  state: 'ok' | 'warn' | 'fail'
  subject: string
  found: string
  /** What to do about it. */
  advice?: string
}

export interface DoctorDeps {
  config: Config
  warnings: readonly string[]
  logger: Logger
  openStore: EngineModule['openStore']
  nodeVersion: string
  now(): number
  /** What is too much or too little, where a test says otherwise. */
  limits?: Partial<typeof DOCTOR_LIMITS>
}

export const DOCTOR_LIMITS = {
  /** Of a disk: with less it is time to make room, and with still less nothing can be written for long. */
  lowSpaceBytes: 500 * 1024 * 1024,
  noSpaceBytes: 50 * 1024 * 1024,
  /** SQLite brings its log back to a few megabytes unless somebody who reads keeps it from that. */
  largeWalBytes: 256 * 1024 * 1024,
  /** A transaction, or whatever else holds rows that are gone, that is older keeps vacuum from removing them. */
  longTransactionMs: 300_000,
}

export function limitsOf({ limits }: DoctorDeps): typeof DOCTOR_LIMITS {
  return { ...DOCTOR_LIMITS, ...limits }
}

/** What was found of a subject, which is the check's own unless another is named. */
export type CheckResult = Omit<Finding, 'subject'> & { subject?: string }

export const ok = (found: string): CheckResult => ({ state: 'ok', found })
export const warn = (found: string, advice?: string): CheckResult => ({
  state: 'warn',
  found,
  ...(advice !== undefined && { advice }),
})
export const fail = (found: string, advice?: string): CheckResult => ({
  state: 'fail',
  found,
  ...(advice !== undefined && { advice }),
})

export function errorWords(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(errorWords).join('; ')
  return error instanceof Error ? error.message : String(error)
}
