import type { EventStatus, ListedEvent, NewEvent, StoredEvent } from '../model/event.ts'
import type { AuditView, NotificationStatus } from '../model/notification.ts'
import type { Page, PageOf } from '../model/page.ts'

export interface EventStore {
  /** Writes events that are not there yet; answers in the given order. Repeats inside one call count as repeats too. */
  insert(events: readonly NewEvent[]): Promise<{ id: string; duplicate: boolean }[]>
  find(tenantId: string, id: string): Promise<StoredEvent | null>
  /** Newest first, without what they carry. */
  list(filter: EventFilter, page: Page): Promise<PageOf<ListedEvent>>
  /** How many notifications each of these events of a tenant has in each status, in the given order. */
  counts(
    tenantId: string,
    events: readonly Pick<StoredEvent, 'id' | 'entity'>[],
  ): Promise<Record<NotificationStatus, number>[]>
  /**
   * What became of an event beside what its rows say: how it and its schedules failed, who replayed them, and what was done by
   * hand to these notifications, or by a replay. Oldest first; the newest 500.
   */
  acts(tenantId: string, about: ActsAbout): Promise<EventAct[]>
  /** failed → pending with a fresh count; `false` when it is not failed. Audited. */
  replay(tenantId: string, id: string, actor: string): Promise<boolean>
}

export interface ActsAbout {
  eventId: string
  scheduleIds: readonly string[]
  notificationIds: readonly string[]
}

export interface EventAct extends AuditView {
  /** `event:<id>` or `schedule:<id>`; null where it is about a notification. */
  subject: string | null
}

export interface EventFilter {
  tenantId?: string
  type?: string
  entityType?: string
  entityId?: string
  /** The API key they came with. */
  publishedBy?: string
  /** The domain event that they were made of. */
  derivedFrom?: string
  status?: EventStatus
  from?: number
  to?: number
}
