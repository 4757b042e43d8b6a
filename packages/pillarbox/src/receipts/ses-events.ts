import type { Meanings } from './reading.ts'

/** SES's events by type. Opens and clicks are what trackers saw: mail programs that fetch pictures ahead count as well. */
export const SES_EVENTS: Meanings = {
  Send: { means: 'sent', words: 'SES has it.' },
  Delivery: { means: 'delivered', words: 'The recipient’s server took it.' },
  DeliveryDelay: { means: 'sent', words: 'It could not be delivered yet; SES goes on trying.' },
  Complaint: { means: 'complained', words: 'The recipient called it spam.' },
  'Complaint/OnAccountSuppressionList': {
    means: 'failed',
    rule: { does: 'fallback', reason: 'suppressed' },
    words: 'SES did not send it: the recipient complained before.',
  },
  Reject: {
    means: 'failed',
    rule: { does: 'fail', reason: 'content_rejected' },
    words: 'SES found a virus in it and did not send it.',
  },
  'Rendering Failure': {
    means: 'failed',
    rule: { does: 'fail', reason: 'template_rejected' },
    words: 'SES could not fill in its template.',
  },
  Open: { means: 'read', words: 'It was opened.' },
  Click: { means: 'read', words: 'A link in it was followed.' },
  Subscription: { means: 'nothing', words: 'The recipient changed what they subscribe to.' },
  AmazonSnsSubscriptionSucceeded: { means: 'nothing', words: 'The topic was connected.' },
}

/** Bounces by type and subtype. SES has tried again by itself before it reports a transient one. */
export const SES_BOUNCES: Meanings = {
  'Undetermined/Undetermined': {
    means: 'bounced',
    rule: { does: 'fallback' },
    words: 'The recipient’s server sent it back, and SES cannot tell why.',
  },
  'Permanent/General': {
    means: 'bounced',
    rule: { does: 'dead' },
    words: 'The recipient’s server refused it for good.',
  },
  'Permanent/NoEmail': { means: 'bounced', rule: { does: 'dead' }, words: 'The address does not exist.' },
  'Permanent/Suppressed': {
    means: 'bounced',
    rule: { does: 'dead' },
    words: 'The address is on SES’s own list of those that bounced.',
  },
  'Permanent/OnAccountSuppressionList': {
    means: 'bounced',
    rule: { does: 'dead' },
    words: 'The address is on the account’s suppression list.',
  },
  'Permanent/OnTenantSuppressionList': {
    means: 'bounced',
    rule: { does: 'dead' },
    words: 'The address is on the suppression list of SES’s tenant.',
  },
  'Permanent/EmailValidationSuppressed': {
    means: 'bounced',
    rule: { does: 'dead' },
    words: 'SES found the address not to be valid.',
  },
  'Permanent/UnsubscribedRecipient': {
    means: 'bounced',
    rule: { does: 'fallback', reason: 'suppressed' },
    words: 'The recipient unsubscribed.',
  },
  'Transient/General': { means: 'bounced', rule: { does: 'fallback' }, words: 'The recipient’s server sent it back.' },
  'Transient/MailboxFull': { means: 'bounced', rule: { does: 'fallback' }, words: 'The mailbox is full.' },
  'Transient/MessageTooLarge': {
    means: 'bounced',
    rule: { does: 'fallback', reason: 'content_rejected' },
    words: 'It is too large for the recipient’s server.',
  },
  'Transient/CustomTimeoutExceeded': {
    means: 'bounced',
    rule: { does: 'fallback' },
    words: 'It could not be delivered in the time set for it.',
  },
  'Transient/ContentRejected': {
    means: 'bounced',
    rule: { does: 'fallback', reason: 'content_rejected' },
    words: 'The recipient’s server does not take its content.',
  },
  'Transient/AttachmentRejected': {
    means: 'bounced',
    rule: { does: 'fallback', reason: 'content_rejected' },
    words: 'The recipient’s server does not take its attachment.',
  },
}

/** What stands for a subtype that is not in the table. */
export const SES_BOUNCE_TYPES: Readonly<Record<string, string>> = {
  Undetermined: 'Undetermined/Undetermined',
  Permanent: 'Permanent/General',
  Transient: 'Transient/General',
}
