import { dead, type ErrorTable, fail, retry, throttle } from '../error-lines.ts'
import type { Rule } from '../vendor-answers.ts'

/** What a receiver's status means, by Standard Webhooks. */
export const WEBHOOK_STATUSES: ErrorTable = {
  301: fail('redirects are not followed', 'invalid_recipient'),
  302: fail('redirects are not followed', 'invalid_recipient'),
  307: fail('redirects are not followed', 'invalid_recipient'),
  308: fail('redirects are not followed', 'invalid_recipient'),
  400: retry('the receiver could not read it'),
  401: retry('the receiver did not accept the signature'),
  403: retry('the receiver did not let us in'),
  404: retry('the receiver has no such endpoint'),
  408: retry('the receiver got tired of waiting'),
  410: dead('the endpoint is gone for good'),
  413: fail('it is too large for the receiver', 'content_rejected'),
  429: throttle('too many at once', { scope: 'recipient' }),
  500: retry('the receiver failed'),
  502: throttle('the receiver is overloaded', { scope: 'recipient' }),
  503: retry('the receiver is away'),
  504: throttle('the receiver is overloaded', { scope: 'recipient' }),
}

/** A receiver is somebody's program, and is mended: what is not in the table is tried again, as the standard says. */
export function webhookRule(status: number): Rule {
  return (
    WEBHOOK_STATUSES[status] ??
    (status >= 300 && status < 400 ? { does: 'fail', reason: 'invalid_recipient' } : { does: 'unmapped' })
  )
}
