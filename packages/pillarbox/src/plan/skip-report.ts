import type { NewNotification } from '../model/notification.ts'
import type { Logger, Meters } from '../model/ports.ts'
import type { Reason } from '../model/reason.ts'

/** What the log says of a notification. */
export type ReportedNotification = Pick<
  NewNotification,
  'id' | 'tenantId' | 'eventId' | 'correlationId' | 'channel' | 'stopped' | 'warnings'
>

/**
 * Tells the operator who was not told, and in which words something is missing, and counts both: the one place for that,
 * whoever it was that skipped it.
 */
export interface SkipReport {
  /** Notifications, of one event where they are of any, that were just written; `isMore` where others of it were before. */
  note(notifications: readonly ReportedNotification[], isMore?: boolean): void
}

/** So many lines an event gets; the rest of a mass send is one line with their number. */
const MOST_LINES = 20

export function createSkipReport({ logger, meters }: { logger: Pick<Logger, 'warn'>; meters: Meters }): SkipReport {
  return {
    note(notifications, isMore = false) {
      const odd = notifications.filter((each) => each.stopped?.status === 'skipped' || missingIn(each).length > 0)
      if (odd.length === 0) return
      for (const [reason, group] of Map.groupBy(odd, ({ stopped }) => skipReasonOf(stopped)))
        if (reason === null) meters.count('placeholders_missing', {}, group.length)
        else meters.count('notifications_skipped', { reason }, group.length)
      const told = isMore ? 0 : Math.min(odd.length, MOST_LINES)
      for (const each of odd.slice(0, told)) warn(logger, each)
      const [first] = odd
      if (!first || told === odd.length) return
      const { tenantId, eventId, correlationId } = first
      const further = { tenantId, eventId, correlationId, count: odd.length - told }
      logger.warn(further, 'further notifications of an event were skipped, or lack the value of a placeholder')
    },
  }
}

function skipReasonOf(stopped: ReportedNotification['stopped']): Reason | null {
  return stopped?.status === 'skipped' ? stopped.reason : null
}

function warn(logger: Pick<Logger, 'warn'>, notification: ReportedNotification): void {
  const { id: notificationId, tenantId, eventId, correlationId, channel, stopped } = notification
  const ids = { tenantId, eventId, notificationId, correlationId, channel }
  if (stopped?.status === 'skipped')
    logger.warn({ ...ids, reason: stopped.reason, error: stopped.error }, 'a notification was skipped')
  else {
    const reason = 'missing_placeholder'
    logger.warn(
      { ...ids, reason, placeholders: missingIn(notification) },
      'a placeholder of a notification has no value',
    )
  }
}

function missingIn({ warnings }: ReportedNotification): string[] {
  return warnings.flatMap(({ code, key }) => (code === 'missing_placeholder' ? [key ?? ''] : []))
}
