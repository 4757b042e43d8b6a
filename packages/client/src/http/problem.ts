import type { Problem } from '../json-text.ts'

/** What an RFC 9457 document of Pillarbox says. */
export interface ProblemDocument {
  type?: string
  title?: string
  status?: number
  code?: string
  detail?: string
  requestId?: string
  errors?: Problem[]
  notificationId?: string
}

/**
 * The server's refusal. `code` is from its closed catalogue (`docs/reference/errors.md`), or `unexpected_answer` where
 * something between here and the server answered in its place.
 */
export class PillarboxHttpError extends Error {
  override readonly name = 'PillarboxHttpError'
  readonly status: number
  readonly code: string
  readonly requestId: string | null
  /** What is wrong with the body or the query, where that is the trouble. */
  readonly errors: readonly Problem[]
  /** The notification that has the idempotency key already, with `duplicate_notification`. */
  readonly notificationId: string | null
  /** How long the server asks to wait, with 429 and 503. */
  readonly retryAfterMs: number | null
  readonly problem: ProblemDocument

  constructor(status: number, problem: ProblemDocument, retryAfterMs: number | null) {
    const code = problem.code ?? 'unexpected_answer'
    super(`${status} ${code}: ${problem.detail ?? problem.title ?? 'no details'}`)
    this.status = status
    this.code = code
    this.requestId = problem.requestId ?? null
    this.errors = problem.errors ?? []
    this.notificationId = problem.notificationId ?? null
    this.retryAfterMs = retryAfterMs
    this.problem = problem
  }
}

/** The server could not be reached, did not answer in time, or answered what is no JSON. The cause is attached. */
export class PillarboxConnectionError extends Error {
  override readonly name = 'PillarboxConnectionError'
  readonly code: 'timeout' | 'unreachable' | 'unreadable'

  constructor(code: 'timeout' | 'unreachable' | 'unreadable', message: string, cause: unknown) {
    super(message, { cause })
    this.code = code
  }
}

/** The error an answer stands for, whatever its body holds. */
export function httpError(status: number, body: string, headers: Headers, now: number): PillarboxHttpError {
  return new PillarboxHttpError(status, problemOf(body, headers), retryAfterMs(headers.get('retry-after'), now))
}

function problemOf(body: string, headers: Headers): ProblemDocument {
  const requestId = headers.get('x-request-id')
  const problem: ProblemDocument = requestId === null ? {} : { requestId }
  const json = parse(body)
  if (json === null) return problem
  for (const field of ['type', 'title', 'code', 'detail', 'requestId', 'notificationId'] as const) {
    const value = json[field]
    if (typeof value === 'string') problem[field] = value
  }
  if (typeof json['status'] === 'number') problem.status = json['status']
  if (Array.isArray(json['errors'])) problem.errors = json['errors'].filter(isProblem)
  return problem
}

function parse(body: string): Record<string, unknown> | null {
  try {
    const json: unknown = JSON.parse(body)
    return typeof json === 'object' && json !== null && !Array.isArray(json) ? (json as Record<string, unknown>) : null
  } catch {
    return null
  }
}

function isProblem(value: unknown): value is Problem {
  const { path, message } = (value ?? {}) as Record<string, unknown>
  return typeof path === 'string' && typeof message === 'string'
}

/** Seconds or an HTTP date, as RFC 9110 §10.2.3 has it. */
function retryAfterMs(header: string | null, now: number): number | null {
  if (header === null) return null
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}
