import type { Logger } from '../model/ports.ts'
import type { Claim, Completion } from './dispatch-store.ts'

/**
 * A line in the log about a notification that did not get through, with the ids to find it and its sender's request by.
 * What waits for an operator is a warning; what goes on by itself is there for whoever looks closely.
 */
export function report(logger: Logger, claim: Claim, completion: Completion): void {
  if (completion.to === 'sent') return
  const { to, outcome, code, reason, error, attempt, provider } = completion
  const { tenantId, notificationId, correlationId, channel, accountId } = claim
  const ids = { tenantId, notificationId, correlationId, channel, accountId }
  const level = to === 'retrying' ? 'debug' : to === 'parked' || to === 'uncertain' ? 'warn' : 'info'
  logger[level](
    { ...ids, provider, attempt, outcome, code, reason, error, to },
    outcome === 'unknown' ? 'it is not known whether a notification was sent' : 'a notification was not sent',
  )
}
