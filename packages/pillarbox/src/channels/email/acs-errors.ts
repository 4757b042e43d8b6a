import type { Rule } from '../vendor-answers.ts'

const MINUTE_MS = 60_000

type Lines = Readonly<Record<string, Rule & { words: string }>>

/** Codes of Azure Communication Services that say more than the status they come with. Microsoft publishes no list. */
export const ACS_CODES: Lines = {
  Denied: { does: 'halt', words: 'The access key is wrong, or the clock.' },
  DomainNotLinked: { does: 'halt', words: 'The sender’s domain is not linked to the resource.' },
  EmailDroppedAllRecipientsSuppressed: { does: 'dead', words: 'The recipient is on Azure’s suppression list.' },
  // Not remembered as dead: it may be another address of the message.
  InvalidEmailAddress: {
    does: 'fallback',
    reason: 'invalid_recipient',
    words: 'An address is not well formed.',
  },
  InvalidSenderUserName: { does: 'halt', words: 'The resource has no such sender.' },
  TooManyRequests: { does: 'throttle', afterMs: MINUTE_MS, words: 'Too many requests for the resource’s quota.' },
}

export const ACS_STATUSES: Lines = {
  400: { does: 'fail', reason: 'permanent_refusal', words: 'The request is not valid.' },
  401: { does: 'halt', words: 'The access key is wrong, or the clock.' },
  403: { does: 'halt', words: 'The resource may not send as this sender.' },
  404: { does: 'halt', words: 'The resource or its sender does not exist.' },
  408: { does: 'retry', words: 'The request took too long to arrive.' },
  // An earlier call was taken, and its answer never reached us.
  409: { does: 'unknown', words: 'There is an operation with this notification’s id already.' },
  413: { does: 'fail', reason: 'content_rejected', words: 'The message is larger than 10 MB.' },
  429: { does: 'throttle', afterMs: MINUTE_MS, words: 'Too many requests for the resource’s quota.' },
  500: { does: 'retry', words: 'An internal error.' },
  502: { does: 'retry', words: 'The gateway got no good answer.' },
  503: { does: 'retry', words: 'The service is not available.' },
  504: { does: 'retry', words: 'The gateway got no answer.' },
}

/** What the text says where the code is a general one. */
export const ACS_TEXTS: readonly (Rule & { words: string; says: RegExp; example: string })[] = [
  {
    says: /invalid format for email address/i,
    example: 'Invalid format for email address',
    does: 'fallback',
    reason: 'invalid_recipient',
    words: 'An address is not well formed.',
  },
  {
    says: /sender domain has not been linked/i,
    example: 'The specified sender domain has not been linked.',
    does: 'halt',
    words: 'The sender’s domain is not linked to the resource.',
  },
]

export function acsRule(code: string, status: number, words: string): Rule {
  const rule =
    (Object.hasOwn(ACS_CODES, code) ? ACS_CODES[code] : undefined) ??
    ACS_TEXTS.find(({ says }) => says.test(words)) ??
    ACS_STATUSES[status]
  if (rule) return rule
  return status >= 500 ? { does: 'retry' } : { does: 'fail', reason: 'permanent_refusal' }
}
