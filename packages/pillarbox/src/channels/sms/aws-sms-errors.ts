import { AWS_ERRORS, type AwsErrors } from '../aws-errors.ts'
import { dead, defer, fail, halt, retry, unreachable } from '../error-lines.ts'

const HOUR_MS = 3_600_000

/** What AWS End User Messaging SMS says to SendTextMessage: exceptions, most of them with a reason. */
export const AWS_SMS_ERRORS: AwsErrors = {
  lines: {
    ...AWS_ERRORS,
    'AccessDeniedException/ACCOUNT_DISABLED': halt('The account is disabled.'),
    'AccessDeniedException/INSUFFICIENT_ACCOUNT_REPUTATION': halt('The account’s reputation is too low.'),
    ConflictException: fail('It does not go together with how the account is set up.'),
    'ConflictException/DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION': unreachable(
      'The protect configuration blocks the recipient’s country.',
    ),
    'ConflictException/DESTINATION_PHONE_NUMBER_BLOCKED_BY_PROTECT_NUMBER_OVERRIDE': unreachable(
      'The protect configuration blocks the recipient’s number.',
    ),
    'ConflictException/DESTINATION_PHONE_NUMBER_NOT_VERIFIED': halt(
      'The account is in the sandbox, and the number is not verified.',
    ),
    'ConflictException/DESTINATION_PHONE_NUMBER_OPTED_OUT': dead('The recipient has opted out of messages.'),
    'ConflictException/MESSAGE_TYPE_MISMATCH': halt('The sender is registered for another type of messages.'),
    'ConflictException/NO_ORIGINATION_IDENTITIES_FOUND': halt('The account has nothing to send from to this country.'),
    'ConflictException/NUMBER_CAPABILITIES_MISMATCH': halt('The sender’s number cannot send SMS.'),
    'ConflictException/RESOURCE_NOT_ACTIVE': halt('The sender is not active.'),
    InternalServerException: retry('An internal error.'),
    ResourceNotFoundException: fail('The sender or the configuration set does not exist.'),
    ServiceQuotaExceededException: defer('A quota is used up.', HOUR_MS),
    'ServiceQuotaExceededException/MONTHLY_SPEND_LIMIT_REACHED_FOR_RCS': halt('The month’s spending limit is reached.'),
    'ServiceQuotaExceededException/MONTHLY_SPEND_LIMIT_REACHED_FOR_TEXT': halt(
      'The month’s spending limit is reached.',
    ),
    'ValidationException/COUNTRY_NOT_ENABLED': fail('The recipient’s country is not enabled.'),
    'ValidationException/DESTINATION_COUNTRY_BLOCKED': fail('The recipient’s country is blocked.'),
    'ValidationException/INTERNATIONAL_SENDING_NOT_SUPPORTED': fail('The sender can only send within its country.'),
    'ValidationException/INVALID_IDENTITY_FOR_DESTINATION_COUNTRY': fail(
      'The sender cannot send to the recipient’s country.',
    ),
    'ValidationException/MAXIMUM_SIZE_EXCEEDED': fail('The message is too long.', 'content_rejected'),
    'ValidationException/PRICE_OVER_THRESHOLD': fail('It would cost more than the account allows.'),
    'ValidationException/SENDER_ID_NOT_REGISTERED': fail('The sender id is not registered in the recipient’s country.'),
    'ValidationException/SENDER_ID_NOT_SUPPORTED': fail('The recipient’s country takes no sender ids.'),
    'ValidationException/SENDER_ID_REQUIRES_REGISTRATION': fail(
      'The sender id must be registered in the recipient’s country.',
    ),
  },
  texts: [
    {
      codes: ['ValidationException'],
      says: /destination ?phone ?number/i,
      ...dead('The telephone number is not valid.'),
    },
  ],
}
