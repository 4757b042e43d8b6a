import type { ScheduleStatus } from '../model/event.ts'
import type { Page, PageOf } from '../model/page.ts'
import type { StoredSchedule } from '../model/schedule.ts'

/** Looking at schedules and moving them by hand. */
export interface ScheduleStore {
  find(tenantId: string, id: string): Promise<StoredSchedule | null>
  /** Newest first. */
  list(filter: ScheduleFilter, page: Page): Promise<PageOf<StoredSchedule>>
  /**
   * cancel: pending or awaiting_approval → cancelled. approve: awaiting_approval → pending. reject: awaiting_approval →
   * cancelled. replay: failed → pending with a fresh count, to be planned from its beginning. send-now: a pending one is
   * due at once, and keeps the time it was made for. Audited. Null: no such schedule of that tenant.
   */
  act(request: {
    tenantId: string
    id: string
    action: 'cancel' | 'approve' | 'reject' | 'replay' | 'send-now'
    actor: string
    reason?: string
  }): Promise<{ moved: boolean; from: ScheduleStatus } | null>
}

export interface ScheduleFilter {
  tenantId?: string
  status?: ScheduleStatus[]
  eventId?: string
  eventType?: string
  entityType?: string
  entityId?: string
  dueFrom?: number
  dueTo?: number
}
