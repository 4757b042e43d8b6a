import type { DerivedEvent, Entity, EventStatus, ScheduleStatus, StoredEvent } from '../../model/event.ts'
import type { NewNotification } from '../../model/notification.ts'
import type { Reason } from '../../model/reason.ts'
import type { Progress } from '../../model/schedule.ts'
import type { Cancels, DueSchedule, EventPlan, SchedulePlan } from '../../plan/plan-store.ts'

/**
 * What a plan does to the rows, computed once for both engines, which only apply it. A time of null is the time of the
 * transaction. Every plan but `later` and a part counts as one more attempt of its event or schedule.
 */

/** What planning does to an event and begins for it. */
export interface EventChange {
  status: Extract<EventStatus, 'published' | 'failed'>
  /** Null for a published event, whatever went wrong before. */
  lastError: string | null
  /** What earlier events began and this one ends, before anything of its own is written. */
  endings: Ending[]
  schedule: NewSchedule | null
  notifications: readonly NewNotification[]
  /** Written as if they had been published together with it. */
  derived: readonly DerivedEvent[]
  audit: PlanAudit | null
}

/** The schedule of an event that was just planned. */
export interface NewSchedule extends ScheduleStand {
  id: string
  dueAt: number | null
  /** 1 where the schedule was planned together with its event. */
  attemptCount: 0 | 1
  lastError: string | null
}

/** Where a schedule stands after it was planned, and which of its times that gives it. */
interface ScheduleStand {
  status: ScheduleStatus
  /** It has a next attempt: a new one when it is due, one that was due at once, behind all others that are. */
  isWaiting: boolean
  /** It is completed as of now. */
  isCompleted: boolean
}

function standing(status: ScheduleStatus): ScheduleStand {
  return {
    status,
    isWaiting: status === 'pending' || status === 'awaiting_approval',
    isCompleted: status === 'completed',
  }
}

/** What planning does to a schedule that was due. */
export interface ScheduleChange extends ScheduleStand {
  attempts: 0 | 1
  lastError: string | null
  /** Null: as it was. */
  progress: Progress | null
  /** 0 where a part was written: what ended a process was not that part. Null: as they were. */
  crashes: 0 | null
  notifications: readonly NewNotification[]
  audit: PlanAudit | null
}

/** The record of an event or a schedule that planning stopped. */
export interface PlanAudit {
  action: 'fail' | 'cancel'
  /** `event:<id>` or `schedule:<id>`. */
  subject: string
  /** Null for a schedule that was born cancelled or failed. */
  from: 'pending' | null
  to: 'failed' | 'cancelled'
  reason: Reason
}

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

/** Null: the event is left as it is. */
export function eventChange(event: StoredEvent, plan: EventPlan): EventChange | null {
  if (plan.kind === 'later') return null
  if (plan.kind === 'failed')
    return {
      status: 'failed',
      lastError: plan.error,
      endings: [],
      schedule: null,
      notifications: [],
      derived: [],
      audit: { action: 'fail', subject: `event:${event.id}`, from: 'pending', to: 'failed', reason: plan.reason },
    }
  const published = { status: 'published', lastError: null } as const
  if (plan.kind === 'derive')
    return { ...published, endings: [], schedule: null, notifications: [], derived: plan.events, audit: null }
  return {
    ...published,
    endings: endingsOf(event, plan.cancels),
    schedule: newSchedule(event, plan),
    notifications: plan.kind === 'schedule' ? [] : (plan.notifications ?? []),
    derived: [],
    audit: auditOf(plan.scheduleId, null, plan),
  }
}

function newSchedule(event: StoredEvent, plan: Extract<EventPlan, { scheduleId: string }>): NewSchedule {
  const id = plan.scheduleId
  switch (plan.kind) {
    case 'schedule': {
      const status = plan.needsApproval ? 'awaiting_approval' : 'pending'
      return { id, ...standing(status), dueAt: plan.dueAt, attemptCount: 0, lastError: null }
    }
    case 'cancelled':
      return { id, ...standing('cancelled'), dueAt: event.dueAt, attemptCount: 0, lastError: plan.error }
    case 'notifications': {
      const { untold } = plan
      const status = untold ? 'failed' : 'completed'
      return { id, ...standing(status), dueAt: event.dueAt, attemptCount: 1, lastError: untold?.error ?? null }
    }
  }
}

/** Null: the schedule is left as it is. */
export function scheduleChange({ schedule }: DueSchedule, plan: SchedulePlan): ScheduleChange | null {
  const unchanged = { lastError: null, progress: null, crashes: null, notifications: [], audit: null }
  const over = { ...unchanged, attempts: 1, audit: auditOf(schedule.id, 'pending', plan) } as const
  switch (plan.kind) {
    case 'later':
      return null
    case 'part': {
      const { notifications, progress } = plan
      return { ...unchanged, ...standing('pending'), attempts: 0, notifications, progress, crashes: 0 }
    }
    case 'notifications': {
      const { notifications, untold } = plan
      const status = untold ? 'failed' : 'completed'
      return { ...over, ...standing(status), lastError: untold?.error ?? null, notifications }
    }
    case 'cancelled':
      return { ...over, ...standing('cancelled'), lastError: plan.error, notifications: plan.notifications ?? [] }
    case 'failed':
      return { ...over, ...standing('failed'), lastError: plan.error }
  }
}

/** Null where a schedule was planned as it should be, or waits. */
function auditOf(scheduleId: string, from: 'pending' | null, plan: EventPlan | SchedulePlan): PlanAudit | null {
  const subject = `schedule:${scheduleId}`
  if (plan.kind === 'cancelled') return { action: 'cancel', subject, from, to: 'cancelled', reason: plan.reason }
  const failure = plan.kind === 'failed' ? plan : plan.kind === 'notifications' ? plan.untold : null
  return failure ? { action: 'fail', subject, from, to: 'failed', reason: failure.reason } : null
}

function endingsOf({ tenantId, entity, type, createdAt: at }: StoredEvent, cancels: Cancels | null): Ending[] {
  if (!cancels) return []
  const types = new Set(cancels.eventTypes)
  const endings = [...types].map((eventType): Ending => {
    const error = `The event "${type}" cancelled it`
    return { tenantId, entity, eventType, reason: 'cancelled_by_event', error, at }
  })
  // What is cancelled needs not be replaced as well.
  if (cancels.replaces && !types.has(type)) {
    const error = `A later event "${type}" took its place`
    endings.push({ tenantId, entity, eventType: type, reason: 'replaced', error, at })
  }
  return endings
}
