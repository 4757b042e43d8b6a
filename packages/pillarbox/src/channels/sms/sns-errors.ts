import { AWS_ERRORS, type AwsErrors } from '../aws-errors.ts'

const HOUR_MS = 3_600_000

/** What SNS says to Publish, by the codes of its query protocol. */
export const SNS_ERRORS: AwsErrors = {
  lines: {
    ...AWS_ERRORS,
    AuthorizationError: { does: 'halt', words: 'The key may not publish.' },
    EndpointDisabled: { does: 'dead', words: 'The endpoint is disabled.' },
    InternalError: { does: 'retry', words: 'An internal error.' },
    InvalidParameter: { does: 'fail', reason: 'permanent_refusal', words: 'A parameter is not valid.' },
    InvalidSecurity: { does: 'halt', words: 'The credential is wrong, or the request is not over HTTPS.' },
    KMSAccessDenied: { does: 'halt', words: 'The encryption key may not be used.' },
    KMSDisabled: { does: 'halt', words: 'The encryption key is disabled.' },
    KMSInvalidState: { does: 'halt', words: 'The encryption key is in no state to be used.' },
    KMSNotFound: { does: 'halt', words: 'The encryption key does not exist.' },
    KMSOptInRequired: { does: 'halt', words: 'The AWS account is not signed up for KMS.' },
    KMSThrottling: { does: 'retry', words: 'Too many requests to KMS.' },
    NotFound: { does: 'fail', reason: 'permanent_refusal', words: 'The resource does not exist.' },
    OptedOut: { does: 'dead', words: 'The recipient has opted out of messages.' },
    ParameterValueInvalid: { does: 'fail', reason: 'permanent_refusal', words: 'A parameter’s value is not valid.' },
    PlatformApplicationDisabled: { does: 'halt', words: 'The platform application is disabled.' },
    Throttled: { does: 'throttle', words: 'Too many requests.' },
    UserError: { does: 'fail', reason: 'permanent_refusal', words: 'The request is not valid.' },
  },
  texts: [
    {
      // It may be raised at any time, and begins anew with the month: what waits is tried for a day.
      codes: ['UserError', 'Throttled', 'InvalidParameter'],
      says: /spend(?:ing)? (?:limit|quota)/i,
      example: 'The monthly spending limit of the account is reached',
      does: 'defer',
      afterMs: 6 * HOUR_MS,
      words: 'The month’s spending limit is reached.',
    },
    {
      // Not remembered as dead: SNS says the same of every number in a region that has no SMS.
      codes: ['InvalidParameter', 'ParameterValueInvalid', 'ValidationException'],
      says: /phone ?number/i,
      example: 'Invalid parameter: PhoneNumber Reason: +4912 is not valid to publish to',
      does: 'fallback',
      reason: 'invalid_recipient',
      words: 'The telephone number is not valid.',
    },
    {
      codes: ['InvalidParameter', 'ParameterValueInvalid', 'ValidationException'],
      says: /message too long|empty message/i,
      example: 'Invalid parameter: Message too long',
      does: 'fail',
      reason: 'content_rejected',
      words: 'The message is too long or empty.',
    },
  ],
}
