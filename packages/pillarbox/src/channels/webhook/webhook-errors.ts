import type { Rule } from '../vendor-answers.ts'

/** What a receiver's status means, by Standard Webhooks. */
export const WEBHOOK_STATUSES: Readonly<Record<number, Rule & { words: string }>> = {
  301: { does: 'fallback', reason: 'invalid_recipient', words: 'redirects are not followed' },
  302: { does: 'fallback', reason: 'invalid_recipient', words: 'redirects are not followed' },
  307: { does: 'fallback', reason: 'invalid_recipient', words: 'redirects are not followed' },
  308: { does: 'fallback', reason: 'invalid_recipient', words: 'redirects are not followed' },
  400: { does: 'retry', words: 'the receiver could not read it' },
  401: { does: 'retry', words: 'the receiver did not accept the signature' },
  403: { does: 'retry', words: 'the receiver did not let us in' },
  404: { does: 'retry', words: 'the receiver has no such endpoint' },
  408: { does: 'retry', words: 'the receiver got tired of waiting' },
  410: { does: 'dead', words: 'the endpoint is gone for good' },
  413: { does: 'fail', reason: 'content_rejected', words: 'it is too large for the receiver' },
  429: { does: 'throttle', scope: 'recipient', words: 'too many at once' },
  500: { does: 'retry', words: 'the receiver failed' },
  502: { does: 'throttle', scope: 'recipient', words: 'the receiver is overloaded' },
  503: { does: 'retry', words: 'the receiver is away' },
  504: { does: 'throttle', scope: 'recipient', words: 'the receiver is overloaded' },
}

/** A receiver is somebody's program, and is mended: what is not in the table is tried again, as the standard says. */
export function webhookRule(status: number): Rule {
  return (
    WEBHOOK_STATUSES[status] ??
    (status >= 300 && status < 400 ? { does: 'fallback', reason: 'invalid_recipient' } : { does: 'retry' })
  )
}
