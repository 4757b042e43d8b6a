import { dead, fail, unreachable } from '../channels/error-lines.ts'
import { bounced, failed, type Meanings } from './reading.ts'

/** SES's events by type. Opens and clicks are what trackers saw: mail programs that fetch pictures ahead count as well. */
export const SES_EVENTS: Meanings = {
  Send: { means: 'sent', words: 'SES has it.' },
  Delivery: { means: 'delivered', words: 'The recipient’s server took it.' },
  DeliveryDelay: { means: 'sent', words: 'It could not be delivered yet; SES goes on trying.' },
  Complaint: { means: 'complained', words: 'The recipient called it spam.' },
  'Complaint/OnAccountSuppressionList': failed(
    fail('SES did not send it: the recipient complained before.', 'suppressed'),
  ),
  Reject: failed(fail('SES found a virus in it and did not send it.', 'content_rejected')),
  'Rendering Failure': failed(fail('SES could not fill in its template.', 'template_rejected')),
  Open: { means: 'read', words: 'It was opened.' },
  Click: { means: 'read', words: 'A link in it was followed.' },
  Subscription: { means: 'nothing', words: 'The recipient changed what they subscribe to.' },
  AmazonSnsSubscriptionSucceeded: { means: 'nothing', words: 'The topic was connected.' },
}

/** Bounces by type and subtype. A transient one says nothing of the address or the mail that would not be otherwise tomorrow. */
export const SES_BOUNCES: Meanings = {
  'Undetermined/Undetermined': bounced(unreachable('The recipient’s server sent it back, and SES cannot tell why.')),
  'Permanent/General': bounced(dead('The recipient’s server refused it for good.')),
  'Permanent/NoEmail': bounced(dead('The address does not exist.')),
  'Permanent/Suppressed': bounced(dead('The address is on SES’s own list of those that bounced.')),
  'Permanent/OnAccountSuppressionList': bounced(dead('The address is on the account’s suppression list.')),
  'Permanent/OnTenantSuppressionList': bounced(dead('The address is on the suppression list of SES’s tenant.')),
  'Permanent/EmailValidationSuppressed': bounced(dead('SES found the address not to be valid.')),
  'Permanent/UnsubscribedRecipient': bounced(fail('The recipient unsubscribed.', 'suppressed')),
  'Transient/General': { means: 'sent', words: 'The recipient’s server sent it back.' },
  'Transient/MailboxFull': { means: 'sent', words: 'The mailbox is full.' },
  'Transient/MessageTooLarge': { means: 'sent', words: 'It is too large for the recipient’s server.' },
  'Transient/CustomTimeoutExceeded': { means: 'sent', words: 'It could not be delivered in the time set for it.' },
  'Transient/ContentRejected': { means: 'sent', words: 'The recipient’s server does not take its content.' },
  'Transient/AttachmentRejected': { means: 'sent', words: 'The recipient’s server does not take its attachment.' },
}

/** What stands for a subtype that is not in the table. */
export const SES_BOUNCE_TYPES: Readonly<Record<string, string>> = {
  Undetermined: 'Undetermined/Undetermined',
  Permanent: 'Permanent/General',
  Transient: 'Transient/General',
}
