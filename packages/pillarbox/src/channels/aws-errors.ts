import { type ErrorTable, fail, halt, lineFor, retry, type TextLine, throttle } from './error-lines.ts'
import { type Rule, ruleOfStatus } from './vendor-answers.ts'

export interface AwsErrors {
  /** By code, or by `code/reason` where the service gives a reason. */
  lines: ErrorTable
  texts: readonly (TextLine & { codes: readonly string[] })[]
}

/** What every AWS service may answer, whatever it is asked: mostly about the credentials. */
export const AWS_ERRORS: ErrorTable = {
  AccessDenied: halt('The key may not do this.'),
  AccessDeniedException: halt('The key may not do this.'),
  AuthFailure: halt('The credentials could not be checked.'),
  ExpiredToken: halt('The session token has expired.'),
  ExpiredTokenException: halt('The session token has expired.'),
  IncompleteSignature: halt('The signature is not complete.'),
  InternalFailure: retry('An internal error.'),
  InvalidAccessKeyId: halt('There is no such access key.'),
  InvalidClientTokenId: halt('There is no such access key.'),
  InvalidSignatureException: halt('The signature is wrong: the secret key, or the clock.'),
  MalformedQueryString: fail('The request is not well formed.'),
  MissingAuthenticationToken: halt('The request is not signed.'),
  MissingAuthenticationTokenException: halt('The request is not signed.'),
  NotAuthorized: halt('The key may not do this.'),
  OptInRequired: halt('The AWS account is not signed up for this service.'),
  RequestExpired: halt('The request is too old: the clock is wrong.'),
  RequestInTheFuture: halt('The request is from the future: the clock is wrong.'),
  RequestLimitExceeded: throttle('Too many requests.'),
  RequestThrottled: throttle('Too many requests.'),
  RequestTimeTooSkewed: halt('The clock is wrong.'),
  RequestTimeout: retry('The request took too long to arrive.'),
  ServiceUnavailable: retry('The service is not available.'),
  SignatureDoesNotMatch: halt('The signature is wrong: the secret key, or the clock.'),
  SlowDown: throttle('Too many requests.'),
  Throttling: throttle('Too many requests.'),
  ThrottlingException: throttle('Too many requests.'),
  UnrecognizedClientException: halt('There is no such access key.'),
  ValidationError: fail('The request is not valid.'),
  ValidationException: fail('The request is not valid.'),
}

export interface AwsRefusal {
  status: number
  code: string
  reason: string | null
  words: string
}

/**
 * What the text says comes first, then the reason, then the code, with or without the `Exception` that some services put
 * behind it; a code that is in no table goes by its status.
 */
export function awsRule({ lines, texts }: AwsErrors, { status, code, reason, words }: AwsRefusal): Rule {
  const bare = code.replace(/Exception$/, '')
  const names = [code, bare, `${bare}Exception`]
  const text = texts.find(({ codes, says }) => codes.some((name) => names.includes(name)) && says.test(words))
  if (text) return text
  for (const key of reason === null ? names : [...names.map((name) => `${name}/${reason}`), ...names]) {
    const line = lineFor(lines, key)
    if (line) return line
  }
  // AWS's own clients repeat what ends in a 5xx, whether or not it has a code.
  return ruleOfStatus(status, 'retry')
}
