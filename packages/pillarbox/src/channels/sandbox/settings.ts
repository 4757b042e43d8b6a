import { CHANNELS, type Channel } from '../../model/channel.ts'
import type { FieldError } from '../../model/errors.ts'
import { REASONS, type Reason } from '../../model/reason.ts'
import { oneOf, wholeNumber } from '../fields.ts'

/** How a sandbox account behaves. Every setting is optional; without any it accepts everything and honours keys. */
export interface SandboxSettings {
  /** A repeated key answers the first message's id and records nothing. Default: true, or false where `lookup` is set. */
  honoursKeys: boolean
  /** The vendor can be asked what became of a key. Default: false. */
  lookup: boolean
  /** How long every call takes before the vendor sees it. Default: 0. */
  latencyMs: number
  /** The vendor refuses what goes beyond. Default: null, no limit. */
  limit: { perSecond: number } | null
  /** Tried in order; the first that applies decides the call. Default: none. */
  faults: Fault[]
}

/** One rule of misbehaviour. It applies where `to`, `channel`, `ratio` and `times` all agree. */
export interface Fault {
  kind: FaultKind
  /** Only so often, counted over all processes and restarts. */
  times?: number
  /** Only for this share of the calls. */
  ratio?: number
  /** Only for this address; `*` stands for any characters. Letter case does not matter. */
  to?: string
  channel?: Channel
  delayMs?: number
  retryAfterMs?: number
  reason?: Reason
  /** Tells otherwise equal rules apart, so that their `times` are counted apart. */
  name?: string
}

/** What each kind of fault does, and the fields that mean something to it beside the ones that say when it applies. */
export const FAULT_KINDS = {
  refuse: { does: 'The connection is refused; nothing left.', fields: [] },
  slow: { does: 'Accepted, but only after `delayMs` (2000).', fields: ['delayMs'] },
  timeout_before_accept: { does: 'Nothing is recorded and no answer comes, until `delayMs`.', fields: ['delayMs'] },
  timeout_after_accept: { does: 'The message is recorded and no answer comes, until `delayMs`.', fields: ['delayMs'] },
  rate_limited: { does: 'Answers 429, asking to wait for `retryAfterMs`.', fields: ['retryAfterMs'] },
  server_error: { does: 'Answers 503, asking to wait for `retryAfterMs`.', fields: ['retryAfterMs'] },
  permanent: { does: 'Refuses for good with `reason` (`invalid_recipient`).', fields: ['reason'] },
  unauthorized: { does: 'Refuses the account’s credentials with 401.', fields: [] },
  malformed: { does: 'The message is recorded, and the answer is a 200 without a message id.', fields: [] },
} as const satisfies Record<string, { does: string; fields: readonly (keyof Fault)[] }>

export type FaultKind = keyof typeof FAULT_KINDS

type Checks = Readonly<Record<string, (value: unknown) => string | null>>

const MAX_FAULTS = 100

const isTrueOrFalse = (value: unknown): string | null => (typeof value === 'boolean' ? null : 'must be true or false')

const name = (value: unknown): string | null =>
  typeof value === 'string' && value.length > 0 && value.length <= 255 ? null : 'must be a text of 1 to 255 characters'

const SETTING_CHECKS: Checks = {
  honoursKeys: isTrueOrFalse,
  lookup: isTrueOrFalse,
  latencyMs: wholeNumber(0, 60_000),
  limit: () => null,
  faults: (value) =>
    Array.isArray(value) && value.length <= MAX_FAULTS ? null : `must be a list of at most ${MAX_FAULTS} faults`,
  // Not the vendor's affair: dispatch reads them. But what is saved must make sense.
  onUndeliverable: oneOf('fail', 'park'),
  onUnmapped: oneOf('retry', 'park'),
}

/** Of the fields that say when a fault applies, and of those that a kind of fault may have. */
const CONDITION_CHECKS: Checks = {
  kind: oneOf(...Object.keys(FAULT_KINDS)),
  name,
  times: wholeNumber(1, 1_000_000_000),
  ratio: (value) =>
    typeof value === 'number' && value > 0 && value <= 1 ? null : 'must be a number above 0 and at most 1',
  to: name,
  channel: oneOf(...CHANNELS),
}
const DETAIL_CHECKS: Checks = {
  delayMs: wholeNumber(0, 600_000),
  retryAfterMs: wholeNumber(0, 24 * 3_600_000),
  reason: (value) =>
    typeof value === 'string' && Object.hasOwn(REASONS, value)
      ? null
      : 'must be one of the reasons in the states reference',
}

/** Everything that is wrong with a sandbox account's settings, by JSON pointer; empty when nothing is. */
export function checkSandboxSettings(settings: unknown): FieldError[] {
  const problems = problemsIn(settings, '', SETTING_CHECKS)
  const { limit, faults } = isRecord(settings) ? settings : {}
  if (limit !== undefined && limit !== null) {
    problems.push(...problemsIn(limit, '/limit', { perSecond: wholeNumber(1, 1_000_000) }))
    if (isRecord(limit) && limit['perSecond'] === undefined)
      problems.push({ path: '/limit/perSecond', message: 'is missing' })
  }
  if (Array.isArray(faults) && faults.length <= MAX_FAULTS)
    for (const [index, fault] of faults.entries()) problems.push(...faultProblems(fault, `/faults/${index}`))
  return problems
}

function faultProblems(fault: unknown, path: string): FieldError[] {
  const kind = isRecord(fault) ? fault['kind'] : undefined
  const problem = CONDITION_CHECKS['kind']?.(kind)
  if (problem) return [{ path: `${path}/kind`, message: problem }]
  const details = FAULT_KINDS[kind as FaultKind].fields.map((field) => [field, DETAIL_CHECKS[field]])
  return problemsIn(fault, path, { ...CONDITION_CHECKS, ...(Object.fromEntries(details) as Checks) })
}

/** Fields that are not there are never wrong; fields that nobody knows always are. */
function problemsIn(value: unknown, pointer: string, checks: Checks): FieldError[] {
  if (!isRecord(value)) return [{ path: pointer, message: 'must be an object' }]
  return Object.entries(value).flatMap(([field, given]) => {
    const check = Object.hasOwn(checks, field) ? checks[field] : undefined
    const message = check ? given !== undefined && check(given) : `is not one of ${Object.keys(checks).join(', ')}`
    return message ? [{ path: `${pointer}/${field}`, message }] : []
  })
}

/** Reads an account's settings with their defaults. Answers what is wrong instead of throwing. */
export function readSandboxSettings(value: unknown): { settings: SandboxSettings } | { problems: FieldError[] } {
  const problems = checkSandboxSettings(value)
  if (problems.length > 0) return { problems }
  const { honoursKeys, lookup = false, latencyMs = 0, limit = null, faults = [] } = value as Partial<SandboxSettings>
  return { settings: { lookup, honoursKeys: honoursKeys ?? !lookup, latencyMs, limit, faults } }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
