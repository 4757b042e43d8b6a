import type { Entity, StoredEvent } from '../model/event.ts'
import type { NewNotification } from '../model/notification.ts'
import type { Reason } from '../model/reason.ts'
import type { Progress, StoredSchedule } from '../model/schedule.ts'

export interface PlanStore {
  /**
   * Takes up to `limit` pending, due events, oldest first, fewer where they are very large, skipping those another process
   * holds, lets `prepare` read
   * what their plans need, asks `plan` for each, and writes what it answers, all in one transaction.
   * Rejects, with nothing written, when a row is refused: the planner then goes one by one.
   */
  events(limit: number, planning: Planning<StoredEvent, EventPlan>): Promise<Planned>
  /** The same for schedules whose time has come. */
  schedules(limit: number, planning: Planning<DueSchedule, SchedulePlan>): Promise<Planned>
  /** An event whose planning was refused: tried again after `delayMs`, or `failed` when that is null. */
  deferEvent(ref: EventRef, error: string, delayMs: number | null): Promise<void>
  deferSchedule(ref: ScheduleRef, error: string, delayMs: number | null): Promise<void>
  /**
   * When each entity was last cancelled for an event type (`cancelledBy`), by the time of the event that did it; null:
   * never. Answers in the given order.
   */
  cancelledAt(requests: readonly { tenantId: string; entity: Entity; eventType: string }[]): Promise<(number | null)[]>
}

export interface Planning<Row, Plan> {
  /**
   * Reads whatever the plans need, before any is asked for. Nothing is answered where all of it is known already. It
   * must not write to the taken rows, and may not take longer than a few seconds.
   */
  prepare(rows: readonly Row[]): Promise<void> | void
  /** Synchronous; must not throw. */
  plan(row: Row): Plan
}

export interface DueSchedule {
  schedule: StoredSchedule
  event: StoredEvent
}

export interface EventRef {
  tenantId: string
  id: string
}

export interface ScheduleRef {
  tenantId: string
  id: string
}

/** What an event becomes. Every event that does not fail gets exactly one schedule. */
export type EventPlan =
  /** Left as it is, not counted as an attempt: the batch has enough. */
  | { kind: 'later' }
  | { kind: 'failed'; reason: Reason; error: string }
  /** Due later, or waiting for somebody's word: a pending schedule, or one that awaits approval. */
  | { kind: 'schedule'; scheduleId: string; dueAt: number; needsApproval: boolean; cancels: Cancels | null }
  /** Not to be sent at all: a schedule born cancelled that says why. */
  | { kind: 'cancelled'; scheduleId: string; reason: Reason; error: string; cancels: Cancels | null }
  /** Due now: a schedule already completed, and its notifications. */
  | { kind: 'notifications'; scheduleId: string; notifications: NewNotification[]; cancels: Cancels | null }

/**
 * What an event puts an end to, for its own entity, before anything of its own is written. Schedules that are pending
 * or await approval become `cancelled`, notifications that are queued or retrying, too; all audited.
 */
export interface Cancels {
  /** Event types whose schedules and notifications are cancelled (`cancelled_by_event`), and remembered as cancelled. */
  eventTypes: string[]
  /** An earlier schedule of the event's own type is replaced (`replaced`); its notifications are left alone. */
  replaces: boolean
}

export type SchedulePlan =
  | { kind: 'later' }
  | { kind: 'failed'; reason: Reason; error: string }
  | { kind: 'cancelled'; reason: Reason; error: string }
  | { kind: 'notifications'; notifications: NewNotification[] }
  /** A part of a large one: it stays pending, due at once, and goes on from `cursor`. */
  | { kind: 'part'; notifications: NewNotification[]; progress: Progress }

export interface Planned {
  /** Rows taken, `later` ones included: equal to the limit means there is probably more. */
  taken: number
  /** Rows that reached a decision. */
  decided: number
  /** Notifications inserted; repeats by key are not. */
  inserted: number
  /** Accounts that now have due work, for the in-process nudge. */
  lanes: string[]
}
