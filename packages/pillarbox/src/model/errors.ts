/**
 * Everything a caller can branch on: the closed catalogue of error codes, each with the HTTP status it becomes and a
 * title. `docs/reference/errors.md` has one line per code, and a test keeps the two equal.
 */
export const ERRORS = {
  malformed_json: { status: 400, title: 'The body is not valid JSON' },
  bad_request: { status: 400, title: 'The request cannot be understood' },
  unauthorized: { status: 401, title: 'No valid API key' },
  forbidden: { status: 403, title: 'The key’s role does not allow this' },
  callback_refused: { status: 403, title: 'The callback is not believed' },
  not_found: { status: 404, title: 'No such thing' },
  method_not_allowed: { status: 405, title: 'The path exists, the method does not' },
  request_timeout: { status: 408, title: 'The request did not arrive in time' },
  duplicate_notification: { status: 409, title: 'A notification with this idempotency key exists' },
  already_exists: { status: 409, title: 'It exists already' },
  not_parked: {
    status: 409,
    title: 'Only a parked, uncertain or skipped notification can be retried or discarded',
  },
  not_discarded: { status: 409, title: 'Only a discarded notification can be restored' },
  not_waiting: { status: 409, title: 'It is no longer waiting to be sent' },
  address_suppressed: { status: 409, title: 'The address is suppressed on this channel' },
  not_plannable: { status: 409, title: 'What stopped the notification before it was planned is still so' },
  not_failed: { status: 409, title: 'Only a failed event or schedule can be replayed' },
  not_awaiting_approval: { status: 409, title: 'Only a schedule that awaits approval can be approved or rejected' },
  changed_meanwhile: { status: 409, title: 'It was changed since you read it' },
  operation_over: { status: 409, title: 'The operation is past where this could be asked of it' },
  in_use: { status: 409, title: 'Something still needs it' },
  purge_running: { status: 409, title: 'Another purge is under way' },
  last_key: { status: 409, title: 'The last ops key cannot be revoked' },
  preview_expired: { status: 410, title: 'The preview has expired' },
  body_too_large: { status: 413, title: 'The body is too large' },
  uri_too_long: { status: 414, title: 'The address is too long' },
  unsupported_media_type: { status: 415, title: 'The content type is not application/json' },
  invalid_body: { status: 422, title: 'The body does not have the expected form' },
  invalid_query: { status: 422, title: 'A query parameter does not have the expected form' },
  unknown_event_type: { status: 422, title: 'The catalogue has no such event type' },
  invalid_catalogue: { status: 422, title: 'The catalogue does not have the expected form' },
  invalid_template: { status: 422, title: 'The template cannot be read or rendered' },
  invalid_retry: { status: 422, title: 'The retry policy makes no sense' },
  idempotency_key_mismatch: { status: 422, title: 'Header and body name different idempotency keys' },
  rate_limited: { status: 429, title: 'The key’s rate is exceeded' },
  headers_too_large: { status: 431, title: 'The headers are too large' },
  internal: { status: 500, title: 'Something went wrong on our side' },
  store_unavailable: { status: 503, title: 'The database cannot be reached' },
  central_unreachable: { status: 503, title: 'The server cannot be asked from this site' },
  overloaded: { status: 503, title: 'Too much is in flight' },
  buffer_full: { status: 507, title: 'The buffer of this site is full' },
} as const satisfies Record<string, { status: number; title: string }>

export type ErrorCode = keyof typeof ERRORS

export interface FieldError {
  /** JSON pointer into the body, or a parameter's name. */
  path: string
  message: string
}

export interface ErrorDetails {
  errors?: FieldError[]
  /** Legal, and probably not meant: what else was found in a document that is refused. */
  warnings?: FieldError[]
  /** The existing row, for `duplicate_notification`. */
  notificationId?: string
  retryAfterSeconds?: number
  cause?: unknown
}

/** The one error class that crosses stages; what is not one of these is a bug and becomes `internal`. */
export class PillarboxError extends Error {
  override readonly name = 'PillarboxError'
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, detail: string, details: ErrorDetails = {}) {
    super(detail, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.details = details
  }
}

/** What keeps this process from starting until somebody changes something; `advice` says what. */
export class SetupError extends Error {
  override readonly name = 'SetupError'
  readonly advice: string

  constructor(detail: string, advice: string, cause?: unknown) {
    super(detail, cause === undefined ? undefined : { cause })
    this.advice = advice
  }
}

export function isPillarboxError(error: unknown, code?: ErrorCode): error is PillarboxError {
  return error instanceof PillarboxError && (code === undefined || error.code === code)
}

/** Nothing is wrong with what was asked: the store is away, or nobody could do the work. The same may succeed soon. */
export function isPassing(error: unknown): boolean {
  return isPillarboxError(error, 'store_unavailable') || isPillarboxError(error, 'overloaded')
}

/** The same words for an id that never was, one that is malformed, and one of another tenant. */
export function notFound(): PillarboxError {
  return new PillarboxError('not_found', 'There is nothing with this id.')
}

/** What was looked for or acted on. Throws `not_found` where the store has no such thing. */
export function found<T>(value: T | null | undefined | false): T {
  if (value === null || value === undefined || value === false) throw notFound()
  return value
}

/** The body has the right form, but what it says cannot be. */
export function invalidBody(errors: FieldError[]): PillarboxError {
  const [first] = errors
  return new PillarboxError('invalid_body', `${first?.path || 'The body'} ${first?.message.replace(/\.$/, '')}.`, {
    errors,
  })
}

/** Somebody else was faster than the caller, who had read this version. */
export function changedMeanwhile(version: number | undefined): PillarboxError {
  return new PillarboxError(
    'changed_meanwhile',
    `It is no longer at version ${version}: read it again, and repeat your change.`,
  )
}

/** What anything that was thrown has to say. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
