import {
  type ErrorTable,
  fail,
  halt,
  retry,
  ruleFor,
  type TextLine,
  throttle,
  unknown,
  unreachable,
} from '../error-lines.ts'
import type { Rule } from '../vendor-answers.ts'

/** Interakt gives no codes, only a status and words. */
const INTERAKT_STATUSES: ErrorTable = {
  400: fail('The request is not valid.'),
  401: halt('The key is wrong.'),
  403: halt('The key may not do this.'),
  404: halt('There is no such address.'),
  429: throttle('Too many requests.'),
  500: retry('An internal error.'),
  502: unknown('The gateway got no good answer.'),
  503: retry('The service is not available.'),
  504: unknown('The gateway got no answer.'),
}

/** What a 400 means by its words; the first line that fits decides. */
const INTERAKT_TEXTS: readonly TextLine[] = [
  { says: /24 ?h|24 hours|session/i, ...unreachable('The customer has not written within 24 hours.') },
  { says: /template/i, ...fail('The template is not approved.', 'template_rejected') },
  { says: /variable|values?\b/i, ...fail('The values do not fit the template.', 'template_rejected') },
  { says: /phone|customer|number/i, ...fail('The number is not valid.', 'invalid_recipient') },
]

export function interaktRule(status: number, words: string): Rule {
  const text = status === 400 ? INTERAKT_TEXTS.find(({ says }) => says.test(words)) : undefined
  return text ?? ruleFor(INTERAKT_STATUSES, String(status), status)
}
