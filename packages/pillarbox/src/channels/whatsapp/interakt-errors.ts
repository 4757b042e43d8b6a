import { type Rule, ruleOfStatus } from '../vendor-answers.ts'

/** Interakt gives no codes, only a status and words. The first line whose status and words fit decides. */
export const INTERAKT_ERRORS: readonly (Rule & { status: number; words: RegExp; sample: string })[] = [
  {
    status: 400,
    words: /24 ?h|24 hours|session/i,
    does: 'fallback',
    sample: 'No message from the customer within 24 hours',
  },
  {
    status: 400,
    words: /template/i,
    does: 'fail',
    reason: 'template_rejected',
    sample: 'No approved template found with the name',
  },
  {
    status: 400,
    words: /variable|values?\b/i,
    does: 'fail',
    reason: 'template_rejected',
    sample: 'Expected 2 bodyValues, received 1',
  },
  {
    status: 400,
    words: /phone|customer|number/i,
    does: 'fallback',
    reason: 'invalid_recipient',
    sample: 'The phone number is not valid',
  },
  { status: 400, words: /(?:)/, does: 'fail', reason: 'permanent_refusal', sample: 'Bad request' },
  { status: 401, words: /(?:)/, does: 'halt', sample: 'Unauthorized' },
  { status: 403, words: /(?:)/, does: 'halt', sample: 'Forbidden' },
  { status: 404, words: /(?:)/, does: 'halt', sample: 'Not found' },
  { status: 429, words: /(?:)/, does: 'throttle', sample: 'Resource rate limit exceeded' },
  { status: 500, words: /(?:)/, does: 'retry', sample: 'Internal server error' },
  { status: 502, words: /(?:)/, does: 'unknown', sample: 'Bad gateway' },
  { status: 503, words: /(?:)/, does: 'retry', sample: 'Service unavailable' },
  { status: 504, words: /(?:)/, does: 'unknown', sample: 'Gateway timeout' },
]

export function interaktRule(status: number, words: string): Rule {
  const rule = INTERAKT_ERRORS.find((line) => line.status === status && line.words.test(words))
  return rule ?? ruleOfStatus(status)
}
