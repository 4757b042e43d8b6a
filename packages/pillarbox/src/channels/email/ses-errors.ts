import { AWS_ERRORS, type AwsErrors } from '../aws-errors.ts'

const HOUR_MS = 3_600_000

/** The API's model names one, the guide another, and the older API a third. */
const TOO_MANY = ['TooManyRequestsException', 'ThrottlingException', 'Throttling']

/** What SES says to SendEmail. */
export const SES_ERRORS: AwsErrors = {
  lines: {
    ...AWS_ERRORS,
    AccountSuspendedException: { does: 'halt', words: 'The account may not send any more.' },
    BadRequestException: { does: 'fail', reason: 'permanent_refusal', words: 'The request is not valid.' },
    ConcurrentModificationException: { does: 'retry', words: 'Something it needs is being changed.' },
    ConfigurationSetDoesNotExistException: {
      does: 'fail',
      reason: 'permanent_refusal',
      words: 'The configuration set does not exist.',
    },
    ConflictException: { does: 'retry', words: 'Something it needs is being changed.' },
    InternalServiceErrorException: { does: 'retry', words: 'An internal error.' },
    LimitExceededException: { does: 'defer', afterMs: HOUR_MS, words: 'A quota is used up.' },
    MailFromDomainNotVerifiedException: { does: 'halt', words: 'The domain of the bounce address is not verified.' },
    // Another channel may still reach the recipient, whatever SES had against the mail.
    MessageRejected: { does: 'fallback', reason: 'content_rejected', words: 'The message is not accepted.' },
    NotFoundException: {
      does: 'fail',
      reason: 'permanent_refusal',
      words: 'The configuration set, the template or the tenant does not exist.',
    },
    SendingPausedException: { does: 'halt', words: 'Sending is paused for the account or the configuration set.' },
    TooManyRequestsException: { does: 'throttle', words: 'Too many requests.' },
  },
  texts: [
    {
      codes: [...TOO_MANY, 'LimitExceededException'],
      says: /daily (?:message|sending) quota/i,
      example: 'Daily message quota exceeded',
      does: 'defer',
      afterMs: HOUR_MS,
      words: 'As much was sent in 24 hours as the account may.',
    },
    {
      codes: [...TOO_MANY, 'LimitExceededException'],
      says: /maximum sending rate/i,
      example: 'Maximum sending rate exceeded',
      does: 'throttle',
      words: 'Faster than the account may send.',
    },
    {
      codes: ['MessageRejected', 'BadRequestException'],
      says: /not verified/i,
      example:
        'Email address is not verified. The following identities failed the check in region EU-CENTRAL-1: info@example.com',
      does: 'halt',
      words: 'The sender is not verified, or the account is in the sandbox and the recipient is not.',
    },
    {
      codes: ['MessageRejected', 'BadRequestException'],
      says: /sending (?:is |has been )?(?:suspended|paused|disabled)/i,
      example: 'Sending suspended for this account. For more information, please check the inbox of the email address',
      does: 'halt',
      words: 'The account may not send at present.',
    },
    {
      // Not remembered as dead: SES does not say whose address it means, and it may be the sender's.
      codes: ['BadRequestException', 'MessageRejected'],
      says: /(?:illegal|invalid email) address|missing (?:final '@domain'|domain|local name)|(?:local address|domain) (?:contains|starts|ends)/i,
      example: 'Local address contains control or whitespace',
      does: 'fallback',
      reason: 'invalid_recipient',
      words: 'An address is not well formed.',
    },
  ],
}
