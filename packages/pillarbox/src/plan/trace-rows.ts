import type { Tracing } from '../model/ports.ts'
import type { EventPlan, SchedulePlan } from './plan-store.ts'
import type { DueRow } from './prepare.ts'

/** The rows of a batch, each planned as a piece of its event's trace: what is made of it belongs to that piece. */
export interface TracedRows<Row> {
  rows: Row[]
  /** What became of each; null: the batch was not written. */
  end(plans: readonly (EventPlan | SchedulePlan)[] | null): void
}

export function traceRows<Row extends DueRow>(tracing: Tracing, rows: Row[]): TracedRows<Row> {
  if (!tracing.isOn()) return { rows, end() {} }
  const spans = rows.map(({ event, schedule }) => {
    const { tenantId, id: eventId, type: eventType } = event
    const scheduleId = schedule?.id ?? null
    return tracing.begin('pillarbox.plan', event.traceparent ?? null, { tenantId, eventId, eventType, scheduleId })
  })
  return {
    rows: rows.map((row, i) => {
      const traceparent = spans[i]?.traceparent
      return traceparent === undefined ? row : { ...row, event: { ...row.event, traceparent } }
    }),
    end(plans) {
      for (const [i, span] of spans.entries()) {
        const plan = plans?.[i]
        const notifications = plan && 'notifications' in plan ? (plan.notifications?.length ?? 0) : null
        const reason = plan?.kind === 'failed' ? plan.reason : null
        span?.end({ result: plan?.kind ?? 'undone', notifications, reason }, plan === undefined || reason !== null)
      }
    },
  }
}
