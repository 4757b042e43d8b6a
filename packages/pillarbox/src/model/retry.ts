import { formatDuration, parseDuration } from './duration.ts'

/** How often and how far apart a notification is tried again. Delays in milliseconds. */
export type RetryPolicy =
  | { kind: 'exponential'; maxAttempts: number; baseMs: number; factor: number; capMs: number; jitter: number }
  | { kind: 'fixed'; maxAttempts: number; delayMs: number }
  | { kind: 'list'; delaysMs: readonly number[] }

/** 5 attempts, 5 s doubling up to 300 s, each delay ± 30 %. */
export const DEFAULT_RETRY: RetryPolicy = {
  kind: 'exponential',
  maxAttempts: 5,
  baseMs: 5_000,
  factor: 2,
  capMs: 300_000,
  jitter: 0.3,
}

/** Planning that fails is tried again after 1, 2, 4, 8 and 16 minutes, then given up. */
export const PLAN_RETRY_DELAYS_MS: readonly number[] = [1, 2, 4, 8, 16].map((minutes) => minutes * 60_000)

/** What a stored policy that makes no sense is replaced by: 10 attempts, one minute apart. */
export const SAFE_RETRY: RetryPolicy = { kind: 'fixed', maxAttempts: 10, delayMs: 60_000 }

const MAX_ATTEMPTS = 100
const MAX_DELAY_MS = 30 * 24 * 3_600_000

/** How many provider calls the policy allows in all. */
export function maxAttempts(policy: RetryPolicy): number {
  return policy.kind === 'list' ? policy.delaysMs.length + 1 : policy.maxAttempts
}

/**
 * Milliseconds to wait after the `failedAttempts`-th failed attempt (1 for the first), or `null` when the policy is
 * exhausted. `random` is in [0, 1). A `retryAfterMs` the provider asked for is a lower bound, itself capped at a day.
 */
export function retryDelay(
  policy: RetryPolicy,
  failedAttempts: number,
  random: number,
  retryAfterMs?: number,
): number | null {
  if (failedAttempts >= maxAttempts(policy)) return null
  const planned = plannedDelay(policy, failedAttempts, random)
  // `||`, because a header that is no number reads as NaN, and NaN is no time to wait until.
  return Math.max(planned, Math.min(retryAfterMs || 0, 24 * 3_600_000))
}

function plannedDelay(policy: RetryPolicy, failedAttempts: number, random: number): number {
  switch (policy.kind) {
    case 'fixed':
      return policy.delayMs
    case 'list':
      return policy.delaysMs[failedAttempts - 1] ?? 0
    case 'exponential': {
      const bare = Math.min(policy.capMs, policy.baseMs * policy.factor ** (failedAttempts - 1))
      return Math.round(bare * (1 + policy.jitter * (2 * random - 1)))
    }
  }
}

export interface RetryProblem {
  path: string
  message: string
}

/**
 * Reads the JSON form: `{maxAttempts, base, factor, cap, jitter}`, `{maxAttempts, fixed}` or `{delays}`, with ISO 8601
 * durations. Answers what is wrong with it instead of throwing; absent fields take the default's value.
 */
export function parseRetry(value: unknown): { policy: RetryPolicy } | { problems: RetryProblem[] } {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { problems: [{ path: '', message: 'must be an object' }] }
  const json = value as Record<string, unknown>
  const problems: RetryProblem[] = []
  const known = 'delays' in json ? ['delays'] : 'fixed' in json ? ['maxAttempts', 'fixed'] : EXPONENTIAL_FIELDS
  for (const key of Object.keys(json))
    if (!known.includes(key)) problems.push({ path: key, message: `is not one of ${known.join(', ')}` })
  const duration = (path: string, text: unknown, fallback: number, minMs: number): number => {
    if (text === undefined) return fallback
    const ms = typeof text === 'string' ? parseDuration(text) : null
    if (ms === null) problems.push({ path, message: 'must be an ISO 8601 duration such as "PT5S"' })
    else if (ms < minMs || ms > MAX_DELAY_MS)
      problems.push({ path, message: `must be between ${formatDuration(minMs)} and ${formatDuration(MAX_DELAY_MS)}` })
    return ms ?? fallback
  }
  const number = (path: string, given: unknown, fallback: number, min: number, max: number, whole: boolean): number => {
    if (given === undefined) return fallback
    if (typeof given === 'number' && given >= min && given <= max && (!whole || Number.isInteger(given))) return given
    problems.push({ path, message: `must be a ${whole ? 'whole ' : ''}number between ${min} and ${max}` })
    return fallback
  }

  let policy: RetryPolicy
  if ('delays' in json) {
    const { delays } = json
    if (!Array.isArray(delays) || delays.length === 0 || delays.length >= MAX_ATTEMPTS) {
      problems.push({ path: 'delays', message: `must be a list of 1 to ${MAX_ATTEMPTS - 1} durations` })
      policy = SAFE_RETRY
    } else policy = { kind: 'list', delaysMs: delays.map((text, i) => duration(`delays/${i}`, text, 0, 1)) }
  } else if ('fixed' in json) {
    policy = {
      kind: 'fixed',
      maxAttempts: number('maxAttempts', json['maxAttempts'], 5, 1, MAX_ATTEMPTS, true),
      delayMs: duration('fixed', json['fixed'], 0, 1),
    }
  } else {
    const baseMs = duration('base', json['base'], 5_000, 1)
    policy = {
      kind: 'exponential',
      maxAttempts: number('maxAttempts', json['maxAttempts'], 5, 1, MAX_ATTEMPTS, true),
      baseMs,
      factor: number('factor', json['factor'], 2, 1, 100, false),
      capMs: duration('cap', json['cap'], Math.max(300_000, baseMs), 1),
      jitter: number('jitter', json['jitter'], 0.3, 0, 1, false),
    }
    if (policy.capMs < policy.baseMs) problems.push({ path: 'cap', message: 'must not be shorter than base' })
  }
  return problems.length ? { problems } : { policy }
}

const EXPONENTIAL_FIELDS = ['maxAttempts', 'base', 'factor', 'cap', 'jitter']

/**
 * A policy as found in the store, where anything may stand. One that makes no sense becomes `SAFE_RETRY` with the
 * reason, so that a bad row slows its notifications down instead of parking them unsent.
 */
export function storedRetry(value: unknown): { policy: RetryPolicy; warning?: string } {
  if (value === null || value === undefined) return { policy: DEFAULT_RETRY }
  const read = parseRetry(value)
  if ('policy' in read) return read
  const wrong = read.problems.map((problem) => `${problem.path || 'retry'} ${problem.message}`).join('; ')
  return { policy: SAFE_RETRY, warning: `stored retry policy replaced by 10 attempts, 1 minute apart: ${wrong}` }
}
