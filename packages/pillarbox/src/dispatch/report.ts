import type { Logger } from '../model/ports.ts'
import type { Claim, Completion } from './dispatch-store.ts'

/**
 * A line in the log about what became of an attempt, with the ids to find the notification and its sender's request by.
 * What waits for an operator is a warning.
 */
export function report(logger: Logger, claim: Claim, completion: Completion): void {
  const { to, outcome, code, reason, error, attempt, provider, durationMs } = completion
  const { tenantId, notificationId, correlationId, channel, accountId } = claim
  const line = { tenantId, notificationId, correlationId, channel, accountId, provider, attempt, outcome, durationMs }
  if (to === 'sent') {
    if (logger.often) logger.often(line, 'a notification was sent')
    else logger.info(line, 'a notification was sent')
    return
  }
  const level = to === 'parked' || to === 'uncertain' ? 'warn' : 'info'
  logger[level](
    { ...line, code, reason, error, to },
    outcome === 'unknown' ? 'it is not known whether a notification was sent' : 'a notification was not sent',
  )
}
