import { AWS_ERRORS, type AwsErrors } from '../aws-errors.ts'
import { dead, defer, fail, halt, retry, throttle } from '../error-lines.ts'

const HOUR_MS = 3_600_000

/** What SNS says to Publish, by the codes of its query protocol. */
export const SNS_ERRORS: AwsErrors = {
  lines: {
    ...AWS_ERRORS,
    AuthorizationError: halt('The key may not publish.'),
    EndpointDisabled: dead('The endpoint is disabled.'),
    InternalError: retry('An internal error.'),
    InvalidParameter: fail('A parameter is not valid.'),
    InvalidSecurity: halt('The credential is wrong, or the request is not over HTTPS.'),
    KMSAccessDenied: halt('The encryption key may not be used.'),
    KMSDisabled: retry('The encryption key is disabled.'),
    KMSInvalidState: halt('The encryption key is in no state to be used.'),
    KMSNotFound: halt('The encryption key does not exist.'),
    KMSOptInRequired: halt('The AWS account is not signed up for KMS.'),
    KMSThrottling: retry('Too many requests to KMS.'),
    NotFound: fail('The resource does not exist.'),
    OptedOut: dead('The recipient has opted out of messages.'),
    ParameterValueInvalid: fail('A parameter’s value is not valid.'),
    PlatformApplicationDisabled: halt('The platform application is disabled.'),
    Throttled: throttle('Too many requests.'),
    UserError: fail('The request is not valid.'),
  },
  texts: [
    {
      // It may be raised at any time, and begins anew with the month: what waits is tried for a day.
      codes: ['UserError', 'Throttled', 'InvalidParameter'],
      says: /spend(?:ing)? (?:limit|quota)/i,
      ...defer('The month’s spending limit is reached.', 6 * HOUR_MS),
    },
    {
      // Not remembered as dead: SNS says the same of every number in a region that has no SMS.
      codes: ['InvalidParameter', 'ParameterValueInvalid', 'ValidationException'],
      says: /phone ?number/i,
      ...fail('The telephone number is not valid.', 'invalid_recipient'),
    },
    {
      codes: ['InvalidParameter', 'ParameterValueInvalid', 'ValidationException'],
      says: /message too long|empty message/i,
      ...fail('The message is too long or empty.', 'content_rejected'),
    },
  ],
}
