import { AWS_ERRORS, type AwsErrors } from '../aws-errors.ts'
import { defer, fail, halt, retry, throttle } from '../error-lines.ts'

const HOUR_MS = 3_600_000

/** The API's model names one, the guide another, and the older API a third. */
const TOO_MANY = ['TooManyRequestsException', 'ThrottlingException', 'Throttling']

/** What SES says to SendEmail. */
export const SES_ERRORS: AwsErrors = {
  lines: {
    ...AWS_ERRORS,
    AccountSuspendedException: halt('The account may not send any more.'),
    BadRequestException: fail('The request is not valid.'),
    ConcurrentModificationException: retry('Something it needs is being changed.'),
    ConfigurationSetDoesNotExistException: fail('The configuration set does not exist.'),
    ConflictException: retry('Something it needs is being changed.'),
    InternalServiceErrorException: retry('An internal error.'),
    LimitExceededException: defer('A quota is used up.', HOUR_MS),
    MailFromDomainNotVerifiedException: halt('The domain of the bounce address is not verified.'),
    // Another channel may still reach the recipient, whatever SES had against the mail.
    MessageRejected: fail('The message is not accepted.', 'content_rejected'),
    NotFoundException: fail('The configuration set, the template or the tenant does not exist.'),
    SendingPausedException: retry('Sending is paused for the account or the configuration set.'),
    TooManyRequestsException: throttle('Too many requests.'),
  },
  texts: [
    {
      codes: [...TOO_MANY, 'LimitExceededException'],
      says: /daily (?:message|sending) quota/i,
      ...defer('As much was sent in 24 hours as the account may.', HOUR_MS),
    },
    {
      codes: [...TOO_MANY, 'LimitExceededException'],
      says: /maximum sending rate/i,
      ...throttle('Faster than the account may send.'),
    },
    {
      codes: ['MessageRejected', 'BadRequestException'],
      says: /not verified/i,
      ...halt('The sender is not verified, or the account is in the sandbox and the recipient is not.'),
    },
    {
      codes: ['MessageRejected', 'BadRequestException'],
      says: /sending (?:is |has been )?(?:suspended|disabled)/i,
      ...halt('The account may not send at present.'),
    },
    {
      codes: ['MessageRejected', 'BadRequestException'],
      says: /sending (?:is |has been )?paused/i,
      ...retry('Sending is paused for the account or the configuration set.'),
    },
    {
      // Not remembered as dead: SES does not say whose address it means, and it may be the sender's.
      codes: ['BadRequestException', 'MessageRejected'],
      says: /(?:illegal|invalid email) address|missing (?:final '@domain'|domain|local name)|(?:local address|domain) (?:contains|starts|ends)/i,
      ...fail('An address is not well formed.', 'invalid_recipient'),
    },
  ],
}
