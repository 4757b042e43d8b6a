import { dead, type ErrorTable, fail, halt, lineFor, retry, type TextLine, throttle, unknown } from '../error-lines.ts'
import type { Rule } from '../vendor-answers.ts'

const MINUTE_MS = 60_000

/** Codes of Azure Communication Services that say more than the status they come with. Microsoft publishes no list. */
export const ACS_CODES: ErrorTable = {
  Denied: halt('The access key is wrong, or the clock.'),
  DomainNotLinked: halt('The sender’s domain is not linked to the resource.'),
  EmailDroppedAllRecipientsSuppressed: dead('The recipient is on Azure’s suppression list.'),
  // Not remembered as dead: it may be another address of the message.
  InvalidEmailAddress: fail('An address is not well formed.', 'invalid_recipient'),
  InvalidSenderUserName: halt('The resource has no such sender.'),
  TooManyRequests: throttle('Too many requests for the resource’s quota.', { afterMs: MINUTE_MS }),
}

export const ACS_STATUSES: ErrorTable = {
  400: fail('The request is not valid.'),
  401: halt('The access key is wrong, or the clock.'),
  403: halt('The resource may not send as this sender.'),
  404: halt('The resource or its sender does not exist.'),
  408: retry('The request took too long to arrive.'),
  // An earlier call was taken, and its answer never reached us.
  409: unknown('There is an operation with this notification’s id already.'),
  413: fail('The message is larger than 10 MB.', 'content_rejected'),
  429: throttle('Too many requests for the resource’s quota.', { afterMs: MINUTE_MS }),
  500: retry('An internal error.'),
  502: retry('The gateway got no good answer.'),
  503: retry('The service is not available.'),
  504: retry('The gateway got no answer.'),
}

/** What the text says where the code is a general one. */
const ACS_TEXTS: readonly TextLine[] = [
  {
    says: /invalid format for email address/i,
    ...fail('An address is not well formed.', 'invalid_recipient'),
  },
  {
    says: /sender domain has not been linked/i,
    ...halt('The sender’s domain is not linked to the resource.'),
  },
]

export function acsRule(code: string, status: number, words: string): Rule {
  const rule = lineFor(ACS_CODES, code) ?? ACS_TEXTS.find(({ says }) => says.test(words)) ?? ACS_STATUSES[status]
  if (rule) return rule
  return { does: status >= 500 ? 'retry' : 'unmapped' }
}
