import type { Entity, StoredEvent } from '../../model/event.ts'
import type { Reason } from '../../model/reason.ts'
import type { Cancels, EventPlan, SchedulePlan } from '../../plan/plan-store.ts'

/**
 * Something that an event puts an end to: what is scheduled for an entity by events of one type, no younger than the
 * one that ends it, and, unless it is only replaced, what is queued of them.
 */
export interface Ending {
  tenantId: string
  entity: Entity
  eventType: string
  reason: Extract<Reason, 'cancelled_by_event' | 'replaced'>
  /** In words, for whoever looks at what was ended. */
  error: string
  /** The time of the event that ends it: what happened later stays. */
  at: number
}

export function endingsOf(event: StoredEvent, plan: EventPlan): Ending[] {
  const cancels = cancelsOf(plan)
  if (!cancels) return []
  const { tenantId, entity, type, createdAt: at } = event
  const types = new Set(cancels.eventTypes)
  const endings = [...types].map((eventType): Ending => {
    const error = `The event "${type}" cancelled it`
    return { tenantId, entity, eventType, reason: 'cancelled_by_event', error, at }
  })
  // What is cancelled needs not be replaced as well.
  if (cancels.replaces && !types.has(type))
    endings.push({
      tenantId,
      entity,
      eventType: type,
      reason: 'replaced',
      error: `A later event "${type}" took its place`,
      at,
    })
  return endings
}

/** Null also where it would put an end to nothing. */
export function cancelsOf(plan: EventPlan | SchedulePlan): Cancels | null {
  const cancels = 'cancels' in plan ? plan.cancels : null
  return cancels && (cancels.replaces || cancels.eventTypes.length > 0) ? cancels : null
}
