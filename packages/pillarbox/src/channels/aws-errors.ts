import { type Rule, ruleOfStatus } from './vendor-answers.ts'

export type ErrorLine = Rule & { words: string }

/** A line for what an error's text says, where one code stands for several things. */
export type TextLine = ErrorLine & {
  codes: readonly string[]
  says: RegExp
  /** A text that it is for, as AWS words it. */
  example: string
}

export interface AwsErrors {
  /** By code, or by `code/reason` where the service gives a reason. */
  lines: Readonly<Record<string, ErrorLine>>
  texts: readonly TextLine[]
}

/** What every AWS service may answer, whatever it is asked: mostly about the credentials. */
export const AWS_ERRORS: Readonly<Record<string, ErrorLine>> = {
  AccessDenied: { does: 'halt', words: 'The key may not do this.' },
  AccessDeniedException: { does: 'halt', words: 'The key may not do this.' },
  AuthFailure: { does: 'halt', words: 'The credentials could not be checked.' },
  ExpiredToken: { does: 'halt', words: 'The session token has expired.' },
  ExpiredTokenException: { does: 'halt', words: 'The session token has expired.' },
  IncompleteSignature: { does: 'halt', words: 'The signature is not complete.' },
  InternalFailure: { does: 'retry', words: 'An internal error.' },
  InvalidAccessKeyId: { does: 'halt', words: 'There is no such access key.' },
  InvalidClientTokenId: { does: 'halt', words: 'There is no such access key.' },
  InvalidSignatureException: { does: 'halt', words: 'The signature is wrong: the secret key, or the clock.' },
  MalformedQueryString: { does: 'fail', reason: 'permanent_refusal', words: 'The request is not well formed.' },
  MissingAuthenticationToken: { does: 'halt', words: 'The request is not signed.' },
  MissingAuthenticationTokenException: { does: 'halt', words: 'The request is not signed.' },
  NotAuthorized: { does: 'halt', words: 'The key may not do this.' },
  OptInRequired: { does: 'halt', words: 'The AWS account is not signed up for this service.' },
  RequestExpired: { does: 'halt', words: 'The request is too old: the clock is wrong.' },
  RequestInTheFuture: { does: 'halt', words: 'The request is from the future: the clock is wrong.' },
  RequestLimitExceeded: { does: 'throttle', words: 'Too many requests.' },
  RequestThrottled: { does: 'throttle', words: 'Too many requests.' },
  RequestTimeTooSkewed: { does: 'halt', words: 'The clock is wrong.' },
  RequestTimeout: { does: 'retry', words: 'The request took too long to arrive.' },
  ServiceUnavailable: { does: 'retry', words: 'The service is not available.' },
  SignatureDoesNotMatch: { does: 'halt', words: 'The signature is wrong: the secret key, or the clock.' },
  SlowDown: { does: 'throttle', words: 'Too many requests.' },
  Throttling: { does: 'throttle', words: 'Too many requests.' },
  ThrottlingException: { does: 'throttle', words: 'Too many requests.' },
  UnrecognizedClientException: { does: 'halt', words: 'There is no such access key.' },
  ValidationError: { does: 'fail', reason: 'permanent_refusal', words: 'The request is not valid.' },
  ValidationException: { does: 'fail', reason: 'permanent_refusal', words: 'The request is not valid.' },
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
  for (const key of reason === null ? names : [...names.map((name) => `${name}/${reason}`), ...names])
    if (Object.hasOwn(lines, key) && lines[key]) return lines[key]
  // With a code of its own, a service that failed has said so.
  return status >= 500 && code !== String(status) ? { does: 'retry' } : ruleOfStatus(status)
}
