import type { NewNotification } from '../model/notification.ts'
import type { Logger } from '../model/ports.ts'
import type { Reason } from '../model/reason.ts'

/** How often planning left something unsaid since this process began. */
export interface SkipCounts {
  /** Notifications that were skipped, by reason. */
  skipped: Partial<Record<Reason, number>>
  /** Notifications in which a placeholder had no value. */
  missingPlaceholders: number
}

/** Tells the operator whom an event did not reach, and in which words something is missing; and counts both. */
export interface SkipReport {
  /** The notifications of one event that were just written; `isMore` where others of it were reported before. */
  note(notifications: readonly NewNotification[], isMore: boolean): void
  readonly counts: SkipCounts
}

/** So many lines an event gets; the rest of a mass send is one line with their number. */
const MOST_LINES = 20

export function createSkipReport(logger: Pick<Logger, 'warn'>): SkipReport {
  const counts: SkipCounts = { skipped: {}, missingPlaceholders: 0 }

  function count({ stopped }: NewNotification): void {
    if (stopped?.status !== 'skipped') counts.missingPlaceholders += 1
    else counts.skipped[stopped.reason] = (counts.skipped[stopped.reason] ?? 0) + 1
  }

  return {
    counts,
    note(notifications, isMore) {
      const odd = notifications.filter((each) => each.stopped?.status === 'skipped' || missingIn(each).length > 0)
      for (const each of odd) count(each)
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

function warn(logger: Pick<Logger, 'warn'>, notification: NewNotification): void {
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

function missingIn({ warnings }: NewNotification): string[] {
  return warnings.flatMap(({ code, key }) => (code === 'missing_placeholder' ? [key ?? ''] : []))
}
