import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { ERRORS, type ErrorCode, type FieldError, isPillarboxError, PillarboxError } from '../model/errors.ts'
import type { Warning } from '../model/notification.ts'
import type { Logger } from '../model/ports.ts'
import { redactForLog } from '../security/redact.ts'
import { foundWarnings } from './schemas.ts'
import { fieldErrors } from './validation.ts'

/** RFC 9457, with the code a caller branches on. Never carries a stack, SQL, a file name or a provider's words. */
export interface Problem {
  type: string
  title: string
  status: number
  code: ErrorCode
  detail: string
  requestId: string
  errors?: FieldError[]
  warnings?: Warning[]
  notificationId?: string
}

const DEFAULT_RETRY_AFTER_SECONDS = 1
const MAX_FIELD_ERRORS = 50
/** Whoever mends a catalogue wants to see everything at once; its reader keeps no more of either kind. */
const MAX_CATALOGUE_ERRORS = 1_000

/** What Fastify itself refuses, in our words. Anything of it that is not here and not a 4xx is a bug of ours. */
const FRAMEWORK_ERRORS: Record<string, [ErrorCode, string]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['body_too_large', 'The body is larger than this path takes.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type', 'Send the body as application/json.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['bad_request', 'The body is not as long as Content-Length says.'],
  FST_ERR_BAD_URL: ['bad_request', 'The path is not properly encoded.'],
  FST_ERR_MAX_PARAM_LENGTH: ['uri_too_long', 'A part of the path is too long.'],
  FST_ERR_NOT_FOUND: ['not_found', 'There is nothing at this path.'],
  FST_ERR_HANDLER_TIMEOUT: ['overloaded', 'The answer took too long. The request may or may not have taken effect.'],
}

/** The one place where an error becomes an answer. */
export function createErrorHandler(logger: Logger) {
  return function answerError(error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): void {
    const known = knownError(error, request)
    if (known.code === 'internal') {
      logger.error({ requestId: request.id, route: request.routeOptions.url, error: describe(error) }, 'request failed')
    }
    sendProblem(reply, known, request.id)
  }
}

/** Sends `error` as a problem document, with the headers its code asks for. */
export function sendProblem(reply: FastifyReply, error: PillarboxError, requestId: string): void {
  const problem = problemOf(error, requestId)
  if (problem.status === 401) reply.header('www-authenticate', 'Bearer realm="pillarbox"')
  if (problem.status === 429 || problem.status === 503)
    reply.header('retry-after', String(error.details.retryAfterSeconds ?? DEFAULT_RETRY_AFTER_SECONDS))
  reply.header('x-request-id', requestId)
  // Serialised here, so that no route's response schema can drop a member.
  reply.status(problem.status).type('application/problem+json').serializer(JSON.stringify).send(problem)
}

export function problemOf(error: PillarboxError, requestId: string): Problem {
  const { status, title } = ERRORS[error.code]
  const { errors, warnings = [], notificationId } = error.details
  const most = error.code === 'invalid_catalogue' ? MAX_CATALOGUE_ERRORS : MAX_FIELD_ERRORS
  return {
    type: `urn:pillarbox:problem:${error.code}`,
    title,
    status,
    code: error.code,
    detail: error.code === 'internal' ? 'The fault is on record under the request’s id.' : error.message,
    requestId,
    ...(errors && { errors: errors.slice(0, most) }),
    ...(warnings.length > 0 && { warnings: foundWarnings(warnings).slice(0, most) }),
    ...(notificationId !== undefined && { notificationId }),
  }
}

/** Answers malformed HTTP, for which there is no request yet, straight onto the socket. */
export function rawProblem(error: PillarboxError, headers: Record<string, string>, requestId: string): string {
  const body = JSON.stringify(problemOf(error, requestId))
  const { status, title } = ERRORS[error.code]
  return [
    `HTTP/1.1 ${status} ${title.replace(/[^\x20-\x7e]/g, '')}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'cache-control: no-store',
    'connection: close',
    '',
    body,
  ].join('\r\n')
}

function knownError(error: FastifyError | Error, request: FastifyRequest): PillarboxError {
  if (isPillarboxError(error)) return error
  const { code, validation, validationContext } = error as Partial<FastifyError>
  if (validation) {
    if (validationContext === 'body' && request.body === undefined)
      return new PillarboxError('malformed_json', 'The request has no body; this path needs one.')
    const errors = fieldErrors(validation, validationContext ?? 'body')
    if (validationContext === 'headers') return headerError(errors)
    return validationContext === 'body'
      ? new PillarboxError('invalid_body', sentence('The body', errors), { errors })
      : new PillarboxError('invalid_query', sentence('The query', errors), { errors })
  }
  const framework = FRAMEWORK_ERRORS[code ?? '']
  if (framework) return new PillarboxError(framework[0], framework[1])
  return new PillarboxError('internal', 'unexpected', { cause: error })
}

/** Schemas have headers in lower case; they are named as people write them. */
function headerError(found: readonly FieldError[]): PillarboxError {
  const errors = found.map(({ path, message }) => ({
    path: path.replace(/(?<![^-])[a-z]/g, (letter) => letter.toUpperCase()),
    message,
  }))
  const [first] = errors
  const detail = first ? `The ${first.path} header ${first.message}.` : 'A header does not have the expected form.'
  return new PillarboxError('invalid_body', detail, { errors })
}

/** The first fault in words, so that the detail alone is of use. */
export function sentence(what: string, errors: readonly FieldError[]): string {
  const [first] = errors
  if (!first) return `${what} does not have the expected form.`
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
  return `${first.path || what} ${first.message}${more}.`
}

/** Stack and cause of a bug, for the log only; credentials and addresses removed. */
function describe(error: unknown): string {
  const inner = isPillarboxError(error) && error.cause !== undefined ? error.cause : error
  return redactForLog(inner instanceof Error ? (inner.stack ?? inner.message) : String(inner))
}
