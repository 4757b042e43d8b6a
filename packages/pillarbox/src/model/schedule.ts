import type { Entity, ScheduleStatus } from './event.ts'

/** How far the planning of a schedule with very many recipients has come. */
export interface Progress {
  /** Where to go on; the planner's own. */
  cursor: string
  /** Recipients planned so far, and all of them as far as is known. */
  planned: number
  total: number
}

export interface StoredSchedule {
  id: string
  tenantId: string
  eventId: string
  eventType: string
  entity: Entity
  dueAt: number
  status: ScheduleStatus
  attemptCount: number
  lastError: string | null
  createdAt: number
  completedAt: number | null
  /** Only of a schedule that is planned in parts. */
  progress: Progress | null
  /** Who approved it, and when; null where nobody had to, or has yet. */
  approvedBy: string | null
  approvedAt: number | null
  /** It failed before and is planned anew: notifications of it may stand already. */
  isReplayed: boolean
}
