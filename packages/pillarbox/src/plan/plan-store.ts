import type { DerivedEvent, Entity, StoredEvent } from '../model/event.ts'
import type { NewNotification, NotificationView } from '../model/notification.ts'
import type { Reason } from '../model/reason.ts'
import type { Progress, StoredSchedule } from '../model/schedule.ts'

export interface PlanStore {
  /**
   * Takes up to `limit` pending, due events, oldest first; fewer where their payloads are very large. While more are due
   * than one batch takes, tenants take turns: each gets the same share of a batch, of its oldest, and the batch begins with
   * the first of every tenant. No other batch of this process takes the rows until this one ends. On PostgreSQL they stay
   * locked for other processes, too; on SQLite only rows that are still as they were taken are written.
   */
  takeEvents(limit: number, turns?: TakeTurns): Promise<TakenBatch<StoredEvent, EventPlan>>
  /** The same for schedules whose time has come. */
  takeSchedules(limit: number, turns?: TakeTurns): Promise<TakenBatch<DueSchedule, SchedulePlan>>
  /**
   * An event whose planning was refused: tried again after `delayMs`, or `failed` when that is null. Planning it has ended no
   * process, so its crashes are forgotten.
   */
  deferEvent(ref: EventRef, error: string, delayMs: number | null): Promise<void>
  deferSchedule(ref: ScheduleRef, error: string, delayMs: number | null): Promise<void>
  /**
   * Notes that a planner is about to plan these rows, in place of what it noted before. Survives the end of its process.
   * Answers the other planners whose notes stand; `isBeating`: they were heard of within `ttlMs`, be it by this note, since
   * a worker that was declared dead may be about to register anew.
   */
  note(
    planner: NotingPlanner,
    rows: readonly RowRef[],
    ttlMs: number,
  ): Promise<(NotingPlanner & { isBeating: boolean })[]>
  /** The planner is planning nothing. */
  forgetNote(workerId: string): Promise<void>
  /**
   * The planners of these notes died: what that says of each row that was noted and is still pending is `afterCrash`'s to
   * decide. The notes are gone; one that its planner has replaced meanwhile is left alone. Answers how many rows that changed.
   */
  countCrashes(notes: readonly NoteRef[]): Promise<number>
  /**
   * When each entity was last cancelled for an event type (`cancelledBy`), by the time of the event that did it; null:
   * never. Answers in the given order.
   */
  cancelledAt(requests: readonly { tenantId: string; entity: Entity; eventType: string }[]): Promise<(number | null)[]>
  /** The notifications that events were planned as before, at the given places. Answers in the given order. */
  standing(requests: readonly StandingRequest[]): Promise<StandingNotification[][]>
}

/** Whose rows are taken. */
export interface TakeTurns {
  /** The tenant whose turn it was last: those behind it, in the order of their ids, come first. */
  after?: string
  /** Tenants whose rows are left. */
  without?: readonly string[]
  /** The only tenant whose rows are taken. */
  only?: string
}

/**
 * Rows that one planner holds until it calls `write` or `release`, whichever comes first. A batch that is kept for longer
 * than 15 seconds may be released by the store; `write` then rejects with an error that is the batch's own, as if the
 * database had refused it. One whose connection is lost is released, too, and rejects with `store_unavailable`; the same error
 * says that the database rolled the batch back to end a deadlock. Nothing is written in any of these cases.
 */
export interface TakenBatch<Row, Plan> {
  readonly rows: readonly Row[]
  /** What is known of processes that died while they planned each of them; see `afterCrash`. */
  readonly crashes: readonly number[]
  /**
   * Writes one plan for each row, in the order of `rows`, in one transaction, and ends the batch. Rejects, with nothing
   * written and the batch released, when the database refuses any of it.
   */
  write(plans: readonly Plan[]): Promise<WrittenBatch>
  /** Lets the rows go as they are. Does nothing once the batch has ended. */
  release(): Promise<void>
}

export interface WrittenBatch {
  /** Rows that reached a decision: not `later` ones, nor, on SQLite, those that somebody else planned meanwhile. */
  decided: number
  /** Notifications inserted, those that are skipped because another one has their key included. */
  inserted: number
  /** Accounts that now have due work, for the in-process nudge. */
  lanes: string[]
  /** Those that are skipped because another one has their key; absent where there are none. */
  duplicates?: readonly NewNotification[]
}

/** A worker, as the planner that it is. */
export interface PlannerSelf {
  id: string
  /** The name of its machine or container. */
  host: string
  pid: number
  /** Where its `pid` is a process's number: the same for two processes only where both see the same ones. */
  space: string
  /** New at each start of its process. */
  boot: string
}

export interface NotingPlanner extends PlannerSelf {
  /** Which of its notes it is. */
  number: number
}

/** A note of a planner. */
export type NoteRef = Pick<NotingPlanner, 'id' | 'number'>

/** Any row that is planned. */
export interface RowRef {
  kind: 'event' | 'schedule'
  tenantId: string
  id: string
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

export interface StandingRequest {
  tenantId: string
  eventId: string
  entity: Entity
  places: readonly string[]
}

/** A notification that an earlier planning of the same event has left. */
export interface StandingNotification extends Pick<NotificationView, 'id' | 'channel' | 'status'> {
  place: string
}

/** What an event becomes. Every event that does not fail gets exactly one schedule, but a domain event, which gets none. */
export type EventPlan =
  /** Left as it is, not counted as an attempt: the batch has enough. */
  | { kind: 'later' }
  | { kind: 'failed'; reason: Reason; error: string }
  /** A domain event: pending events of their own in its place in the queue. One that exists is left as it is. */
  | { kind: 'derive'; events: DerivedEvent[] }
  /** Due later, or waiting for somebody's word: a pending schedule, or one that awaits approval. */
  | { kind: 'schedule'; scheduleId: string; dueAt: number; needsApproval: boolean; cancels: Cancels | null }
  /** Not to be sent at all: a schedule born cancelled that says why, with what was skipped by that. */
  | ({ kind: 'cancelled'; scheduleId: string; cancels: Cancels | null } & CancelledPlan)
  /** Due now: a schedule that is over already, and its notifications. */
  | ({ kind: 'notifications'; scheduleId: string; cancels: Cancels | null } & ToldPlan)

interface CancelledPlan {
  reason: Reason
  error: string
  notifications?: NewNotification[]
}

interface ToldPlan {
  notifications: NewNotification[]
  /** Why nobody can be told anything, so that the schedule has failed; left out or null: it is completed. */
  untold?: { reason: Reason; error: string } | null
}

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
  | ({ kind: 'cancelled' } & CancelledPlan)
  | ({ kind: 'notifications' } & ToldPlan)
  /** A part of a large one: it stays pending, due at once, and goes on from `cursor`. */
  | { kind: 'part'; notifications: NewNotification[]; progress: Progress }
