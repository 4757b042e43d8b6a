import { AWS_ERRORS, type AwsErrors } from '../aws-errors.ts'

const HOUR_MS = 3_600_000

/** What AWS End User Messaging SMS says to SendTextMessage: exceptions, most of them with a reason. */
export const AWS_SMS_ERRORS: AwsErrors = {
  lines: {
    ...AWS_ERRORS,
    'AccessDeniedException/ACCOUNT_DISABLED': { does: 'halt', words: 'The account is disabled.' },
    'AccessDeniedException/INSUFFICIENT_ACCOUNT_REPUTATION': {
      does: 'halt',
      words: 'The account’s reputation is too low.',
    },
    ConflictException: {
      does: 'fail',
      reason: 'permanent_refusal',
      words: 'It does not go together with how the account is set up.',
    },
    'ConflictException/DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION': {
      does: 'fallback',
      words: 'The protect configuration blocks the recipient’s country.',
    },
    'ConflictException/DESTINATION_PHONE_NUMBER_BLOCKED_BY_PROTECT_NUMBER_OVERRIDE': {
      does: 'fallback',
      words: 'The protect configuration blocks the recipient’s number.',
    },
    'ConflictException/DESTINATION_PHONE_NUMBER_NOT_VERIFIED': {
      does: 'halt',
      words: 'The account is in the sandbox, and the number is not verified.',
    },
    'ConflictException/DESTINATION_PHONE_NUMBER_OPTED_OUT': {
      does: 'dead',
      words: 'The recipient has opted out of messages.',
    },
    'ConflictException/MESSAGE_TYPE_MISMATCH': {
      does: 'halt',
      words: 'The sender is registered for another type of messages.',
    },
    'ConflictException/NO_ORIGINATION_IDENTITIES_FOUND': {
      does: 'halt',
      words: 'The account has nothing to send from to this country.',
    },
    'ConflictException/NUMBER_CAPABILITIES_MISMATCH': { does: 'halt', words: 'The sender’s number cannot send SMS.' },
    'ConflictException/RESOURCE_NOT_ACTIVE': { does: 'halt', words: 'The sender is not active.' },
    InternalServerException: { does: 'retry', words: 'An internal error.' },
    ResourceNotFoundException: {
      does: 'fail',
      reason: 'permanent_refusal',
      words: 'The sender or the configuration set does not exist.',
    },
    ServiceQuotaExceededException: { does: 'defer', afterMs: HOUR_MS, words: 'A quota is used up.' },
    'ServiceQuotaExceededException/MONTHLY_SPEND_LIMIT_REACHED_FOR_RCS': {
      does: 'halt',
      words: 'The month’s spending limit is reached.',
    },
    'ServiceQuotaExceededException/MONTHLY_SPEND_LIMIT_REACHED_FOR_TEXT': {
      does: 'halt',
      words: 'The month’s spending limit is reached.',
    },
    'ValidationException/COUNTRY_NOT_ENABLED': {
      does: 'fail',
      reason: 'permanent_refusal',
      words: 'The recipient’s country is not enabled.',
    },
    'ValidationException/DESTINATION_COUNTRY_BLOCKED': {
      does: 'fail',
      reason: 'permanent_refusal',
      words: 'The recipient’s country is blocked.',
    },
    'ValidationException/INTERNATIONAL_SENDING_NOT_SUPPORTED': {
      does: 'fail',
      reason: 'permanent_refusal',
      words: 'The sender can only send within its country.',
    },
    'ValidationException/INVALID_IDENTITY_FOR_DESTINATION_COUNTRY': {
      does: 'fail',
      reason: 'permanent_refusal',
      words: 'The sender cannot send to the recipient’s country.',
    },
    'ValidationException/MAXIMUM_SIZE_EXCEEDED': {
      does: 'fail',
      reason: 'content_rejected',
      words: 'The message is too long.',
    },
    'ValidationException/PRICE_OVER_THRESHOLD': {
      does: 'fail',
      reason: 'permanent_refusal',
      words: 'It would cost more than the account allows.',
    },
    'ValidationException/SENDER_ID_NOT_REGISTERED': {
      does: 'fail',
      reason: 'permanent_refusal',
      words: 'The sender id is not registered in the recipient’s country.',
    },
    'ValidationException/SENDER_ID_NOT_SUPPORTED': {
      does: 'fail',
      reason: 'permanent_refusal',
      words: 'The recipient’s country takes no sender ids.',
    },
    'ValidationException/SENDER_ID_REQUIRES_REGISTRATION': {
      does: 'fail',
      reason: 'permanent_refusal',
      words: 'The sender id must be registered in the recipient’s country.',
    },
  },
  texts: [
    {
      codes: ['ValidationException'],
      says: /destination ?phone ?number/i,
      example: 'The request is not valid; DestinationPhoneNumber: is not a valid phone number',
      does: 'dead',
      words: 'The telephone number is not valid.',
    },
  ],
}
